// Best-first over the sizes, depth-first below: sizes are bounded by the alternatives that can be no slower than the
// others, popped in the order of their bounds, and their tiles visited in the order of preference.
#include "solver/select/search.hpp"

#include <algorithm>

#include "solver/select/graph_search.hpp"

namespace napkin {
Search::Search(const Question& question, Objective objective)
    : question_(question),
      objective_(std::move(objective)),
      space_(space_of(question)),
      rules_(*question.streamed, *question.mapping, *question.machine, question.problem),
      placer_(*question.streamed, *question.mapping, *question.machine, question_.problem) {
  prepare();
}

void Search::prepare() {
  alternatives_.reset();
  roles_ = roles_of(question_, objective_, space_);
  scratch_.emplace(*question_.mapping, placer_, space_);
  legality_.emplace(question_, space_, rules_, *scratch_);
}

bool Search::serves(const Question& question) const {
  return question.streamed == question_.streamed && question.mapping == question_.mapping &&
         question.machine == question_.machine && question.problem.dtype == question_.problem.dtype &&
         question.problem.mask.kind == question_.problem.mask.kind &&
         question.problem.packing.sequences.empty() == question_.problem.packing.sequences.empty();
}

void Search::turn_to(const Question& question) {
  question_.problem = question.problem;
  question_.fixed = question.fixed;
  placer_.rebind(question_.problem);
  timed_.clear();
  rules_ = Rules(*question_.streamed, *question_.mapping, *question_.machine, question_.problem);
  Space space = space_of(question_);
  const bool alike = space.domains == space_.domains;
  space_ = std::move(space);
  if (alike) {
    legality_->forget();
  } else {
    prepare();
  }
}

bool Search::wanted(const Found& least) const {
  const bool stands_alone = each_ == Each::tile || least < own_;
  if (stands_alone && (best_.size() < top_ || least < best_.back())) return true;
  return least < second_ && (best_.empty() || !one_time_ || least.time != best_.front().time);
}

/// The same of a tile that is no faster: it may be the runner-up.
bool Search::wanted_from(const Found& least) const {
  const bool stands_alone = each_ == Each::tile || least < own_;
  return (stands_alone && (best_.size() < top_ || least < best_.back())) || least < second_;
}

void Search::take(const Found& found) {
  if (best_.empty() || found.time < best_.front().time) {
    if (!best_.empty()) second_ = best_.front();
  } else if (found.time > best_.front().time && found < second_) {
    second_ = found;
  }
  if (each_ == Each::size) {
    if (!(found < own_)) return;
    std::erase_if(best_, [&](const Found& other) { return other.rank == own_.rank; });
    own_ = found;
  }
  best_.insert(std::upper_bound(best_.begin(), best_.end(), found), found);
  if (best_.size() > top_) best_.pop_back();
}

void Search::set_rank(Point& point, std::int64_t rank, KnobSet knobs) const {
  for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
    if ((knobs & knob_bit(k)) == 0) continue;
    const auto values = static_cast<std::int64_t>(space_.domains[at(k)].size());
    legality_->set(point, k, static_cast<std::size_t>(rank / space_.strides[at(k)] % values));
  }
}

/// At most so many blocks of any tile with these agents share a node: by their threads, and by their registers where
/// the kernel sets them.
Count Search::most_by_agents(const Point& point) {
  const Limits& limits = question_.machine->limits;
  if (!limits.known) return 1;
  const PlacedDiagram& placed = scratch_->place(point).placed;
  const bool fixed = registers_by_sizes_ && !placed.agents.empty() &&
                     std::all_of(placed.agents.begin(), placed.agents.end(),
                                 [](const PlacedAgent& a) { return a.registers.has_value(); });
  const Bytes unlimited(std::numeric_limits<std::int64_t>::max() / 4);
  return occupancy(limits, unlimited, placed.threads, fixed ? launch_registers(placed) : Count(1), Bytes(0)).blocks;
}

/// The same with all sizes known: the other knobs at their least, so that the block needs the least.
Count Search::most_blocks(const Point& point, Count by_agents) {
  if (by_agents <= Count(1)) return 1;
  Point least = point;
  for (const Step& step : rest_) {
    const auto& domain = space_.domains[at(step.knob)];
    legality_->set(least, step.knob,
                   static_cast<std::size_t>(std::min_element(domain.begin(), domain.end()) - domain.begin()));
  }
  Count most = 1;
  for (std::size_t c = 0; c < alternatives_->size(); ++c) {
    if (!alternatives_->allowed(c)) continue;
    alternatives_->set(least, c);
    most = std::max(most, occupancy(scratch_->place(least).placed).blocks);
  }
  return std::min(by_agents, most);
}

double Search::bound_of(Point& point, Count most) {
  double bound = infinity;
  for (const Alternatives::Class& one : alternatives_->classes()) {
    if (!one.least) continue;
    alternatives_->set(point, one.first);
    const PlacedDiagram& placed = scratch_->place(point).placed;
    bound = std::min(bound, timed(placed).least(placed, most).value);
  }
  alternatives_->set(point, 0);
  return bound;
}

double Search::time_of(Point& point) {
  const PlacedDiagram& placed = scratch_->place(point).placed;
  return timed(placed).time(placed, occupancy(placed).blocks).value;
}

const Search::Timed& Search::timed(const PlacedDiagram& placed) {
  for (const Timed& known : timed_) {
    if (known.variant == placed.variant) return known;
  }
  timed_.push_back({placed.variant, objective_.time(placed), objective_.bound ? objective_.bound(placed) : nullptr});
  return timed_.back();
}

// Sizes in their order, but the lane last: tiles that differ in it alone are placed one over the other.
void Search::find_steps() {
  std::vector<KnobId> sizes = knobs_in(roles_.sizes, space_);
  std::stable_partition(sizes.begin(), sizes.end(), [&](KnobId knob) { return knob != legality_->lane(); });
  sizes_ = steps_of(rules_, 0, sizes);
  rest_ = steps_of(rules_, roles_.sizes, knobs_in(~roles_.sizes, space_));
  KnobSet agents = 0, registers = 0;
  for (const Agent& agent : question_.mapping->agents) {
    agents |= knobs_of(agent.count) | knobs_of(agent.threads);
    registers |= knobs_of(agent.registers);
  }
  registers_by_sizes_ = (registers & ~roles_.sizes) == 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (((agents | registers) & knob_bit(sizes_[i].knob)) != 0) agents_known_ = i + 1;
  }
}

void Search::bound_prefixes(std::size_t depth, std::int64_t rank, Count by_agents) {
  if (depth == agents_known_) by_agents = most_by_agents(point_);
  if (depth == sizes_.size()) {
    heap_.push_back({bound_of(point_, most_blocks(point_, by_agents)), rank});
    return;
  }
  const KnobId knob = sizes_[depth].knob;
  for (std::size_t i = 0; i < space_.domains[at(knob)].size(); ++i) {
    legality_->set(point_, knob, i);
    if (!may_be_legal(sizes_[depth])) continue;
    bound_prefixes(depth + 1, rank + static_cast<std::int64_t>(i) * space_.strides[at(knob)], by_agents);
  }
  legality_->set(point_, knob, 0);
}

/// The point's time, or the bound of those with so many blocks a node.
double Search::class_time(Count most) {
  const PlacedDiagram& placed = scratch_->place(point_).placed;
  return one_time_ ? timed(placed).time(placed, 1).value : timed(placed).least(placed, most).value;
}

/// The prefix's classes of alternatives, fastest first, with the time or bound of each, as long as those of at least
/// that time are wanted. A class is not looked at before those that are never slower.
template <class Wanted, class Visit>
void Search::each_class(const Prefix& prefix, const Wanted& wanted_from, const Visit& visit_class) {
  set_rank(point_, prefix.rank, roles_.sizes);
  const Count most = most_blocks(point_, most_by_agents(point_));
  one_time_ = most <= Count(1) && timed(scratch_->place(point_).placed).exact();
  const std::vector<Alternatives::Class>& classes = alternatives_->classes();
  times_.assign(classes.size(), 0.0);  // at least
  waiting_.clear();
  for (std::size_t c = 0; c < classes.size(); ++c) waiting_.push_back({0, false, classes[c].depth, c});
  std::make_heap(waiting_.begin(), waiting_.end());
  while (!waiting_.empty() && wanted_from(waiting_.front().time)) {
    std::pop_heap(waiting_.begin(), waiting_.end());
    Waiting next = waiting_.back();
    if (next.known) {
      waiting_.pop_back();
      class_ = next.which;
      class_time_ = next.time;
      for (const Step& step : rest_) legality_->set(point_, step.knob, 0);
      visit_class();
      continue;
    }
    double least = next.time;
    for (const std::size_t k : classes[next.which].under) least = std::max(least, times_[k]);
    next.known = !(least > next.time);
    if (next.known) {
      alternatives_->set(point_, classes[next.which].first);
      least = class_time(most);
    }
    next.time = times_[next.which] = least;
    waiting_.back() = next;
    std::push_heap(waiting_.begin(), waiting_.end());
  }
  for (const Step& step : rest_) legality_->set(point_, step.knob, 0);
}

void Search::expand(const Prefix& prefix) {
  own_ = {};
  each_class(
      prefix,
      [&](double time) {
        return wanted_from({time, prefix.rank});
      },
      [&] { visit(0, prefix.rank); });
}

/// Whether the point, up to that step, breaks no rule.
bool Search::may_be_legal(const Step& step) {
  return step.tile_rules_hold(point_.tile) &&
         std::all_of(step.plan_rules.begin(), step.plan_rules.end(),
                     [&](std::size_t rule) { return legality_->plan_rule_holds(rule, point_); });
}

/// Whether tiles that agree with the point up to that knob may be of the class that is being visited.
bool Search::in_class(KnobId knob) const {
  return (roles_.switches & knob_bit(knob)) == 0 || alternatives_->may_be_in(class_, point_, knob);
}

void Search::visit(std::size_t depth, std::int64_t rank) {
  if (!wanted({class_time_, rank})) return;
  if (depth == rest_.size()) {
    take({one_time_ ? class_time_ : time_of(point_), rank});
    return;
  }
  const Step& step = rest_[depth];
  for (std::size_t i = 0; i < space_.domains[at(step.knob)].size(); ++i) {
    legality_->set(point_, step.knob, i);
    if (in_class(step.knob) && may_be_legal(step))
      visit(depth + 1, rank + static_cast<std::int64_t>(i) * space_.strides[at(step.knob)]);
  }
  legality_->set(point_, step.knob, 0);
}

/// Legal tiles of the same sizes and exactly that time, itself among them.
std::int64_t Search::ties_below(std::size_t depth, double time) {
  if (depth == rest_.size()) return (one_time_ ? class_time_ : time_of(point_)) == time ? 1 : 0;
  const Step& step = rest_[depth];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < space_.domains[at(step.knob)].size(); ++i) {
    legality_->set(point_, step.knob, i);
    if (in_class(step.knob) && may_be_legal(step)) sum += ties_below(depth + 1, time);
  }
  legality_->set(point_, step.knob, 0);
  return sum;
}

Count Search::ties_of(const Found& found) {
  Point point = point_;
  set_rank(point, found.rank, ~KnobSet{0});
  std::int64_t prefix = 0, sum = 0;
  for (const Step& step : sizes_)
    prefix += static_cast<std::int64_t>(point.index[at(step.knob)]) * space_.strides[at(step.knob)];
  each_class(
      {0, prefix}, [&](double time) { return !(time > found.time); }, [&] { sum += ties_below(0, found.time); });
  return Count(sum - 1);
}

Ranked Search::full(std::int64_t rank) {
  set_rank(point_, rank, ~KnobSet{0});
  const PlacedDiagram& placed = scratch_->place(point_).placed;
  return {point_.tile, objective_.predict(placed, plan(placed)), 0};
}

std::vector<Ranked> Search::ranked() {
  std::vector<Ranked> out;
  Point before = legality_->origin(), now = before;
  for (const Found& found : best_) {
    set_rank(now, found.rank, ~KnobSet{0});
    const bool alike = !out.empty() && alternatives_->class_of(now) == alternatives_->class_of(before) &&
                       out.back().prediction.time.value == found.time && same_sizes(now, before);
    if (alike) {  // the same sizes, alternatives that cannot be told apart, the same time: the same prediction
      out.push_back({now.tile, out.back().prediction, 0});
    } else {
      out.push_back(full(found.rank));
    }
    if (each_ == Each::size) out.back().ties = ties_of(found);
    before = now;
  }
  return out;
}

bool Search::same_sizes(const Point& a, const Point& b) const {
  for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
    if ((roles_.sizes & knob_bit(k)) != 0 && a.index[at(k)] != b.index[at(k)]) return false;
  }
  return true;
}

Selection Search::run(int top, Each each) {
  Selection out;
  out.candidates = space_.candidates;
  if (!question_is_legal(rules_)) return out;
  top_ = static_cast<std::size_t>(std::max(top, 1));
  each_ = each;
  heap_.clear();
  best_.clear();
  second_ = {};
  point_ = legality_->origin();
  if (!alternatives_ || !alternatives_->serves(rules_)) {
    alternatives_.emplace(objective_, space_, rules_, *legality_, *scratch_, roles_.switches);
  }
  find_steps();
  bound_prefixes(0, 0, 1);
  std::make_heap(heap_.begin(), heap_.end());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Prefix prefix = heap_.back();
    heap_.pop_back();
    const bool full_house = best_.size() >= top_;
    if (full_house && prefix.bound > best_.back().time && prefix.bound > second_.time) break;
    expand(prefix);
  }
  if (top >= 1) out.ranked = ranked();
  if (second_.time != infinity) out.runner_up = full(second_.rank);
  return out;
}

Objective graph_objective() {
  Objective out;
  out.periods = std::make_shared<Periods>();
  out.searches = std::make_shared<GraphSearches>();
  out.predict = [periods = out.periods](const PlacedDiagram& placed, const Plan& needs) {
    return predict(placed, needs, periods);
  };
  out.time = timers(out.periods);
  return out;
}

Objective without_periods(Objective objective) {
  objective.periods = nullptr;
  objective.reads_edges = true;
  objective.monotone = false;
  return objective;
}

Selection select(const Question& question, int top) { return select(question, top, Objective{}); }

Selection select(const Question& question, int top, const Objective& objective, Each each) {
  if (objective.periods == nullptr) return Search(question, objective).run(top, each);
  if (GraphSearch* search = objective.searches->search_for(question, objective)) return search->run(top, each);
  return Search(question, without_periods(objective)).run(top, each);
}

}  // namespace napkin
