#pragma once
// select_kernel ranks the tiles of each kernel that can answer a request, and returns the kernel whose best tile is the
// fastest: attention_sm90 on an H200. select_kernel.cpp alone asks the solver to select. Internal to apps/.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/question/request.hpp"
#include "model/clock/prediction.hpp"
#include "solver/select/select.hpp"

namespace napkin {

struct Placement;

/// The ranking of one layout's tiles, which can explain itself. Points to the layout.
class Ranking {
 public:
  Ranking(const Layout& layout, int top);

  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  [[nodiscard]] bool empty() const { return selection_.ranked.empty(); }
  [[nodiscard]] const Ranked& best() const { return selection_.ranked.front(); }
  /// What query says of a legal tile.
  [[nodiscard]] Prediction predicted(const Tile& tile) const;
  /// Why the best tile is the best; "" where nothing fits.
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] Rejections count_rejections() const;
  /// "nothing fits: registers keeps out the last 12 of 320 tiles", which keep all rules before it, and which knob that
  /// no search turns would make one fit.
  [[nodiscard]] std::string nothing_fits() const;

  std::vector<std::string>
      left_out;  ///< of select_kernel's pick: kernels of the architecture that cannot answer, and why

 private:
  /// "; accumulate=running fits and is the user's to ask for (...)"; "" where there is none.
  [[nodiscard]] std::string unsearched() const;

  const Layout* layout_;
  std::unique_ptr<const Question> question_;  // the selector points to it
  std::unique_ptr<Selector> selector_;
  Selection selection_;
};

/// Of a tile of one layout as `select` says it, with what device memory sends again where that takes longer: from the
/// table of its kind where one has the tile, else from a run of its graph.
[[nodiscard]] Prediction predicted(const Layout& layout, const Placement& placement);

/// Ranks in every layout and keeps the layout whose best tile is the fastest, among layouts that one clock predicts.
/// Its ranking is empty where nothing fits in any of them.
[[nodiscard]] Ranking select_kernel(const Request& request, int top);

/// The best tile of one layout; nothing where none fits. What `select` selects where the layout is the kernel's.
[[nodiscard]] std::optional<Tile> best_tile(const Layout& layout);
/// Every legal tile of one layout, best first.
[[nodiscard]] std::vector<Ranked> legal_tiles(const Layout& layout);

/// Whether any tile of the layout is legal.
[[nodiscard]] bool fits(const Layout& layout);

}  // namespace napkin
