// What the search by the event graph bounds tiles by.
#include <algorithm>

#include "model/clock/load.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/graph_search.hpp"

namespace napkin {
namespace {

BlockEnergy least_of(const BlockEnergy& a, const BlockEnergy& b) {
  return {std::min(a.iteration, b.iteration), std::min(a.once, b.once), std::min(a.cut, b.cut),
          std::min(a.alone, b.alone)};
}

}  // namespace

double GraphSearch::by_work(const Sizes& sizes, double clocks, double energy) const {
  return timed_.front().steps.by_work({clocks, energy}, sizes.total, sizes.busiest, device_bytes_).value;
}

/// Clocks an iteration, as a quick search expects. Blocks that share a node hide one another's waits.
double GraphSearch::clocks_of(const GraphState& state, Count blocks) {
  const double clocks = state.steady != nullptr ? expected_clocks(state) : state.least;
  return blocks > Count(1) ? std::max(clocks / real(blocks), std::min(clocks, state.pipe)) : clocks;
}

double GraphSearch::clocks_of(const Sizes& sizes, const Work& work) const {
  const double waits = std::max(alikes_[work.alike].waits, 1.0);
  if (!work.graph) return std::max(work.work.clocks, sizes.least.clocks) * waits;
  return clocks_of(work.most.state, work.most.blocks);
}

GraphSearch::Shape& GraphSearch::shape_of(Sizes& sizes, const Work& work) {
  for (Shape& shape : sizes.shapes) {
    if (shape.cluster == work.cluster) return shape;
  }
  const PlacedDiagram& placed = place(work.rank);
  sizes.shapes.push_back(
      {work.cluster, sizes.shapes.empty() ? launch_shape(placed) : launch_shape(placed, sizes.shapes.front().launch)});
  return sizes.shapes.back();
}

/// What the sizes' blocks run, of the question at hand.
void GraphSearch::turn_sizes(Sizes& sizes) {
  if (sizes.question == questions_) return;
  sizes.question = questions_;
  sizes.shapes.clear();
  const PlacedDiagram& placed = place(sizes.rank);
  sizes.shapes.push_back({placed.cluster, launch_shape(placed)});
  const Schedule& who = sizes.shapes.front().launch.who;
  sizes.total = who.total_iterations;
  sizes.mean = who.total_iterations / std::max(who.total_blocks, 1.0);
  sizes.busiest = std::max(sizes.total / nodes_, sizes.mean);
  const bool alike = who.alike && who.nodes == nodes_;
  if (alike && who.iterations >= who.blocks * sizes.mean)
    sizes.busiest = std::max(sizes.busiest, who.blocks * sizes.mean);
}

/// Clocks of the launch, at least.
double GraphSearch::launch_clocks_of(const Shape& shape, const Work& work, Tokens& tokens) const {
  return GraphSteps::cycles(shape.launch, work.ends, work.cuts, tokens.state, tokens.blocks);
}

double GraphSearch::launch_clocks_of(const Shape& shape, const Work& work, std::uint64_t found, Floor& floor) const {
  floor.block.renew(found);
  return GraphSteps::cycles(shape.launch, work.ends, work.cuts, floor.block, floor.blocks);
}

/// Whether a launch of so many clocks, at least, and of that energy may take no longer than the tiles asked for.
bool GraphSearch::good_enough(double clocks, double energy) const {
  return enough_ == infinity || timed_.front().steps.may_end_within(clocks, energy, device_bytes_, Seconds(enough_));
}

/// Infinite where no counts of buffers are legal or good enough.
double GraphSearch::least_launch_clocks(Sizes& sizes, Work& work) {
  if (!work.graph) return std::max(work.work.clocks, sizes.least.clocks) * sizes.busiest;
  if (work.tokens.empty()) return infinity;
  const Shape& shape = shape_of(sizes, work);
  double least = infinity;
  for (Floor& floor : work.floors) least = std::min(least, launch_clocks_of(shape, work, sizes.found, floor));
  if (least <= 0) {  // no bound of all
    least = infinity;
    for (Tokens& tokens : work.tokens) least = std::min(least, launch_clocks_of(shape, work, tokens));
  }
  return good_enough(least, work.energy.of(shape.launch)) ? least : infinity;
}

void GraphSearch::find_groups(Sizes& sizes) {
  for (Work& work : *sizes.works) {
    if (!work.graph || work.tokens.empty()) continue;
    for (Floor& floor : work.floors) {
      const auto alike = [&](const Group& group) {
        return group.floor.blocks == floor.blocks && group.like->cluster == work.cluster &&
               group.like->cuts == work.cuts && group.like->ends == work.ends;
      };
      auto group = std::find_if(sizes.groups.begin(), sizes.groups.end(), alike);
      if (group == sizes.groups.end()) group = sizes.groups.insert(group, {&work, work.energy, {floor.blocks}});
      group->energy = least_of(group->energy, work.energy);
      group->floor.block.add(floor.block);
    }
  }
}

/// A bound of all works; infinite where none is good enough. Of a group by the least clocks and the least energy of any
/// in it: a launch never ends sooner with more of either.
double GraphSearch::bound_of_sizes(Sizes& sizes) {
  if (sizes.groups.empty()) find_groups(sizes);
  double bound = infinity, new_clocks = infinity;
  for (Group& group : sizes.groups) {
    const Shape& shape = shape_of(sizes, *group.like);
    const double clocks = launch_clocks_of(shape, *group.like, sizes.found, group.floor),
                 energy = group.energy.of(shape.launch);
    if (good_enough(clocks, energy))
      bound = std::min(bound, timed_.front().steps.by_cycles(clocks, energy, device_bytes_).value);
  }
  for (const Work& work : *sizes.works) {
    if (!work.graph) new_clocks = std::min(new_clocks, std::max(work.work.clocks, sizes.least.clocks));
  }
  return new_clocks < infinity ? std::min(bound, by_work(sizes, new_clocks, sizes.least.energy)) : bound;
}

/// Infinite where that is not good enough.
double GraphSearch::by_clocks(const Shape& shape, const Work& work, double clocks) const {
  if (!good_enough(clocks, work.energy.of(shape.launch))) return infinity;
  return timed_.front().steps.by_cycles(clocks, work.energy.of(shape.launch), device_bytes_).value;
}

/// What the ends of blocks add, as a quick search expects: most of the least that was met.
double GraphSearch::ends_of(const Work& work) const {
  constexpr double most = 0.8;
  return quick_ ? 1 + most * std::max(alikes_[work.alike].ends - 1, 0.0) : 1;
}

/// Of those of at least that one's clocks.
double GraphSearch::bound_of_works(const Sizes& sizes, std::size_t index) const {
  const Work& work = (*sizes.works)[index];
  if (quick_) return by_work(sizes, clocks_of(sizes, work), sizes.least.energy) * ends_of(work);
  return timed_.front().steps.by_cycles(sizes.clocks[index], sizes.least.energy * sizes.total, device_bytes_).value;
}

/// By the most that is known; of a quick search, as expected. The tokens must have their own state.
double GraphSearch::bound_of(Sizes& sizes, Work& work, Tokens& tokens) {
  if (!quick_) return by_clocks(shape_of(sizes, work), work, launch_clocks_of(shape_of(sizes, work), work, tokens));
  const PlacedDiagram& placed = place(tokens.rank);
  const GraphSteps& steps = timed(placed).steps;
  set_tokens(*work.graph, placed.tile);
  const bool steady = tokens.state.steady != nullptr;
  return (steady ? steps.expected(placed, *work.graph, tokens.state, tokens.blocks)
                 : steps.bound(placed, *work.graph, tokens.state, tokens.blocks))
      .value;
}

/// By a run of whole blocks; and where they go onto nodes in order, by what their lengths say of that. The work's graph
/// must be turned to the tile.
double GraphSearch::bound_of_blocks(Shape& shape, const Work& work, const Tokens& tokens, const PlacedDiagram& placed) {
  const GraphState& state = tokens.state;
  const Count blocks = last_steps_.empty() ? tokens.blocks : occupancy(placed).blocks;
  if (shape.launch.packed)
    return by_clocks(
        shape, work,
        GraphSteps::together(shape.launch, launch_clocks_bound(placed, *work.graph, *state.period), state, blocks));
  const BlockClocks block = block_clocks(*work.graph, *state.period, shape.launch.mean, shape.launch.cut);
  const double bound =
      by_clocks(shape, work,
                GraphSteps::together(shape.launch, launch_clocks_bound(shape.launch, work.ends, block, state.clocks),
                                     state, blocks));
  return quick_ || bound > enough_ ? bound : std::max(bound, in_order(shape, work, tokens, block, blocks));
}

/// By blocks of unequal length onto nodes, where that costs little: in order a bound of it. 0 where they are alike.
double GraphSearch::by_lengths(Shape& shape, const Work& work, const Tokens& tokens, const BlockClocks& block) {
  if (!shape.launch.unequal || work.blocks_in == BlockOrder::grid)
    return in_order(shape, work, tokens, block, tokens.blocks);
  const double clocks =
      launched(shape, {-1, work.blocks_in, work.ends, block, tokens.state.clocks, {}}, tokens.rank).busiest;
  return by_clocks(shape, work, GraphSteps::together(shape.launch, clocks, tokens.state, tokens.blocks));
}

/// 0 where that is no bound.
double GraphSearch::in_order(Shape& shape, const Work& work, const Tokens& tokens, const BlockClocks& block,
                             Count blocks) {
  if (work.blocks_in != BlockOrder::grid || !shape.launch.unequal) return 0;
  if (shape.launch.lengths.in_order.empty()) shape.launch.lengths = block_lengths(place(tokens.rank), shape.launch);
  const double clocks = shape.in_order.clocks(shape.launch, work.ends, block, tokens.state.clocks);
  return clocks > 0 ? by_clocks(shape, work, GraphSteps::together(shape.launch, clocks, tokens.state, blocks)) : 0;
}

}  // namespace napkin
