#include "solver/select/graph_search.hpp"

#include <algorithm>
#include <limits>

namespace napkin {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

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

}  // namespace

GraphSearch::GraphSearch(const Question& question, const Objective& objective)
    : question_(question),
      objective_(objective),
      space_(space_of(question)),
      rules_(*question.streamed, *question.mapping, *question.machine, question.problem),
      placer_(*question.streamed, *question.mapping, *question.machine, question_.problem) {
  scratch_.emplace(*question_.mapping, placer_, space_);
  legality_.emplace(question_, space_, rules_, *scratch_);
  find_knobs();
}

void GraphSearch::find_knobs() {
  roles_ = roles_of(question_, Objective{}, space_);
  alternatives_.emplace(Objective{}, space_, rules_, *legality_, *scratch_, roles_.switches);
  const KnobSet guards = guards_of_edges(*question_.mapping);
  const KnobSet work = (roles_.switches | guards | knobs_of_edges(*question_.mapping)) & ~roles_.sizes;
  tokens_ = token_knobs(*question_.mapping, space_, roles_.sizes | roles_.switches | guards);
  size_steps_ = steps_of(rules_, 0, knobs_in(roles_.sizes, space_));
  work_steps_ = steps_of(rules_, roles_.sizes, knobs_in(work & ~tokens_, space_));
  token_steps_ = steps_of(rules_, roles_.sizes | (work & ~tokens_), knobs_in(tokens_, space_));
  last_steps_ = steps_of(rules_, roles_.sizes | work, knobs_in(~(roles_.sizes | work), space_));
}

void GraphSearch::push(Entry entry) {
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

const GraphSearch::Timed& GraphSearch::timed(const PlacedDiagram& placed) {
  for (const Timed& known : timed_) {
    if (known.variant == placed.variant) return known;
  }
  timed_.push_back({placed.variant, objective_.time(placed), std::nullopt});
  if (has_event_graph(placed)) timed_.back().steps.emplace(placed, objective_.periods);
  return timed_.back();
}

/// Whether the point, up to that step, breaks no rule.
bool GraphSearch::may_be_legal(const napkin::Step& step) {
  return step.tile_rules_hold(point_.tile) &&
         std::all_of(step.plan_rules.begin(), step.plan_rules.end(),
                     [&](std::size_t rule) { return legality_->plan_rule_holds(rule, point_); });
}

/// Calls take(rank) for all values of the steps' knobs, from the point on, that break none of their rules.
template <class Take>
void GraphSearch::each_legal(const std::vector<napkin::Step>& steps, std::size_t depth, std::int64_t rank,
                             const Take& take) {
  if (depth == steps.size()) return take(rank);
  const napkin::Step& step = steps[depth];
  for (std::size_t i = 0; i < space_.domains[at(step.knob)].size(); ++i) {
    legality_->set(point_, step.knob, i);
    if (may_be_legal(step))
      each_legal(steps, depth + 1, rank + static_cast<std::int64_t>(i) * space_.strides[at(step.knob)], take);
  }
  legality_->set(point_, step.knob, 0);
}

/// Of the point's way to work, whatever its buffers. The first clock's times are never longer with more blocks a node.
double GraphSearch::pipe_bound() {
  constexpr int more_than_fit = 1 << 20;
  const PlacedDiagram& placed = scratch_->place(point_).placed;
  const Timed& timer = timed(placed);
  return (timer.steps ? timer.steps->by_pipe(placed) : timer.time(placed, more_than_fit)).value;
}

void GraphSearch::expand_sizes(const Entry& entry) {
  set_rank(entry.rank, ~KnobSet{0});
  std::vector<double> known(alternatives_->size(), -1.0);  // ways to work differ in more than what loads the pipes
  each_legal(work_steps_, 0, entry.rank, [&](std::int64_t rank) {
    double& bound = known[alternatives_->combination_of(point_)];
    if (bound < 0) bound = pipe_bound();
    push({std::max(bound, entry.bound), rank, Step::work});
  });
}

/// The graph with the most of each buffer bounds those with fewer.
void GraphSearch::expand_work(const Entry& entry) {
  set_rank(entry.rank, ~KnobSet{0});
  Graph own;
  std::vector<std::size_t> most(space_.domains.size(), 0);
  each_legal(token_steps_, 0, 0, [&](std::int64_t rank) {
    own.tokens.push_back(rank);
    for (const napkin::Step& step : token_steps_) {
      const auto& domain = space_.domains[at(step.knob)];
      std::size_t& index = most[at(step.knob)];
      const std::size_t here = point_.index[at(step.knob)];
      if (own.tokens.size() == 1 || domain[here] > domain[index]) index = here;
    }
  });
  if (own.tokens.empty()) return;
  if (!timed(scratch_->place(point_).placed).steps) return time_all(entry);
  for (const napkin::Step& step : token_steps_) {
    const auto& domain = space_.domains[at(step.knob)];
    legality_->set(point_, step.knob, static_cast<std::size_t>(std::min_element(domain.begin(), domain.end()) - domain.begin()));
  }
  const Count blocks = occupancy(scratch_->place(point_).placed).blocks;
  for (const napkin::Step& step : token_steps_) legality_->set(point_, step.knob, most[at(step.knob)]);
  const PlacedDiagram& placed = scratch_->place(point_).placed;
  own.graph = event_graph(placed);
  for (const napkin::Step& step : token_steps_)
    own.most += static_cast<std::int64_t>(most[at(step.knob)]) * space_.strides[at(step.knob)];
  const double bound = timed(placed).steps->by_cycle(placed, own.graph, blocks).value;
  graphs_.push_back(std::move(own));
  const Step next = quick_ ? Step::most_tokens : Step::tokens;
  push({std::max(bound, entry.bound), entry.rank, next, static_cast<int>(graphs_.size()) - 1});
}

void GraphSearch::expect_of_most_tokens(const Entry& entry) {
  const Graph& own = graphs_[at(entry.graph)];  // as expand_work has left it
  const PlacedDiagram& placed = place(entry.rank + own.most);
  const double expected = timed(placed).steps->expected(placed, own.graph, occupancy(placed).blocks).value;
  push({std::max(expected, entry.bound), entry.rank, Step::tokens, entry.graph});
}

void GraphSearch::expand_tokens(const Entry& entry) {
  Graph& own = graphs_[at(entry.graph)];
  for (const std::int64_t tokens : own.tokens) {
    const PlacedDiagram& placed = place(entry.rank + tokens);
    set_tokens(own.graph, placed.tile);
    const double bound = timed(placed).steps->by_cycle(placed, own.graph, occupancy(placed).blocks).value;
    push({std::max(bound, entry.bound), entry.rank + tokens, Step::cycle, entry.graph});
  }
}

/// From the cycle of waits to an iteration.
void GraphSearch::raise(const Entry& entry) {
  Graph& own = graphs_[at(entry.graph)];
  const PlacedDiagram& placed = place(entry.rank);
  set_tokens(own.graph, placed.tile);
  const GraphSteps& steps = *timed(placed).steps;
  const Count blocks = occupancy(placed).blocks;
  const Seconds bound = quick_ ? steps.expected(placed, own.graph, blocks) : steps.by_iteration(placed, own.graph, blocks);
  push({std::max(bound.value, entry.bound), entry.rank, Step::iteration, entry.graph});
}

/// From an iteration to whole blocks, of every tile that has the graph.
void GraphSearch::expand_block(const Entry& entry) {
  Graph& own = graphs_[at(entry.graph)];
  set_rank(entry.rank, ~KnobSet{0});
  set_tokens(own.graph, point_.tile);
  each_legal(last_steps_, 0, entry.rank, [&](std::int64_t rank) {
    const PlacedDiagram& placed = scratch_->place(point_).placed;
    const double bound = timed(placed).steps->by_block(placed, own.graph, occupancy(placed).blocks).value;
    push({std::max(bound, entry.bound), rank, Step::block, entry.graph});
  });
}

/// Tiles without an event graph.
void GraphSearch::time_all(const Entry& entry) {
  set_rank(entry.rank, ~KnobSet{0});
  each_legal(token_steps_, 0, entry.rank, [&](std::int64_t with_tokens) {
    each_legal(last_steps_, 0, with_tokens, [&](std::int64_t rank) {
      const PlacedDiagram& placed = scratch_->place(point_).placed;
      push({timed(placed).time(placed, occupancy(placed).blocks).value, rank, Step::tile});
    });
  });
}

void GraphSearch::expand(const Entry& entry) {
  switch (entry.step) {
    case Step::sizes: return expand_sizes(entry);
    case Step::work: return expand_work(entry);
    case Step::most_tokens: return expect_of_most_tokens(entry);
    case Step::tokens: return expand_tokens(entry);
    case Step::cycle: return raise(entry);
    case Step::iteration: return expand_block(entry);
    case Step::block: {
      const PlacedDiagram& placed = place(entry.rank);
      return push({timed(placed).time(placed, occupancy(placed).blocks).value, entry.rank, Step::tile});
    }
    case Step::tile: return;
  }
}

void GraphSearch::push_sizes(std::size_t depth, std::int64_t rank) {
  each_legal(size_steps_, depth, rank, [&](std::int64_t sizes) {
    double bound = std::numeric_limits<double>::infinity();
    for (const Alternatives::Class& one : alternatives_->classes()) {
      if (!one.least) continue;
      alternatives_->set(point_, one.first);
      bound = std::min(bound, pipe_bound());
    }
    alternatives_->set(point_, 0);
    heap_.push_back({bound, sizes, Step::sizes});
  });
  std::make_heap(heap_.begin(), heap_.end());
}

Ranked GraphSearch::full(std::int64_t rank) {
  const PlacedDiagram& placed = place(rank);
  return {point_.tile, objective_.predict(placed, plan(placed)), 0};
}

bool GraphSearch::Ranking::has(std::int64_t sizes) const {
  return std::any_of(best.begin(), best.end(), [&](const Found& found) { return found.sizes == sizes; });
}

void GraphSearch::Ranking::take(const Entry& tile, std::int64_t sizes) {
  if (!second && !best.empty() && tile.bound != best.front().time) second = tile.rank;
  const auto same = each == Each::tile ? best.end() : std::find_if(best.begin(), best.end(), [&](const Found& found) {
    return found.sizes == sizes;
  });
  if (same != best.end()) {
    same->ties += same->time == tile.bound ? 1 : 0;
  } else if (best.size() < most) {
    best.push_back({tile.bound, tile.rank, sizes, 0});
  }
}

/// Tiles come off the queue in their order; in a quick search, whose bounds may be too high, nearly.
GraphSearch::Ranking GraphSearch::search(Ranking ranking) {
  const Ranking none = ranking;
  std::vector<Entry> tiles;
  while (!heap_.empty() && !(ranking.full() && heap_.front().bound > ranking.best.back().time)) {
    const Entry entry = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    const std::int64_t sizes = part_of(entry.rank, roles_.sizes);
    if (quick_ && ranking.has(sizes)) continue;  // expected to be no faster than what its sizes have
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
  for (const Entry& tile : tiles) ranking.take(tile, part_of(tile.rank, roles_.sizes));
  return ranking;
}

Selection GraphSearch::run(int top, Each each, bool quick) {
  Selection out;
  out.candidates = space_.candidates;
  if (!question_is_legal(rules_)) return out;
  quick_ = quick;
  point_ = legality_->origin();
  push_sizes(0, 0);
  const Ranking ranking = search({each, static_cast<std::size_t>(std::max(top, 1)), {}, {}});
  for (const Ranking::Found& found : ranking.best) {
    if (top < 1) break;
    out.ranked.push_back(full(found.rank));
    out.ranked.back().ties = Count(found.ties);
  }
  if (ranking.second) out.runner_up = full(*ranking.second);
  return out;
}

}  // namespace napkin
