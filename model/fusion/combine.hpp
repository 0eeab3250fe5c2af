#pragma once
// combine_launch is the launch that makes the partial results of split axes whole, as a diagram of its own: eight parts
// of O become one. What it moves follows from the rule that everything else follows from. (eq. 2.4; model/README.md,
// "Combining partial results")

#include <optional>

#include "model/fusion/partition.hpp"

namespace napkin {

/// The combine of a streamed diagram. For each output that a split leaves in parts its diagram has an input with the
/// parts as a further axis for each split axis, reduced over them: sum, max, or the softmax of the log-sum-exps
/// contracted with the parts, because O = sum_k exp(lse_k - lse) O_k and lse is that softmax's own.
struct CombineLaunch {
  Streamed streamed;
  std::vector<ArrayId> whole;                    ///< by input of its diagram: the output that this is the parts of
  std::vector<std::optional<AxisId>> split;      ///< by axis of its diagram: the split axis whose parts it counts
  std::vector<std::optional<AxisId>> same_axis;  ///< by axis of its diagram: the axis that it is
};

/// Nothing where no output is a partial result.
[[nodiscard]] std::optional<CombineLaunch> combine_launch(const Streamed& streamed);

/// Its question after a first launch with these groups: as many parts as that had groups along the split axes, no mask.
[[nodiscard]] Problem combine_problem(const CombineLaunch& combine, const Problem& problem,
                                      const std::vector<Count>& group);

/// Whether combine_problem() has more than one part of anything. A part alone is the result, and is stored as such.
[[nodiscard]] bool has_parts(const CombineLaunch& combine, const Problem& of);

/// What it moves, by the transfer rule: every array carries all that it groups, so that no group size matters. Zero
/// where nothing is to combine.
[[nodiscard]] Transfer combine_transfer(const Streamed& streamed, const Problem& problem, const Partition& partition);

}  // namespace napkin
