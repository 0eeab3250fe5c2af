#include "solver/select/scan.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "model/clock/run/period.hpp"
#include "model/diagram/packing.hpp"
#include "model/diagram/visits.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/tie.hpp"

namespace napkin {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Cells of a question: points of the axes that blocks and chunks divide, as many as the mask leaves. Divided by the
/// cells of one iteration they give no more iterations than there are. 0 for packed sequences: nothing is said.
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

bool Best::is_before(const Found& a, const Found& b) const {
  if (a.time != b.time) return a.time < b.time;
  const Count moved = bytes_of_(*a.row), other = bytes_of_(*b.row);
  return moved != other ? moved < other : a.row->legal < b.row->legal;
}

void Best::take(const Found& found) {
  take_second(found);
  const auto of_size =
      std::find_if(best_.begin(), best_.end(), [&](const Found& one) { return one.size == found.size; });
  if (of_size != best_.end()) {
    if (!is_before(found, *of_size)) return;
    best_.erase(of_size);
  }
  const auto before = [&](const Found& a, const Found& b) { return is_before(a, b); };
  best_.insert(std::upper_bound(best_.begin(), best_.end(), found, before), found);
  if (best_.size() > most_) best_.pop_back();
}

void Best::take_second(const Found& found) {
  if (first_.row == nullptr || found.time < first_.time) {
    second_ = first_;
    first_ = found;
  } else if (found.time == first_.time) {
    if (is_before(found, first_)) first_ = found;
  } else if (second_.row == nullptr || is_before(found, second_)) {
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
    : number_(next_number()), table_(std::move(table)), question_(question) {}

void Scan::find_parts(const MakingTable& making) {
  if (allowed_) return;
  Allowed allowed(question_, table_->candidates_);
  parts_ = table_->parts_for(question_, allowed, making);
  allowed_.emplace(std::move(allowed));
}

Selection Scan::rank(int top) {
  find_parts();
  const std::lock_guard lock(table_->mutex_);
  Selection out;
  out.candidates = allowed_->candidates();
  const Best::BytesOf bytes_of = moved();
  const Best best = run(Best(static_cast<std::size_t>(std::max(top, 1)), bytes_of));
  const auto ranked = [&](const Best::Found& found) {
    return Ranked{space().tile(rank_of(found.row->legal)), full(*found.part, *found.row, false), bytes_of(*found.row)};
  };
  if (best.second() != nullptr) out.runner_up = ranked(*best.second());
  for (const Best::Found& found : best.best()) {
    if (top >= 1) out.ranked.push_back(ranked(found));
  }
  return out;
}

std::optional<Scan::Timed> Scan::best_with(KnobId knob, std::int64_t value) {
  find_parts();
  const std::lock_guard lock(table_->mutex_);
  const Best best = run(Best(1, moved(), false), std::pair(knob, value));
  if (best.best().empty()) return std::nullopt;
  return Timed{space().tile(rank_of(best.best().front().row->legal)), Seconds(best.best().front().time)};
}

Best Scan::run(Best best, Only only) {
  if (floors_.empty()) find_floors();
  const KnobSet same = table_->candidates_.length_knobs();  // which all tiles of a part have in common
  for (const Floor& floor : floors_) {
    if (floor.seconds > best.enough()) break;
    if (only && (same & knob_bit(only->first)) != 0 && !is(only, table_->sizes_[floor.part->sizes].rank)) continue;
    scan(*floor.part, only, best);
  }
  return best;
}

/// What no tile of the part takes less than: its shortest iteration for all cells, at the fastest clock that the card
/// may hold with the least energy.
void Scan::find_floors() {
  const double cells = cells_of(question_), nodes = std::max(real(question_.machine->compute_nodes()), 1.0);
  for (TablePart* part : parts_) {
    if (part == nullptr) continue;
    if (model_ == nullptr) {
      table_->read(*part, question_);
      const TileRow& any = part->rows.front();
      model_ = &model_of(any, place(any));
    }
    const double iterations = cells / table_->sizes_[part->sizes].cells, of_node = iterations / nodes;
    const double cycles = rounding * std::max(of_node * part->least, (of_node - most_to_settle) * part->cycle);
    const bool held = model_->rates.known && table_->by_graph_;
    const double clock = held ? clock_at_most(model_->power, {part->energy * iterations, 0}, cycles).value
                              : model_->clock.frequency.value;
    floors_.push_back({rounding * cycles / clock, part});
  }
  std::sort(floors_.begin(), floors_.end(), [](const Floor& a, const Floor& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.part->sizes < b.part->sizes;
  });
}

/// Puts the bounds of the part's rows that are no larger than `most` into waiting_.
void Scan::find_bounds(Shape& shape, double most) {
  const TablePart& part = *shape.part;
  const double iterations = std::max(shape.launch.who.total_iterations / shape.launch.who.nodes, 1.0);
  waiting_.clear();
  for (std::size_t r = 0; r < part.rows.size(); ++r) {
    const TileRow& row = part.rows[r];
    const bool by_graph = row.period >= 0;
    // Rows come with their iterations, the shortest first: behind one that takes too long all do.
    if (by_graph && iterations * part.least_of[r] > most) break;
    if (by_graph && (iterations - most_to_settle) * part.cycle_of[r] > most) continue;
    const double least = bound_of(row, shape, by_graph ? block_of(row, shape).clocks : BlockClocks{});
    if (least <= most) waiting_.push_back({least, &row});
  }
}

void Scan::scan(TablePart& part, Only only, Best& best) {
  table_->read(part, question_);
  const std::int64_t size = table_->sizes_[part.sizes].size;
  Shape& shape = shape_of(part, part.rows.front());
  double enough = best.enough(size), most = most_within(shape, enough);
  find_bounds(shape, most);
  const auto later = [](const Bound& a, const Bound& b) {
    return a.least != b.least ? a.least > b.least : a.row->legal > b.row->legal;
  };
  std::make_heap(waiting_.begin(), waiting_.end(), later);
  while (!waiting_.empty()) {
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    const auto [least, row] = waiting_.back();
    waiting_.pop_back();
    if (const double now = best.enough(size); now != enough) {
      enough = now;
      most = most_within(shape, enough);
    }
    if (least > most) break;
    if (!allowed_->is_as_fixed(rank_of(row->legal)) || !is(only, rank_of(row->legal))) continue;
    if (!may_end_within(*row, shape, least, enough)) continue;
    if (row->period >= 0 && (shape.launch.unequal || shape.launch.packed)) {
      // To put its blocks onto nodes takes the longest. Runs of its blocks, and what was timed since, say more before.
      if (!block_of(*row, shape).known) make_runs(*row, shape);
      const double bound = bound_of(*row, shape, block_of(*row, shape).clocks);
      if (bound > least) {
        waiting_.push_back({bound, row});
        std::push_heap(waiting_.begin(), waiting_.end(), later);
        continue;
      }
    }
    best.take({time_of(part, *row), size, &part, row});
  }
}

/// Whether the tile has that value of that knob.
bool Scan::is(Only only, std::int64_t rank) const {
  return !only || space().value(rank, at(only->first)) == only->second;
}

Scan::Shape& Scan::shape_of(TablePart& part, const TileRow& any) {
  const auto known = shapes_.find(&part);
  if (known != shapes_.end()) return known->second;
  const PlacedDiagram& placed = place(any);
  Shape shape;
  shape.part = &part;
  shape.launch = launch_shape(placed);
  shape.device = device_bytes(placed);
  return shapes_.emplace(&part, std::move(shape)).first->second;
}

/// The row's bound: cycles by the launch in closed form, of the roofline seconds.
double Scan::bound_of(const TileRow& row, const Shape& shape, BlockClocks block) const {
  if (row.period < 0) return model_->roofline_bound(shape.part->loads[at(row.load)], shape.launch.who) * rounding;
  const Period& period = shape.part->periods[at(row.period)].period;
  const TileTrait& trait = shape.part->traits[row.trait];
  return rounding * cycles_at_least(trait.order, shape.launch, trait.ends, block, period, Count(trait.blocks));
}

Scan::MeanColumns Scan::columns_of(TablePart& part, double mean, const MeanBlock& block, const MeanBlock& uncut) {
  MeanColumns out{block, uncut, mean};
  const auto column = [&](double iterations, CutIterations cut, double& beyond) {
    const double most = most_to_settle + cut.all();
    beyond = std::max(iterations - most, 0.0);
    return &part.column(static_cast<int>(std::min(iterations, most)), cut);
  };
  out.fewer = out.longer = out.more = column(block.iterations, block.fewer, out.fewer_beyond);
  out.longer_beyond = out.more_beyond = out.fewer_beyond;
  if (block.rest > 0) out.longer = column(block.iterations + 1, block.fewer, out.longer_beyond);
  if (block.more.all() > block.fewer.all()) out.more = column(block.iterations, block.more, out.more_beyond);
  return out;
}

void Scan::find_columns(Shape& shape) {
  const LaunchShape& launch = shape.launch;
  if (!launch.packed) shape.blocks.push_back(columns_of(*shape.part, launch.mean, launch.block, launch.uncut));
  for (const LaunchShape::Part& one : launch.parts) {
    shape.blocks.push_back(columns_of(*shape.part, one.mean, one.block, one.uncut));
    shape.blocks.back().blocks = one.blocks;
  }
}

/// Clocks of a block of mean length; where its runs are not known, what none goes below.
Scan::MeanClocks Scan::block_of(const TileRow& row, const TablePart& part, const MeanColumns& columns) const {
  const Period& period = part.periods[at(row.period)].period;
  const auto r = static_cast<std::size_t>(&row - part.rows.data());
  const auto of = [&](const TablePart::Column& column, double beyond) {
    const BlockClocks clocks = column.clocks[r];
    return BlockClocks{clocks.first + beyond * period.clocks, clocks.next + beyond * period.clocks};
  };
  const MeanBlock& block = part.traits[row.trait].cuts ? columns.block : columns.uncut;
  const BlockClocks out =
      between_blocks(block, of(*columns.fewer, columns.fewer_beyond), of(*columns.longer, columns.longer_beyond),
                     of(*columns.more, columns.more_beyond));
  if (!std::isnan(out.next)) return {out, true};
  const double steady = std::max(columns.mean - (period.settled + block.more.all()), 0.0);  // iterations
  const double least = (columns.mean - steady) * period.pipe.clocks + steady * period.clocks;
  return {{least, least}, false};
}

/// Of a packed batch the mean over all blocks. Where blocks persist, `first` is no later behind `next` than any part's.
Scan::MeanClocks Scan::block_of(const TileRow& row, Shape& shape) {
  if (shape.blocks.empty()) find_columns(shape);
  if (!shape.launch.packed) return block_of(row, *shape.part, shape.blocks.front());
  MeanClocks sum;
  double blocks = 0, later = infinity;
  for (const MeanColumns& one : shape.blocks) {
    const MeanClocks own = block_of(row, *shape.part, one);
    sum.clocks.first += one.blocks * own.clocks.first;
    sum.clocks.next += one.blocks * own.clocks.next;
    sum.known = sum.known && own.known;
    later = std::min(later, own.clocks.first - own.clocks.next);
    blocks += one.blocks;
  }
  if (blocks <= 0) return {};
  sum.clocks = {sum.clocks.first / blocks, sum.clocks.next / blocks};
  if (shape.part->traits[row.trait].ends.persist) sum.clocks.first = sum.clocks.next + later;
  return sum;
}

/// Makes the runs of the row's blocks: putting the blocks onto nodes takes longer.
void Scan::make_runs(const TileRow& row, Shape& shape) {
  const EventGraph graph = event_graph(place(row));
  const Period& period = shape.part->periods[at(row.period)].period;
  const LaunchShape& launch = shape.launch;
  if (!launch.packed) (void)block_clocks(graph, period, launch.mean, launch.cut);
  for (const LaunchShape::Part& one : launch.parts) (void)block_clocks(graph, period, one.mean, one.cut);
  shape.part->learn(row);
  ++table_->made_;
}

/// No tile of the part with a larger bound ends within that time.
double Scan::most_within(const Shape& shape, double seconds) const {
  if (seconds == infinity) return infinity;
  const Seconds running(seconds - model_->launch.value);
  if (!table_->by_graph_) return running.value;
  if (!model_->rates.known) return running.value * model_->clock.frequency.value;
  const Energy least{shape.part->energy * shape.launch.who.total_iterations, shape.device * model_->rates.device};
  return cycles_within(model_->power, least, running);
}

/// With the energy that is sure, at the clock that the card may hold; without known energies at the one that is
/// assumed.
bool Scan::may_end_within(const TileRow& row, const Shape& shape, double least, double seconds) const {
  if (seconds == infinity) return true;
  if (row.period < 0 || !model_->rates.known) return least <= most_within(shape, seconds);
  const Energy energy{shape.part->energies[row.energy].of(shape.launch), shape.device * model_->rates.device};
  return napkin::may_end_within(model_->power, energy, least, Seconds(seconds - model_->launch.value));
}

double Scan::time_of(TablePart& part, const TileRow& row) {
  const auto known = timed_.find(&row);
  if (known != timed_.end()) return known->second;
  const PlacedDiagram& placed = place(row);
  return timed_.emplace(&row, model_of(row, placed).with_launch(timing_of(part, row, placed)).value).first->second;
}

Best::BytesOf Scan::moved() {
  return [this](const TileRow& row) {
    const auto known = moved_.find(&row);
    return known != moved_.end() ? known->second : moved_.emplace(&row, bytes_into_blocks(place(row))).first->second;
  };
}

Timing Scan::timing_of(TablePart& part, const TileRow& row, const PlacedDiagram& placed) {
  const TimeModel& model = model_of(row, placed);
  const Count blocks(part.traits[row.trait].blocks);
  if (row.period < 0) return model.of(placed, blocks);
  Shape& shape = shapes_.at(&part);
  const KnownLaunch known{part.periods[at(row.period)].period, part.energies[row.energy], shape.launch,
                          clocks_of(row, placed, shape), device_bytes_of(row, placed, shape)};
  return model.of(placed, blocks, &known);
}

LaunchClocks Scan::clocks_of(const TileRow& row, const PlacedDiagram& placed, Shape& shape) {
  const Period& period = shape.part->periods[at(row.period)].period;
  const TileTrait& trait = shape.part->traits[row.trait];
  if (shape.launch.packed) return launch_clocks(placed, event_graph(placed), period, shape.launch);
  if (shape.launch.unequal && shape.launch.lengths == nullptr)
    shape.launch.lengths = std::make_shared<BlockLengths>(block_lengths(placed, shape.launch));
  const MeanBlock& mean = trait.cuts ? shape.launch.block : shape.launch.uncut;
  if (!known_block_clocks(period, mean)) make_runs(row, shape);
  return launch_clocks(trait.order, shape.launch, trait.ends, known_block_clocks(period, mean).value(), period.clocks);
}

/// Bytes that device memory sends, with what it sends again: of the tiles of a part the variant and the order of the
/// blocks tell.
double Scan::device_bytes_of(const TileRow& row, const PlacedDiagram& placed, Shape& shape) const {
  if (!model_->rates.known) return 0;
  const auto knob = placed.mapping->order_knob();
  const std::pair key{table_->variant_of_[row.legal], knob ? placed.tile.values[at(*knob)] : 0};
  const auto known =
      std::find_if(shape.sent.begin(), shape.sent.end(), [&](const auto& one) { return one.first == key; });
  if (known != shape.sent.end()) return known->second;
  return shape.sent.emplace_back(key, device_bytes_in_order(placed)).second;
}

/// The row's whole prediction; `rereads`: with what device memory sends again where that is noticed.
Prediction Scan::full(TablePart& part, const TileRow& row, bool rereads) {
  const PlacedDiagram& placed = place(row);
  const TimeModel& model = model_of(row, placed);
  Timing timing = timing_of(part, row, placed);
  if (row.period < 0) return model.explained(placed, timing, nullptr);
  if (rereads) model.notice_rereads(placed, Count(part.traits[row.trait].blocks), timing);
  const Period period = table_->explained(part, row);
  return model.explained(placed, timing, &period);
}

std::optional<Prediction> Scan::noticed(const Tile& tile) {
  const std::lock_guard lock(table_->mutex_);
  if (!table_->by_graph_) return std::nullopt;
  const auto found = table_->find(question_, tile);
  if (!found) return std::nullopt;
  if (model_ == nullptr) model_ = &model_of(*found->row, place(*found->row));
  (void)shape_of(*found->part, *found->row);
  return full(*found->part, *found->row, true);
}

const TimeModel& Scan::model_of(const TileRow& row, const PlacedDiagram& placed) {
  const std::uint32_t variant = table_->variant_of_[row.legal];
  if (models_.size() <= variant) models_.resize(variant + 1);
  std::unique_ptr<TimeModel>& model = models_[variant];
  if (model == nullptr)
    model = std::make_unique<TimeModel>(placed, row.period >= 0 ? ByClock::graph : ByClock::roofline);
  return *model;
}

Rejections Scan::count() {
  find_parts();
  if (allowed_->can_count()) {
    const std::lock_guard lock(table_->mutex_);
    return table_->candidates_.count(*allowed_);
  }
  const Problem launch = launch_problem(question_.problem);
  return count_each(question_, Placer(*question_.streamed, *question_.mapping, *question_.machine, launch));
}

}  // namespace napkin
