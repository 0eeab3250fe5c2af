// A Selector finds the parts of its table at the question's facts, and makes those that no question has needed before:
// for 8192 queries of attention_sm90 on an H200 25 parts of 71.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/roofline/node_rate.hpp"
#include "model/clock/run/period_bounds.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/selector.hpp"
#include "solver/space/kind.hpp"

namespace napkin::internal {

/// Bounds a new part by the work of its nodes, which tiles share that differ only in their waits and copies.
TablePart& Selector::part_of(std::uint32_t number) {
  TileSizes& sizes = table_->sizes_[number];
  const std::uint64_t facts = facts_of(sizes);
  const auto met =
      std::find_if(sizes.parts.begin(), sizes.parts.end(), [&](const auto* one) { return one->facts == facts; });
  if (met != sizes.parts.end()) return **met;
  TablePart& part = *sizes.parts.emplace_back(&table_->parts_.emplace_back());
  part.sizes = number;
  part.facts = facts;
  if (!table_->by_graph_) {
    add_rows(part);
    return part;
  }
  double clocks = INFINITY, energy = clocks;
  for (const std::uint32_t legal : sizes.works) {
    const PlacedDiagram& placed = place_for_graph(legal);
    const EventGraph nodes = event_nodes(placed);
    clocks = std::min(clocks, rounded_down * busiest_pipe(nodes).clocks);
    energy = std::min(energy, block_energy(placed, nodes, table_->rates_).iteration);
  }
  part.least = {clocks, clocks, clocks, 0, energy};
  return part;
}

/// Returns the facts of the question on which the graphs of a size depend: the copies that other blocks read too, the
/// number of parts of the streamed axis, whether arrays come from device memory, whether blocks wait for it, and the
/// number of working nodes. Places a tile only if blocks cut the streamed axis, or uncut rows leave nodes idle.
std::uint64_t Selector::facts_of(const TileSizes& sizes) {
  const Machine& machine = *setup_.machine;
  const bool parts = cuts_into_parts(*setup_.mapping);
  Count blocks = grid_of(sizes).blocks;
  const PlacedDiagram* const placed = parts || blocks < machine.compute_nodes() ? &place(sizes.legal.front()) : nullptr;
  if (placed != nullptr) blocks = placed->blocks;
  std::uint64_t facts =
      parts ? static_cast<std::uint64_t>(placed->block().groups_of[at(*setup_.streamed->stream)].get()) : 0;
  const std::vector<Count>& extent = parts ? placed->block().extent : sizes.extent;
  for (const std::vector<AxisId>& axes : table_->shared_along_) {
    double readers = 1;
    for (const AxisId axis : axes)
      readers *= real(ceil_div(setup_.problem.sizes[at(axis)], std::max(extent[at(axis)], Count(1))));
    // How many there are matters where device memory is waited for, but not to the copy engine.
    const bool counts = (device_ & 1U) != 0 && table_->counts_readers_;
    const int digits = counts ? digits_of_readers(readers) : 0;
    facts = facts << 6U | (readers > 1 ? 1U + static_cast<unsigned>(std::min(digits, 62)) : 0U);
  }
  const Count nodes = few_nodes(machine, blocks) > Count(0) ? blocks : nodes_at_work(machine, blocks);
  return (facts << 2U | device_) << 16U | static_cast<std::uint64_t>(nodes.get());
}

void Selector::add_rows(TablePart& part) {
  std::map<std::array<double, 4>, std::uint32_t> energies;  // numbers in the part's list
  for (const std::uint32_t legal : table_->sizes_[part.sizes].legal) {
    const PlacedDiagram& placed = place_for_graph(legal);
    PartRow row{legal, 0, 0, &table_->no_graph_};
    TileTrait trait{block_ends(placed), static_cast<std::int32_t>(occupancy(placed).blocks.get()), block_order(placed),
                    false};
    if (!table_->one_by_one_) {
      const EventGraph& graph = graphs_.of(placed);
      const BlockEnergy energy = block_energy(placed, graph, table_->rates_);
      const std::array key{energy.iteration, energy.once, energy.cut, energy.alone};
      row.energy = energies.emplace(key, static_cast<std::uint32_t>(energies.size())).first->second;
      if (row.energy == part.energies.size()) part.energies.push_back(energy);
      row.graph = &known(graph);
      trait.cuts = graph.has_cut_work();
    }
    const auto met = std::find(part.traits.begin(), part.traits.end(), trait);
    row.trait = static_cast<std::uint32_t>(met - part.traits.begin());
    if (met == part.traits.end()) part.traits.push_back(trait);
    part.rows.push_back(row);
  }
  part.finish();
}

/// Returns what the table knows of the latest graph.
TileGraph& Selector::known(const EventGraph& graph) {
  Periods& periods = table_->periods_;
  digests_.resize(std::max(digests_.size(), graphs_.number() + 1));
  auto& but_tokens = digests_[graphs_.number()];
  if (!but_tokens) but_tokens = periods.digest_but_tokens(graph);
  const auto [met, is_new] = table_->graphs_.try_emplace(periods.digest_of(graph, *but_tokens));
  if (is_new) met->second = {busiest_pipe(graph).clocks, cycle_clocks(graph), nullptr};
  return met->second;
}

const PlacedDiagram& Selector::place_for_graph(std::uint32_t legal) {
  if (setup_.problem.packing.sequences.size() <= 2) return place(legal);
  if (graph_placer_ == nullptr) graph_placer_ = kept_placer(setup_, as_graphs_need(setup_.problem));
  return graph_placer_->place(table_->tile(legal), table_->variant_of_[legal]);
}

}  // namespace napkin::internal
