// The twin: every tile in order, in full.
#include <algorithm>

#include "model/resource/plan.hpp"
#include "solver/select/legality.hpp"
#include "solver/select/select.hpp"

namespace napkin {
namespace {

std::size_t rule_index(const Rules& rules, const std::string& name) {
  for (std::size_t r = 0; r < rules.tile.size(); ++r) {
    if (rules.tile[r].name == name) return r;
  }
  for (std::size_t r = 0; r < rules.plan.size(); ++r) {
    if (rules.plan[r].name == name) return rules.tile.size() + r;
  }
  return 0;
}

bool legal_by_knobs(const Rules& rules, const Tile& tile) {
  return std::none_of(rules.tile.begin(), rules.tile.end(),
                      [&](const TileRule& rule) { return rule.check(tile).has_value(); });
}

bool legal_by_plan(const Rules& rules, const PlacedDiagram& placed, const Plan& needs) {
  return std::none_of(rules.plan.begin(), rules.plan.end(),
                      [&](const PlanRule& rule) { return rule.check(placed, needs).has_value(); });
}

}  // namespace

Standing standing(const Question& question, const Tile& tile) { return standing(question, tile, Objective{}); }

Standing standing(const Question& question, const Tile& tile, const Objective& objective) {
  const Space space = space_of(question);
  const Rules rules(*question.streamed, *question.mapping, *question.machine, question.problem);
  const Placer placer(*question.streamed, *question.mapping, *question.machine, question.problem);
  PlacedDiagram placed = placer.place(tile);
  Standing out;
  out.time = objective.time(placed)(placed, occupancy(placed).blocks);
  Tile other;
  for (std::int64_t rank = 0; rank < space.candidates.get(); ++rank) {
    space.tile(rank, other);
    if (!legal_by_knobs(rules, other)) continue;
    placer.place(other, placed);
    const Plan needs = plan(placed);
    if (!legal_by_plan(rules, placed, needs)) continue;
    const Seconds time = objective.time(placed)(placed, needs.blocks_per_sm);
    if (time < out.time) out.rank += 1;
    if (out.legal == Count(0) || time < out.shortest) out.shortest = time;
    out.legal += 1;
  }
  return out;
}

Exhausted select_exhaustively(const Question& question, int top) {
  return select_exhaustively(question, top, Objective{});
}

Exhausted select_exhaustively(const Question& question, int top, const Objective& objective) {
  const Space space = space_of(question);
  const Rules rules(*question.streamed, *question.mapping, *question.machine, question.problem);
  const Placer placer(*question.streamed, *question.mapping, *question.machine, question.problem);
  Selection out;
  out.candidates = space.candidates;
  Tally tally;
  std::vector<Count> rejected(rules.tile.size() + rules.plan.size());
  PlacedDiagram placed;
  Tile tile;
  const auto before = [](const Ranked& a, const Ranked& b) { return a.prediction.time < b.prediction.time; };
  std::vector<Ranked> best;  // of each time among the first `top`, in rank order; and one of a further time
  for (std::int64_t rank = 0; rank < space.candidates.get(); ++rank) {
    space.tile(rank, tile);
    placer.place(tile, placed);
    const Plan needs = plan(placed);
    const std::vector<Violation> broken = violations(rules, placed, needs);
    if (!broken.empty()) {
      rejected[rule_index(rules, broken.front().constraint)] += 1;
      continue;
    }
    tally.legal += 1;
    Ranked one{tile, objective.predict(placed, needs), 0};
    if (!out.runner_up && best.empty()) {
      best.push_back(std::move(one));
      continue;
    }
    if (one.prediction.time < best.front().prediction.time) {
      out.runner_up = best.front();
    } else if (one.prediction.time > best.front().prediction.time &&
               (!out.runner_up || one.prediction.time < out.runner_up->prediction.time)) {
      out.runner_up = one;
    }
    best.insert(std::upper_bound(best.begin(), best.end(), one, before), std::move(one));
    if (best.size() > static_cast<std::size_t>(std::max(top, 1))) best.pop_back();
  }
  tally.rejected = named_counts(rules, rejected);
  if (top >= 1) out.ranked = std::move(best);
  return {std::move(out), std::move(tally)};
}

}  // namespace napkin
