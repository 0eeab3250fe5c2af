// Lower bounds of the event graph's time, from the work of the placement alone and from the graph in steps: for
// searches.

#include "model/clock/steps.hpp"

#include <algorithm>

#include "model/clock/block_floor.hpp"
#include "model/clock/copies.hpp"
#include "model/clock/load.hpp"
#include "model/clock/power.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {
namespace {

constexpr double rounding = 1 - 1e-9;  // sums in another order

}  // namespace

/// The busiest pipe of an iteration, as busiest_pipe() finds it in the graph, from the loads of the first clock.
class WorkBound {
 public:
  explicit WorkBound(const PlacedDiagram& like)
      : workload_(like),
        graph_(event_graph(like)),
        rates_(energy_rates(like)),
        power_(power_law(*like.machine)),
        assumed_(assumed_clock(*like.machine).frequency) {
    const BlockLoad load = workload_.of(like);
    for (std::size_t i = 0; i < load.count; ++i) {
      const PipeLoad& pipe = load.pipes[i];
      const auto same = [&](const VectorPipe& p) { return p.name == pipe.name; };
      const auto found = std::find_if(graph_.pipes.begin(), graph_.pipes.end(), same);
      // The graph leaves out of the port what copies write, and runs what threads read of it beside.
      const bool counts = found != graph_.pipes.end() && pipe.unit != nullptr && pipe.unit->counts != Counted::bytes;
      // Multiply-adds are two results of a unit of FLOP to the first clock, one to the graph.
      const double share = pipe.unit != nullptr && pipe.unit->counts == Counted::flop ? 0.5 : 1;
      pipes_.push_back({counts ? share : 0, counts ? 1 - found->beside : 0,
                        pipe.unit != nullptr && pipe.unit->role == UnitRole::issue});
    }
    const Unit* issue = like.machine->unit(UnitRole::issue);
    issue_rate_ = issue->per_clock.best().value;
    launch_ = launch_overhead(*like.machine);
  }

  [[nodiscard]] IterationWork work(const PlacedDiagram& placed) const {
    const BlockLoad load = workload_.of(placed);
    double tensor = 0, slots = 0;
    IterationWork out;
    out.energy = rates_.of_l2(l2_bytes(placed, Phase::loop), least_streamed_alone(placed));
    for (const PlacedOperation& op : placed.operations) {
      if (!op.tensor || op.instruction == nullptr || op.phase != Phase::loop) continue;
      const TensorLoad one = tensor_load(placed, op);
      out.energy += one.flops * rates_.of_flop(*op.instruction);
      if (!op.instruction->asynchronous) continue;
      tensor += one.clocks;
      slots += one.slots;
    }
    out.clocks = load.tensor().loop;
    for (std::size_t i = 0; i < load.count; ++i) {
      double busy = load.pipes[i].loop * pipes_[i].share;
      if (pipes_[i].issue) {
        busy -= slots / issue_rate_;
        out.energy += busy * issue_rate_ * rates_.instruction;
      }
      if (busy > 0) out.clocks = std::max(out.clocks, busy + pipes_[i].lost * tensor);
    }
    return out;
  }

  [[nodiscard]] Seconds time(const IterationWork& work, double total, double busiest, double device_bytes) const {
    const double cycles = work.clocks * busiest * rounding;
    return by_cycles(cycles, {work.energy * total, device_bytes * rates_.device});
  }

  [[nodiscard]] const EnergyRates& rates() const { return rates_; }

  [[nodiscard]] Seconds by_cycles(double cycles, const Energy& energy) const {
    const Hertz clock = rates_.known ? held_clock(power_, energy, cycles).clock : assumed_;
    return Seconds(cycles / clock.value) + launch_;
  }

  [[nodiscard]] bool may_end_within(double cycles, const Energy& energy, Seconds time) const {
    const Seconds running = time - launch_;
    return rates_.known ? napkin::may_end_within(power_, energy, cycles, running)
                        : cycles <= running.value * assumed_.value;
  }

  [[nodiscard]] Seconds of(const PlacedDiagram& placed) const {
    const Schedule who = schedule(placed);
    const double busiest = std::max(who.total_iterations / who.nodes, who.longest);
    return std::max(time(work(placed), who.total_iterations, busiest, device_bytes(placed)),
                    time_lower_bound(placed) * rounding);
  }

 private:
  struct PipeShare {
    double share, lost;
    bool issue;
  };

  Workload workload_;
  EventGraph graph_;
  EnergyRates rates_;
  PowerLaw power_;
  Hertz assumed_;
  std::vector<PipeShare> pipes_;  // by index in BlockLoad::pipes
  double issue_rate_ = 1;
  Seconds launch_;
};

namespace {

/// The mean over the nodes, or the longest block.
double busiest_of_packed(const LaunchShape& shape, const GraphState& known) {
  double all = 0;
  for (const LaunchShape::Part& part : shape.parts) all += part.blocks * known.block(part.mean, 0);
  return std::max(all / shape.who.nodes, known.block(shape.who.longest, 0));
}

/// Clocks of the busiest node: its blocks where all are equally long, else the mean over the nodes.
double busiest_at_least(const LaunchShape& shape, const GraphState& known) {
  const Schedule& who = shape.who;
  const double each = known.block(shape.mean, shape.block.more.all());
  if (shape.packed) return busiest_of_packed(shape, known);
  if (who.alike && who.iterations >= who.blocks * shape.mean)
    return who.blocks * each + (who.iterations - who.blocks * shape.mean) * known.clocks;
  return std::max(who.total_blocks / who.nodes, 1.0) * each;  // some node runs a block of mean length
}

/// Of a node that would run its blocks one after the other in those cycles.
double together_at_least(const Schedule& who, double cycles, double pipe, Count blocks) {
  const double together = std::min(real(std::max(blocks, Count(1))), std::max(who.blocks, 1.0));
  return together > 1 ? std::max(cycles / together, std::min(cycles, pipe * who.iterations)) : cycles;
}

/// The time at which those cycles would be over, at the clock that the card would hold.
Seconds time_at_least(const PlacedDiagram& placed, const LaunchShape& shape, const EventGraph& graph, double cycles,
                      double pipe, Count blocks, Seconds launch) {
  cycles = together_at_least(shape.who, cycles, pipe, blocks);
  const auto energy = energy_of(placed, graph, shape);
  const Hertz clock =
      energy ? held_clock(*placed.machine, *energy, cycles).clock : assumed_clock(*placed.machine).frequency;
  return Seconds(cycles / clock.value * rounding) + launch;
}

double product_of(const PlacedDiagram& placed, const std::vector<Count>& of_axis, bool with_stream) {
  double product = 1;
  for (std::size_t a = 0; a < of_axis.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    const bool streams = placed.streamed->stream == axis;
    if (streams ? with_stream : placed.streamed->grouped(axis)) product *= real(of_axis[a]);
  }
  return product;
}

}  // namespace

BlockClocks GraphState::blocks(double iterations, const MeanBlock& mean) {
  if (period == nullptr) {
    const double all = block(iterations, mean.more.all());
    return {all, all};
  }
  if (!settled || !settled->serves(mean)) settled = settled_ends(*period, mean);
  if (settled) return settled->of(iterations, mean.share, clocks);
  if (const auto all = known_block_clocks(*period, mean)) return *all;
  return {iterations * least, iterations * least};  // cut iterations may let instances out of each other's way
}

double expected_clocks(const GraphState& state) {
  const SteadyIteration& steady = *state.steady;
  return std::max(steady.turn > 0 ? steady.clocks : steady.mean, state.least);
}

double cells_of_question(const PlacedDiagram& placed) {
  double all = 0;
  for (const PackedPart& part : placed.packed) all += part.blank ? 0 : cells_of_question(part.placed);
  if (!placed.packed.empty()) return all;
  const Problem& problem = *placed.problem;
  double cells = product_of(placed, problem.sizes, true);
  if (!placed.across || !placed.streamed->skips || problem.mask.kind == Mask::Kind::none) return cells;
  const auto [row_axis, column_axis] = *placed.streamed->skips;
  const Count rows = problem.sizes[static_cast<std::size_t>(row_axis)],
              columns = problem.sizes[static_cast<std::size_t>(column_axis)];
  return cells * real(visible_pairs(problem.mask, rows.get(), columns.get())) / (real(rows) * real(columns));
}

double cells_of_iteration(const PlacedDiagram& placed) {
  return product_of(placed, placed.block().extent, false) * (placed.streamed->stream ? real(placed.block().chunk) : 1);
}

GraphSteps::GraphSteps(const PlacedDiagram& like, std::shared_ptr<Periods> periods)
    : work_(std::make_shared<WorkBound>(like)), periods_(std::move(periods)), launch_(launch_overhead(*like.machine)) {}

IterationWork GraphSteps::work(const PlacedDiagram& placed) const { return work_->work(placed); }

Seconds GraphSteps::by_work(const IterationWork& work, double total, double busiest, double device_bytes) const {
  return work_->time(work, total, busiest, device_bytes);
}

Seconds GraphSteps::by_cycles(double cycles, double energy, double device_bytes) const {
  return work_->by_cycles(cycles * rounding, {energy, device_bytes * work_->rates().device});
}

bool GraphSteps::may_end_within(double cycles, double energy, double device_bytes, Seconds time) const {
  return work_->may_end_within(cycles * rounding, {energy, device_bytes * work_->rates().device}, time);
}

BlockEnergy GraphSteps::energy(const PlacedDiagram& placed, const EventGraph& graph) const {
  return block_energy(placed, graph, work_->rates());
}

double GraphSteps::cycles(const LaunchShape& shape, const BlockEnds& ends, bool cuts, GraphState& state, Count blocks) {
  if (shape.packed) return together(shape, busiest_of_packed(shape, state), state, blocks);
  const BlockClocks block = state.blocks(shape.mean, cuts ? shape.block : shape.uncut);
  const bool all = state.period != nullptr || shape.who.iterations >= shape.who.blocks * shape.mean;
  const double busiest = all ? launch_clocks_bound(shape, ends, block, state.clocks)
                             : std::max(shape.who.total_blocks / shape.who.nodes, 1.0) * block.next;
  return together(shape, busiest, state, blocks);
}

/// launch_clocks_bound() grows with each of these, but where blocks are shorter than their mean, of which iterations
/// are taken off again.
double GraphSteps::cycles(const LaunchShape& shape, const BlockEnds& ends, bool cuts, BlockFloor& floor, Count blocks) {
  if (shape.packed || (!shape.unequal && shape.who.iterations < shape.who.blocks * shape.mean)) return 0;
  const BlockClocks block = floor.block(cuts ? shape.block : shape.uncut);
  return together_at_least(shape.who, launch_clocks_bound(shape, ends, block, floor.clocks()), floor.pipe(), blocks);
}

double GraphSteps::together(const LaunchShape& shape, double cycles, const GraphState& state, Count blocks) {
  return together_at_least(shape.who, cycles, state.pipe, blocks);
}

Seconds GraphSteps::by_pipe(const PlacedDiagram& placed) const { return work_->of(placed); }

GraphState GraphSteps::state_of(const EventGraph& graph) {
  GraphState out;
  out.pipe = busiest_pipe(graph).clocks;
  out.least = out.clocks = std::max(out.pipe, cycle_clocks(graph));
  return out;
}

void GraphSteps::raise(const EventGraph& graph, GraphState& state) const {
  if (state.steady == nullptr) {
    state.steady = &periods_->steady(graph);
    state.from = state.steady->settled;
    state.clocks = std::max(state.steady->clocks, state.least);
    state.ends = state.from * (state.least - state.clocks);  // until then at the bound
  } else {
    state.period = &periods_->of(graph);
    state.from = state.period->settled;
    state.clocks = state.period->clocks;
    state.ends = std::min(state.period->first, state.period->next);
  }
}

Seconds GraphSteps::bound(const PlacedDiagram& placed, const EventGraph& graph, const GraphState& state,
                          Count blocks) const {
  const LaunchShape shape = launch_shape(placed);
  const double busiest =
      state.period != nullptr ? launch_clocks_bound(placed, graph, *state.period) : busiest_at_least(shape, state);
  return time_at_least(placed, shape, graph, busiest, state.pipe, blocks, launch_);
}

Seconds GraphSteps::expected(const PlacedDiagram& placed, const EventGraph& graph, const GraphState& state,
                             Count blocks) const {
  const LaunchShape shape = launch_shape(placed);
  GraphState expected;
  expected.clocks = expected_clocks(state);
  return time_at_least(placed, shape, graph, busiest_at_least(shape, expected), state.pipe, blocks, launch_);
}

Timer bound_timer(const PlacedDiagram& like) {
  if (!has_event_graph(like)) return nullptr;
  return [bound = WorkBound(like)](const PlacedDiagram& placed, Count) { return bound.of(placed); };
}

}  // namespace napkin
