#include "apps/library/rank/select_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/question/setups.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/kind.hpp"
#include "napkin/bands.hpp"
#include "solver/search/exhaustive.hpp"
#include "solver/select/selector.hpp"

namespace napkin::internal {

Ranking::Ranking(const Setup& setup, Seconds limit)
    : setup_(&setup),
      selector_(std::make_unique<Selector>(setup, *setup.workspace->tables)),
      selection_(selector_->rank(1, false, limit)) {}

Ranking::~Ranking() = default;
Ranking::Ranking(Ranking&& other) noexcept = default;
Ranking& Ranking::operator=(Ranking&& other) noexcept = default;

void Ranking::rank(int top) { selection_ = selector_->rank(top, false); }
bool Ranking::any_legal() const { return selector_->any_legal(); }

Explanation Ranking::explain() {
  if (!selection_.runner_up) selection_.runner_up = selector_->rank(1).runner_up;
  return internal::explain(*selector_, selection_);
}

Rejections Ranking::count_rejections() const { return selector_->count_rejections(); }

std::string Ranking::unsearched() const {
  std::string out;
  for (KnobId id = 0; const Knob& knob : setup_->mapping->knobs) {
    const KnobId own = id++;
    const auto is_own = [&](const auto& fixed) { return fixed.first == own; };
    if (knob.searched || std::any_of(setup_->fixed.begin(), setup_->fixed.end(), is_own)) continue;
    for (const std::int64_t value : knob.domain) {
      Setup asked = *setup_;
      asked.fixed.emplace_back(own, value);
      if (value == knob.domain.front() || !fits(asked)) continue;
      const std::string word = knob.words.empty() ? std::to_string(value) : knob.words[static_cast<std::size_t>(value)];
      out += fmt::format("; {}={} fits and is the user's to ask for ({})", knob.name, word, knob.about);
    }
  }
  return out;
}

std::string Ranking::nothing_fits() const {
  const Rejections counted = count_rejections();
  if (counted.rejected.empty()) return "nothing fits: there is no tile" + unsearched();
  const auto& [last, tiles] = counted.rejected.back();
  const Count all = selection_.candidates;
  if (tiles == all) return "nothing fits: " + last + " keeps out all tiles" + unsearched();
  return fmt::format("nothing fits: {} keeps out the last {} of {} tiles{}", last, tiles.get(), all.get(),
                     unsearched());
}

namespace {

/// Returns true if the best tile's time is the roofline's, which no kernel reaches.
bool is_optimistic(const Ranking& ranking) { return !ranking.best().prediction.iteration; }

/// Keeps the kernels whose times can be compared: if the event graph predicts some, the others drop out.
void keep_comparable(std::vector<Ranking>& rankings) {
  if (!std::all_of(rankings.begin(), rankings.end(), is_optimistic)) std::erase_if(rankings, is_optimistic);
}

/// Returns the band of the best tile.
Band band_of(const Question& question, const Ranking& ranking) {
  const Placement placement = place(placer_of(ranking.setup()), ranking.best().tile);
  return band_of(kind_of(question, ranking.setup(), placement.placed, ranking.best().prediction));
}

/// Returns true if the first one's band ends before the other's begins.
bool ahead_beyond_doubt(const Question& question, const Ranking& one, const Ranking& other) {
  const auto time = [](const Ranking& ranking) { return ranking.best().prediction.time.value; };
  return time(one) < time(other) &&
         band_of(question, one).high * time(one) < band_of(question, other).low * time(other);
}

/// The rankings of a question by kernel, with the fastest. Among kernels within a hundredth of it, the first wins, a
/// bundled one if there is one. A kernel with an older instruction wins only by more than its predictions' error: for a
/// few blocks Ampere's kernels on Hopper come close (tests/measured/small).
class Contest {
 public:
  explicit Contest(const Question& question) : question_(question) {}

  /// Ranks the kernel, unless another one is ahead of all its tiles. Returns false if none of its tiles is legal.
  bool enter(const Setup& setup) {
    Ranking ranking(setup, Seconds(limit(by_fastest_instruction(question_, setup))));
    if (!ranking.empty()) {
      rankings_.push_back(std::move(ranking));
      return true;
    }
    return !rankings_.empty() && ranking.any_legal();
  }

  [[nodiscard]] bool empty() const { return rankings_.empty(); }

  [[nodiscard]] Ranking& fastest() {
    keep_comparable(rankings_);
    const auto newest = first_of(true), older = first_of(false);
    if (!newest) return rankings_[*older];
    return rankings_[older && ahead_beyond_doubt(question_, rankings_[*older], rankings_[*newest]) ? *older : *newest];
  }

 private:
  static constexpr double tie = 0.01;

  [[nodiscard]] double time(std::size_t i) const { return rankings_[i].best().prediction.time.value; }

  [[nodiscard]] std::optional<std::size_t> first_of(bool newest) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < rankings_.size(); ++i) {
      if (by_fastest_instruction(question_, rankings_[i].setup()) == newest &&
          (!best || time(i) < (1 - tie) * time(*best)))
        best = i;
    }
    return best;
  }

  /// Returns the seconds that a further kernel must stay below to be the fastest; the roofline's times set no limit.
  [[nodiscard]] double limit(bool newest) const {
    double out = INFINITY;
    for (std::size_t i = 0; i < rankings_.size(); ++i) {
      const bool binds = !newest || by_fastest_instruction(question_, rankings_[i].setup());
      if (binds && !is_optimistic(rankings_[i])) out = std::min(out, (1 - tie) * time(i));
    }
    return out;
  }

  const Question& question_;
  std::vector<Ranking> rankings_;
};

}  // namespace

Ranking select_kernel(const Question& question, int top) {
  std::vector<std::string> left_out = question.left_out;
  Contest contest(question);
  std::optional<Ranking> none;  // the first in which nothing fits
  for (const Setup& setup : question.setups) {
    if (contest.enter(setup)) continue;
    Ranking ranking(setup);
    if (lists(setup.mapping->runs_on, question.machine->architecture))
      left_out.push_back(setup.mapping->name + ": " + ranking.nothing_fits());
    if (!none) none = std::move(ranking);
  }
  if (contest.empty()) return std::move(*none);
  Ranking& picked = contest.fastest();
  picked.left_out = std::move(left_out);
  if (top > 1) picked.rank(top);
  return std::move(picked);
}

std::optional<Tile> best_tile(const Setup& setup) {
  const Ranking ranking(setup);
  if (ranking.empty()) return std::nullopt;
  return ranking.best().tile;
}

std::vector<Ranked> legal_tiles(const Setup& setup) {
  const Exhausted exhausted = select_exhaustively(setup);
  return {exhausted.all.begin(), exhausted.all.end()};
}

bool fits(const Setup& setup) { return Selector(setup, *setup.workspace->tables).any_legal(); }

}  // namespace napkin::internal
