#pragma once
// write_program makes head, loop and tail as statements: the loop of attention computes S, m, P, l and O of one chunk.
// Internal to the folder: derive() is the door.

#include "model/fusion/accumulator.hpp"

namespace napkin {

/// Fills operations, auxiliaries, maintained, persistent, head, loop and tail of a Streamed whose diagram and stream
/// are set, from the analysis of its streamed axis. Without a stream everything stands in the head.
void write_program(Streamed& streamed, const AxisAnalysis* analysis);

}  // namespace napkin
