#pragma once
// analyse() makes the accumulator table: the state of every array of a diagram while one axis is walked in chunks by a
// loop (stream), or divided among groups whose partial results are combined (split). (eq. 4.1 and eq. 19.1)

#include <optional>
#include <string>
#include <vector>

#include "model/fusion/streamed.hpp"

namespace napkin::internal {

enum class AxisUse { stream, split };

/// The state of an array while the axis is walked.
struct ArrayStatus {
  enum class Kind {
    invariant,  ///< independent of the axis: present before the loop, equal in every group
    chunk,      ///< carries the axis: computed chunk by chunk
    reduced,    ///< lacks the axis but depends on all of it: right after the loop, or a partial result of a split
  };
  Kind kind = Kind::invariant;
  /// The softmax whose final rescale and normalisation the values still lack. A chunk keeps lacking them; a reduced
  /// array of a stream gets them in the tail.
  std::optional<OpId> pending;
  Combine::Kind combine = Combine::Kind::sum;  ///< method by which parts of a reduced array become the whole
};

/// The analysis of a diagram along one axis.
struct AxisAnalysis {
  std::vector<ArrayStatus> arrays;                           ///< status by ArrayId
  std::vector<Phase> phases;                                 ///< phase by OpId
  std::vector<std::optional<AccumulatorKind>> accumulators;  ///< accumulator by OpId, for loop operations
  std::optional<OpId> blocker;                               ///< operation that refuses, if there is one
  std::string why;                                           ///< reason of the refusal, for people; "" if the axis is
                                                             ///< legal
  [[nodiscard]] bool legal() const { return why.empty(); }
};

/// Applies the table to the operations, in order, and stops at the first that refuses.
[[nodiscard]] AxisAnalysis analyse(const Diagram& diagram, AxisId axis, AxisUse use);

/// Returns the axes of a softmax's state: those of its probabilities without the softmax's own.
[[nodiscard]] std::vector<AxisId> state_axes(const Diagram& diagram, OpId softmax);

/// Returns the mask that lets chunks of `stream` be left out, or nothing: see Streamed::skips.
[[nodiscard]] std::optional<std::array<AxisId, 2>> skippable(const Diagram& diagram, AxisId stream);

}  // namespace napkin::internal
