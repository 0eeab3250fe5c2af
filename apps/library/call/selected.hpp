#pragma once
// A Selected is a call's question, ranked once, with the tile to launch. Internal to apps/.

#include <cstddef>
#include <optional>

#include "apps/library/call/call_plans.hpp"
#include "apps/library/question/question.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "model/mapping/placed.hpp"
#include "napkin/ask.hpp"

namespace napkin {

/// Returns the question whose tile serves that one: keys beyond the queries are rounded up to an eighth of the power of
/// two below them, so that the steps of a generation are ranked once in a while.
[[nodiscard]] Ask ranked_for(const Ask& ask);

/// Words the reasons why no bundled kernel takes the question.
[[nodiscard]] std::string no_kernel(const Ask& asked);

class Selected {
 public:
  /// Ranks the tiles of the bundled kernels that meet the call's needs. Throws Error if none takes the question.
  Selected(const Ask& ask, const CallNeeds& needs);
  ~Selected() = default;
  Selected(const Selected&) = delete;  // parts that point into request_
  Selected& operator=(const Selected&) = delete;
  Selected(Selected&&) = delete;
  Selected& operator=(Selected&&) = delete;

  /// Places the tile at these sizes, the ranked ones or others that they serve (ranked_for()). Returns nullptr if it is
  /// not legal there.
  [[nodiscard]] const PlacedDiagram* at(const NamedSizes& shape);
  /// Advances to the next best tile. Returns false, and stays, if there is none.
  [[nodiscard]] bool advance();

 private:
  Question question_;
  Ranking ranking_;
  Problem problem_;  ///< problem of at()
  std::optional<Placer> placer_;
  PlacedDiagram placed_;
  std::size_t at_ = 0;  ///< index of the tile in the ranking
};

}  // namespace napkin
