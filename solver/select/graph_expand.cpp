// The steps of the search by the event graph: from sizes to a tile's time.
#include <algorithm>
#include <limits>
#include <numeric>

#include "model/clock/load.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/graph_search.hpp"

namespace napkin {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }
double real(Count count) { return static_cast<double>(count); }

/// Keeps the least factor met; 0: none.
void learn(double& factor, double met) { factor = factor > 0 ? std::min(factor, met) : met; }

}  // namespace

IterationWork GraphSearch::work_here() {
  const PlacedDiagram& placed = scratch_->place(point_).placed;
  return timed(placed).steps.work(placed);
}

void GraphSearch::find_sizes() {
  if (alternatives_->classes().empty()) return;  // fixed knobs that rules forbid together: there is no way to work
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
  const double waits = quick_ ? std::max(alike.waits, 1.0) : 1;
  if (!work.graph) return std::max(work.work.clocks, sizes.least.clocks) * waits;
  if (quick_) {
    const double clocks = work.most.state.steady != nullptr ? expected_clocks(work.most.state) : work.most.state.least;
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
  set_rank(sizes.rank, ~KnobSet{0});
  if (sizes.works == nullptr) {
    sizes.works = std::make_unique<std::vector<Work>>();
    find_works(sizes, *sizes.works);
  }
  const Schedule who = schedule(place(sizes.rank));
  sizes.total = who.total_iterations;
  sizes.mean = who.total_iterations / std::max(who.total_blocks, 1.0);
  sizes.busiest = std::max(sizes.total / nodes_, sizes.mean);
  const bool alike = who.alike && who.nodes == nodes_;
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

}  // namespace napkin
