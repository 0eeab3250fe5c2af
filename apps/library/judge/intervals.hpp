#pragma once
// judge_intervals compares bands with the known errors: each known row's band is computed without its own source, and
// the table says how many rows lie within it: 76 % of 365 rows of decoding. Internal to apps/.

#include <string>
#include <vector>

#include "napkin/bands.hpp"

namespace napkin {

struct IntervalGroup {
  std::string of;  ///< "all", "decode", "h100-sxm"
  std::size_t rows = 0, within = 0;
  double width = 0;  ///< the median of high - low, over the predicted time
  [[nodiscard]] double share() const { return static_cast<double>(within) / static_cast<double>(rows); }
};

struct IntervalJudgement {
  /// recorded: this project's rows; published: others'.
  IntervalGroup all, recorded, published;
  std::vector<IntervalGroup> regimes;  ///< the four, and bursts
  std::vector<IntervalGroup> gpus;     ///< GPUs with ten rows or more
};
[[nodiscard]] IntervalJudgement judge_intervals();

/// Writes the judgement as tables in Markdown.
[[nodiscard]] std::string table_of(const IntervalJudgement& judged);

}  // namespace napkin
