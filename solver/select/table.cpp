#include "solver/select/table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/roofline/node_rate.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/period_bounds.hpp"
#include "model/diagram/packing.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/scan.hpp"

namespace napkin {
namespace {

/// Returns a packed batch of the longest sequence and another one: graphs depend only on whether there is another
/// length.
Problem small(const Problem& whole) {
  Problem out = whole;
  if (whole.packing.sequences.size() <= 2) return out;
  const SequenceLengths longest = longest_of(whole.packing.sequences, "lengths");
  const auto other = std::find_if(whole.packing.sequences.begin(), whole.packing.sequences.end(),
                                  [&](const SequenceLengths& one) { return !(one == longest); });
  out.packing.sequences = {longest, other == whole.packing.sequences.end() ? longest : *other};
  return out;
}

/// Returns the cells of one block's iteration: points of the axes that blocks and chunks divide.
double cells_of_iteration(const PlacedDiagram& placed) {
  double cells = placed.streamed->stream ? real(placed.block().chunk) : 1;
  for (std::size_t a = 0; a < placed.block().extent.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    if (placed.streamed->grouped(axis) && placed.streamed->stream != axis) cells *= real(placed.block().extent[a]);
  }
  return cells;
}

}  // namespace

Table::Table(const Question& like)
    : judged_(launch_problem(like.problem)),
      candidates_(like, Placer(*like.streamed, *like.mapping, *like.machine, judged_)) {
  find_sizes(like);
  one_by_one_ = is_timed_one_by_one(like);
}

bool Table::is_timed_one_by_one(const Question& like) const {
  return !by_graph_ || std::any_of(like.mapping->knobs.begin(), like.mapping->knobs.end(), [](const Knob& knob) {
    return std::any_of(knob.orders.begin(), knob.orders.end(),
                       [](const OrderWord& word) { return word.tiles == OrderWord::Tiles::even; });
  });
}

/// Keeps a tile of each combination of length knobs, and its facts that do not depend on lengths.
void Table::find_sizes(const Question& like) {
  const Problem problem = small(like.problem);
  const Placer judging(*like.streamed, *like.mapping, *like.machine, judged_),
      timing(*like.streamed, *like.mapping, *like.machine, problem);
  const Space& space = candidates_.space();
  const KnobSet sizing = size_knobs(like);
  std::map<std::int64_t, std::uint32_t> known;
  std::map<const void*, std::uint32_t> variants;
  PlacedDiagram placed;
  for (const std::int64_t rank : candidates_.legal()) {
    const Tile tile = space.tile(rank);
    timing.place(tile, placed);
    by_graph_ = by_graph_ && has_event_graph(placed);
    variant_of_.push_back(
        variants.emplace(placed.variant.get(), static_cast<std::uint32_t>(variants.size())).first->second);
    std::int64_t lengths = 0, size = 0;
    for (std::size_t k = 0; k < space.domains.size(); ++k) {
      const std::int64_t digit = space.digit(rank, k);
      const KnobSet bit = knob_bit(static_cast<KnobId>(k));
      if ((candidates_.length_knobs() & bit) != 0) lengths += digit * space.strides[k];
      if ((sizing & bit) != 0) size += digit * space.strides[k];
    }
    const auto [found, is_new] = known.emplace(lengths, static_cast<std::uint32_t>(sizes_.size()));
    sizes_of_.push_back(found->second);
    if (!is_new) continue;
    const PlacedDiagram judged = judging.place(tile);
    sizes_.push_back({rank, size, cells_of_iteration(judged), judged.block().extent});
    if (sizes_.size() == 1) find_shared(like, judged);
  }
}

void Table::find_shared(const Question& like, const PlacedDiagram& placed) {
  for (const Crossing& c : placed.crossings) {
    if (c.into != placed.block().level) continue;
    const std::vector<AxisId>& axes = placed.axes_of(c);
    std::vector<AxisId> lacks;
    for (std::size_t a = 0; a < placed.block().extent.size(); ++a) {
      const auto axis = static_cast<AxisId>(a);
      const bool has = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (like.streamed->grouped(axis) && !has) lacks.push_back(axis);
    }
    const bool known = std::find(shared_along_.begin(), shared_along_.end(), lacks) != shared_along_.end();
    if (!lacks.empty() && !known) shared_along_.push_back(std::move(lacks));
  }
}

/// The facts, beside the table's kind, that graphs of a size depend on: whether other blocks read what a block copies
/// (by crossing), into how many parts the streamed axis is cut, whether arrays come from device memory, whether blocks
/// wait for it, and the number of nodes if not all work.
class Table::Facts {
 public:
  Facts(const Table& table, const Question& question)
      : table_(table),
        question_(question),
        device_((comes_from_device(*question.machine, *question.streamed, question.problem) ? 1U : 0U) |
                (waits_for_device(*question.machine, *question.streamed, question.problem) ? 2U : 0U)),
        parts_(cuts_into_parts(*question.mapping)) {}
  [[nodiscard]] std::uint64_t of(const TileSizes& sizes) {
    std::uint64_t facts = 0;
    if (parts_)
      facts = static_cast<std::uint64_t>(placed_at(sizes).block().groups_of[at(*question_.streamed->stream)].get());
    const std::vector<Count>& extent = parts_ ? placed_.block().extent : sizes.extent;
    for (const std::vector<AxisId>& axes : table_.shared_along_) {
      const bool shared = std::any_of(
          axes.begin(), axes.end(), [&](AxisId axis) { return question_.problem.sizes[at(axis)] > extent[at(axis)]; });
      facts = facts << 1U | (shared ? 1U : 0U);
    }
    facts = facts << 2U | device_;
    const Count blocks = parts_ ? placed_.blocks : blocks_of(sizes);
    return facts << 16U | static_cast<std::uint64_t>(nodes_at_work(*question_.machine, blocks).get());
  }
  [[nodiscard]] TablePart* find(TileSizes& sizes, std::uint64_t facts) const {
    const auto found =
        std::find_if(sizes.parts.begin(), sizes.parts.end(), [&](const TablePart& one) { return one.facts == facts; });
    return found == sizes.parts.end() ? nullptr : &*found;
  }

 private:
  /// Returns the number of blocks for these sizes. Places a tile, to count parts, only if uncut rows leave nodes idle.
  [[nodiscard]] Count blocks_of(const TileSizes& sizes) {
    Count least = 1;
    for (std::size_t a = 0; a < sizes.extent.size(); ++a) {
      if (question_.streamed->grouped(static_cast<AxisId>(a)))
        least *= ceil_div(question_.problem.sizes[a], std::max(sizes.extent[a], Count(1)));
    }
    return least >= question_.machine->compute_nodes() ? least : placed_at(sizes).blocks;
  }
  [[nodiscard]] const PlacedDiagram& placed_at(const TileSizes& sizes) {
    if (!placer_) placer_.emplace(*question_.streamed, *question_.mapping, *question_.machine, question_.problem);
    placer_->place(table_.candidates_.space().tile(sizes.rank), placed_);
    return placed_;
  }

  const Table& table_;
  const Question& question_;
  std::uint64_t device_;
  bool parts_;
  std::optional<Placer> placer_;
  PlacedDiagram placed_;
};

/// Returns the iterations' bound by the cycle of waits. It holds from the first iteration on, for first and later
/// blocks, since resources stay occupied from block to block (tests/unit/select).
Period TablePart::least_period(const TileRow& row) {
  Period out;
  out.pipe.clocks = rounding * row.pipe;
  out.clocks = std::max(out.pipe.clocks, rounding * row.cycle);
  out.settled = 0;
  return out;
}

/// Returns the row's lower bounds. Blocks that share a node hide one another's waits.
TablePart::AtLeast TablePart::at_least(const TileRow& row) const {
  const TileTrait& trait = traits[row.trait];
  const double blocks = trait.blocks, pipe = rounding * row.pipe;
  const double ends = trait.ends.persist ? 0 : rounding * (trait.ends.start + trait.ends.handover);
  return {pipe, pipe / blocks, std::max(rounding * row.cycle / blocks, pipe), ends / blocks};
}

double TablePart::AtLeast::cycles_of(const LaunchShape& launch) const {
  const Schedule& who = launch.who;
  const bool equal = !launch.unequal && !launch.packed && who.iterations >= who.blocks * launch.mean;
  const double blocks = equal ? who.blocks : std::max(who.total_blocks / who.nodes, 1.0);
  const double cuts = std::min<double>(launch.block.more.all(), launch.mean);
  return blocks * std::max(launch.mean * pipe, ends + cuts * cut + (launch.mean - cuts) * whole);
}

void TablePart::finish() {
  const auto whole = [&](const TileRow& row) { return at_least(row).whole; };
  std::stable_sort(rows.begin(), rows.end(), [&](const TileRow& a, const TileRow& b) { return whole(a) < whole(b); });
  constexpr double infinity = std::numeric_limits<double>::infinity();
  from_row.resize(rows.size());
  AtLeast all{infinity, infinity, 0, infinity};
  for (std::size_t r = rows.size(); r-- > 0;) {
    const AtLeast own = at_least(rows[r]);
    all = {std::min(all.pipe, own.pipe), std::min(all.cut, own.cut), own.whole, std::min(all.ends, own.ends)};
    from_row[r] = all;
  }
  least = from_row.front().pipe;
  cycle = energy = infinity;
  for (const BlockEnergy& one : energies) energy = std::min(energy, one.iteration);
  for (const TileRow& row : rows) cycle = std::min(cycle, traits[row.trait].blocks > 1 ? 0 : rounding * row.cycle);
}

/// The maker of parts for a question's facts; what their graphs share is found once.
class PartMaker {
 public:
  PartMaker(Table& table, const Question& question)
      : table_(table),
        problem_(small(question.problem)),
        placer_(*question.streamed, *question.mapping, *question.machine, problem_),
        legal_of_(table.sizes_.size()) {
    for (std::uint32_t i = 0; i < table.sizes_of_.size(); ++i) legal_of_[table.sizes_of_[i]].push_back(i);
  }

  void make(TablePart& part) {
    energies_.clear();
    for (const std::uint32_t i : legal_of_[part.sizes]) add(i, part);
    part.finish();
  }

 private:
  void add(std::uint32_t legal, TablePart& part) {
    TileRow row;
    row.legal = legal;
    placer_.place(table_.candidates_.space().tile(table_.rank_of(legal)), placed_);
    TileTrait trait{block_ends(placed_), static_cast<std::int32_t>(occupancy(placed_).blocks.get()),
                    block_order(placed_), false};
    if (!table_.one_by_one_) trait.cuts = add_graph(row, part);
    const auto known = std::find(part.traits.begin(), part.traits.end(), trait);
    row.trait = static_cast<std::uint32_t>(known - part.traits.begin());
    if (known == part.traits.end()) part.traits.push_back(trait);
    part.rows.push_back(row);
  }

  /// Adds what the row's graph gives; returns true if the graph has cut work.
  bool add_graph(TileRow& row, TablePart& part) {
    if (!rates_) rates_ = energy_rates(placed_);
    const EventGraph graph = event_graph(placed_);
    const BlockEnergy energy = block_energy(placed_, graph, *rates_);
    const std::array key{energy.iteration, energy.once, energy.cut, energy.alone};
    row.energy = energies_.emplace(key, static_cast<std::uint32_t>(energies_.size())).first->second;
    if (row.energy == part.energies.size()) part.energies.push_back(energy);
    row.pipe = busiest_pipe(graph).clocks;
    row.cycle = cycle_clocks(graph);
    return graph.has_cut_work();
  }

  Table& table_;
  Problem problem_;
  Placer placer_;
  std::vector<std::vector<std::uint32_t>> legal_of_;  // indices into the legal tiles, by sizes
  PlacedDiagram placed_;
  std::optional<EnergyRates> rates_;
  std::map<std::array<double, 4>, std::uint32_t> energies_;  // numbers in the list of the part at hand
};

std::vector<TablePart*> Table::parts_for(const Question& question, const Allowed& allowed) {
  const std::lock_guard lock(mutex_);
  Facts facts(*this, question);
  std::optional<PartMaker> maker;
  std::vector<TablePart*> out;
  Tile tile;
  for (std::uint32_t s = 0; s < sizes_.size(); ++s) {
    TileSizes& sizes = sizes_[s];
    candidates_.space().tile(sizes.rank, tile);
    if (!allowed.lengths_hold(tile)) {
      out.push_back(nullptr);
      continue;
    }
    const std::uint64_t own = facts.of(sizes);
    TablePart* known = facts.find(sizes, own);
    if (known == nullptr) {
      TablePart part;
      part.sizes = s;
      part.facts = own;
      if (!maker) maker.emplace(*this, question);
      maker->make(part);
      ++parts_made_;
      known = &sizes.parts.emplace_back(std::move(part));
    }
    out.push_back(known);
  }
  return out;
}

/// Returns the tile's index into Candidates::legal(); nothing if it is not among them.
std::optional<std::uint32_t> Table::legal_of(const Tile& tile) const {
  const Space& space = candidates_.space();
  for (std::size_t k = 0; k < space.domains.size(); ++k) {
    const std::vector<std::int64_t>& domain = space.domains[k];
    if (std::find(domain.begin(), domain.end(), tile.values[k]) == domain.end()) return std::nullopt;
  }
  const std::vector<std::uint32_t>& legal = candidates_.legal();
  const auto rank = static_cast<std::uint32_t>(space.rank(tile));
  const auto found = std::lower_bound(legal.begin(), legal.end(), rank);
  if (found == legal.end() || *found != rank) return std::nullopt;
  return static_cast<std::uint32_t>(found - legal.begin());
}

std::optional<Table::Found> Table::find(const Question& question, const Tile& tile) {
  const auto legal = legal_of(tile);
  if (!legal) return std::nullopt;
  Facts facts(*this, question);
  TileSizes& sizes = sizes_[sizes_of_[*legal]];
  TablePart* part = facts.find(sizes, facts.of(sizes));
  if (part == nullptr) return std::nullopt;
  const auto row =
      std::find_if(part->rows.begin(), part->rows.end(), [&](const TileRow& one) { return one.legal == *legal; });
  return Found{part, &*row};
}

std::size_t Table::bytes() {
  const std::lock_guard lock(mutex_);
  if (bytes_ > 0 && counted_at_ == std::pair(parts_made_, periods_.size())) return bytes_;
  std::size_t sum = candidates_.bytes() + periods_.bytes() + (sizes_of_.size() + variant_of_.size()) * 4;
  for (const TileSizes& sizes : sizes_) {
    sum += sizeof sizes + sizes.extent.size() * sizeof(Count);
    for (const TablePart& part : sizes.parts) {
      sum += sizeof part + part.rows.capacity() * sizeof(TileRow) + part.from_row.capacity() * sizeof(part.from_row[0]);
      sum += part.traits.size() * sizeof(TileTrait) + part.energies.size() * sizeof(BlockEnergy);
    }
  }
  counted_at_ = {parts_made_, periods_.size()};
  return bytes_ = sum;
}

const PlacedDiagram& Table::place(const Scan& scan, std::uint32_t legal) {
  const Question& question = scan.question();
  auto placing = std::find_if(placings_.begin(), placings_.end(),
                              [&](const Placing& one) { return one.problem.dtype == question.problem.dtype; });
  if (placing == placings_.end()) placing = placings_.emplace(placings_.end());
  if (placing->scan != scan.number()) {
    placing->problem = question.problem;
    if (placing->placer == nullptr)
      placing->placer =
          std::make_unique<Placer>(*question.streamed, *question.mapping, *question.machine, placing->problem);
    else
      placing->placer->rebind(placing->problem);
    placing->scan = scan.number();
  }
  const std::uint32_t variant = variant_of_[legal];
  if (placing->placed.size() <= variant) placing->placed.resize(variant + 1);
  PlacedDiagram& placed = placing->placed[variant];
  placing->placer->place(candidates_.space().tile(rank_of(legal)), placed);
  return placed;
}

}  // namespace napkin
