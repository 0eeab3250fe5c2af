#include "solver/select/scan.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "model/clock/run/period.hpp"
#include "model/diagram/packing.hpp"
#include "model/diagram/visits.hpp"
#include "model/resource/plan.hpp"

namespace napkin {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Cells of the axes that blocks and chunks divide, of a question: those that its mask leaves. Over those of one
/// iteration they are at most its iterations. Of packed sequences 0: nothing is said.
double cells_of(const Question& question) {
  const Problem& problem = question.problem;
  if (!problem.packing.sequences.empty()) return 0;
  const Streamed& streamed = *question.streamed;
  double cells = 1;
  for (std::size_t a = 0; a < problem.sizes.size(); ++a) {
    if (streamed.grouped(static_cast<AxisId>(a)) || streamed.stream == static_cast<AxisId>(a))
      cells *= real(problem.sizes[a]);
  }
  if (!streamed.skips || problem.mask.kind == Mask::Kind::none) return cells;
  const auto [row_axis, column_axis] = *streamed.skips;
  const Count rows = problem.sizes[at(row_axis)], columns = problem.sizes[at(column_axis)];
  return cells * real(visible_pairs(problem.mask, rows.get(), columns.get())) / (real(rows) * real(columns));
}

}  // namespace

/// What a runner-up may take at most to be of interest.
double Best::second_time() const {
  if (!runner_up_) return 0;
  return second_.row == nullptr ? infinity : second_.time;
}

double Best::enough() const { return best_.size() < most_ ? infinity : std::max(best_.back().time, second_time()); }

double Best::enough(std::int64_t size) const {
  const auto of_size = std::find_if(best_.begin(), best_.end(), [&](const Found& one) { return one.size == size; });
  return of_size == best_.end() ? enough() : std::max(of_size->time, second_time());
}

void Best::take(const Found& found) {
  take_second(found);
  const auto of_size =
      std::find_if(best_.begin(), best_.end(), [&](const Found& one) { return one.size == found.size; });
  if (of_size != best_.end()) {
    if (!(found < *of_size)) return;
    best_.erase(of_size);
  }
  best_.insert(std::upper_bound(best_.begin(), best_.end(), found), found);
  if (best_.size() > most_) best_.pop_back();
}

void Best::take_second(const Found& found) {
  if (first_.row == nullptr || found.time < first_.time) {
    second_ = first_;
    first_ = found;
  } else if (found.time == first_.time) {
    if (found < first_) first_ = found;
  } else if (second_.row == nullptr || found < second_) {
    second_ = found;
  }
}

namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> latest{0};
  return ++latest;
}

}  // namespace

Scan::Scan(std::shared_ptr<Table> table, const Question& question)
    : number_(next_number()),
      table_(std::move(table)),
      question_(question),
      rows_(table_->rows_for(question)),
      allowed_(question, table_->candidates_),
      lengths_hold_(table_->sizes_.size(), 0) {
  Tile tile;
  for (std::size_t s = 0; s < lengths_hold_.size(); ++s) {
    space().tile(table_->sizes_[s].rank, tile);
    lengths_hold_[s] = allowed_.lengths_hold(tile) ? 1 : 0;
  }
}

Selection Scan::rank(int top) {
  const std::lock_guard lock(table_->mutex_);
  Selection out;
  out.candidates = allowed_.candidates();
  const Best best = run(Best(static_cast<std::size_t>(std::max(top, 1))));
  if (best.second() != nullptr) out.runner_up = full(*best.second());
  for (const Best::Found& found : best.best()) {
    if (top >= 1) out.ranked.push_back(full(found));
  }
  return out;
}

std::optional<Seconds> Scan::best_with(KnobId knob, std::int64_t value) {
  const std::lock_guard lock(table_->mutex_);
  const std::vector<std::int64_t>& domain = space().domains[at(knob)];
  const auto place = std::find(domain.begin(), domain.end(), value);
  if (place == domain.end()) return std::nullopt;
  const Best best = run(Best(1, false), std::pair(knob, place - domain.begin()));
  if (best.best().empty()) return std::nullopt;
  return Seconds(best.best().front().time);
}

Best Scan::run(Best best, Only only) {
  if (floors_.empty()) find_floors();
  for (const Floor& floor : floors_) {
    if (floor.seconds > best.enough()) break;
    scan(floor.sizes, only, best);
  }
  return best;
}

/// What no tile of the sizes takes less than: its shortest iteration for all cells, at the clock that the card holds
/// with the least energy.
void Scan::find_floors() {
  const double cells = cells_of(question_), nodes = std::max(real(question_.machine->compute_nodes()), 1.0);
  for (std::uint32_t s = 0; s < lengths_hold_.size(); ++s) {
    const TableRows::Part& part = rows_.parts[s];
    if (part.first == part.last || lengths_hold_[s] == 0) continue;
    if (model_ == nullptr) {
      const TableRow& any = rows_.rows[part.first];
      model_ = &model_of(any, place(any.rank, any.variant));
    }
    const double iterations = cells / table_->sizes_[s].cells, of_node = iterations / nodes;
    const double cycles = rounding * std::max(of_node * part.least, (of_node - most_to_settle) * part.cycle);
    const bool held = model_->rates.known && rows_.loads.empty();
    const double clock = held ? held_clock(model_->power, {part.energy * iterations, 0}, cycles).clock.value
                              : model_->clock.frequency.value;
    floors_.push_back({cycles / clock, s});
  }
  std::sort(floors_.begin(), floors_.end(), [](const Floor& a, const Floor& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.sizes < b.sizes;
  });
}

void Scan::scan(std::uint32_t sizes, Only only, Best& best) {
  const TableRows::Part& part = rows_.parts[sizes];
  const std::int64_t size = table_->sizes_[sizes].size;
  Shape& shape = shape_of(sizes);
  const double iterations = std::max(shape.launch.who.total_iterations / shape.launch.who.nodes, 1.0);
  const Energy least{part.energy * shape.launch.who.total_iterations, shape.device * model_->rates.device};
  waiting_.clear();
  for (std::uint32_t r = part.first; r < part.last; ++r) {
    const TableRow& row = rows_.rows[r];
    // Rows come with their iterations, the shortest first: behind one that takes too long all do.
    const double enough = best.enough(size);
    const auto takes_too_long = [&](double cycles) {
      return row.period >= 0 && enough < infinity && !may_end_within(least, cycles, enough);
    };
    if (takes_too_long(iterations * rows_.least[r])) break;
    if (iterations > most_to_settle && takes_too_long((iterations - most_to_settle) * row.cycle)) continue;
    const BlockClocks block = row.period >= 0 && !shape.launch.packed ? block_of(r, shape) : BlockClocks{};
    waiting_.push_back({cycles_of(row, shape, block), &row, block});
  }
  std::sort(waiting_.begin(), waiting_.end(), [](const Bound& a, const Bound& b) {
    return a.cycles != b.cycles ? a.cycles < b.cycles : a.row->rank < b.row->rank;
  });
  for (const auto& [bound, row, block] : waiting_) {
    // What was timed before may say more of the blocks' way onto nodes.
    const double enough = best.enough(size);
    if (enough < infinity && !may_end_within(*row, shape, bound, enough)) continue;
    if (enough < infinity && shape.launch.unequal &&
        !may_end_within(*row, shape, cycles_of(*row, shape, block), enough))
      continue;
    const std::int64_t rank = first_allowed(*row, only);
    if (rank >= 0) best.take({time_of(*row), rank, size, row});
  }
}

/// The first tile of the row that fixed knobs leave; -1: none.
std::int64_t Scan::first_allowed(const TableRow& row, Only only) const {
  const auto is_only = [&](std::int64_t rank) {
    const auto k = at(only->first);
    return rank / space().strides[k] % static_cast<std::int64_t>(space().domains[k].size()) == only->second;
  };
  for (std::uint32_t i = row.first; i < row.first + row.count; ++i) {
    const std::int64_t rank = rows_.members[i];
    if (allowed_.is_as_fixed(rank) && (!only || is_only(rank))) return rank;
  }
  return -1;
}

Scan::Shape& Scan::shape_of(std::uint32_t sizes) {
  for (Shape& known : shapes_) {
    if (known.sizes == sizes) return known;
  }
  const TableRow& any = rows_.rows[rows_.parts[sizes].first];
  const PlacedDiagram& placed = place(any.rank, any.variant);
  shapes_.push_back({});
  shapes_.back().sizes = sizes;
  shapes_.back().launch = launch_shape(placed);
  shapes_.back().device = device_bytes(placed);
  return shapes_.back();
}

/// The row's bound: cycles by the launch in closed form, of the roofline seconds.
double Scan::cycles_of(const TableRow& row, const Shape& shape, BlockClocks block) const {
  if (row.period < 0) return model_->roofline_bound(rows_.loads[at(row.load)], shape.launch.who) * rounding;
  const Period& period = rows_.periods[at(row.period)];
  return rounding * cycles_at_least(row.order, shape.launch, row.ends, block, period, Count(row.blocks));
}

void Scan::find_columns(Shape& shape) {
  const MeanBlock& block = shape.launch.block;
  const auto column = [&](double iterations, CutIterations cut, double& beyond) {
    const double most = most_to_settle + cut.all();
    beyond = std::max(iterations - most, 0.0);
    return &rows_.column(shape.sizes, static_cast<int>(std::min(iterations, most)), cut);
  };
  shape.fewer = shape.longer = shape.more = column(block.iterations, block.fewer, shape.fewer_beyond);
  shape.longer_beyond = shape.more_beyond = shape.fewer_beyond;
  if (block.rest > 0) shape.longer = column(block.iterations + 1, block.fewer, shape.longer_beyond);
  if (block.more.all() > block.fewer.all()) shape.more = column(block.iterations, block.more, shape.more_beyond);
}

/// Clocks of a block of mean length; where its runs are not known, what none goes below.
BlockClocks Scan::block_of(std::uint32_t row, Shape& shape) {
  if (shape.fewer == nullptr) find_columns(shape);
  const TableRow& own = rows_.rows[row];
  const Period& period = rows_.periods[at(own.period)];
  const std::size_t i = row - rows_.parts[shape.sizes].first;
  const auto of = [&](const TableRows::Column& column, double beyond) {
    const BlockClocks clocks = column.clocks[i];
    return BlockClocks{clocks.first + beyond * period.clocks, clocks.next + beyond * period.clocks};
  };
  const BlockClocks out =
      between_blocks(own.cuts ? shape.launch.block : shape.launch.uncut, of(*shape.fewer, shape.fewer_beyond),
                     of(*shape.longer, shape.longer_beyond), of(*shape.more, shape.more_beyond));
  if (!std::isnan(out.next)) return out;
  const double least = shape.launch.mean * period.pipe.clocks;
  return {least, least};
}

/// With the energy that is sure.
bool Scan::may_end_within(const TableRow& row, const Shape& shape, double cycles, double seconds) const {
  const double running = seconds - model_->launch.value;
  if (row.period < 0) return cycles <= running;
  return may_end_within({row.energy.of(shape.launch), shape.device * model_->rates.device}, cycles, seconds);
}

/// At the clock that the card may hold; without known energies at the one that is assumed.
bool Scan::may_end_within(const Energy& energy, double cycles, double seconds) const {
  const Seconds running(seconds - model_->launch.value);
  if (!model_->rates.known) return cycles <= running.value * model_->clock.frequency.value;
  return napkin::may_end_within(model_->power, energy, cycles, running);
}

double Scan::time_of(const TableRow& row) {
  const PlacedDiagram& placed = place(row.rank, row.variant);
  return model_of(row, placed).with_launch(timing_of(row, placed)).value;
}

Timing Scan::timing_of(const TableRow& row, const PlacedDiagram& placed) {
  const TimeModel& model = model_of(row, placed);
  if (row.period < 0) return model.of(placed, Count(row.blocks));
  Shape& shape = shape_of(row.sizes);
  const KnownLaunch known{rows_.periods[at(row.period)], row.energy, shape.launch, clocks_of(row, placed, shape)};
  return model.of(placed, Count(row.blocks), &known);
}

LaunchClocks Scan::clocks_of(const TableRow& row, const PlacedDiagram& placed, Shape& shape) {
  Period& period = rows_.periods[at(row.period)];
  if (shape.launch.packed) {
    return launch_clocks(placed, event_graph(placed), period, shape.launch);
  }
  if (shape.launch.unequal && !shape.launch.lengths.known()) shape.launch.lengths = block_lengths(placed, shape.launch);
  auto block = known_block_clocks(period, row.cuts ? shape.launch.block : shape.launch.uncut);
  if (!block) {
    block = block_clocks(event_graph(placed), period, shape.launch.mean, shape.launch.cut);
    rows_.learn(row);
  }
  return launch_clocks(row.order, shape.launch, row.ends, *block, period.clocks);
}

Ranked Scan::full(const Best::Found& found) {
  const TableRow& row = *found.row;
  const PlacedDiagram& placed = place(found.rank, row.variant);
  const Timing timing = timing_of(row, placed);
  const Period* period = row.period >= 0 ? &rows_.periods[at(row.period)] : nullptr;
  return {placed.tile, model_of(row, placed).explained(placed, timing, period)};
}

const TimeModel& Scan::model_of(const TableRow& row, const PlacedDiagram& placed) {
  if (models_.size() <= at(row.variant)) models_.resize(at(row.variant) + 1);
  std::unique_ptr<TimeModel>& model = models_[at(row.variant)];
  if (model == nullptr)
    model = std::make_unique<TimeModel>(placed, row.period >= 0 ? ByClock::graph : ByClock::roofline);
  return *model;
}

const PlacedDiagram& Scan::place(std::int64_t rank, std::int32_t variant) {
  return table_->place(*this, rank, variant);
}

Rejections Scan::count() {
  if (allowed_.can_count()) {
    const std::lock_guard lock(table_->mutex_);
    return table_->candidates_.count(allowed_);
  }
  const Problem launch = launch_problem(question_.problem);
  return count_each(question_, Placer(*question_.streamed, *question_.mapping, *question_.machine, launch));
}

}  // namespace napkin
