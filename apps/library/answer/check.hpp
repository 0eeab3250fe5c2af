#pragma once
// check_of runs the streamed program on the CPU, at a shape of some 64 queries and keys, and compares the counted
// transfers and memory with those that the two rules predict. Internal to apps/.

#include "apps/library/question/question.hpp"
#include "model/fusion/partition.hpp"
#include "model/mapping/placed.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal {

/// Returns the block's sizes as the streamed program knows them: groups no larger than their axis.
[[nodiscard]] Partition partition_of(const PlacedDiagram& placed);

/// Runs the question's diagram at a scaled-down shape with the question's tile and mask, all arrays at one level, and
/// predicts that run by the two rules (transfers and live memory of the abstract machine). Throws Error where the
/// program cannot be run.
[[nodiscard]] CheckAnswer check_of(const Question& question, const Setup& setup, const PlacedDiagram& placed);

}  // namespace napkin::internal
