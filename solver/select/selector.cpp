#include "solver/select/selector.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/diagram/packing.hpp"
#include "model/resource/plan.hpp"
#include "solver/select/tie.hpp"

namespace napkin::internal {

Selector::Selector(std::shared_ptr<Table> table, const Setup& setup, Tables* tables)
    : table_(std::move(table)),
      tables_(tables),
      setup_(setup),
      launch_(launch_overhead(*setup.machine).value),
      masked_(setup.streamed->skips && setup.problem.mask.kind != Mask::Kind::none),
      cells_(cells_of_question()),
      device_((comes_from_device(*setup.machine, *setup.streamed, setup.problem) ? 1U : 0U) |
              (waits_for_device(*setup.machine, *setup.streamed, setup.problem) ? 2U : 0U)),
      allowed_(setup, table_->candidates_),
      own_periods_(table_->one_by_one_ ? std::make_unique<Periods>() : nullptr),
      periods_(own_periods_ != nullptr ? *own_periods_ : table_->periods_) {}

Selection Selector::rank(int top, bool runner_up, Seconds limit) {
  const std::lock_guard lock(table_->mutex_);
  for (std::size_t s = walks_.size(); s < table_->sizes_.size(); ++s)
    walks_.push_back(walk_of(static_cast<std::uint32_t>(s)));
  const auto bytes_of = [this](const PartRow& row) { return bytes_into_blocks(place(row.legal)); };
  Best best(static_cast<std::size_t>(std::max(top, 1)), bytes_of, limit.value);
  run(best);
  Selection out;
  out.candidates = allowed_.candidates();
  for (const Best::Found& found : best.best()) {
    if (top >= 1) out.ranked.push_back(ranked(found));
  }
  if (!runner_up || best.best().empty() || !is_ranked_by_time(*setup_.mapping)) return out;
  Best next(1, bytes_of, limit.value, best.best().front().time);
  run(next);
  if (!next.best().empty()) out.runner_up = ranked(next.best().front());
  return out;
}

/// Searches best first: advances the size with the least bound until no size can change the result. Goes on from where
/// another search stopped.
void Selector::run(Best& best) {
  using Waiting = std::pair<double, std::size_t>;  // bound of a size, and its place
  std::vector<Waiting> bounds;
  for (Walk& walk : walks_) {
    if (is_left(walk) && walk.seconds <= best.enough()) bounds.emplace_back(walk.seconds, walk.sizes);
  }
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> line({}, std::move(bounds));
  while (!line.empty() && line.top().first <= best.enough()) {
    Walk& first = walks_[line.top().second];
    line.pop();
    const std::int64_t size = table_->sizes_[first.sizes].size;
    const auto is_first = [&] { return line.empty() || first.seconds <= line.top().first; };
    bool left = true;
    while (left && is_first() && first.seconds <= best.enough(size)) left = go_on(first, best);
    if (left && first.seconds <= best.enough(size)) line.emplace(first.seconds, first.sizes);
  }
  for (Walk& walk : walks_) {
    for (const Bound& bound : walk.done) walk.waiting.push(bound);
    walk.done.clear();
  }
}

/// Does the next step for a size, the one that may lead to the least time: adds its pipes' work, its graphs, then its
/// launch; bounds some more rows; or times the first waiting row. Returns true if anything is left to do.
bool Selector::go_on(Walk& walk, Best& best) {
  if (walk.part == nullptr || walk.part->rows.empty()) {
    if (walk.part != nullptr)
      add_rows(*walk.part);
    else if (allowed_.lengths_hold(table_->sizes_[walk.sizes].any))
      walk.part = &part_of(walk.sizes);
    else
      return false;
    // Rows that are timed one by one have no bounds of graphs.
    if (!table_->one_by_one_ || walk.part->rows.empty())
      walk.seconds = std::max(walk.seconds, seconds_of(walk, walk.part->least));
    return true;
  }
  if (walk.launch == nullptr && !table_->one_by_one_)
    lay_out(walk);
  else if (walk.from_next <= walk.first_waiting())
    find_bounds(walk);
  else
    time_first(walk, best);
  return is_left(walk);
}

/// Returns true if any tile of a size is not done, and finds the bound of those once the launch is known.
bool Selector::is_left(Walk& walk) const {
  if (walk.part == nullptr || walk.part->rows.empty()) return true;
  const double seconds = std::min(walk.from_next, walk.first_waiting());
  if (walk.launch != nullptr && seconds < INFINITY) walk.seconds = seconds;
  return seconds < INFINITY;
}

void Selector::find_bounds(Walk& walk) {
  constexpr std::size_t at_a_time = 4;
  const TablePart& part = *walk.part;
  for (const std::size_t last = std::min(walk.next + at_a_time, part.rows.size()); walk.next < last; ++walk.next) {
    const PartRow& row = part.rows[walk.next];
    if (allowed_.is_as_fixed(table_->rank_of(row.legal))) walk.waiting.push(bound_of(walk, row));
  }
  look_ahead(walk);
}

/// Times the first waiting row if it may be better than the tiles found so far.
void Selector::time_first(Walk& walk, Best& best) {
  const Bound bound = walk.waiting.top();
  walk.waiting.pop();
  const PartRow& row = *bound.row;
  const std::int64_t size = table_->sizes_[walk.sizes].size;
  const auto found = [&](double time) {
    return Best::Found{ranking_time(*setup_.mapping, Seconds(time)), size, walk.part, &row, time};
  };
  if (walk.launch != nullptr) {
    // Tiles that device memory limits tie, and most lose the tie by their bytes.
    const auto device = [&] {
      return (walk.launch->packed ? 1 : rounded_down) * model_of(row).device_at_least().value;
    };
    if (!may_end_within(walk, bound, best.enough(size)) || !best.may_take(found(device())))
      return walk.done.push_back(bound);
    for (bool learned = true; learned;) {
      learned = learn(*walk.part, row, *walk.launch);
      const Bound raised = bound_of(walk, row);  // by runs, and by the tiles timed since
      if (raised.cycles > bound.cycles) return walk.waiting.push(raised);
    }
  }
  walk.done.push_back(bound);
  const auto [at, is_new] = timed_.try_emplace(row.legal);
  Timed& timed = at->second;
  if (is_new) timed.timing = timing_of(walk, row);
  const auto time = [&] { return model_of(row).with_launch(timed.timing).value; };
  if (!best.may_take(found(time()))) return;  // device memory makes no tile faster
  if (!is_ranked_by_time(*setup_.mapping) || notice(*walk.part, row, timed)) best.take(found(time()));
}

const PlacedDiagram& Selector::place(std::uint32_t legal) {
  if (placer_ == nullptr) placer_ = kept_placer(setup_, setup_.problem);
  return placer_->place(table_->tile(legal), table_->variant_of_[legal]);
}

/// Runs the row's graph, or else a block that bounds the others, or else all its blocks, unless that was done. Returns
/// true if it ran any.
bool Selector::learn(const TablePart& part, const PartRow& row, const LaunchShape& launch) {
  if (row.graph->period != nullptr && part.block_of(row, launch).known) return false;
  const EventGraph& graph = graphs_.of(place(row.legal));
  if (row.graph->period == nullptr) {
    row.graph->period = &periods_.of(graph);
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

/// Times a row whose graph and blocks were run.
Timing Selector::timing_of(const Walk& walk, const PartRow& row) {
  const PlacedDiagram& placed = place(row.legal);
  const TimeModel& model = model_of(row);
  const TablePart& part = *walk.part;
  const TileTrait& trait = part.traits[row.trait];
  const Count blocks(trait.blocks);
  if (!model.by_graph) return model.of(placed, blocks);
  if (table_->one_by_one_) {
    const EventGraph& graph = graphs_.of(placed);
    return model.of(placed, blocks, graph, periods_.of(graph));
  }
  const double device = model.rates.known ? device_bytes_in_order(placed) : 0;
  const Period& period = *row.graph->period;
  LaunchShape& launch = *walk.launch;
  if (launch.unequal && launch.lengths == nullptr && !launch.packed)
    launch.lengths = std::make_shared<BlockLengths>(block_lengths(placed, launch));
  const LaunchClocks clocks =
      launch.packed ? launch_clocks(placed, graphs_.of(placed), period, launch)
                    : launch_clocks(trait.order, launch, trait.ends, part.block_of(row, launch).clocks, period.clocks);
  const KnownLaunch known{period, part.energies[row.energy], launch, clocks, device};
  return model.of(placed, blocks, &known);
}

bool Selector::notice(const TablePart& part, const PartRow& row, Timed& timed) {
  if (timed.whole) return true;
  const PlacedDiagram& placed = place(row.legal);
  Timing timing = timed.timing;
  model_of(row).notice_rereads(placed, Count(part.traits[row.trait].blocks), timing, rereads_);
  if (!std::isfinite(timing.seconds)) return false;
  timed = {timing, true};
  return true;
}

/// Makes the whole prediction of a tile that was timed.
Ranked Selector::ranked(const Best::Found& found) {
  const PartRow& row = *found.row;
  Timed timed = timed_.at(row.legal);
  (void)notice(*found.part, row, timed);
  const PlacedDiagram& placed = place(row.legal);
  const TimeModel& model = model_of(row);
  const bool known = !table_->one_by_one_ && std::exchange(row.graph->explained, true);
  const Period* const period = !model.by_graph ? nullptr
                               : known         ? row.graph->period
                                               : &periods_.explained(graphs_.of(placed));
  return {table_->tile(row.legal), model.explained(placed, timed.timing, period)};
}

const TimeModel& Selector::model_of(const PartRow& row) {
  const std::uint32_t variant = table_->variant_of_[row.legal];
  if (models_.size() <= variant) models_.resize(variant + 1);
  std::unique_ptr<TimeModel>& model = models_[variant];
  if (model == nullptr)
    model = std::make_unique<TimeModel>(place(row.legal), table_->by_graph_ ? ByClock::graph : ByClock::roofline);
  return *model;
}

std::optional<Ranked> Selector::best_with(KnobId knob, std::int64_t value) const {
  Setup other = setup_;
  other.fixed.emplace_back(knob, value);
  const Selection best = Selector(table_, other).rank(1, false);
  return best.ranked.empty() ? std::nullopt : std::optional(best.ranked.front());
}

bool Selector::any_legal() const {
  const auto is_as_fixed = [&](std::uint32_t legal) { return allowed_.is_as_fixed(table_->rank_of(legal)); };
  return std::any_of(table_->sizes_.begin(), table_->sizes_.end(), [&](const TileSizes& one) {
    return allowed_.lengths_hold(one.any) && std::any_of(one.legal.begin(), one.legal.end(), is_as_fixed);
  });
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
