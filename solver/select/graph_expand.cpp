// The steps of the search by the event graph: from sizes to a tile's time.
#include <algorithm>
#include <numeric>

#include "model/clock/load.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/graph_search.hpp"

namespace napkin {
namespace {

/// The places of the values, the least first.
void put_in_order(std::vector<std::size_t>& order, const std::vector<double>& values) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
}

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
    sizes.least = {infinity, infinity};
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

/// A bound of all works, then these in the order of their clocks.
void GraphSearch::expand_sizes(const Entry& entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  set_rank(sizes.rank, ~KnobSet{0});
  if (sizes.works == nullptr) {
    sizes.works = std::make_unique<std::vector<Work>>();
    find_works(sizes, *sizes.works);
  }
  turn_sizes(sizes);
  const bool bounded = entry.work > 0;
  if (!quick_ && !bounded)
    return push({std::max(bound_of_sizes(sizes), entry.bound), entry.rank, Step::sizes, entry.sizes, 1, 0});
  sizes.clocks.clear();
  for (Work& work : *sizes.works)
    sizes.clocks.push_back(quick_ ? clocks_of(sizes, work) : least_launch_clocks(sizes, work));
  put_in_order(sizes.order, sizes.clocks);
  push({entry.bound, entry.rank, Step::works, entry.sizes, 0, 0});
}

void GraphSearch::find_works(const Sizes& sizes, std::vector<Work>& works) {
  std::vector<std::optional<IterationWork>> known(
      alternatives_->size());  // ways to work differ in more than what loads the pipes
  each_legal(work_steps_, 0, sizes.rank, [&](std::int64_t rank) {
    std::optional<IterationWork>& work = known[alternatives_->combination_of(point_)];
    if (!work) work = work_here();
    Work own;
    own.rank = rank;
    own.work = *work;
    const PlacedDiagram& placed = scratch_->place(point_).placed;
    own.alike = alike_of(own, placed);
    own.cluster = placed.cluster;
    works.push_back(std::move(own));
  });
}

std::size_t GraphSearch::alike_of(const Work& work, const PlacedDiagram& placed) {
  Alike own;
  own.way = part_of(work.rank, work_);
  for (const PlacedAgent& agent : placed.agents) own.instances += agent.instances;
  const auto found = std::find_if(alikes_.begin(), alikes_.end(),
                                  [&](const Alike& a) { return a.way == own.way && a.instances == own.instances; });
  if (found != alikes_.end()) return static_cast<std::size_t>(found - alikes_.begin());
  alikes_.push_back(own);
  return alikes_.size() - 1;
}

/// The next of the works, and a bound of those behind it.
void GraphSearch::expand_works(const Entry& entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  if (at(entry.work) >= sizes.order.size()) return;
  const auto index = static_cast<int>(sizes.order[at(entry.work)]);
  Work& work = (*sizes.works)[at(index)];
  if (!quick_ && sizes.clocks[at(index)] == infinity) return;
  const double here = bound_of_works(sizes, at(index));
  if (here > entry.bound) return push({here, entry.rank, Step::works, entry.sizes, entry.work, 0});
  push({entry.bound, entry.rank, Step::works, entry.sizes, entry.work + 1, 0});
  set_rank(work.rank, ~KnobSet{0});
  if (!lengths_hold(roles_.sizes | work_)) return;
  if (!work.graph) {
    find_tokens(work);
    sizes.groups.clear();
    if (!quick_) sizes.clocks[at(index)] = least_launch_clocks(sizes, work);
  }
  if (work.tokens.empty()) return;
  const double bound =
      quick_ ? bound_of_works(sizes, at(index)) : by_clocks(shape_of(sizes, work), work, sizes.clocks[at(index)]);
  push({std::max(bound, entry.bound), work.rank, Step::work, entry.sizes, index, 0});
}

/// The graph with the most of each buffer bounds those with fewer.
void GraphSearch::find_tokens(Work& work) {
  std::vector<std::size_t> most(space_.domains.size(), 0), least(space_.domains.size(), 0);
  each_legal(token_steps_, 0, work.rank, [&](std::int64_t rank) {
    const bool first = work.tokens.empty();
    Tokens own;
    own.rank = rank;
    own.blocks = occupancy(scratch_->place(point_).placed).blocks;
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
  work.ends = block_ends(scratch_->place(point_).placed);
  work.blocks_in = block_order(scratch_->place(point_).placed);
  work.energy = timed(scratch_->place(point_).placed).steps.energy(scratch_->place(point_).placed, *work.graph);
  work.cuts = work.graph->has_cut_work();
  work.most.state = GraphSteps::state_of(*work.graph);
  learn(alikes_[work.alike].waits, work.most.state.least / work.work.clocks);
  for (Tokens& tokens : work.tokens) {
    tokens.state = work.most.state;
    auto floor = std::find_if(work.floors.begin(), work.floors.end(),
                              [&](const Floor& one) { return one.blocks == tokens.blocks; });
    if (floor == work.floors.end()) floor = work.floors.insert(floor, {tokens.blocks});
    floor->block.add(tokens.state);
  }
}

/// Orders the counts of buffers by their clocks. A quick search first finds what is expected of the most.
void GraphSearch::expand_work(const Entry& entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  Work& work = work_of(entry);
  if (quick_ && work.most.state.steady == nullptr) {
    const double now =
        by_work(sizes, clocks_of(sizes, work), sizes.least.energy) * ends_of(work);  // with what has been met since
    if (now > entry.bound) return push({now, entry.rank, Step::work, entry.sizes, entry.work, 0});
    const PlacedDiagram& placed = place(work.most.rank);
    set_tokens(*work.graph, placed.tile);
    timed(placed).steps.raise(*work.graph, work.most.state);
    return push({std::max(bound_of(sizes, work, work.most) * ends_of(work), entry.bound), entry.rank, Step::work,
                 entry.sizes, entry.work, 0});
  }
  work.clocks.clear();
  for (Tokens& tokens : work.tokens) {
    const Count blocks = tokens.own ? tokens.blocks : work.most.blocks;
    work.clocks.push_back(quick_ ? clocks_of(tokens.state, blocks)
                                 : launch_clocks_of(shape_of(sizes, work), work, tokens));
  }
  put_in_order(work.order, work.clocks);
  push({entry.bound, entry.rank, Step::tokens, entry.sizes, entry.work, 0});
}

/// The next of the counts of buffers, and a bound of those behind it.
void GraphSearch::expand_tokens(const Entry& entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  Work& work = work_of(entry);
  if (at(entry.tokens) >= work.order.size()) return;
  const auto index = static_cast<int>(work.order[at(entry.tokens)]);
  Tokens& tokens = work.tokens[at(index)];
  const double clocks = work.clocks[at(index)];
  const double here =
      quick_ ? by_work(sizes, clocks, sizes.least.energy) : by_clocks(shape_of(sizes, work), work, clocks);
  if (here > entry.bound) return push({here, entry.rank, Step::tokens, entry.sizes, entry.work, entry.tokens});
  push({entry.bound, entry.rank, Step::tokens, entry.sizes, entry.work, entry.tokens + 1});
  Entry own{entry.bound, tokens.rank, Step::cycle, entry.sizes, entry.work, index};
  if (tokens.own && push_known(own)) return;
  if (!tokens.own) {
    make_own(work, tokens);
    ++sizes.found;
  }
  own.bound = std::max(bound_of(sizes, work, tokens) * ends_of(work), entry.bound);
  push(own);
}

/// A tile whose blocks' clocks are known is at its last bound already. False where they are not.
bool GraphSearch::push_known(Entry entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  Work& work = work_of(entry);
  const Tokens& tokens = work.tokens[at(entry.tokens)];
  Shape& shape = shape_of(sizes, work);
  if (quick_ || !last_steps_.empty() || shape.launch.packed || tokens.state.period == nullptr) return false;
  const auto block = known_block_clocks(*tokens.state.period, work.cuts ? shape.launch.block : shape.launch.uncut);
  if (!block) return false;
  set_rank(tokens.rank, ~KnobSet{0});
  if (!lengths_hold(~KnobSet{0})) return true;
  entry.step = Step::block;
  entry.bound = std::max(entry.bound, by_lengths(shape, work, tokens, *block));
  push(entry);
  return true;
}

void GraphSearch::make_own(Work& work, Tokens& tokens) {
  const PlacedDiagram& placed = place(tokens.rank);
  set_tokens(*work.graph, placed.tile);
  tokens.state = tokens.rank != work.most.rank ? GraphSteps::state_of(*work.graph) : work.most.state;
  tokens.own = true;
}

/// From the cycle of waits to an iteration, and to whole blocks: then of every tile that has the graph.
void GraphSearch::raise(const Entry& entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  Work& work = work_of(entry);
  Tokens& tokens = work.tokens[at(entry.tokens)];
  double expected = 0;
  if (tokens.state.period == nullptr) {
    const bool first = tokens.state.steady == nullptr;
    const double before = bound_of(sizes, work, tokens), now = before * ends_of(work);
    if (now > entry.bound) return push({now, entry.rank, Step::cycle, entry.sizes, entry.work, entry.tokens});
    const PlacedDiagram& placed = place(tokens.rank);
    set_tokens(*work.graph, placed.tile);
    timed(placed).steps.raise(*work.graph, tokens.state);
    ++sizes.found;
    if (first)
      return push({std::max(bound_of(sizes, work, tokens) * ends_of(work), entry.bound), entry.rank, Step::cycle,
                   entry.sizes, entry.work, entry.tokens});
    expected = before;
  }
  Shape& shape = shape_of(sizes, work);
  const std::size_t runs = tokens.state.period->run->size();
  set_rank(tokens.rank, ~KnobSet{0});
  each_legal(last_steps_, 0, tokens.rank, [&](std::int64_t rank) {
    if (!lengths_hold(~KnobSet{0})) return;
    const PlacedDiagram& placed = scratch_->place(point_).placed;
    set_tokens(*work.graph, placed.tile);
    const double bound = bound_of_blocks(shape, work, tokens, placed);
    if (expected > 0) learn(alikes_[work.alike].ends, bound / expected);
    push({std::max(bound, entry.bound), rank, Step::block, entry.sizes, entry.work, entry.tokens});
  });
  if (tokens.state.period->run->size() > runs) ++sizes.found;
}

void GraphSearch::time(const Entry& entry) {
  const auto known =
      std::find_if(latest_.begin(), latest_.end(), [&](const Entry& tile) { return tile.rank == entry.rank; });
  Entry tile = entry;
  tile.step = Step::tile;
  tile.bound = known != latest_.end() ? known->bound : time_of(entry);
  push(tile);
}

/// Tiles that differ in nothing but tokens, and whose blocks take the same clocks all the same, take one time.
double GraphSearch::time_of(const Entry& entry) {
  Sizes& sizes = sizes_[at(entry.sizes)];
  turn_sizes(sizes);
  const Work& work = work_of(entry);
  Shape& shape = shape_of(sizes, work);
  const Tokens& tokens = work.tokens[at(entry.tokens)];
  const Period& period = *tokens.state.period;
  const auto block = known_block_clocks(period, work.cuts ? shape.launch.block : shape.launch.uncut);
  if (!block || shape.launch.packed || !last_steps_.empty()) return time_alone(entry);
  const auto same = [&](const Taken& one) {
    return one.work == &work && one.blocks == tokens.blocks && one.block == *block && one.iteration == period.clocks;
  };
  const auto found = std::find_if(shape.taken.begin(), shape.taken.end(), same);
  if (found != shape.taken.end()) return found->time;
  shape.taken.push_back({&work, tokens.blocks, *block, period.clocks, time_alone(entry)});
  return shape.taken.back().time;
}

double GraphSearch::time_alone(const Entry& entry) {
  const PlacedDiagram& placed = place(entry.rank);
  return known_timer_of(placed).time(placed, occupancy(placed).blocks, known_of(entry, placed)).value;
}

const KnownTimer& GraphSearch::known_timer_of(const PlacedDiagram& placed) {
  Timed& own = timed(placed);
  if (!own.time) own.time = known_timer(placed);
  return *own.time;
}

/// What is known of a tile's graph, turned to it, and of its launch; the shape of its sizes must be.
KnownGraph GraphSearch::known_of(const Entry& tile, const PlacedDiagram& placed) {
  Work& work = work_of(tile);
  const Period& period = *work.tokens[at(tile.tokens)].state.period;
  Shape& shape = shape_of(sizes_[at(tile.sizes)], work);
  set_tokens(*work.graph, placed.tile);
  return {*work.graph, period, &shape.launch, &launched(shape, tile, placed), &work.energy};
}

/// The tile's graph must be turned to it.
const LaunchClocks& GraphSearch::launched(Shape& shape, const Entry& tile, const PlacedDiagram& placed) {
  const Work& work = work_of(tile);
  const Period& period = *work.tokens[at(tile.tokens)].state.period;
  if (shape.launch.packed) {
    const auto same = [&](const Launched& one) { return one.rank == tile.rank; };
    const auto found = std::find_if(shape.launched.begin(), shape.launched.end(), same);
    if (found != shape.launched.end()) return found->clocks;
    shape.launched.push_back({tile.rank, {}, {}, {}, 0, launch_clocks(placed, *work.graph, period, shape.launch)});
    return shape.launched.back().clocks;
  }
  const bool of_work = last_steps_.empty();
  const BlockClocks block = block_clocks(*work.graph, period, shape.launch.mean, shape.launch.cut);
  return launched(shape,
                  {-1,
                   of_work ? work.blocks_in : block_order(placed),
                   of_work ? work.ends : block_ends(placed),
                   block,
                   period.clocks,
                   {}},
                  tile.rank);
}

/// By blocks; the tile is one of the shape.
const LaunchClocks& GraphSearch::launched(Shape& shape, Launched own, std::int64_t tile) {
  const auto same = [&](const Launched& one) {
    return one.block == own.block && one.iteration == own.iteration && one.order == own.order && one.ends == own.ends;
  };
  const auto found = std::find_if(shape.launched.begin(), shape.launched.end(), same);
  if (found != shape.launched.end()) return found->clocks;
  if (shape.launch.unequal && shape.launch.lengths.in_order.empty())
    shape.launch.lengths = block_lengths(place(tile), shape.launch);
  own.clocks = launch_clocks(own.order, shape.launch, own.ends, own.block, own.iteration);
  shape.launched.push_back(own);
  return shape.launched.back().clocks;
}

/// The best tiles of the question before say what is good enough: their times, and one more than the least of them.
void GraphSearch::time_latest(std::size_t most) {
  std::erase_if(latest_, [&](const Entry& tile) {
    set_rank(tile.rank, ~KnobSet{0});
    return !is_asked_for(sizes_[at(tile.sizes)]) || !lengths_hold(~KnobSet{0});
  });
  std::vector<double> times;
  for (Entry& tile : latest_) times.push_back(tile.bound = time_of(tile));
  std::sort(times.begin(), times.end());
  const auto next = times.empty() ? times.end() : std::upper_bound(times.begin(), times.end(), times.front());
  if (times.size() >= most && next != times.end()) enough_ = std::max(times[most - 1], *next);
}

}  // namespace napkin
