#pragma once
// select_kernel ranks the tiles of each kernel that can answer a question, and returns the kernel whose best tile is
// the fastest: attention_sm90 on an H200. select_kernel.cpp alone asks the solver to select. Internal to apps/.

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/question/question.hpp"
#include "model/clock/prediction.hpp"
#include "solver/explain/explain.hpp"
#include "solver/select/select.hpp"
#include "solver/space/candidates.hpp"

namespace napkin::internal {

class Selector;

/// The ranking of a setup's tiles, with explanations. Points to the setup.
class Ranking {
 public:
  /// Finds the best tile alone; perhaps none if every tile takes longer than the limit.
  explicit Ranking(const Setup& setup, Seconds limit = Seconds(INFINITY));
  ~Ranking();
  Ranking(Ranking&& other) noexcept;
  Ranking& operator=(Ranking&& other) noexcept;
  /// Ranks the `top` best tiles.
  void rank(int top);

  [[nodiscard]] const Setup& setup() const { return *setup_; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  [[nodiscard]] bool empty() const { return selection_.ranked.empty(); }
  [[nodiscard]] bool any_legal() const;  ///< returns true if any tile is legal
  [[nodiscard]] const Ranked& best() const { return selection_.ranked.front(); }
  /// Explains why the best tile is best, beside a runner-up that it finds; empty if nothing fits.
  [[nodiscard]] Explanation explain();
  [[nodiscard]] Rejections count_rejections() const;
  /// Explains why nothing fits: "nothing fits: registers keeps out the last 12 of 320 tiles", and which unsearched knob
  /// would make a tile fit.
  [[nodiscard]] std::string nothing_fits() const;

  std::vector<std::string>
      left_out;  ///< other kernels of the architecture that cannot answer, with reasons (set by select_kernel())

 private:
  /// Names a legal value that is not searched: "; accumulate=running fits and is the user's to ask for (...)"; "" if
  /// there is none.
  [[nodiscard]] std::string unsearched() const;

  const Setup* setup_;
  std::unique_ptr<Selector> selector_;
  Selection selection_;
};

/// Ranks every setup and keeps the one whose best tile is fastest, among setups that one clock predicts. The ranking
/// is empty if nothing fits.
[[nodiscard]] Ranking select_kernel(const Question& question, int top);

/// Returns the best tile of a setup, which `select` would select for its kernel; nothing if none fits.
[[nodiscard]] std::optional<Tile> best_tile(const Setup& setup);
/// Returns every legal tile of one setup, best first.
[[nodiscard]] std::vector<Ranked> legal_tiles(const Setup& setup);

/// Returns true if any tile of the setup is legal.
[[nodiscard]] bool fits(const Setup& setup);

}  // namespace napkin::internal
