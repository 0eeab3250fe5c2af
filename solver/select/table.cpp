#include "solver/select/table.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/known_graphs.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/run/period.hpp"
#include "model/diagram/packing.hpp"

namespace napkin::internal {

Problem as_graphs_need(const Problem& whole) {
  Problem out = whole;
  if (whole.packing.sequences.size() <= 2) return out;
  const SequenceLengths longest = longest_of(whole.packing.sequences, "lengths");
  const auto other = std::find_if(whole.packing.sequences.begin(), whole.packing.sequences.end(),
                                  [&](const SequenceLengths& one) { return !(one == longest); });
  out.packing.sequences = {longest, other == whole.packing.sequences.end() ? longest : *other};
  return out;
}

namespace {

/// The tensor operations of an iteration: clocks of the tensor pipe, waiting threads' operations included, and joules.
struct TensorWork {
  double clocks = 0, energy = 0;
};
TensorWork tensor_work(const PlacedDiagram& placed, const EnergyRates& rates) {
  std::array<double, 2> clocks{};
  TensorWork out;
  for (const PlacedOperation& op : placed.operations) {
    if (!op.tensor || op.instruction == nullptr || op.phase != Phase::loop) continue;
    const TensorLoad load = tensor_load(placed, op);
    clocks[op.instruction->asynchronous ? 1 : 0] += load.clocks;
    out.energy += load.flops * rates.of_flop(*op.instruction);
  }
  out.clocks = std::max(clocks[0], clocks[1]);
  return out;
}

/// Returns true if some tiles share blocks' ends with their neighbours, or take the axes in another order.
bool orders_tiles(const Mapping& mapping) {
  return std::any_of(mapping.knobs.begin(), mapping.knobs.end(), [](const Knob& knob) {
    return std::any_of(knob.orders.begin(), knob.orders.end(), [](const OrderWord& word) {
      return word.tiles == OrderWord::Tiles::even || !word.axes.empty();
    });
  });
}

/// Returns the sets of grouped axes that crossings into the blocks lack.
std::vector<std::vector<AxisId>> shared_along(const PlacedDiagram& placed) {
  std::vector<std::vector<AxisId>> out;
  for (const Crossing& c : placed.crossings) {
    if (c.into != placed.block().level) continue;
    const std::vector<AxisId>& axes = placed.axes_of(c);
    std::vector<AxisId> lacks;
    for (std::size_t a = 0; a < placed.block().extent.size(); ++a) {
      const auto axis = static_cast<AxisId>(a);
      const bool has = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (placed.streamed->grouped(axis) && !has) lacks.push_back(axis);
    }
    if (!lacks.empty() && std::find(out.begin(), out.end(), lacks) == out.end()) out.push_back(std::move(lacks));
  }
  return out;
}

/// The numbers of a tile's size among sizes of equal length knobs and among size_knobs(): its rank without other knobs.
struct SizeOf {
  std::int64_t lengths = 0, size = 0;
};
SizeOf size_of(const Candidates& candidates, KnobSet sizing, std::int64_t rank) {
  const Space& space = candidates.space();
  SizeOf out;
  for (std::size_t k = 0; k < space.domains.size(); ++k) {
    const std::int64_t part = space.digit(rank, k) * space.strides[k];
    const KnobSet bit = knob_bit(static_cast<KnobId>(k));
    if ((candidates.length_knobs() & bit) != 0) out.lengths += part;
    if ((sizing & bit) != 0) out.size += part;
  }
  return out;
}

}  // namespace

Table::Table(const Setup& like)
    : judged_(launch_problem(like.problem)),
      power_(power_law(*like.machine)),
      clock_(assumed_clock(*like.machine).frequency),
      candidates_(find_sizes(like)) {
  one_by_one_ = !by_graph_ || orders_tiles(*like.mapping);
}

/// Finds the candidates, and keeps one tile for each combination of length knobs, with its facts that do not depend on
/// lengths. A packed batch is judged as one launch, but timed by its sequences.
Candidates Table::find_sizes(const Setup& like) {
  const Problem problem = as_graphs_need(like.problem);
  const Placer judging(*like.streamed, *like.mapping, *like.machine, judged_),
      timing(*like.streamed, *like.mapping, *like.machine, problem);
  const KnobSet sizing = size_knobs(like);
  std::map<std::int64_t, std::uint32_t> known;
  PlacedDiagram packed;
  KnownGraphs graphs;
  std::vector<std::unordered_set<KnownGraphs::Key, KnownGraphs::Hash>> works;  // by size
  return Candidates(like, judging, [&](const Candidates& so_far, std::int64_t rank, const PlacedDiagram& judged) {
    const auto legal = static_cast<std::uint32_t>(variant_of_.size());
    if (!problem.packing.sequences.empty()) timing.place(judged.tile, packed);
    const PlacedDiagram& placed = problem.packing.sequences.empty() ? judged : packed;
    by_graph_ = by_graph_ && graphs.has(placed);
    if (legal == 0) rates_ = energy_rates(placed);
    const TensorWork work = tensor_work(placed, rates_);
    variant_of_.push_back(static_cast<std::uint32_t>(graphs.number_of(placed.variant)));
    counts_readers_ = counts_readers_ || counts_readers(placed);
    const auto [lengths, size] = size_of(so_far, sizing, rank);
    const auto [found, is_new] = known.emplace(lengths, static_cast<std::uint32_t>(sizes_.size()));
    if (is_new) {
      const double chunk = like.streamed->stream ? real(judged.block().chunk) : 1;
      sizes_.push_back({judged.tile, size, chunk, 1, judged.block().extent, work.clocks, work.energy});
      works.emplace_back();
      if (sizes_.size() == 1) shared_along_ = shared_along(judged);
    }
    TileSizes& sizes = sizes_[found->second];
    sizes.tensor = std::min(sizes.tensor, work.clocks);
    sizes.energy = std::min(sizes.energy, work.energy);
    sizes.across = std::max(sizes.across, real(judged.walk.across));
    sizes.legal.push_back(legal);
    if (by_graph_ && works[found->second].insert(graphs.key_of_work(placed)).second) sizes.works.push_back(legal);
  });
}

std::size_t Table::bytes() {
  const std::lock_guard lock(mutex_);
  const std::array now{parts_.size(), graphs_.size(), periods_.size()};
  if (bytes_ > 0 && counted_at_ == now) return bytes_;
  std::size_t sum = candidates_.bytes() + periods_.bytes() + variant_of_.size() * 4;
  sum += graphs_.size() * (sizeof *graphs_.begin() + 2 * sizeof(void*));
  for (const TileSizes& one : sizes_)
    sum += sizeof one + 8 * (one.extent.size() + one.any.values.size()) + one.legal.capacity() * sizeof one.legal[0];
  for (const TablePart& part : parts_) {
    sum += sizeof part + part.rows.capacity() * (sizeof part.rows[0] + sizeof part.from_row[0]);
    sum += part.traits.size() * sizeof(TileTrait) + part.energies.size() * sizeof(BlockEnergy);
  }
  counted_at_ = now;
  return bytes_ = sum;
}

}  // namespace napkin::internal
