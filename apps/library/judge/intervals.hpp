#pragma once
// judge_intervals compares bands with the known errors: each known row's band is computed without its own source, and
// the table says how many rows lie within it: 76 % of 365 rows of decoding. Internal to apps/.

#include <string>
#include <vector>

#include "napkin/bands.hpp"

namespace napkin::internal {

struct IntervalGroup {
  std::string of;  ///< name of the group: "all", "decode", "h100-sxm"
  std::size_t rows = 0, within = 0;
  double width = 0;  ///< median of the bands' widths (high - low) over the predicted time
  [[nodiscard]] double share() const { return static_cast<double>(within) / static_cast<double>(rows); }
};

struct IntervalJudgement {
  /// Groups of all rows, of this project's (recorded) and of others' (published).
  IntervalGroup all, recorded, published;
  std::vector<IntervalGroup> regimes;  ///< groups by regime, the four of Regime and bursts
  std::vector<IntervalGroup> gpus;     ///< GPUs with ten rows or more
};
[[nodiscard]] IntervalJudgement judge_intervals();

/// Writes the judgement as tables in Markdown.
[[nodiscard]] std::string table_of(const IntervalJudgement& judged);

}  // namespace napkin::internal
