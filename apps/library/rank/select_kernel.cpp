#include "apps/library/rank/select_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/kind.hpp"
#include "model/clock/time_model.hpp"
#include "napkin/bands.hpp"

namespace napkin {

Ranking::Ranking(const Layout& layout, int top)
    : layout_(&layout),
      question_(std::make_unique<const Question>(layout.question())),
      selector_(std::make_unique<Selector>(*question_, layout.workspace->tables)),
      selection_(selector_->rank(top)) {}

std::string Ranking::explain() const { return selector_->explain(selection_); }

Prediction Ranking::predicted(const Tile& tile) const {
  if (auto known = selector_->noticed(tile)) return *std::move(known);
  const KeptPlacer placer = kept_placer_of(*layout_);
  const PlacedDiagram placed = placer->place(tile);
  return layout_->workspace->predicted(placed, plan(placed));
}

Rejections Ranking::count_rejections() const { return selector_->count_rejections(); }

std::string Ranking::unsearched() const {
  std::string out;
  for (KnobId id = 0; const Knob& knob : question_->mapping->knobs) {
    const KnobId own = id++;
    const auto is_own = [&](const auto& fixed) { return fixed.first == own; };
    if (knob.searched || std::any_of(question_->fixed.begin(), question_->fixed.end(), is_own)) continue;
    for (const std::int64_t value : knob.domain) {
      Question asked = *question_;
      asked.fixed.emplace_back(own, value);
      if (value == knob.domain.front() || !any_legal(asked, layout_->workspace->tables)) continue;
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

Prediction predicted(const Layout& layout, const Placement& placement) {
  if (placement.violations.empty() && !layout.ideal) {
    const Question question = layout.question();
    if (auto known = noticed(question, placement.placed.tile, layout.workspace->tables)) return *std::move(known);
  }
  return layout.workspace->predicted(placement.placed, placement.plan);
}

namespace {

/// Leaves the kernels whose times can be compared: the roofline's time is one that no kernel reaches, so where the
/// event graph predicts some kernels, the others drop out.
void keep_comparable(std::vector<Ranking>& rankings) {
  const auto optimistic = [](const Ranking& ranking) { return ranking.best().prediction.iteration.empty(); };
  if (!std::all_of(rankings.begin(), rankings.end(), optimistic)) std::erase_if(rankings, optimistic);
}

/// Returns the band of the best tile.
Band band_of(const Request& request, const Ranking& ranking) {
  const Placement placement = place(placer_of(ranking.layout()), ranking.best().tile);
  return band_of(kind_of(request, ranking.layout(), placement.placed, ranking.best().prediction));
}

/// Returns true where the one's band ends before the other's begins.
bool ahead_beyond_doubt(const Request& request, const Ranking& one, const Ranking& other) {
  const auto time = [](const Ranking& ranking) { return ranking.best().prediction.time.value; };
  return time(one) < time(other) && band_of(request, one).high * time(one) < band_of(request, other).low * time(other);
}

/// The fastest; of those within a hundredth of each other the first, which is a bundled one where there is one. A
/// kernel that multiplies by an older instruction of the machine is that only where it is ahead of all others by more
/// than its predictions are off: at problems of a few blocks those of Ampere's kernels on Hopper are closer to it than
/// their errors (tests/measured/small).
std::size_t fastest(const Request& request, const std::vector<Ranking>& rankings) {
  constexpr double tie = 0.01;
  const auto time = [&](std::size_t i) { return rankings[i].best().prediction.time.value; };
  std::optional<std::size_t> newest, older;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    std::optional<std::size_t>& best = by_fastest_instruction(request, rankings[i].layout()) ? newest : older;
    if (!best || time(i) < (1 - tie) * time(*best)) best = i;
  }
  if (!newest) return *older;
  return older && ahead_beyond_doubt(request, rankings[*older], rankings[*newest]) ? *older : *newest;
}

}  // namespace

Ranking select_kernel(const Request& request, int top) {
  std::vector<std::string> left_out = request.left_out;
  std::vector<Ranking> fitting;
  std::optional<Ranking> none;  // the first in which nothing fits
  for (const Layout& layout : request.layouts) {
    Ranking ranking(layout, top);
    if (!ranking.empty()) {
      fitting.push_back(std::move(ranking));
      continue;
    }
    if (lists(layout.mapping->runs_on, request.machine->architecture))
      left_out.push_back(layout.mapping->name + ": " + ranking.nothing_fits());
    if (!none) none = std::move(ranking);
  }
  if (fitting.empty()) return std::move(*none);
  keep_comparable(fitting);
  Ranking& picked = fitting[fastest(request, fitting)];
  picked.left_out = std::move(left_out);
  return std::move(picked);
}

std::optional<Tile> best_tile(const Layout& layout) {
  const Ranking ranking(layout, 1);
  if (ranking.empty()) return std::nullopt;
  return ranking.best().tile;
}

std::vector<Ranked> legal_tiles(const Layout& layout) {
  const Exhausted exhausted = select_exhaustively(layout.question());
  return {exhausted.all.begin(), exhausted.all.end()};
}

bool fits(const Layout& layout) { return any_legal(layout.question(), layout.workspace->tables); }

}  // namespace napkin
