#pragma once
// The streamed program for people: labelled diagram and head/loop/tail pseudocode.

#include <string>

#include "model/fusion/streamed.hpp"

namespace napkin {

/// The diagram with each axis labelled: q -> g_q (group), x -> s_x (stream).
[[nodiscard]] std::string print_labels(const Streamed& streamed);
/// Indented head, loop and tail, one statement a line.
[[nodiscard]] std::string print_pseudocode(const Streamed& streamed);
/// The derivation steps, numbered.
[[nodiscard]] std::string print_steps(const Streamed& streamed);

}  // namespace napkin
