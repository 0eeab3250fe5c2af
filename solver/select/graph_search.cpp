#include "solver/select/graph_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "model/clock/load.hpp"
#include "model/clock/power.hpp"
#include "model/resource/plan.hpp"

namespace napkin {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }
double real(Count count) { return static_cast<double>(count); }

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
    if ((knobs & knob_bit(k)) != 0) most = std::max(most, *std::max_element(space.domains[at(k)].begin(), space.domains[at(k)].end()));
  }
  return most;
}

/// Keeps the least factor met; 0: none.
void learn(double& factor, double met) { factor = factor > 0 ? std::min(factor, met) : met; }

}  // namespace

bool all_by_graph(const Question& question) {
  const auto& edges = question.mapping->edges;
  const bool always = std::any_of(edges.begin(), edges.end(), [](const EdgeMapping& edge) { return knobs_of(edge.when) == 0; });
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
  if (question.streamed != question_.streamed || question.mapping != question_.mapping || question.machine != question_.machine ||
      asked.dtype != had.dtype || !(asked.mask == had.mask))
    return false;
  const Streamed& streamed = *question.streamed;
  for (std::size_t a = 0; a < had.sizes.size(); ++a) {
    if (asked.sizes[a] == had.sizes[a]) continue;
    const auto axis = static_cast<AxisId>(a);
    if (!streamed.grouped(axis) && streamed.stream != axis) return false;
    const std::int64_t tile = largest_tile(*question.mapping, space_, streamed.diagram.axes[a].name);
    if (std::min(asked.sizes[a], had.sizes[a]) <= Count(tile)) return false;
  }
  const Space space = space_of(question);
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    const auto &own = space_.domains[at(k)], &other = space.domains[at(k)];
    if (own == other) continue;
    const bool fixed = (roles_.sizes & knob_bit(k)) != 0 && other.size() == 1 && std::find(own.begin(), own.end(), other.front()) != own.end();
    if (!fixed || !std::count(question.fixed.begin(), question.fixed.end(), std::pair(k, other.front()))) return false;
  }
  return true;
}

void GraphSearch::turn_to(const Question& question) {
  question_.problem = question.problem;
  question_.fixed = question.fixed;
  placer_.rebind(question_.problem);
  all_rules_ = Rules(*question_.streamed, *question_.mapping, *question_.machine, question_.problem);
  for (Timed& each : timed_) each.time = nullptr;
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
  timed_.push_back({placed.variant, GraphSteps(placed, periods_), nullptr});
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

IterationWork GraphSearch::work_here() {
  const PlacedDiagram& placed = scratch_->place(point_).placed;
  return timed(placed).steps.work(placed);
}

void GraphSearch::find_sizes() {
  each_legal(size_steps_, 0, 0, [&](std::int64_t rank) {
    Sizes sizes;
    sizes.rank = rank;
    sizes.least = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    for (const Alternatives::Class& one : alternatives_->classes()) {
      if (!one.least) continue;
      alternatives_->set(point_, one.first);
      const IterationWork work = work_here();
      sizes.least.clocks = std::min(sizes.least.clocks, work.clocks);
      sizes.least.energy = std::min(sizes.least.energy, work.energy);
    }
    alternatives_->set(point_, 0);
    sizes.cells = cells_of_iteration(scratch_->place(point_).placed);
    sizes_.push_back(std::move(sizes));
  });
}

double GraphSearch::by_work(const Sizes& sizes, double clocks, double energy) const {
  return timed_.front().steps.by_work({clocks, energy}, sizes.total, sizes.busiest, device_bytes_).value;
}

/// Clocks an iteration of a block of mean length, at least; of a quick search: as expected. Blocks that share a node hide
/// one another's waits.
double GraphSearch::clocks_of(const Sizes& sizes, const GraphState& state, Count blocks) const {
  double clocks = state.least;
  if (quick_ && state.steady != nullptr)
    clocks = expected_clocks(state);
  else if (state.steady != nullptr)
    clocks = state.block(sizes.mean) / sizes.mean;
  return blocks > Count(1) ? std::max(clocks / real(blocks), std::min(clocks, state.pipe)) : clocks;
}

double GraphSearch::clocks_of(const Sizes& sizes, const Work& work) const {
  const Alike& alike = alikes_[work.alike];
  const double waits = quick_ ? std::max(alike.waits, 1.0) : 1, contention = quick_ ? std::max(alike.contention, 1.0) : 1;
  if (!work.graph) return std::max(work.work.clocks, sizes.least.clocks) * waits * contention;
  if (quick_) {
    const double clocks = work.most.state.steady != nullptr ? expected_clocks(work.most.state) : work.most.state.least * contention;
    const Count blocks = work.most.blocks;
    return blocks > Count(1) ? std::max(clocks / real(blocks), std::min(clocks, work.most.state.pipe)) : clocks;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Tokens& tokens : work.tokens) least = std::min(least, clocks_of(sizes, tokens.state, tokens.own ? tokens.blocks : work.most.blocks));
  return least;
}

/// Of the question at hand: what the sizes' blocks run, and the works in the order of their clocks.
void GraphSearch::expand_sizes(const Entry& entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  const PlacedDiagram& placed = place(sizes.rank);
  const auto [found, first] = sizes.by_cut.try_emplace(cut_chunks(placed));
  if (first) find_works(sizes, found->second);
  sizes.works = &found->second;
  const PlacedDiagram& here = place(sizes.rank);
  const Schedule who = schedule(here);
  sizes.total = who.total_iterations;
  sizes.mean = who.total_iterations / std::max(who.total_blocks, 1.0);
  sizes.busiest = std::max(sizes.total / nodes_, sizes.mean);
  const bool alike = question_.problem.mask.kind == Mask::Kind::none && who.nodes == nodes_;
  if (alike && who.iterations >= who.blocks * sizes.mean) sizes.busiest = std::max(sizes.busiest, who.blocks * sizes.mean);
  std::vector<double> clocks;
  for (const Work& work : *sizes.works) clocks.push_back(clocks_of(sizes, work));
  sizes.order.resize(sizes.works->size());
  std::iota(sizes.order.begin(), sizes.order.end(), std::size_t{0});
  std::stable_sort(sizes.order.begin(), sizes.order.end(), [&](std::size_t a, std::size_t b) { return clocks[a] < clocks[b]; });
  push({entry.bound, entry.rank, Step::works, entry.sizes, 0, 0});
}

void GraphSearch::find_works(const Sizes& sizes, std::vector<Work>& works) {
  std::vector<std::optional<IterationWork>> known(alternatives_->size());  // ways to work differ in more than what loads the pipes
  each_legal(work_steps_, 0, sizes.rank, [&](std::int64_t rank) {
    std::optional<IterationWork>& work = known[alternatives_->combination_of(point_)];
    if (!work) work = work_here();
    Work own;
    own.rank = rank;
    own.work = *work;
    own.alike = alike_of(own, scratch_->place(point_).placed);
    works.push_back(std::move(own));
  });
}

std::size_t GraphSearch::alike_of(const Work& work, const PlacedDiagram& placed) {
  Alike own;
  own.way = part_of(work.rank, work_);
  for (const PlacedAgent& agent : placed.agents) own.instances += agent.instances;
  const auto found = std::find_if(alikes_.begin(), alikes_.end(), [&](const Alike& a) { return a.way == own.way && a.instances == own.instances; });
  if (found != alikes_.end()) return static_cast<std::size_t>(found - alikes_.begin());
  alikes_.push_back(own);
  return alikes_.size() - 1;
}

/// What the ends of blocks add, as a quick search expects: most of the least that was met.
double GraphSearch::ends_of(const Work& work) const {
  constexpr double most = 0.8;
  return quick_ ? 1 + most * std::max(alikes_[work.alike].ends - 1, 0.0) : 1;
}

/// The next of the works, and a bound of those behind it.
void GraphSearch::expand_works(const Entry& entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  if (at(entry.work) >= sizes.order.size()) return;
  const auto index = static_cast<int>(sizes.order[at(entry.work)]);
  Work& work = (*sizes.works)[at(index)];
  const double here = by_work(sizes, clocks_of(sizes, work), sizes.least.energy) * ends_of(work);
  if (here > entry.bound) return push({here, entry.rank, Step::works, entry.sizes, entry.work, 0});
  push({entry.bound, entry.rank, Step::works, entry.sizes, entry.work + 1, 0});
  set_rank(work.rank, ~KnobSet{0});
  if (!lengths_hold(roles_.sizes | work_)) return;
  if (!work.graph) find_tokens(work);
  if (work.tokens.empty()) return;
  const double bound = quick_ ? by_work(sizes, clocks_of(sizes, work), sizes.least.energy) * ends_of(work) : bound_of(place(work.most.rank), work, work.most);
  push({std::max(bound, entry.bound), work.rank, Step::work, entry.sizes, index, 0});
}

/// The graph with the most of each buffer bounds those with fewer.
void GraphSearch::find_tokens(Work& work) {
  std::vector<std::size_t> most(space_.domains.size(), 0), least(space_.domains.size(), 0);
  each_legal(token_steps_, 0, work.rank, [&](std::int64_t rank) {
    const bool first = work.tokens.empty();
    Tokens own;
    own.rank = rank;
    work.tokens.push_back(std::move(own));
    for (const napkin::Step& step : token_steps_) {
      const auto& domain = space_.domains[at(step.knob)];
      const std::size_t here = point_.index[at(step.knob)];
      if (first || domain[here] > domain[most[at(step.knob)]]) most[at(step.knob)] = here;
      if (first || domain[here] < domain[least[at(step.knob)]]) least[at(step.knob)] = here;
    }
  });
  for (const napkin::Step& step : token_steps_) legality_->set(point_, step.knob, least[at(step.knob)]);
  work.most.blocks = occupancy(scratch_->place(point_).placed).blocks;
  work.most.rank = work.rank;
  for (const napkin::Step& step : token_steps_) {
    legality_->set(point_, step.knob, most[at(step.knob)]);
    work.most.rank += static_cast<std::int64_t>(most[at(step.knob)]) * space_.strides[at(step.knob)];
  }
  work.graph = event_graph(scratch_->place(point_).placed);
  work.most.state = GraphSteps::state_of(*work.graph);
  learn(alikes_[work.alike].waits, work.most.state.least / work.work.clocks);
  for (Tokens& tokens : work.tokens) tokens.state = work.most.state;
}

double GraphSearch::bound_of(const PlacedDiagram& placed, Work& work, const Tokens& tokens) {
  const GraphSteps& steps = timed(placed).steps;
  set_tokens(*work.graph, placed.tile);
  const bool expected = quick_ && tokens.state.steady != nullptr;
  return (expected ? steps.expected(placed, *work.graph, tokens.state, tokens.blocks) : steps.bound(placed, *work.graph, tokens.state, tokens.blocks)).value;
}

/// Orders the counts of buffers by their clocks. A quick search first finds what is expected of the most.
void GraphSearch::expand_work(const Entry& entry) {
  const Sizes& sizes = sizes_[at(entry.sizes)];
  Work& work = work_of(entry);
  if (quick_ && work.most.state.steady == nullptr) {
    const double now = by_work(sizes, clocks_of(sizes, work), sizes.least.energy) * ends_of(work);  // with what has been met since
    if (now > entry.bound) return push({now, entry.rank, Step::work, entry.sizes, entry.work, 0});
    const PlacedDiagram& placed = place(work.most.rank);
    set_tokens(*work.graph, placed.tile);
    timed(placed).steps.raise(*work.graph, work.most.state);
    learn(alikes_[work.alike].contention, expected_clocks(work.most.state) / work.most.state.least);
    return push({std::max(bound_of(placed, work, work.most) * ends_of(work), entry.bound), entry.rank, Step::work, entry.sizes, entry.work, 0});
  }
  std::vector<double> clocks;
  for (const Tokens& tokens : work.tokens) clocks.push_back(clocks_of(sizes, tokens.state, tokens.own ? tokens.blocks : work.most.blocks));
  work.order.resize(work.tokens.size());
  std::iota(work.order.begin(), work.order.end(), std::size_t{0});
  std::stable_sort(work.order.begin(), work.order.end(), [&](std::size_t a, std::size_t b) { return clocks[a] < clocks[b]; });
  push({entry.bound, entry.rank, Step::tokens, entry.sizes, entry.work, 0});
}

/// The next of the counts of buffers, and a bound of those behind it.
void GraphSearch::expand_tokens(const Entry& entry) {
  const Sizes& sizes = sizes_[at(entry.sizes)];
  Work& work = work_of(entry);
  if (at(entry.tokens) >= work.order.size()) return;
  const auto index = static_cast<int>(work.order[at(entry.tokens)]);
  Tokens& tokens = work.tokens[at(index)];
  const double here = by_work(sizes, clocks_of(sizes, tokens.state, tokens.own ? tokens.blocks : work.most.blocks), sizes.least.energy);
  if (here > entry.bound) return push({here, entry.rank, Step::tokens, entry.sizes, entry.work, entry.tokens});
  push({entry.bound, entry.rank, Step::tokens, entry.sizes, entry.work, entry.tokens + 1});
  const PlacedDiagram& placed = place(tokens.rank);
  if (!tokens.own) {
    tokens.blocks = occupancy(placed).blocks;
    set_tokens(*work.graph, placed.tile);
    if (tokens.rank != work.most.rank)
      tokens.state = GraphSteps::state_of(*work.graph);
    else
      tokens.state = work.most.state;
    tokens.own = true;
  }
  push({std::max(bound_of(placed, work, tokens) * ends_of(work), entry.bound), tokens.rank, Step::cycle, entry.sizes, entry.work, index});
}

/// From the cycle of waits to an iteration, and to whole blocks: then of every tile that has the graph.
void GraphSearch::raise(const Entry& entry) {
  Work& work = work_of(entry);
  Tokens& tokens = work.tokens[at(entry.tokens)];
  double expected = 0;
  if (tokens.state.period == nullptr) {
    const PlacedDiagram& placed = place(tokens.rank);
    set_tokens(*work.graph, placed.tile);
    const bool first = tokens.state.steady == nullptr;
    const double before = bound_of(placed, work, tokens), now = before * ends_of(work);
    if (now > entry.bound) return push({now, entry.rank, Step::cycle, entry.sizes, entry.work, entry.tokens});
    timed(placed).steps.raise(*work.graph, tokens.state);
    if (first) return push({std::max(bound_of(placed, work, tokens) * ends_of(work), entry.bound), entry.rank, Step::cycle, entry.sizes, entry.work, entry.tokens});
    expected = before;
  }
  set_rank(tokens.rank, ~KnobSet{0});
  each_legal(last_steps_, 0, tokens.rank, [&](std::int64_t rank) {
    if (!lengths_hold(~KnobSet{0})) return;
    const PlacedDiagram& placed = scratch_->place(point_).placed;
    set_tokens(*work.graph, placed.tile);
    const double bound = timed(placed).steps.bound(placed, *work.graph, tokens.state, occupancy(placed).blocks).value;
    if (expected > 0) learn(alikes_[work.alike].ends, bound / expected);
    push({std::max(bound, entry.bound), rank, Step::block, entry.sizes, entry.work, entry.tokens});
  });
}

void GraphSearch::time(const Entry& entry) {
  Work& work = work_of(entry);
  const PlacedDiagram& placed = place(entry.rank);
  set_tokens(*work.graph, placed.tile);
  Timed& own = timed(placed);
  if (!own.time) own.time = known_timer(placed);
  Entry tile = entry;
  tile.step = Step::tile;
  tile.bound = own.time(placed, occupancy(placed).blocks, {*work.graph, *work.tokens[at(entry.tokens)].state.period}).value;
  push(tile);
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
  const PlacedDiagram& placed = place(tile.rank);
  set_tokens(*work.graph, placed.tile);
  if (!tokens.explained) {
    tokens.explained = std::make_unique<Period>(*tokens.state.period);
    explain(*work.graph, *tokens.explained);
  }
  return {point_.tile, predict(placed, plan(placed), KnownGraph{*work.graph, *tokens.explained}), 0};
}

bool GraphSearch::Ranking::has(std::int64_t sizes) const {
  return std::any_of(best.begin(), best.end(), [&](const Found& found) { return found.sizes == sizes; });
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

/// Tiles come off the queue in their order; in a quick search, whose bounds may be too high, nearly.
GraphSearch::Ranking GraphSearch::search(Ranking ranking) {
  const Ranking none = ranking;
  std::vector<Entry> tiles;
  while (!heap_.empty() && !(ranking.full() && heap_.front().bound > ranking.best.back().tile.bound)) {
    const Entry entry = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    const std::int64_t sizes = sizes_[at(entry.sizes)].rank;
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
  for (const Entry& tile : tiles) ranking.take(tile, sizes_[at(tile.sizes)].rank);
  return ranking;
}

Selection GraphSearch::run(int top, Each each, bool quick) {
  Selection out;
  out.candidates = space_of(question_).candidates;
  if (!question_is_legal(all_rules_)) return out;
  quick_ = quick;
  for (Alike& alike : alikes_) alike.ends = 0;
  heap_.clear();
  point_ = legality_->origin();
  if (sizes_.empty()) find_sizes();
  if (sizes_.empty()) return out;
  const PlacedDiagram& any = place(sizes_.front().rank);
  device_bytes_ = device_bytes(any);
  const double cells = cells_of_question(any);
  for (int s = 0; s < static_cast<int>(sizes_.size()); ++s) {
    Sizes& sizes = sizes_[at(s)];
    if (!is_asked_for(sizes)) continue;
    sizes.total = cells / sizes.cells;
    sizes.busiest = sizes.total / nodes_;
    heap_.push_back({by_work(sizes, sizes.least.clocks, sizes.least.energy), sizes.rank, Step::sizes, s, 0, 0});
  }
  std::make_heap(heap_.begin(), heap_.end());
  const Ranking ranking = search({each, static_cast<std::size_t>(std::max(top, 1)), {}, {}});
  for (const Ranking::Found& found : ranking.best) {
    if (top < 1) break;
    out.ranked.push_back(full(found.tile));
    out.ranked.back().ties = Count(found.ties);
  }
  if (ranking.second) out.runner_up = full(*ranking.second);
  return out;
}

GraphSearch& GraphSearches::search_for(const Question& question, const Objective& objective) {
  constexpr std::size_t most_searches = 16;
  const auto known = std::find_if(searches_.begin(), searches_.end(), [&](const auto& search) { return search->serves(question); });
  if (known == searches_.end()) {
    searches_.push_front(std::make_unique<GraphSearch>(question, objective));
    if (searches_.size() > most_searches) searches_.pop_back();
  } else {
    searches_.splice(searches_.begin(), searches_, known);
    searches_.front()->turn_to(question);
  }
  return *searches_.front();
}

}  // namespace napkin
