// Bounds of tiles in a search: the cycles that a tile takes at least by what is known of its graph, and the seconds at
// the fastest clock that the card may hold.

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/diagram/visits.hpp"
#include "solver/select/selector.hpp"
#include "solver/space/kind.hpp"

namespace napkin::internal {

/// Returns the question's cells, the unmasked points of the axes that blocks and chunks divide. Divided by an
/// iteration's cells they bound the number of iterations from below. 0, which bounds nothing, for packed sequences.
double Selector::cells_of_question() const {
  const Problem& problem = setup_.problem;
  if (!problem.packing.sequences.empty()) return 0;
  const Streamed& streamed = *setup_.streamed;
  double cells = 1;
  for (std::size_t a = 0; a < problem.sizes.size(); ++a) {
    if (streamed.grouped(static_cast<AxisId>(a)) || streamed.stream == static_cast<AxisId>(a))
      cells *= real(problem.sizes[a]);
  }
  if (!masked_) return cells;
  const auto [row_axis, column_axis] = *streamed.skips;
  const Count rows = problem.sizes[at(row_axis)], columns = problem.sizes[at(column_axis)];
  return cells * real(visible_pairs(problem.mask, rows.get(), columns.get())) / (real(rows) * real(columns));
}

/// Returns a size's walk, bounded by tensor operations. If blocks are equal, a node runs whole blocks, and one of their
/// chunks may be cut; a mask cuts the chunks that its edges pass through, and perhaps the last.
Selector::Walk Selector::walk_of(std::uint32_t number, double cells) const {
  const TileSizes& sizes = table_->sizes_[number];
  const Problem& problem = setup_.problem;
  const Streamed& streamed = *setup_.streamed;
  const double nodes = std::max(real(setup_.machine->compute_nodes()), 1.0);
  double blocks = 1, iteration = sizes.chunk;
  for (std::size_t a = 0; a < problem.sizes.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    if (!streamed.grouped(axis)) continue;
    blocks *= real(ceil_div(problem.sizes[a], sizes.extent[a]));
    if (streamed.stream != axis) iteration *= real(sizes.extent[a]);
  }
  Walk walk{number};
  walk.iterations = cells / iteration;
  const bool cut_stream = streamed.stream && streamed.grouped(*streamed.stream);
  if (cells <= 0 || table_->one_by_one_ || cuts_into_parts(*setup_.mapping)) {
    walk.blocks = {1, walk.iterations / nodes, walk.iterations / nodes};
  } else if (masked_ || cut_stream) {
    const double edges = problem.mask.kind == Mask::Kind::causal ? 1 : 2;
    walk.blocks = {std::max(blocks / nodes, 1.0), walk.iterations / blocks,
                   masked_ ? edges * (std::ceil(sizes.across / sizes.chunk) + 2) : 1};
  } else {
    const double stream = streamed.stream ? real(problem.sizes[at(*streamed.stream)]) : 1;
    walk.blocks = {std::ceil(blocks / nodes), std::ceil(stream / sizes.chunk), 1};
  }
  const double tensor = rounded_down * sizes.tensor;
  const TablePart::AtLeast least{tensor, tensor, tensor, 0};
  if (table_->by_graph_) walk.seconds = seconds_at_least(walk, sizes.energy, least.cycles_of(walk.blocks));
  return walk;
}

/// Lays out the launch of a size, which any of its tiles gives.
void Selector::lay_out(Walk& walk) {
  walk.shape = &shape_of(*walk.part, walk.part->rows.front());
  const LaunchShape& launch = walk.shape->launch;
  const Schedule& who = launch.who;
  const bool equal = !launch.unequal && !launch.packed && who.iterations >= who.blocks * launch.mean;
  walk.blocks = {equal ? who.blocks : std::max(who.total_blocks / who.nodes, 1.0), launch.mean,
                 static_cast<double>(launch.block.more.all())};
  walk.iterations = who.total_iterations;
  walk.device = walk.shape->device * table_->rates_.device;
}

/// Returns a bound of a row's cycles: the launch in closed form, from its graph's period, or a bound of it until the
/// graph is run.
double Selector::bound_of(const TablePart& part, const PartRow& row, const Shape& shape) const {
  const TileTrait& trait = part.traits[row.trait];
  const auto cycles_by = [&](const Period& period) {
    return rounded_down * cycles_at_least(trait.order, shape.launch, trait.ends,
                                          block_of(part, row, shape.launch).clocks, period, Count(trait.blocks));
  };
  return row.graph->period != nullptr ? cycles_by(*row.graph->period) : cycles_by(TablePart::least_period(row));
}

namespace {

/// Returns the clocks that a block of the row takes at least: by its graph's bounds until it settles, then by the
/// period if that is known.
double clocks_at_least(const PartRow& row, double iterations, double cut) {
  const Period* const period = row.graph->period;
  const double settling = period != nullptr ? std::min(iterations, period->settled + cut) : iterations;
  const double steady = period != nullptr ? (iterations - settling) * period->clocks : 0;
  return block_clocks_at_least(TablePart::least_period(row), settling, cut) + steady;
}

/// Returns the clocks of a block of mean length; if some of its runs are not known, a lower bound by those that are,
/// and false. Nothing is known without the run of the shorter block with fewer cut iterations.
std::pair<BlockClocks, bool> clocks_or_least(const PartRow& row, double mean, const MeanBlock& block) {
  const Period* const period = row.graph->period;
  const auto fewer = period != nullptr ? known_block_clocks(*period, block.iterations, block.fewer) : std::nullopt;
  if (!fewer) {
    const double least = clocks_at_least(row, mean, block.more.all());
    return {{least, least}, false};
  }
  bool known = true;
  const auto of = [&](double iterations, CutIterations cut) {
    if (const auto run = known_block_clocks(*period, iterations, cut)) return *run;
    known = false;
    const double least = clocks_at_least(row, iterations, cut.all());
    return BlockClocks{least, least};
  };
  const BlockClocks longer = block.rest > 0 ? of(block.iterations + 1, block.fewer) : *fewer;
  const BlockClocks more = block.more.all() > block.fewer.all() ? of(block.iterations, block.more) : *fewer;
  return {between_blocks(block, *fewer, longer, more), known};
}

}  // namespace

/// Returns a block's clocks, for a packed batch the mean of all blocks. If blocks persist, `first` exceeds `next` by no
/// more than in any part.
Selector::MeanClocks Selector::block_of(const TablePart& part, const PartRow& row, const LaunchShape& launch) const {
  const TileTrait& trait = part.traits[row.trait];
  const auto of = [&](const auto& one) { return clocks_or_least(row, one.mean, trait.cuts ? one.block : one.uncut); };
  if (!launch.packed) {
    const auto [clocks, known] = of(launch);
    return {clocks, known};
  }
  MeanClocks sum;
  double blocks = 0, later = INFINITY;
  for (const LaunchShape::Part& one : launch.parts) {
    const auto [own, known] = of(one);
    sum.clocks.first += one.blocks * own.first;
    sum.clocks.next += one.blocks * own.next;
    sum.known = sum.known && known;
    later = std::min(later, own.first - own.next);
    blocks += one.blocks;
  }
  if (blocks <= 0) return {};
  sum.clocks = {sum.clocks.first / blocks, sum.clocks.next / blocks};
  if (trait.ends.persist) sum.clocks.first = sum.clocks.next + later;
  return sum;
}

/// Runs the row's graph, or else a block that bounds the others, or else all its blocks, unless that was done. Returns
/// true if it ran any.
bool Selector::learn(const TablePart& part, const PartRow& row, const LaunchShape& launch) {
  if (row.graph->period != nullptr && block_of(part, row, launch).known) return false;
  const EventGraph& graph = graphs_.of(place(row));
  if (row.graph->period == nullptr) {
    row.graph->period = &periods().of(graph);
    return true;
  }
  if (!launch.packed) {
    const MeanBlock& block = part.traits[row.trait].cuts ? launch.block : launch.uncut;
    const CutChunks fewer{real(Count(block.fewer.first)), real(Count(block.fewer.last))};
    const bool known = known_block_clocks(*row.graph->period, block.iterations, block.fewer).has_value();
    (void)block_clocks(graph, *row.graph->period, known ? launch.mean : block.iterations, known ? launch.cut : fewer);
  }
  for (const LaunchShape::Part& one : launch.parts) (void)block_clocks(graph, *row.graph->period, one.mean, one.cut);
  return true;
}

/// Returns a lower bound of the seconds of a launch whose iterations take that many joules at least, at the fastest
/// clock that the card may hold.
double Selector::seconds_at_least(const Walk& walk, double energy, double cycles) const {
  const Energy least{energy * walk.iterations, walk.device};
  const Hertz clock = table_->rates_.known ? clock_at_most(table_->power_, least, cycles) : table_->clock_;
  return rounded_down * cycles / clock.value + launch_;
}

/// Returns true if the row, with its own energy, may end within `seconds`.
bool Selector::may_end_within(const Walk& walk, const Bound& bound, double seconds) const {
  if (seconds == INFINITY || !table_->rates_.known) return true;
  const Energy energy{walk.part->energies[bound.row->energy].of(walk.shape->launch), walk.device};
  const Seconds running(seconds - launch_);
  return internal::may_end_within(table_->power_, energy, bound.least, running);
}

}  // namespace napkin::internal
