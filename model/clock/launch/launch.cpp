#include "model/clock/launch/launch.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/launch/ends.hpp"
#include "model/clock/launch/packed_launch.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/diagram/visits.hpp"
#include "model/resource/order.hpp"

namespace napkin::internal {

LaunchShape launch_shape(const PlacedDiagram& placed) {
  LaunchShape out;
  // Under `even` nodes have equal shares of the iterations, whatever the blocks' lengths.
  out.unequal = has_unequal_blocks(placed) && block_order(placed) != BlockOrder::even;
  out.cut = cut_chunks(placed);
  return launch_shape(placed, out);
}

namespace {

void add_parts(const PlacedDiagram& placed, LaunchShape& out) {
  const BlockSequence sequence(placed);
  out.blocks = std::make_shared<const PackedBlocks>(placed, sequence);
  std::vector<double> blocks(placed.packed.size(), 0);
  for (const PackedBlocks::Run& run : out.blocks->runs()) {
    const double planes = static_cast<double>(run.last - run.first);
    const double own = planes * static_cast<double>(std::min(out.blocks->rows(run.part), sequence.rows()));
    out.empty_blocks += planes * static_cast<double>(sequence.rows()) - own;
    if (run.part >= 0) blocks[static_cast<std::size_t>(run.part)] += own;
  }
  for (std::size_t p = 0; p < blocks.size(); ++p) {
    if (placed.packed[p].blank) continue;
    const PlacedDiagram& part = placed.packed[p].placed;
    const Schedule own = schedule(part);
    const double mean = own.total_iterations / std::max(own.total_blocks, 1.0);
    const CutChunks cut = cut_chunks(part);
    out.parts.push_back({mean, cut, mean_block(mean, cut), mean_block(mean, {}), blocks[p]});
  }
}

}  // namespace

LaunchShape launch_shape(const PlacedDiagram& placed, const LaunchShape& like) {
  LaunchShape out = like;
  out.packed = !placed.packed.empty();
  out.parts.clear();
  out.empty_blocks = 0;
  out.who = schedule(placed);
  out.alone = unshared_fraction_in_any_order(placed);
  out.mean = out.who.total_iterations / std::max(out.who.total_blocks, 1.0);
  if (out.packed && takes_one_sequence(placed) && !permutes_axes(placed)) add_parts(placed, out);
  out.edge = out.packed ? EdgeCopies{} : edge_copies(placed);
  out.edge.blocks = std::min(std::ceil(out.edge.blocks / out.who.nodes), out.who.blocks);
  out.block = mean_block(out.mean, out.cut);
  out.uncut = mean_block(out.mean, {});
  return out;
}

double busiest_iterations(const PlacedDiagram& placed) {
  const LaunchShape shape = launch_shape(placed);
  if (!shape.unequal || shape.packed) return shape.who.iterations;
  return block_lengths(placed, shape).busiest(block_order(placed), 1, 0);
}

double meeting_of_cluster(const PlacedDiagram& placed) {
  return placed.cluster > Count(1) ? cluster_latency(*placed.machine) : 0;
}

BlockEnds block_ends(const PlacedDiagram& placed) {
  const bool persist = blocks_persist(placed);
  const double meeting = meeting_of_cluster(placed);
  return {placed.machine->constant_or("block_start", 0) + meeting,
          placed.machine->constant_or("block_handover", 0) + meeting, persist, empty_block_clocks(placed)};
}

LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period) {
  return launch_clocks(placed, graph, period, launch_shape(placed));
}

LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period,
                           const LaunchShape& shape) {
  if (shape.packed) return packed_launch_clocks(placed, graph, period, shape);
  return launch_clocks(placed, shape, block_ends(placed), clocks_of_mean(graph, period, shape), period.clocks);
}

LaunchClocks launch_clocks(const PlacedDiagram& placed, const LaunchShape& shape, const BlockEnds& ends,
                           BlockClocks block, double iteration) {
  LaunchShape own = shape;
  if (shape.unequal && shape.lengths == nullptr)
    own.lengths = std::make_shared<BlockLengths>(block_lengths(placed, shape));
  return launch_clocks(block_order(placed), own, ends, block, iteration);
}

LaunchClocks launch_clocks(BlockOrder order, LaunchShape& shape, const BlockEnds& block_ends, BlockClocks block,
                           double iteration) {
  const Ends ends(block_ends, block);
  const double total = std::max(shape.who.total_blocks, 1.0),
               mean_node = ends.start + total / shape.who.nodes * ends.each,
               longest = ends.of_longest(shape.who, shape.mean, iteration);
  if (!shape.unequal) {
    const double longer =
        shape.edge.blocks * shape.mean * std::max(shape.edge.clocks - iteration, 0.0);  // where their copies bind
    const double busiest = ends.of_equal_blocks(shape.who, shape.mean, iteration) + longer;
    return {busiest, mean_node, order == BlockOrder::even ? busiest : longest};  // one block a node takes its share
  }
  const double beyond = ends.each - shape.mean * iteration;
  return {ends.start + shape.lengths->busiest(order, iteration, beyond), mean_node, longest, ends.start, beyond};
}

double launch_clocks_bound(const LaunchShape& shape, const BlockEnds& block, BlockClocks clocks, double iteration) {
  const Ends ends(block, clocks);
  if (!shape.unequal) return ends.of_equal_blocks(shape.who, shape.mean, iteration);
  return ends.start +
         std::max(shape.who.total_blocks / shape.who.nodes, 1.0) * ends.each;  // some node runs a block of mean length
}

namespace {

/// Returns the iterations of a packed launch's longest block at least: blocks of one sequence whose lengths are not
/// told apart count as long as their mean.
double longest_at_least(const LaunchShape& shape) {
  double longest = 0;
  for (const LaunchShape::Part& part : shape.parts) longest = std::max(longest, part.mean);
  return longest;
}

}  // namespace

double cycles_at_least(BlockOrder order, const LaunchShape& shape, const BlockEnds& block_ends, BlockClocks block,
                       const Period& period, Count blocks) {
  const Schedule& who = shape.who;
  const Ends ends(block_ends, block);
  double cycles = 0;
  if (shape.packed || order == BlockOrder::even)
    cycles = std::max(who.total_iterations / who.nodes, longest_at_least(shape)) * period.pipe.clocks;
  else if (!shape.unequal && who.iterations < who.blocks * shape.mean)
    cycles = std::max(who.total_blocks / who.nodes, 1.0) * block.next;
  else
    cycles = launch_clocks_bound(shape, block_ends, block, period.clocks);
  if (!shape.parts.empty()) {  // a node's first block may take less than a later one
    double clocks = shape.empty_blocks * std::max(block_ends.empty, 0.0);
    for (const LaunchShape::Part& part : shape.parts) clocks += part.blocks * ends.each;
    cycles = std::max(cycles, clocks / who.nodes + std::min(ends.start, 0.0));
  }
  if (shape.lengths != nullptr && !shape.packed && period.run != nullptr) {  // a bound of the period bounds no such sum
    const double beyond = ends.each - shape.mean * period.clocks;
    cycles = std::max(cycles, ends.start + shape.lengths->busiest_at_least(order, period.clocks, beyond));
  }
  const double resident = real(std::max(blocks, Count(1)));
  if (resident <= 1 || order == BlockOrder::even) return cycles;
  const double longest = shape.packed ? 0 : std::min(ends.of_longest(who, shape.mean, period.clocks), cycles);
  return std::max({cycles / resident, longest, std::min(cycles, period.pipe.clocks * who.iterations)});
}

}  // namespace napkin::internal
