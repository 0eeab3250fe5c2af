#include "solver/search/exhaustive.hpp"

#include <algorithm>
#include <set>

#include "model/clock/run/period.hpp"
#include "model/clock/time_model.hpp"
#include "model/diagram/packing.hpp"
#include "model/resource/plan.hpp"
#include "model/resource/reuse.hpp"
#include "solver/select/tie.hpp"

namespace napkin::internal {
namespace {

/// Calls visit(rank, placed, plan) for every legal tile.
template <class Visit>
void each_legal(const Setup& setup, const Visit& visit) {
  const Space space = space_of(setup);
  const Rules rules(*setup.streamed, *setup.mapping, *setup.machine, setup.problem);
  const Placer placer(*setup.streamed, *setup.mapping, *setup.machine, setup.problem);
  PlacedDiagram placed;
  Tile tile;
  for (std::int64_t rank = 0; rank < space.candidates.get(); ++rank) {
    space.tile(rank, tile);
    const auto broken = [&](const TileRule& rule) { return rule.check(tile).has_value(); };
    if (std::any_of(rules.tile.begin(), rules.tile.end(), broken)) continue;
    placer.place(tile, placed);
    const Plan needs = plan(placed);
    const auto exceeded = [&](const PlanRule& rule) { return rule.check(placed, needs).has_value(); };
    if (std::none_of(rules.plan.begin(), rules.plan.end(), exceeded)) visit(rank, placed, needs);
  }
}

bool all_by_graph(const Setup& setup) {
  bool all = true;
  each_legal(setup,
             [&](std::int64_t, const PlacedDiagram& placed, const Plan&) { all = all && has_event_graph(placed); });
  return all;
}

}  // namespace

Exhausted select_exhaustively(const Setup& setup, Periods* shared) {
  Periods own;
  Periods& periods = shared != nullptr ? *shared : own;
  const bool by_graph = all_by_graph(setup);
  Exhausted out;
  KnownRereads known;
  each_legal(setup, [&](std::int64_t, const PlacedDiagram& placed, const Plan& needs) {
    const ByClock by = by_graph ? ByClock::graph : ByClock::roofline;
    const Prediction prediction = predict(placed, {&periods, &known, by, nullptr, needs.blocks_per_sm});
    const TimeModel model(placed, ByClock::roofline);
    const Seconds tie =
        is_ranked_by_time(*setup.mapping) ? prediction.time : model.with_launch(model.of(placed, needs.blocks_per_sm));
    out.all.push_back({{placed.tile, prediction}, bytes_into_blocks(placed), tie});
  });
  const auto time = [&](const Exhausted::Timed& one) { return ranking_time(*setup.mapping, one.prediction.time); };
  std::stable_sort(out.all.begin(), out.all.end(), [&](const Exhausted::Timed& a, const Exhausted::Timed& b) {
    if (time(a) != time(b)) return time(a) < time(b);
    return a.into_blocks != b.into_blocks ? a.into_blocks < b.into_blocks : a.tie < b.tie;
  });
  const Problem launch = launch_problem(setup.problem);
  out.rejections = count_each(setup, Placer(*setup.streamed, *setup.mapping, *setup.machine, launch));
  return out;
}

Selection selection_of(const Setup& setup, const Exhausted& exhausted, int top) {
  Selection out;
  out.candidates = space_of(setup).candidates;
  const KnobSet sizing = size_knobs(setup);
  std::set<std::vector<std::int64_t>> seen;
  for (const Ranked& one : exhausted.all) {
    if (!out.runner_up && ranking_time(*setup.mapping, one.prediction.time) >
                              ranking_time(*setup.mapping, exhausted.all.front().prediction.time))
      out.runner_up = one;
    std::vector<std::int64_t> size = one.tile.values;
    for (std::size_t k = 0; k < size.size(); ++k) {
      if ((sizing & knob_bit(static_cast<KnobId>(k))) == 0) size[k] = 0;
    }
    if (static_cast<int>(out.ranked.size()) < top && seen.insert(size).second) out.ranked.push_back(one);
  }
  return out;
}

}  // namespace napkin::internal
