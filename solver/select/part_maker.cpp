#include "solver/select/part_maker.hpp"

#include <algorithm>
#include <limits>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/roofline/node_rate.hpp"
#include "model/clock/run/period_bounds.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/selector.hpp"
#include "solver/space/kind.hpp"

namespace napkin::internal {

PartMaker::PartMaker(Table& table, Selector& selector)
    : table_(table),
      selector_(selector),
      setup_(selector.setup()),
      device_((comes_from_device(*setup_.machine, *setup_.streamed, setup_.problem) ? 1U : 0U) |
              (waits_for_device(*setup_.machine, *setup_.streamed, setup_.problem) ? 2U : 0U)),
      parts_(cuts_into_parts(*setup_.mapping)) {}

TablePart& PartMaker::part_of(std::uint32_t sizes) {
  TileSizes& own = table_.sizes_[sizes];
  const std::uint64_t facts = facts_of(own);
  const auto known =
      std::find_if(own.parts.begin(), own.parts.end(), [&](const TablePart& one) { return one.facts == facts; });
  if (known != own.parts.end()) return *known;
  TablePart& part = own.parts.emplace_back();
  part.sizes = sizes;
  part.facts = facts;
  if (table_.by_graph_)
    bound(part);
  else
    add_rows(part);
  return part;
}

/// Bounds all rows by the work of their nodes, which tiles share that differ only in their waits and copies.
void PartMaker::bound(TablePart& part) {
  part.least = part.energy = std::numeric_limits<double>::infinity();
  for (const std::uint32_t legal : table_.sizes_[part.sizes].works) {
    const PlacedDiagram& placed = place(legal);
    const EventGraph nodes = event_nodes(placed);
    part.least = std::min(part.least, rounded_down * busiest_pipe(nodes).clocks);
    part.energy = std::min(part.energy, block_energy(placed, nodes, table_.rates_).iteration);
  }
}

void PartMaker::add_rows(TablePart& part) {
  energies_.clear();
  for (const std::uint32_t legal : table_.sizes_[part.sizes].legal) add(legal, part);
  part.finish();
  ++table_.parts_made_;
}

const PlacedDiagram& PartMaker::place(std::uint32_t legal) {
  if (!placer_) {
    problem_ = as_graphs_need(setup_.problem);
    placer_.emplace(*setup_.streamed, *setup_.mapping, *setup_.machine, *problem_);
  }
  const std::uint32_t variant = table_.variant_of_[legal];
  if (placed_.size() <= variant) placed_.resize(variant + 1);
  placer_->place(table_.candidates_.space().tile(table_.rank_of(legal)), placed_[variant]);
  return placed_[variant];
}

std::uint64_t PartMaker::facts_of(const TileSizes& sizes) {
  const PlacedDiagram* placed = parts_ ? &selector_.place(sizes.legal.front()) : nullptr;
  std::uint64_t facts = 0;
  if (parts_) facts = static_cast<std::uint64_t>(placed->block().groups_of[at(*setup_.streamed->stream)].get());
  const std::vector<Count>& extent = parts_ ? placed->block().extent : sizes.extent;
  for (const std::vector<AxisId>& axes : table_.shared_along_) {
    double readers = 1;
    for (const AxisId axis : axes)
      readers *= real(ceil_div(setup_.problem.sizes[at(axis)], std::max(extent[at(axis)], Count(1))));
    // How many there are matters where device memory is waited for.
    const int digits = (device_ & 1U) != 0 ? digits_of_readers(readers) : 0;
    facts = facts << 6U | (readers > 1 ? 1U + static_cast<unsigned>(std::min(digits, 62)) : 0U);
  }
  facts = facts << 2U | device_;
  const Count blocks = parts_ ? placed->blocks : blocks_of(sizes), few = few_nodes(*setup_.machine, blocks);
  const Count nodes = few > Count(0) ? blocks : nodes_at_work(*setup_.machine, blocks);
  return facts << 16U | static_cast<std::uint64_t>(nodes.get());
}

/// Returns the number of blocks for these sizes. Places a tile, to count parts, only if uncut rows leave nodes idle.
Count PartMaker::blocks_of(const TileSizes& sizes) {
  Count least = 1;
  for (std::size_t a = 0; a < sizes.extent.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    if (setup_.streamed->grouped(axis) && setup_.streamed->stream != axis)
      least *= ceil_div(setup_.problem.sizes[a], std::max(sizes.extent[a], Count(1)));
  }
  return least >= setup_.machine->compute_nodes() ? least : selector_.place(sizes.legal.front()).blocks;
}

void PartMaker::add(std::uint32_t legal, TablePart& part) {
  PartRow row;
  row.legal = legal;
  row.graph = &table_.no_graph_;
  const PlacedDiagram& placed = place(legal);
  TileTrait trait{block_ends(placed), static_cast<std::int32_t>(occupancy(placed).blocks.get()), block_order(placed),
                  false};
  if (!table_.one_by_one_) trait.cuts = add_graph(placed, row, part);
  const auto known = std::find(part.traits.begin(), part.traits.end(), trait);
  row.trait = static_cast<std::uint32_t>(known - part.traits.begin());
  if (known == part.traits.end()) part.traits.push_back(trait);
  part.rows.push_back(row);
}

/// Adds the row's graph and its energy; returns true if the graph has cut work.
bool PartMaker::add_graph(const PlacedDiagram& placed, PartRow& row, TablePart& part) {
  const EventGraph& graph = graphs_.of(placed);
  const BlockEnergy energy = block_energy(placed, graph, table_.rates_);
  const std::array key{energy.iteration, energy.once, energy.cut, energy.alone};
  row.energy = energies_.emplace(key, static_cast<std::uint32_t>(energies_.size())).first->second;
  if (row.energy == part.energies.size()) part.energies.push_back(energy);
  Periods& periods = table_.periods_;
  if (graphs_.number() == digests_.size()) digests_.push_back(periods.digest_but_tokens(graph));
  const auto [known, is_new] = table_.graphs_.try_emplace(periods.digest_of(graph, digests_[graphs_.number()]));
  row.graph = &known->second;
  if (is_new) *row.graph = {busiest_pipe(graph).clocks, cycle_clocks(graph), nullptr};
  return graph.has_cut_work();
}

}  // namespace napkin::internal
