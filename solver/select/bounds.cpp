// Bounds of tiles: the cycles that a tile takes at least by what is known of its graph, and the seconds at the fastest
// clock that the card may hold.

#include <algorithm>
#include <cmath>

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

Selector::Grid Selector::grid_of(const TileSizes& sizes) const {
  Grid out{1, sizes.chunk};
  for (std::size_t a = 0; a < sizes.extent.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    if (!setup_.streamed->grouped(axis)) continue;
    const Count extent = std::max(sizes.extent[a], Count(1));
    out.blocks *= ceil_div(setup_.problem.sizes[a], extent);
    if (setup_.streamed->stream != axis) out.cells *= real(extent);
  }
  return out;
}

/// Returns a size's walk, bounded by tensor operations. If blocks are equal, a node runs whole blocks, and one of their
/// chunks may be cut; a mask cuts the chunks that its edges pass through, and perhaps the last.
Selector::Walk Selector::walk_of(std::uint32_t number) const {
  const TileSizes& sizes = table_->sizes_[number];
  const Problem& problem = setup_.problem;
  const auto& stream = setup_.streamed->stream;
  const Grid grid = grid_of(sizes);
  const double nodes = std::max(real(setup_.machine->compute_nodes()), 1.0), blocks = real(grid.blocks);
  Walk walk{number};
  walk.iterations = cells_ / grid.cells;
  if (cells_ <= 0 || table_->one_by_one_ || cuts_into_parts(*setup_.mapping)) {
    walk.blocks = {1, walk.iterations / nodes, walk.iterations / nodes};
  } else if (const bool cut = stream && setup_.streamed->grouped(*stream); masked_ || cut) {
    const double edges = problem.mask.kind == Mask::Kind::causal ? 1 : 2,
                 parts = cut ? real(ceil_div(problem.sizes[at(*stream)], sizes.extent[at(*stream)])) : 1;
    walk.blocks = {std::max(blocks / nodes, 1.0), walk.iterations / blocks,
                   (masked_ ? edges * (std::ceil(sizes.across / sizes.chunk) + 2) : 1) / parts};
  } else {
    const double streamed = stream ? real(problem.sizes[at(*stream)]) : 1;
    walk.blocks = {std::ceil(blocks / nodes), std::ceil(streamed / sizes.chunk), 1};
  }
  const double tensor = rounded_down * sizes.tensor;
  if (table_->by_graph_) walk.seconds = seconds_of(walk, {tensor, tensor, tensor, 0, sizes.energy});
  return walk;
}

/// Lays out the launch of a size, which any of its tiles gives.
void Selector::lay_out(Walk& walk) {
  const std::uint32_t any = walk.part->rows.front().legal;
  const PlacedDiagram& placed = place(any);
  const auto [device, is_new] = device_bytes_.try_emplace(table_->variant_of_[any]);
  if (is_new) device->second = device_bytes(placed);
  walk.device = device->second * table_->rates_.device;
  walk.launch = std::make_unique<LaunchShape>(launch_shape(placed));
  const LaunchShape& launch = *walk.launch;
  const Schedule& who = launch.who;
  const bool equal = !launch.unequal && !launch.packed && who.iterations >= who.blocks * launch.mean;
  walk.blocks = {equal ? who.blocks : std::max(who.total_blocks / who.nodes, 1.0), launch.mean,
                 real(Count(launch.block.more.all()))};
  walk.iterations = who.total_iterations;
  look_ahead(walk);
}

void Selector::look_ahead(Walk& walk) const {
  const TablePart& part = *walk.part;
  walk.from_next = walk.next == part.rows.size() ? INFINITY
                   : walk.launch == nullptr      ? 0
                                                 : seconds_of(walk, part.from_row[walk.next]);
}

/// Returns the seconds of a launch with that energy and so many cycles at the fastest clock that the card may hold.
double Selector::seconds_of(const Energy& energy, double cycles) const {
  const Hertz clock = table_->rates_.known ? clock_at_most(table_->power_, energy, cycles) : table_->clock_;
  return rounded_down * cycles / clock.value + launch_;
}

double Selector::seconds_of(const Walk& walk, const TablePart::AtLeast& least) const {
  return seconds_of({least.energy * walk.iterations, walk.device}, least.cycles_of(walk.blocks));
}

Energy Selector::energy_of(const Walk& walk, const PartRow& row) const {
  return {walk.part->energies[row.energy].of(*walk.launch), walk.device};
}

Selector::Bound Selector::bound_of(const Walk& walk, const PartRow& row) const {
  if (walk.launch == nullptr) return {0, 0, &row};
  const double cycles = walk.part->bound_of(row, *walk.launch);
  return {seconds_of(energy_of(walk, row), cycles), cycles, &row};
}

/// Returns true if the row may end within `seconds`: a closer look than its bound.
bool Selector::may_end_within(const Walk& walk, const Bound& bound, double seconds) const {
  if (seconds == INFINITY || !table_->rates_.known) return true;
  return internal::may_end_within(table_->power_, energy_of(walk, *bound.row), bound.cycles,
                                  Seconds(seconds - launch_));
}

/// Returns the bound of the period by the cycle of waits. It holds from the first iteration on, for first and later
/// blocks, since resources stay occupied from block to block (tests/unit/select).
Period TablePart::least_period(const PartRow& row) {
  Period out;
  out.pipe.clocks = rounded_down * row.graph->pipe;
  out.clocks = std::max(out.pipe.clocks, rounded_down * row.graph->cycle);
  out.settled = 0;
  return out;
}

/// Returns the row's lower bounds. Blocks that share a node hide one another's waits.
TablePart::AtLeast TablePart::at_least(const PartRow& row) const {
  const TileTrait& trait = traits[row.trait];
  const double blocks = trait.blocks, pipe = rounded_down * row.graph->pipe;
  const double ends = trait.ends.persist ? 0 : rounded_down * (trait.ends.start + trait.ends.handover);
  const double energy = energies.empty() ? 0 : energies[row.energy].iteration;
  return {pipe, pipe / blocks, std::max(rounded_down * row.graph->cycle / blocks, pipe), ends / blocks, energy};
}

double TablePart::AtLeast::cycles_of(const NodeBlocks& node) const {
  const double cuts = std::min(node.cuts, node.iterations);
  return node.blocks * std::max(node.iterations * pipe, ends + cuts * cut + (node.iterations - cuts) * whole);
}

void TablePart::finish() {
  std::stable_sort(rows.begin(), rows.end(), [&](const PartRow& a, const PartRow& b) {
    const AtLeast one = at_least(a), other = at_least(b);
    return one.whole != other.whole ? one.whole < other.whole : one.energy < other.energy;
  });
  from_row.resize(rows.size());
  for (std::size_t r = rows.size(); r-- > 0;) {
    const AtLeast own = at_least(rows[r]), later = r + 1 < rows.size() ? from_row[r + 1] : own;
    from_row[r] = {std::min(own.pipe, later.pipe), std::min(own.cut, later.cut), own.whole,
                   std::min(own.ends, later.ends), std::min(own.energy, later.energy)};
  }
  least = from_row.front();
}

double TablePart::bound_of(const PartRow& row, const LaunchShape& launch) const {
  const TileTrait& trait = traits[row.trait];
  const auto cycles_by = [&](const Period& period) {
    return rounded_down *
           cycles_at_least(trait.order, launch, trait.ends, block_of(row, launch).clocks, period, Count(trait.blocks));
  };
  return row.graph->period != nullptr ? cycles_by(*row.graph->period) : cycles_by(least_period(row));
}

namespace {

/// Returns the clocks that a block of the row takes at least: by its graph's bounds until it settles, then by the
/// period if that is known.
BlockClocks clocks_at_least(const PartRow& row, double iterations, double cut) {
  const Period* const period = row.graph->period;
  const double settling = period != nullptr ? std::min(iterations, period->settled + cut) : iterations;
  const double steady = period != nullptr ? (iterations - settling) * period->clocks : 0;
  const double least = block_clocks_at_least(TablePart::least_period(row), settling, cut) + steady;
  return {least, least};
}

/// Returns the clocks of a block of mean length; if some of its runs are not known, a lower bound by those that are.
/// Nothing is known without the run of the shorter block with fewer cut iterations.
MeanClocks clocks_of_mean(const PartRow& row, double mean, const MeanBlock& block) {
  const Period* const period = row.graph->period;
  const auto fewer = period != nullptr ? known_block_clocks(*period, block.iterations, block.fewer) : std::nullopt;
  if (!fewer) return {clocks_at_least(row, mean, block.more.all()), false};
  bool known = true;
  const auto of = [&](double iterations, CutIterations cut) {
    const auto run = known_block_clocks(*period, iterations, cut);
    known = known && run;
    return run ? *run : clocks_at_least(row, iterations, cut.all());
  };
  const BlockClocks longer = block.rest > 0 ? of(block.iterations + 1, block.fewer) : *fewer;
  const BlockClocks more = block.more.all() > block.fewer.all() ? of(block.iterations, block.more) : *fewer;
  return {between_blocks(block, *fewer, longer, more), known};
}

}  // namespace

MeanClocks TablePart::block_of(const PartRow& row, const LaunchShape& launch) const {
  const TileTrait& trait = traits[row.trait];
  const auto of = [&](const auto& one) { return clocks_of_mean(row, one.mean, trait.cuts ? one.block : one.uncut); };
  if (!launch.packed) return of(launch);
  MeanClocks sum;
  double blocks = 0, later = INFINITY;
  for (const LaunchShape::Part& one : launch.parts) {
    const MeanClocks own = of(one);
    sum.clocks.first += one.blocks * own.clocks.first;
    sum.clocks.next += one.blocks * own.clocks.next;
    sum.known = sum.known && own.known;
    later = std::min(later, own.clocks.first - own.clocks.next);
    blocks += one.blocks;
  }
  if (blocks <= 0) return {};
  sum.clocks = {sum.clocks.first / blocks, sum.clocks.next / blocks};
  if (trait.ends.persist) sum.clocks.first = sum.clocks.next + later;
  return sum;
}

}  // namespace napkin::internal
