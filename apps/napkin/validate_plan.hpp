#pragma once
// plan_questions chooses the tiles of each question to measure, before the GPU is touched.

#include <set>
#include <string>
#include <vector>

#include "apps/library/judge/replay.hpp"
#include "apps/napkin/validate.hpp"
#include "apps/report/record/record.hpp"
#include "kernels/reference/bundled.hpp"

namespace napkin::internal::cli {

/// A tile to measure.
struct PlannedTile {
  SweepTile tile;
  std::string key;                        ///< result of row_key()
  std::optional<ValidationRow> recorded;  ///< newest row of the tile that --resume found
};

struct PlannedQuestion {
  std::unique_ptr<Measurable> measurable;
  const BundledKernel* kernel = nullptr;
  Tile pick;                       ///< tile that select picks
  std::vector<PlannedTile> tiles;  ///< tiles; in a sweep the pick is first
  std::optional<std::string> sweep;
  std::uint64_t seed = 0;
  bool finished = false;  ///< true if --resume leaves nothing to do
  std::string nothing;    ///< reason why there is no tile: nothing fits, no kernel; else ""

  [[nodiscard]] Head head(const Tile& tile) const;
};

/// Plans the questions of this shard. `gpu` is the profile for questions that name none; `recorded` holds the existing
/// rows.
[[nodiscard]] std::vector<PlannedQuestion> plan_questions(const ValidateOptions& options, const std::string& gpu,
                                                          const std::string& date,
                                                          const std::vector<ValidationRow>& recorded);

/// Writes a sweep's id: "2026-11-20T12:34:56Z h200-sxm attention_sm90 bf16 causal b=4,... seed=7".
[[nodiscard]] std::string sweep_id(const Head& head, const std::string& date, std::uint64_t seed);
/// Returns the seed of a sweep's id; nothing for an id of another form.
[[nodiscard]] std::optional<std::uint64_t> seed_of(const std::string& sweep);

}  // namespace napkin::internal::cli
