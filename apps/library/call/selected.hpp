#pragma once
// A Selected is a call's question, ranked once, with the tile to launch. Internal to apps/.

#include <cstddef>
#include <optional>
#include <vector>

#include "apps/library/call/call_plans.hpp"
#include "apps/library/question/question.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "kernels/plans/attention_form.hpp"
#include "model/mapping/placed.hpp"
#include "napkin/ask.hpp"
#include "solver/space/length_rules.hpp"

namespace napkin::internal {

/// Returns the question whose tile serves this one. Keys beyond the number of queries are rounded up to an eighth of
/// the power of two below them, so that the steps of a generation share a ranking.
[[nodiscard]] Ask ranked_for(const Ask& ask);
/// Returns the number of keys for which a call with that many queries and keys is ranked.
[[nodiscard]] std::int64_t ranked_keys(std::int64_t queries, std::int64_t keys);

/// Explains why no bundled kernel takes the question.
[[nodiscard]] std::string no_kernel(const Ask& asked);

class Selected {
 public:
  /// Ranks the tiles of the bundled kernels that meet the call's needs. Throws Error if none takes the question.
  Selected(const Ask& ask, const CallNeeds& needs);
  ~Selected() = default;
  Selected(const Selected&) = delete;  // parts point into request_
  Selected& operator=(const Selected&) = delete;
  Selected(Selected&&) = delete;
  Selected& operator=(Selected&&) = delete;

  /// Places the tile at these sizes, in the order of the question's: the ranked ones or others that they serve
  /// (ranked_for()). Returns nullptr if it is not legal there.
  [[nodiscard]] const PlacedDiagram* at(const CallSizes& sizes);
  /// Advances to the next best tile. Returns false, and stays, if there is none.
  [[nodiscard]] bool advance();
  /// Goes back to the best tile.
  void restart() { at_ = 0; }
  /// Returns what the tile's plans have in common, once one was made.
  [[nodiscard]] std::optional<AttentionForm>& form() { return form_; }

 private:
  [[nodiscard]] const Tile& tile() const { return ranking_.selection().ranked[at_].tile; }
  [[nodiscard]] bool is_legal() const;

  Question question_;
  Ranking ranking_;
  Problem problem_;           ///< problem of at()
  std::vector<AxisId> axes_;  ///< axes of the question's sizes
  std::optional<Placer> placer_;
  std::optional<LengthRules> rules_;
  PlacedDiagram placed_;
  std::optional<AttentionForm> form_;
  bool legal_ = false;  ///< true if placed_ is
  std::size_t at_ = 0;  ///< index of the tile in the ranking
};

}  // namespace napkin::internal
