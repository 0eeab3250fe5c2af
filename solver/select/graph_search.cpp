#include "solver/select/graph_search.hpp"

#include <algorithm>

#include "model/clock/copies.hpp"
#include "model/clock/power.hpp"
#include "model/resource/plan.hpp"

namespace napkin {
namespace {

KnobSet guards_of_edges(const Mapping& mapping) {
  KnobSet set = 0;
  for (const EdgeMapping& edge : mapping.edges) set |= knobs_of(edge.when);
  return set;
}

/// Knobs that edges have as tokens, at least 1, and as nothing else.
KnobSet token_knobs(const Mapping& mapping, const Space& space, KnobSet other) {
  KnobSet set = 0;
  for (const EdgeMapping& edge : mapping.edges) set |= knobs_of(edge.tokens);
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    const auto& domain = space.domains[at(k)];
    if (*std::min_element(domain.begin(), domain.end()) < 1) set &= ~knob_bit(k);
  }
  return set & ~other;
}

Rules without_lengths(Rules rules) {
  std::erase_if(rules.tile, [](const TileRule& rule) { return rule.lengths; });
  return rules;
}

/// The largest size that a knob gives the axis at any level; 1 where none does.
std::int64_t largest_tile(const Mapping& mapping, const Space& space, const std::string& axis) {
  const KnobSet knobs = knobs_of_axis(mapping, axis);
  std::int64_t most = 1;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    if ((knobs & knob_bit(k)) != 0)
      most = std::max(most, *std::max_element(space.domains[at(k)].begin(), space.domains[at(k)].end()));
  }
  return most;
}

/// Whether blocks or chunks are parts of the axis; else they hold it whole.
bool divides(const Mapping& mapping, const std::string& axis) {
  return std::any_of(mapping.levels.begin(), mapping.levels.end(), [&](const LevelMapping& level) {
    return std::count(level.group.begin(), level.group.end(), axis) +
               std::count(level.stream.begin(), level.stream.end(), axis) >
           0;
  });
}

}  // namespace

bool all_by_graph(const Question& question) {
  const auto& edges = question.mapping->edges;
  const bool always =
      std::any_of(edges.begin(), edges.end(), [](const EdgeMapping& edge) { return knobs_of(edge.when) == 0; });
  const Placer placer(*question.streamed, *question.mapping, *question.machine, question.problem);
  return always && has_event_graph(placer.place(space_of(question).tile(0)));
}

GraphSearch::GraphSearch(const Question& question, const Objective& objective)
    : question_(question),
      periods_(objective.periods),
      space_(space_of(question)),
      rules_(without_lengths(Rules(*question.streamed, *question.mapping, *question.machine, question.problem))),
      all_rules_(*question.streamed, *question.mapping, *question.machine, question.problem),
      placer_(*question.streamed, *question.mapping, *question.machine, question_.problem),
      nodes_(std::max(real(question.machine->compute_nodes()), 1.0)) {
  scratch_.emplace(*question_.mapping, placer_, space_);
  legality_.emplace(question_, space_, rules_, *scratch_);
  find_knobs();
}

bool GraphSearch::serves(const Question& question) const {
  const Problem &asked = question.problem, &had = question_.problem;
  if (question.streamed != question_.streamed || question.mapping != question_.mapping ||
      question.machine != question_.machine || asked.dtype != had.dtype || !(asked.mask == had.mask) ||
      asked.packing.sequences.empty() != had.packing.sequences.empty())
    return false;
  const Streamed& streamed = *question.streamed;
  for (const auto far : {comes_from_device, waits_for_device}) {
    if (far(*question.machine, streamed, asked) != far(*question.machine, streamed, had)) return false;
  }
  for (std::size_t a = 0; a < had.sizes.size(); ++a) {
    if (asked.sizes[a] == had.sizes[a]) continue;
    const std::string& axis = streamed.diagram.axes[a].name;
    if (!divides(*question.mapping, axis)) return false;
    const std::int64_t tile = largest_tile(*question.mapping, space_, axis);
    if (std::min(asked.sizes[a], had.sizes[a]) <= Count(tile)) return false;
  }
  const Space space = space_of(question);
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    const auto &own = space_.domains[at(k)], &other = space.domains[at(k)];
    if (own == other) continue;
    const bool fixed = (roles_.sizes & knob_bit(k)) != 0 && other.size() == 1 &&
                       std::find(own.begin(), own.end(), other.front()) != own.end();
    if (!fixed || !std::count(question.fixed.begin(), question.fixed.end(), std::pair(k, other.front()))) return false;
  }
  return true;
}

void GraphSearch::turn_to(const Question& question) {
  question_.problem = question.problem;
  question_.fixed = question.fixed;
  placer_.rebind(question_.problem);
  all_rules_ = Rules(*question_.streamed, *question_.mapping, *question_.machine, question_.problem);
  for (Timed& each : timed_) each.time.reset();
}

void GraphSearch::find_knobs() {
  roles_ = roles_of(question_, Objective{}, space_);
  alternatives_.emplace(Objective{}, space_, rules_, *legality_, *scratch_, roles_.switches);
  const KnobSet guards = guards_of_edges(*question_.mapping);
  tokens_ = token_knobs(*question_.mapping, space_, roles_.sizes | roles_.switches | guards);
  work_ = (roles_.switches | guards | knobs_of_edges(*question_.mapping)) & ~roles_.sizes & ~tokens_;
  size_steps_ = steps_of(rules_, 0, knobs_in(roles_.sizes, space_));
  work_steps_ = steps_of(rules_, roles_.sizes, knobs_in(work_, space_));
  token_steps_ = steps_of(rules_, roles_.sizes | work_, knobs_in(tokens_, space_));
  const KnobSet known = roles_.sizes | work_ | tokens_;
  last_steps_ = steps_of(rules_, known, knobs_in(~known, space_));
}

void GraphSearch::push(Entry entry) {
  if (entry.bound > enough_) return;
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end());
}

void GraphSearch::set_rank(std::int64_t rank, KnobSet knobs) {
  for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
    if ((knobs & knob_bit(k)) == 0) continue;
    const auto values = static_cast<std::int64_t>(space_.domains[at(k)].size());
    legality_->set(point_, k, static_cast<std::size_t>(rank / space_.strides[at(k)] % values));
  }
}

std::int64_t GraphSearch::part_of(std::int64_t rank, KnobSet knobs) const {
  std::int64_t part = 0;
  for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
    if ((knobs & knob_bit(k)) == 0) continue;
    const auto values = static_cast<std::int64_t>(space_.domains[at(k)].size());
    part += rank / space_.strides[at(k)] % values * space_.strides[at(k)];
  }
  return part;
}

const PlacedDiagram& GraphSearch::place(std::int64_t rank) {
  set_rank(rank, ~KnobSet{0});
  return scratch_->place(point_).placed;
}

GraphSearch::Timed& GraphSearch::timed(const PlacedDiagram& placed) {
  for (Timed& known : timed_) {
    if (known.variant == placed.variant) return known;
  }
  timed_.push_back({placed.variant, GraphSteps(placed, periods_), {}});
  return timed_.back();
}

bool GraphSearch::is_asked_for(const Sizes& sizes) const {
  return std::all_of(question_.fixed.begin(), question_.fixed.end(), [&](const auto& fixed) {
    const auto& domain = space_.domains[at(fixed.first)];
    if ((roles_.sizes & knob_bit(fixed.first)) == 0) return true;
    const std::int64_t index = sizes.rank / space_.strides[at(fixed.first)] % static_cast<std::int64_t>(domain.size());
    return domain[static_cast<std::size_t>(index)] == fixed.second;
  });
}

/// Whether the point, up to that step, breaks no rule of the kind.
bool GraphSearch::may_be_legal(const napkin::Step& step) {
  return step.tile_rules_hold(point_.tile) &&
         std::all_of(step.plan_rules.begin(), step.plan_rules.end(),
                     [&](std::size_t rule) { return legality_->plan_rule_holds(rule, point_); });
}

/// Whether the point breaks none of the rules that read lengths and no other knobs.
bool GraphSearch::lengths_hold(KnobSet known) const {
  return std::all_of(all_rules_.tile.begin(), all_rules_.tile.end(), [&](const TileRule& rule) {
    return !rule.lengths || (rule.knobs & ~known) != 0 || !rule.check(point_.tile);
  });
}

void GraphSearch::expand(const Entry& entry) {
  switch (entry.step) {
    case Step::sizes: return expand_sizes(entry);
    case Step::works: return expand_works(entry);
    case Step::work: return expand_work(entry);
    case Step::tokens: return expand_tokens(entry);
    case Step::cycle: return raise(entry);
    case Step::block: return time(entry);
    case Step::tile: return;
  }
}

Ranked GraphSearch::full(const Entry& tile) {
  Work& work = work_of(tile);
  Tokens& tokens = work.tokens[at(tile.tokens)];
  if (!tokens.explained) {
    tokens.explained = std::make_unique<Period>(*tokens.state.period);
    set_rank(tile.rank, ~KnobSet{0});
    set_tokens(*work.graph, point_.tile);
    explain(*work.graph, *tokens.explained);
  }
  const Shape& shape = shape_of(sizes_[at(tile.sizes)], work);
  const PlacedDiagram& placed = place(tile.rank);
  KnownGraph known = known_of(tile, placed);
  const KnownGraph explained{known.graph, *tokens.explained, &shape.launch, known.launched, known.energy};
  return {point_.tile, known_timer_of(placed).predict(placed, plan(placed), explained), 0};
}

bool GraphSearch::Ranking::has(std::int64_t sizes, double bound) const {
  return std::any_of(best.begin(), best.end(),
                     [&](const Found& found) { return found.sizes == sizes && found.tile.bound < bound; });
}

void GraphSearch::Ranking::take(const Entry& tile, std::int64_t sizes) {
  if (!second && !best.empty() && tile.bound != best.front().tile.bound) second = tile;
  const auto same = each == Each::tile ? best.end() : std::find_if(best.begin(), best.end(), [&](const Found& found) {
    return found.sizes == sizes;
  });
  if (same != best.end()) {
    same->ties += same->tile.bound == tile.bound ? 1 : 0;
  } else if (best.size() < most) {
    best.push_back({tile, sizes, 0});
  }
}

/// Tiles come off the queue in their order; in a quick search, whose bounds may be too high, nearly: it looks 2 %
/// beyond the tiles that it has, 5 % for others of the best one's sizes.
GraphSearch::Ranking GraphSearch::search(Ranking ranking) {
  const double over = quick_ ? 1.02 : 1, over_best = quick_ ? 1.05 : 1;
  const Ranking none = ranking;
  std::vector<Entry> tiles;
  while (!heap_.empty() && !(ranking.full() && heap_.front().bound > over * ranking.best.back().tile.bound)) {
    const Entry entry = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    const std::int64_t sizes = sizes_[at(entry.sizes)].rank;
    if (quick_ && ranking.has(sizes, entry.bound / over) &&
        (sizes != ranking.best.front().sizes || ranking.has(sizes, entry.bound / over_best)))
      continue;
    if (entry.step != Step::tile) {
      expand(entry);
      continue;
    }
    tiles.push_back(entry);
    ranking.take(entry, sizes);
  }
  if (!quick_) return ranking;
  std::sort(tiles.begin(), tiles.end(), [](const Entry& a, const Entry& b) { return b < a; });
  ranking = none;
  for (const Entry& tile : tiles) ranking.take(tile, sizes_[at(tile.sizes)].rank);
  return ranking;
}

Selection GraphSearch::run(int top, Each each, bool quick, bool runner_up) {
  Selection out;
  out.candidates = space_of(question_).candidates;
  if (!question_is_legal(all_rules_)) return out;
  quick_ = quick;
  ++questions_;
  enough_ = infinity;
  for (Alike& alike : alikes_) alike.ends = 0;
  heap_.clear();
  point_ = legality_->origin();
  if (sizes_.empty()) find_sizes();
  if (sizes_.empty()) return out;
  const PlacedDiagram& any = place(sizes_.front().rank);
  device_bytes_ = device_bytes(any);
  const double cells = cells_of_question(any);
  if (quick || each != Each::tile)
    latest_.clear();
  else
    time_latest(static_cast<std::size_t>(std::max(top, 1)));
  for (int s = 0; s < static_cast<int>(sizes_.size()); ++s) {
    Sizes& sizes = sizes_[at(s)];
    if (!is_asked_for(sizes)) continue;
    sizes.total = cells / sizes.cells;
    sizes.busiest = sizes.total / nodes_;
    if (!good_enough(sizes.least.clocks * sizes.busiest, sizes.least.energy * sizes.total)) continue;
    const double bound = by_work(sizes, sizes.least.clocks, sizes.least.energy);
    if (bound <= enough_) heap_.push_back({bound, sizes.rank, Step::sizes, s, 0, 0});
  }
  std::make_heap(heap_.begin(), heap_.end());
  const Ranking ranking = search({each, static_cast<std::size_t>(std::max(top, 1)), {}, {}, runner_up});
  latest_.clear();
  for (const Ranking::Found& found : ranking.best) latest_.push_back(found.tile);
  const auto is_second = [&](const Entry& tile) { return tile.rank == ranking.second->rank; };
  if (ranking.second && std::none_of(latest_.begin(), latest_.end(), is_second)) latest_.push_back(*ranking.second);
  for (const Ranking::Found& found : ranking.best) {
    if (top < 1) break;
    out.ranked.push_back(full(found.tile));
    out.ranked.back().ties = Count(found.ties);
  }
  if (ranking.second && runner_up) out.runner_up = full(*ranking.second);
  return out;
}

GraphSearch* GraphSearches::search_for(const Question& question, const Objective& objective) {
  constexpr std::size_t most_searches = 16;
  const auto known =
      std::find_if(searches_.begin(), searches_.end(), [&](const auto& search) { return search->serves(question); });
  if (known == searches_.end()) {
    if (!all_by_graph(question)) return nullptr;
    searches_.push_front(std::make_unique<GraphSearch>(question, objective));
    if (searches_.size() > most_searches) searches_.pop_back();
  } else {
    searches_.splice(searches_.begin(), searches_, known);
    searches_.front()->turn_to(question);
  }
  return searches_.front().get();
}

}  // namespace napkin
