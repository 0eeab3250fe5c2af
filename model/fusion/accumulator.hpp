#pragma once
// analyse() makes the accumulator table: what one axis does to every array of a diagram when it is walked in chunks by
// one loop (stream) or dealt out among groups whose partial results are combined (split). (eq. 4.1 and eq. 19.1)

#include <optional>
#include <string>
#include <vector>

#include "model/fusion/streamed.hpp"

namespace napkin {

enum class AxisUse { stream, split };

/// The state of an array while the axis is walked.
struct ArrayStatus {
  enum class Kind {
    invariant,  ///< does not depend on the axis: there before the loop, equal in every group
    chunk,      ///< carries the axis: there chunk by chunk
    reduced,    ///< lacks the axis but depends on all of it: right after the loop; a partial result of a split
  };
  Kind kind = Kind::invariant;
  /// Right only up to the final rescale and normalisation of this softmax. A chunk stays so; a reduced array of a
  /// stream becomes right in the tail.
  std::optional<OpId> pending;
  Combine::Kind combine = Combine::Kind::sum;  ///< reduced: how parts become the whole
};

/// The diagram as seen along one axis.
struct AxisAnalysis {
  std::vector<ArrayStatus> arrays;                           ///< status by ArrayId
  std::vector<Phase> phases;                                 ///< phase by OpId
  std::vector<std::optional<AccumulatorKind>> accumulators;  ///< accumulator by OpId, for loop operations
  std::optional<OpId> blocker;                               ///< the operation that refuses, if one does
  std::string why;                                           ///< the refusal, for people; "" where the axis is legal
  [[nodiscard]] bool legal() const { return why.empty(); }
};

/// Runs the table over the operations, in order, and stops at the first that refuses.
[[nodiscard]] AxisAnalysis analyse(const Diagram& diagram, AxisId axis, AxisUse use);

/// Returns the axes of a softmax's state: those of its probabilities without the softmax's own.
[[nodiscard]] std::vector<AxisId> state_axes(const Diagram& diagram, OpId softmax);

/// Returns the mask that lets chunks of `stream` be left out, or nothing: see Streamed::skips.
[[nodiscard]] std::optional<std::array<AxisId, 2>> skippable(const Diagram& diagram, AxisId stream);

}  // namespace napkin
