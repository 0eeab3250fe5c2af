// Counting: states are partial assignments of the knobs, merged as soon as no later rule tells them apart.
#include <algorithm>
#include <bit>

#include "model/diagram/packing.hpp"
#include "solver/select/legality.hpp"

namespace napkin {
namespace {

std::int64_t lanes_in(Lanes lanes) { return std::popcount(lanes); }

void add_to(std::vector<Count>& rejected, std::size_t rule, std::int64_t tiles) { rejected[rule] += Count(tiles); }

}  // namespace

void Legality::load(const State& state, KnobSet assigned, Point& point) const {
  std::int64_t rank = state.rank;
  for (KnobSet left = assigned; left != 0; left &= left - 1) {
    const KnobId k = std::countr_zero(left);
    const auto index = static_cast<std::size_t>(rank < space_.strides[at(k)] ? 0 : rank / space_.strides[at(k)]);
    rank -= static_cast<std::int64_t>(index) * space_.strides[at(k)];
    if (point.index[at(k)] != index) set(point, k, index);
  }
}

void Legality::assign(std::vector<State>& states, KnobId knob) const {
  const std::size_t values = space_.domains[at(knob)].size();
  if (values == 1) return;
  std::vector<State> out;
  out.reserve(states.size() * values);
  for (const State& state : states) {
    for (std::size_t i = 0; i < values; ++i) {
      out.push_back({state.rank + static_cast<std::int64_t>(i) * space_.strides[at(knob)], state.weight, state.lanes});
    }
  }
  states = std::move(out);
}

void Legality::forget(std::vector<State>& states, KnobSet dead) const {
  for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
    if ((dead & knob_bit(k)) == 0) continue;
    const auto values = static_cast<std::int64_t>(space_.domains[at(k)].size());
    for (State& s : states) s.rank -= s.rank / space_.strides[at(k)] % values * space_.strides[at(k)];
  }
  std::size_t kept = 0;
  for (const State& state : states) {
    if (kept > 0 && states[kept - 1].rank == state.rank && states[kept - 1].lanes == state.lanes) {
      states[kept - 1].weight += state.weight;
    } else {
      states[kept++] = state;
    }
  }
  states.resize(kept);
}

Lanes Legality::tile_rule_lanes(const TileRule& rule, Point& point, Lanes lanes) const {
  if (lane_ < 0 || (rule.knobs & knob_bit(lane_)) == 0) return rule.check(point.tile) ? 0 : lanes;
  const std::size_t before = point.index[at(lane_)];
  Lanes held = 0;
  for (Lanes left = lanes; left != 0; left &= left - 1) {
    set(point, lane_, static_cast<std::size_t>(std::countr_zero(left)));
    if (!rule.check(point.tile)) held |= left & (~left + 1);
  }
  set(point, lane_, before);
  return held;
}

Tally Legality::count() {
  const std::size_t tile_rules = rules_.tile.size(), rules = tile_rules + rules_.plan.size();
  const KnobSet lane = lane_ < 0 ? 0 : knob_bit(lane_);
  const auto knobs_of_rule = [&](std::size_t r) {
    return (r < tile_rules ? rules_.tile[r].knobs : rules_.plan[r - tile_rules].knobs) & ~lane;
  };
  std::vector<KnobSet> needed(rules + 1);  // by the rules from r on
  for (std::size_t r = rules; r-- > 0;) needed[r] = needed[r + 1] | knobs_of_rule(r);

  std::vector<Count> rejected(rules);
  std::vector<State> states{{0, 1, all_lanes_}};
  Point point = origin();
  KnobSet assigned = 0;
  std::int64_t rest = space_.candidates.get() / lanes_in(all_lanes_);  // tiles that differ in unassigned knobs alone
  const auto assign_all = [&](KnobSet knobs) {
    for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
      if ((knobs & ~assigned & knob_bit(k)) == 0) continue;
      assign(states, k);
      assigned |= knob_bit(k);
      rest /= static_cast<std::int64_t>(space_.domains[at(k)].size());
    }
  };
  KnobSet live = 0;
  for (std::size_t r = 0; r < rules; ++r) {
    assign_all(knobs_of_rule(r));
    live |= knobs_of_rule(r);
    for (State& state : states) {
      load(state, live, point);
      const Lanes held = r < tile_rules ? tile_rule_lanes(rules_.tile[r], point, state.lanes)
                                        : plan_rule_lanes(r - tile_rules, point) & state.lanes;
      add_to(rejected, r, state.weight * lanes_in(state.lanes & ~held) * rest);
      state.lanes = held;
    }
    std::erase_if(states, [](const State& state) { return state.lanes == 0; });
    const KnobSet dead = live & ~needed[r + 1];
    live &= needed[r + 1];
    if (dead == 0) continue;
    forget(states, dead);
    for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
      if ((dead & knob_bit(k)) != 0) set(point, k, 0);
    }
  }
  Tally tally;
  for (const State& state : states) tally.legal += Count(state.weight * lanes_in(state.lanes) * rest);
  tally.rejected = named_counts(rules_, rejected);
  return tally;
}

std::vector<std::pair<std::string, Count>> named_counts(const Rules& rules, const std::vector<Count>& counts) {
  std::vector<std::pair<std::string, Count>> out;
  const auto add = [&](const std::string& name, Count count) {
    if (count == Count(0)) return;
    for (auto& [known, total] : out) {
      if (known == name) {
        total += count;
        return;
      }
    }
    out.emplace_back(name, count);
  };
  for (std::size_t r = 0; r < counts.size(); ++r) {
    add(r < rules.tile.size() ? rules.tile[r].name : rules.plan[r - rules.tile.size()].name, counts[r]);
  }
  return out;
}

Tally tally(const Question& question) {
  const Space space = space_of(question);
  const Rules rules(*question.streamed, *question.mapping, *question.machine, question.problem);
  const Problem launch = launch_problem(question.problem);  // what tiles need of a node
  const Placer placer(*question.streamed, *question.mapping, *question.machine, launch);
  Scratch scratch(*question.mapping, placer, space);
  return Legality(question, space, rules, scratch).count();
}

std::string nearest_constraint(const Tally& tally) {
  const auto most = std::max_element(tally.rejected.begin(), tally.rejected.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == tally.rejected.end() ? std::string() : most->first;
}

}  // namespace napkin
