#include "solver/select/selector.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "model/clock/roofline/assumed_clock.hpp"
#include "model/diagram/packing.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/tie.hpp"

namespace napkin::internal {
namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}  // namespace

Selector::Selector(std::shared_ptr<Table> table, const Setup& setup, Tables* tables)
    : table_(std::move(table)),
      tables_(tables),
      setup_(setup),
      launch_(launch_overhead(*setup.machine).value),
      masked_(setup.streamed->skips && setup.problem.mask.kind != Mask::Kind::none),
      allowed_(setup, table_->candidates_),
      maker_(*table_, *this) {
  Tile tile;
  for (const TileSizes& sizes : table_->sizes_) {
    space().tile(sizes.rank, tile);
    fits_.push_back(allowed_.lengths_hold(tile));
  }
}

bool Selector::any_legal() const {
  for (std::size_t s = 0; s < fits_.size(); ++s) {
    const std::vector<std::uint32_t>& legal = table_->sizes_[s].legal;
    if (fits_[s] &&
        std::any_of(legal.begin(), legal.end(), [&](std::uint32_t one) { return allowed_.is_as_fixed(rank_of(one)); }))
      return true;
  }
  return false;
}

Best::BytesOf Selector::bytes_of() {
  return [this](const PartRow& row) { return bytes_into_blocks(place(row)); };
}

Selection Selector::rank(int top, bool runner_up, Seconds limit) {
  const std::lock_guard lock(table_->mutex_);
  const bool second = runner_up && is_ranked_by_time(*setup_.mapping);
  if (walks_.empty()) walks_ = walks(std::nullopt);
  Best best(static_cast<std::size_t>(std::max(top, 1)), bytes_of(), second, limit.value);
  run(walks_, std::nullopt, best);
  return selection_of(best, top);
}

Selection Selector::selection_of(const Best& best, int top) {
  Selection out;
  out.candidates = allowed_.candidates();
  const auto ranked = [&](const Best::Found& found) {
    return Ranked{space().tile(rank_of(found.row->legal)), full(*found.part, *found.row)};
  };
  if (best.second() != nullptr) out.runner_up = ranked(*best.second());
  for (const Best::Found& found : best.best()) {
    if (top >= 1) out.ranked.push_back(ranked(found));
  }
  return out;
}

std::optional<Selector::TileTime> Selector::best_with(KnobId knob, std::int64_t value) {
  const std::lock_guard lock(table_->mutex_);
  Best best(1, bytes_of(), false);
  std::vector<Walk> all = walks(std::pair(knob, value));
  run(all, std::pair(knob, value), best);
  if (best.best().empty()) return std::nullopt;
  return TileTime{space().tile(rank_of(best.best().front().row->legal)), Seconds(best.best().front().predicted)};
}

/// Searches best first: advances the size with the least bound until no size can change the result. Goes on from where
/// another search over these sizes stopped.
void Selector::run(std::vector<Walk>& all, Only only, Best& best) {
  using Waiting = std::pair<double, std::size_t>;  // bound of a size, and its place
  std::vector<Waiting> bounds;
  for (Walk& walk : all) {
    if (is_left(walk)) bounds.emplace_back(walk.seconds, &walk - all.data());
  }
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> line({}, std::move(bounds));
  while (!line.empty() && line.top().first <= best.enough()) {
    const std::size_t at = line.top().second;
    line.pop();
    Walk& first = all[at];
    if (first.seconds <= best.enough(table_->sizes_[first.sizes].size) && go_on(first, only, best))
      line.emplace(first.seconds, at);
  }
  for (Walk& walk : all) {
    for (const Bound& bound : walk.done) walk.wait(bound.least, *bound.row);
    walk.done.clear();
  }
}

/// Returns every size that the question allows, with the bound of its tiles.
std::vector<Selector::Walk> Selector::walks(Only only) {
  const KnobSet lengths = table_->candidates_.length_knobs();  // all tiles of a size have these values in common
  const double cells = cells_of_question();
  std::vector<Walk> out;
  for (std::uint32_t s = 0; s < fits_.size(); ++s) {
    if (!fits_[s] || (only && (lengths & knob_bit(only->first)) != 0 && !is(only, table_->sizes_[s].rank))) continue;
    out.push_back(walk_of(s, cells));
  }
  return out;
}

/// Raises the bound of a size whose launch is not found yet, by the pipes' work, or by its graphs once they are made.
/// Rows that are timed one by one have no bounds of graphs.
void Selector::bound(Walk& walk) const {
  const TablePart& part = *walk.part;
  if (table_->one_by_one_ && !part.rows.empty()) return;
  const TablePart::AtLeast least =
      part.rows.empty() ? TablePart::AtLeast{part.least, part.least, part.least, 0} : part.from_row.front();
  walk.seconds = std::max(walk.seconds, seconds_at_least(walk, part.energy, least.cycles_of(walk.blocks)));
}

/// Does the next step for a size, the one that may lead to the least time: adds its pipes' work, its graphs, then its
/// launch; bounds some more rows; or times the first waiting row. Returns true if anything is left to do.
bool Selector::go_on(Walk& walk, Only only, Best& best) {
  if (walk.part == nullptr) {
    walk.part = &maker_.part_of(walk.sizes);
    bound(walk);
    return true;
  }
  if (walk.part->rows.empty()) {
    maker_.add_rows(*walk.part);
    bound(walk);
    return true;
  }
  if (walk.shape == nullptr && !table_->one_by_one_)
    lay_out(walk);
  else if (walk.least_from_next() <= walk.least_waiting())
    find_bounds(walk, only);
  else
    time_first(walk, best);
  return is_left(walk);
}

/// Returns true if any tile of a size is not done, and finds the bound of those once the launch is known.
bool Selector::is_left(Walk& walk) const {
  if (walk.part == nullptr || walk.part->rows.empty()) return true;
  const double cycles = std::min(walk.least_from_next(), walk.least_waiting());
  if (walk.shape != nullptr && cycles < infinity) walk.seconds = seconds_at_least(walk, walk.part->energy, cycles);
  return cycles < infinity;
}

void Selector::find_bounds(Walk& walk, Only only) {
  constexpr std::size_t at_a_time = 4;
  const TablePart& part = *walk.part;
  for (const std::size_t last = std::min(walk.next + at_a_time, part.rows.size()); walk.next < last; ++walk.next) {
    const PartRow& row = part.rows[walk.next];
    if (allowed_.is_as_fixed(rank_of(row.legal)) && is(only, rank_of(row.legal)))
      walk.wait(walk.shape == nullptr ? 0 : bound_of(part, row, *walk.shape), row);
  }
}

double Selector::Walk::least_from_next() const {
  if (next == part->rows.size()) return infinity;
  return shape == nullptr ? 0 : part->from_row[next].cycles_of(blocks);
}

double Selector::Walk::least_waiting() const { return waiting.empty() ? infinity : waiting.front().least; }

/// Times the first waiting row if it may be better than the tiles found so far.
void Selector::time_first(Walk& walk, Best& best) {
  const Bound bound = walk.first();
  const PartRow& row = *bound.row;
  const std::int64_t size = table_->sizes_[walk.sizes].size;
  if (walk.shape != nullptr) {
    if (!may_end_within(walk, bound, best.enough(size))) return walk.done.push_back(bound);
    for (bool learned = true; learned;) {
      learned = learn(*walk.part, row, walk.shape->launch);
      const double least = bound_of(*walk.part, row, *walk.shape);  // bound by runs, and by the tiles timed since
      if (least > bound.least) return walk.wait(least, row);
    }
  }
  walk.done.push_back(bound);
  Timed& known = timed(*walk.part, row);
  const auto found = [&] {
    const double time = time_of(row, known);
    return Best::Found{ranking_time(*setup_.mapping, Seconds(time)), size, walk.part, &row, time};
  };
  if (!best.may_take(found())) return;  // device memory makes no tile faster
  const bool noticed = !is_ranked_by_time(*setup_.mapping) || notice(*walk.part, row, known, rereads_);
  if (noticed) best.take(found());
}

void Selector::Walk::wait(double least, const PartRow& row) {
  waiting.push_back({least, &row});
  std::push_heap(waiting.begin(), waiting.end(), later);
}

Selector::Bound Selector::Walk::first() {
  std::pop_heap(waiting.begin(), waiting.end(), later);
  const Bound out = waiting.back();
  waiting.pop_back();
  return out;
}

/// Returns true if the tile has that value of that knob.
bool Selector::is(Only only, std::int64_t rank) const {
  return !only || space().value(rank, at(only->first)) == only->second;
}

Selector::Shape& Selector::shape_of(const TablePart& part, const PartRow& any) {
  const auto known = shapes_.find(part.sizes);
  if (known != shapes_.end()) return known->second;
  const PlacedDiagram& placed = place(any);
  const auto [device, is_new] = device_.try_emplace(table_->variant_of_[any.legal]);
  if (is_new) device->second = device_bytes(placed);
  return shapes_.emplace(part.sizes, Shape{launch_shape(placed), device->second}).first->second;
}

const PlacedDiagram& Selector::place(std::uint32_t legal) {
  if (!placer_) placer_.emplace(setup_);
  return placer_->place(space().tile(rank_of(legal)), table_->variant_of_[legal]);
}

Selector::Timed& Selector::timed(TablePart& part, const PartRow& row) {
  const auto known = timed_.find(row.legal);
  return known != timed_.end() ? known->second
                               : timed_.emplace(row.legal, Timed{timing_of(part, row, place(row))}).first->second;
}

double Selector::time_of(const PartRow& row, const Timed& timed) const {
  return models_[table_->variant_of_[row.legal]]->with_launch(timed.timing).value;
}

bool Selector::notice(TablePart& part, const PartRow& row, Timed& timed, KnownRereads& rereads) {
  if (timed.whole) return true;
  const PlacedDiagram& placed = place(row);
  Timing timing = timed.timing;
  model_of(row, placed).notice_rereads(placed, Count(part.traits[row.trait].blocks), timing, rereads);
  if (!std::isfinite(timing.seconds)) return false;
  timed = {timing, true};
  return true;
}

Timing Selector::timing_of(TablePart& part, const PartRow& row, const PlacedDiagram& placed) {
  const TimeModel& model = model_of(row, placed);
  const Count blocks(part.traits[row.trait].blocks);
  if (!model.by_graph) return model.of(placed, blocks);
  if (table_->one_by_one_) {
    const EventGraph& graph = graphs_.of(placed);
    return model.of(placed, blocks, graph, periods().of(graph));
  }
  Shape& shape = shapes_.at(part.sizes);
  while (learn(part, row, shape.launch)) {
  }
  const double device = model.rates.known ? device_bytes_in_order(placed) : 0;
  const KnownLaunch known{*row.graph->period, part.energies[row.energy], shape.launch,
                          clocks_of(part, row, placed, shape.launch), device};
  return model.of(placed, blocks, &known);
}

LaunchClocks Selector::clocks_of(const TablePart& part, const PartRow& row, const PlacedDiagram& placed,
                                 LaunchShape& launch) {
  const Period& period = *row.graph->period;
  const TileTrait& trait = part.traits[row.trait];
  if (launch.packed) return launch_clocks(placed, graphs_.of(placed), period, launch);
  if (launch.unequal && launch.lengths == nullptr)
    launch.lengths = std::make_shared<BlockLengths>(block_lengths(placed, launch));
  return launch_clocks(trait.order, launch, trait.ends, block_of(part, row, launch).clocks, period.clocks);
}

/// Makes the row's whole prediction.
Prediction Selector::full(TablePart& part, const PartRow& row) {
  Timed known = timed(part, row);
  const PlacedDiagram& placed = place(row);
  const TimeModel& model = model_of(row, placed);
  if (!known.whole) model.notice_rereads(placed, Count(part.traits[row.trait].blocks), known.timing, asked_);
  return model.explained(placed, known.timing, model.by_graph ? &explained_period(row, placed) : nullptr);
}

const Period& Selector::explained_period(const PartRow& row, const PlacedDiagram& placed) {
  if (table_->one_by_one_) return periods().explained(graphs_.of(placed));
  if (!row.graph->explained) (void)periods().explained(graphs_.of(placed));
  row.graph->explained = true;
  return *row.graph->period;
}

/// Returns the periods that the table keeps; the scan's own if tiles are timed one by one.
Periods& Selector::periods() {
  if (!table_->one_by_one_) return table_->periods_;
  if (!periods_) periods_.emplace();
  return *periods_;
}

const TimeModel& Selector::model_of(const PartRow& row, const PlacedDiagram& placed) {
  const std::uint32_t variant = table_->variant_of_[row.legal];
  if (models_.size() <= variant) models_.resize(variant + 1);
  std::unique_ptr<TimeModel>& model = models_[variant];
  if (model == nullptr)
    model = std::make_unique<TimeModel>(placed, table_->by_graph_ ? ByClock::graph : ByClock::roofline);
  return *model;
}

Rejections Selector::count_rejections() const {
  if (allowed_.can_count()) {
    const std::lock_guard lock(table_->mutex_);
    return table_->candidates_.count(allowed_);
  }
  const Problem launch = launch_problem(setup_.problem);
  return count_each(setup_, Placer(*setup_.streamed, *setup_.mapping, *setup_.machine, launch));
}

}  // namespace napkin::internal
