#pragma once
// combine_launch is the launch that makes the partial results of split axes whole, as a diagram of its own: eight parts
// of O become one. Its transfers follow from the transfer rule, as those of every diagram do. (eq. 2.4;
// model/README.md, "Combining partial results")

#include <optional>

#include "model/fusion/partition.hpp"

namespace napkin::internal {

/// The launch that combines the parts of a streamed diagram. For each output in parts it has an input with the parts as
/// further axes, reduced by sum, max, or the log-sum-exps' softmax: O = sum_k exp(lse_k - lse) O_k.
struct CombineLaunch {
  Streamed streamed;
  std::vector<ArrayId> whole;                    ///< output whose parts an input is, by input of its diagram
  std::vector<std::optional<AxisId>> split;      ///< split axis whose parts an axis counts, by axis of its diagram
  std::vector<std::optional<AxisId>> same_axis;  ///< axis of the first launch, by axis of its diagram
};

/// Makes the launch that combines parts; nothing if no output is a partial result.
[[nodiscard]] std::optional<CombineLaunch> combine_launch(const Streamed& streamed);

/// Makes the problem of the combining launch after a first launch with these groups: as many parts as groups along the
/// split axes, no mask.
[[nodiscard]] Problem combine_problem(const CombineLaunch& combine, const Problem& problem,
                                      const std::vector<Count>& group);

/// Returns true if combine_problem() has several parts of any result. A single part is stored as the result.
[[nodiscard]] bool has_parts(const CombineLaunch& combine, const Problem& of);

/// Returns the transfer of the combining launch by the transfer rule. Every array carries all grouped axes, so group
/// sizes do not matter. Zero if nothing is to be combined.
[[nodiscard]] Transfer combine_transfer(const Streamed& streamed, const Problem& problem, const Partition& partition);

}  // namespace napkin::internal
