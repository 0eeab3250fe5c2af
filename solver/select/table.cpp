#include "solver/select/table.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/period_bounds.hpp"
#include "model/diagram/packing.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/scan.hpp"

namespace napkin {
namespace {

bool is_divided(const Streamed& streamed, AxisId axis) { return streamed.grouped(axis) || streamed.stream == axis; }

/// Of a packed batch the longest sequence and another one: a graph depends on no more of it than whether there is
/// another.
Problem small(const Problem& whole) {
  Problem out = whole;
  if (whole.packing.sequences.size() <= 2) return out;
  const SequenceLengths longest = longest_of(whole.packing.sequences, "lengths");
  const auto other = std::find_if(whole.packing.sequences.begin(), whole.packing.sequences.end(),
                                  [&](const SequenceLengths& one) { return !(one == longest); });
  out.packing.sequences = {longest, other == whole.packing.sequences.end() ? longest : *other};
  return out;
}

/// Cells of the axes that blocks and chunks divide, of one block's one iteration.
double cells_of_iteration(const PlacedDiagram& placed) {
  double cells = placed.streamed->stream ? real(placed.block().chunk) : 1;
  for (std::size_t a = 0; a < placed.block().extent.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    if (placed.streamed->grouped(axis) && placed.streamed->stream != axis) cells *= real(placed.block().extent[a]);
  }
  return cells;
}

/// What a row's tiles agree in, as bytes.
std::string key_of(const TableRow& row, const PlacedDiagram& placed) {
  ByteWriter key;
  for (const double number : {row.ends.start, row.ends.handover, row.energy.iteration, row.energy.once, row.energy.cut,
                              row.energy.alone, compulsory_bytes(placed)})
    key.put(number);
  for (const std::int64_t number : {std::int64_t{row.period}, std::int64_t{row.load}, std::int64_t{row.blocks},
                                    static_cast<std::int64_t>(row.sizes), static_cast<std::int64_t>(row.order),
                                    std::int64_t{row.ends.persist}, placed.cluster.get(), placed.threads.get()})
    key.put(number);
  if (placed.combine) {
    key.put(static_cast<std::int64_t>(placed.combine->by));
    key.put(placed.combine->at);
    key.put(placed.combine->steps.get());
  }
  return key.take();
}

std::string key_of(const BlockLoad& load) {
  ByteWriter key;
  for (std::size_t i = 0; i < load.count; ++i) {
    key.put(load.pipes[i].loop);
    key.put(load.pipes[i].once);
  }
  for (const double bytes : {load.loop_bytes, load.once_bytes, load.part_bytes}) key.put(bytes);
  return key.take();
}

}  // namespace

std::string kind_of(const Question& question) {
  ByteWriter key;
  const Problem& problem = question.problem;
  key.put(static_cast<std::int32_t>(problem.dtype));
  key.put(static_cast<std::int32_t>(problem.mask.kind));
  key.put(static_cast<std::int32_t>(problem.packing.sequences.empty() ? 0 : 1));
  for (std::size_t a = 0; a < problem.sizes.size(); ++a) {
    const bool divided = is_divided(*question.streamed, static_cast<AxisId>(a)) && !question.mapping->exact_groups;
    key.put(divided ? std::int64_t{-1} : problem.sizes[a].get());
  }
  const Space space = space_of_kind(question);
  for (std::size_t k = 0; k < space.domains.size(); ++k) {
    const Knob& knob = question.mapping->knobs[k];
    const bool whole =
        knob.searched ? space.domains[k] == knob.domain : space.domains[k].front() == knob.domain.front();
    if (whole) continue;
    key.put(static_cast<std::int64_t>(k));
    key.put(space.domains[k]);
  }
  return key.take();
}

Table::Table(const Question& like)
    : judged_(launch_problem(like.problem)),
      candidates_(like, Placer(*like.streamed, *like.mapping, *like.machine, judged_)) {
  find_sizes(like);
}

/// Of each combination of length knobs one tile, and what of it does not depend on lengths.
void Table::find_sizes(const Question& like) {
  const Placer placer(*like.streamed, *like.mapping, *like.machine, judged_);
  const Space& space = candidates_.space();
  const KnobSet sizing = size_knobs(like);
  std::map<std::int64_t, std::uint32_t> known;
  PlacedDiagram placed;
  for (const std::int64_t rank : candidates_.legal()) {
    std::int64_t lengths = 0, size = 0;
    for (std::size_t k = 0; k < space.domains.size(); ++k) {
      const std::int64_t digit = rank / space.strides[k] % static_cast<std::int64_t>(space.domains[k].size());
      const KnobSet bit = knob_bit(static_cast<KnobId>(k));
      if ((candidates_.length_knobs() & bit) != 0) lengths += digit * space.strides[k];
      if ((sizing & bit) != 0) size += digit * space.strides[k];
    }
    const auto [found, is_new] = known.emplace(lengths, static_cast<std::uint32_t>(sizes_.size()));
    sizes_of_.push_back(found->second);
    if (!is_new) continue;
    placer.place(space.tile(rank), placed);
    sizes_.push_back({rank, size, cells_of_iteration(placed), placed.block().extent});
    if (!shared_along_.empty()) continue;
    for (const Crossing& c : placed.crossings) {
      if (c.into != placed.block().level) continue;
      const std::vector<AxisId>& axes = placed.axes_of(c);
      std::vector<AxisId> lacks;
      for (std::size_t a = 0; a < placed.block().extent.size(); ++a) {
        const auto axis = static_cast<AxisId>(a);
        const bool has = std::find(axes.begin(), axes.end(), axis) != axes.end();
        if (like.streamed->grouped(axis) && !has) lacks.push_back(axis);
      }
      if (std::find(shared_along_.begin(), shared_along_.end(), lacks) == shared_along_.end())
        shared_along_.push_back(std::move(lacks));
    }
  }
}

/// Whether arrays come from device memory, whether blocks wait for it, and by sizes and crossing whether other blocks
/// read what a block copies. Sizes that the question's lengths rule out count as read by others.
std::string Table::facts_of(const Question& question) const {
  const Problem& problem = question.problem;
  std::string facts;
  facts += comes_from_device(*question.machine, *question.streamed, problem) ? 'd' : '-';
  facts += waits_for_device(*question.machine, *question.streamed, problem) ? 'w' : '-';
  std::string others;
  bool all = true;
  for (const Sizes& sizes : sizes_) {
    for (const std::vector<AxisId>& axes : shared_along_) {
      const bool shared = std::any_of(axes.begin(), axes.end(),
                                      [&](AxisId axis) { return problem.sizes[at(axis)] > sizes.extent[at(axis)]; });
      all = all && (shared || axes.empty());
      others += shared || axes.empty() ? '1' : '0';
    }
  }
  return all ? facts : facts + others;
}

TableRows& Table::rows_for(const Question& question) {
  const std::lock_guard lock(mutex_);
  std::string facts = facts_of(question);
  for (TableRows& rows : made_) {
    if (rows.facts == facts) return rows;
  }
  made_.push_back({});
  made_.back().facts = std::move(facts);
  make_rows(question, made_.back());
  grown_ = true;
  return made_.back();
}

namespace {

/// Rows of tiles, found by what they agree in.
class RowMaker {
 public:
  RowMaker(TableRows& into, bool by_graph) : into_(into), by_graph_(by_graph) {}

  void add(const PlacedDiagram& placed, std::int64_t rank, std::uint32_t sizes) {
    TableRow row;
    row.rank = rank;
    row.sizes = sizes;
    row.blocks = static_cast<std::int32_t>(occupancy(placed).blocks.get());
    row.order = block_order(placed);
    row.ends = block_ends(placed);
    row.variant = number_of(variants_, placed.variant.get());
    if (by_graph_) {
      if (!rates_) rates_ = energy_rates(placed);
      const EventGraph graph = event_graph(placed);
      const Period& period = known_.of(graph);
      row.period = number_of(periods_, &period);
      row.cuts = graph.has_cut_work();
      row.energy = block_energy(placed, graph, *rates_);
      if (static_cast<std::size_t>(row.period) == into_.periods.size()) {
        into_.periods.push_back(period);
        explain(graph, into_.periods.back());
        cycles_.push_back(rounding * cycle_clocks(graph));
      }
      row.cycle = row.blocks > 1 ? 0 : cycles_[at(row.period)];
    } else {
      const auto workload = workloads_.try_emplace(row.variant, placed).first;
      const BlockLoad load = workload->second.of(placed);
      row.load = number_of(loads_, key_of(load));
      if (static_cast<std::size_t>(row.load) == into_.loads.size()) into_.loads.push_back(load);
    }
    const auto [found, is_new] = rows_.emplace(key_of(row, placed), into_.rows.size());
    if (is_new) {
      into_.rows.push_back(row);
      members_.emplace_back();
    }
    members_[found->second].push_back(rank);
  }

  /// Rows by sizes, the shortest iteration of each first; their tiles' ranks.
  void finish(std::size_t sizes) {
    std::vector<std::size_t> order(into_.rows.size());
    std::vector<double> clocks;
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      clocks.push_back(iteration_clocks(into_.rows[i]));
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const TableRow &x = into_.rows[a], &y = into_.rows[b];
      if (x.sizes != y.sizes) return x.sizes < y.sizes;
      return clocks[a] != clocks[b] ? clocks[a] < clocks[b] : x.rank < y.rank;
    });
    std::vector<TableRow> rows;
    into_.parts.resize(sizes);
    for (const std::size_t i : order) {
      TableRow row = into_.rows[i];
      row.first = static_cast<std::uint32_t>(into_.members.size());
      row.count = static_cast<std::uint32_t>(members_[i].size());
      into_.members.insert(into_.members.end(), members_[i].begin(), members_[i].end());
      TableRows::Part& part = into_.parts[row.sizes];
      if (part.last == 0)
        part = {static_cast<std::uint32_t>(rows.size()), 0, clocks[i], row.cycle, row.energy.iteration};
      part.cycle = std::min(part.cycle, row.cycle);
      part.energy = std::min(part.energy, row.energy.iteration);
      into_.least.push_back(clocks[i]);
      part.last = static_cast<std::uint32_t>(rows.size() + 1);
      rows.push_back(row);
    }
    into_.rows = std::move(rows);
  }

 private:
  template <class Map, class Key>
  static std::int32_t number_of(Map& numbers, Key key) {
    return numbers.emplace(std::move(key), static_cast<std::int32_t>(numbers.size())).first->second;
  }
  /// The busiest pipe's. A cycle of waits bounds no run of few iterations: the first ones find free buffers.
  [[nodiscard]] double iteration_clocks(const TableRow& row) const {
    if (row.period >= 0) {
      const Period& period = into_.periods[at(row.period)];
      return rounding * period.pipe.clocks;
    }
    const BlockLoad& load = into_.loads[at(row.load)];
    double clocks = 0;
    for (std::size_t i = 0; i < load.count; ++i) clocks = std::max(clocks, load.pipes[i].loop);
    return rounding * clocks;
  }

  TableRows& into_;
  bool by_graph_;
  Periods known_;
  std::optional<EnergyRates> rates_;
  std::map<std::int32_t, Workload> workloads_;  // by variant
  std::vector<double> cycles_;                  // by period
  std::map<const Period*, std::int32_t> periods_;
  std::map<const void*, std::int32_t> variants_;
  std::map<std::string, std::int32_t> loads_;
  std::unordered_map<std::string, std::size_t> rows_;
  std::vector<std::vector<std::int64_t>> members_;  // by row
};

}  // namespace

namespace {

BlockClocks clocks_in(const TableRows::Column& column, const TableRow& row, const Period& period) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const auto known = known_block_clocks(period, column.iterations, row.cuts ? column.cut : CutIterations{});
  return known.value_or(BlockClocks{unknown, unknown});
}

}  // namespace

const TableRows::Column& TableRows::column(std::uint32_t sizes, int iterations, CutIterations cut) {
  if (columns.size() < parts.size()) columns.resize(parts.size());
  std::list<Column>& known = columns[sizes];
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Column& one) { return one.iterations == iterations && one.cut == cut; });
  if (found != known.end()) return *found;
  Column out{iterations, cut, {}};
  for (std::uint32_t r = parts[sizes].first; r < parts[sizes].last; ++r)
    out.clocks.push_back(clocks_in(out, rows[r], periods[at(rows[r].period)]));
  known.push_back(std::move(out));
  return known.back();
}

void TableRows::learn(const TableRow& row) {
  if (columns.size() <= row.sizes) return;
  const std::uint32_t first = parts[row.sizes].first;
  for (Column& column : columns[row.sizes]) {
    for (std::size_t i = 0; i < column.clocks.size(); ++i) {
      const TableRow& other = rows[first + i];
      if (other.period == row.period) column.clocks[i] = clocks_in(column, other, periods[at(row.period)]);
    }
  }
}

/// By the event graph where every legal tile has one; else by the roofline.
void Table::make_rows(const Question& question, TableRows& into) {
  const Problem problem = small(question.problem);
  const Placer placer(*question.streamed, *question.mapping, *question.machine, problem);
  const Space& space = candidates_.space();
  const std::vector<std::int64_t>& legal = candidates_.legal();
  PlacedDiagram placed;
  const bool by_graph = std::all_of(legal.begin(), legal.end(), [&](std::int64_t rank) {
    placer.place(space.tile(rank), placed);
    return has_event_graph(placed);
  });
  RowMaker maker(into, by_graph);
  for (std::size_t i = 0; i < legal.size(); ++i) {
    placer.place(space.tile(legal[i]), placed);
    maker.add(placed, legal[i], sizes_of_[i]);
  }
  maker.finish(sizes_.size());
}

const PlacedDiagram& Table::place(const Scan& scan, std::int64_t rank, std::int32_t variant) {
  if (bound_ != scan.number()) {
    const Question& question = scan.question();
    problem_ = question.problem;
    if (placer_ == nullptr)
      placer_ = std::make_unique<Placer>(*question.streamed, *question.mapping, *question.machine, problem_);
    else
      placer_->rebind(problem_);
    bound_ = scan.number();
  }
  if (placed_.size() <= at(variant)) placed_.resize(at(variant) + 1);
  PlacedDiagram& placed = placed_[at(variant)];
  placer_->place(candidates_.space().tile(rank), placed);
  return placed;
}

}  // namespace napkin
