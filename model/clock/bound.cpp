// Lower bounds of the event graph's time, from the work of the placement alone and from the graph in steps: for searches.

#include "model/clock/steps.hpp"

#include <algorithm>

#include "model/clock/load.hpp"
#include "model/clock/power.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {
namespace {

constexpr double rounding = 1 - 1e-9;  // sums in another order

double real(Count count) { return static_cast<double>(count); }

}  // namespace

/// The busiest pipe of an iteration, as busiest_pipe() finds it in the graph, from the loads of the first clock.
class WorkBound {
 public:
  explicit WorkBound(const PlacedDiagram& like)
      : workload_(like), graph_(event_graph(like)), rates_(energy_rates(*like.machine)) {
    const BlockLoad load = workload_.of(like);
    for (std::size_t i = 0; i < load.count; ++i) {
      const PipeLoad& pipe = load.pipes[i];
      const auto same = [&](const VectorPipe& p) { return p.name == pipe.name; };
      const auto found = std::find_if(graph_.pipes.begin(), graph_.pipes.end(), same);
      // The graph leaves out of the port what copies write, and runs what threads read of it beside.
      const bool counts = found != graph_.pipes.end() && pipe.unit != nullptr && pipe.name != "shared_port";
      // Multiply-adds are two results of a unit of FLOP to the first clock, one to the graph.
      const double share = pipe.unit != nullptr && pipe.unit->what == "flop" ? 0.5 : 1;
      pipes_.push_back({counts ? share : 0, counts ? 1 - found->beside : 0, pipe.name == "issue"});
    }
    const Unit* issue = like.machine->unit("issue");
    issue_rate_ = issue->per_clock.best().value;
    launch_ = launch_overhead(*like.machine);
  }

  [[nodiscard]] Seconds of(const PlacedDiagram& placed) const {
    const BlockLoad load = workload_.of(placed);
    double tensor = 0, slots = 0;
    Energy energy;
    for (const PlacedOperation& op : placed.operations) {
      if (!op.tensor || op.instruction == nullptr || op.phase != Phase::loop) continue;
      const TensorLoad one = tensor_load(placed, op);
      energy.core += one.clocks * rates_.of_tensor(*op.instruction);
      if (!asynchronous(*op.instruction)) continue;
      tensor += one.clocks;
      slots += one.slots;
    }
    double busiest = load.tensor().loop;
    for (std::size_t i = 0; i < load.count; ++i) {
      double work = load.pipes[i].loop * pipes_[i].share;
      if (pipes_[i].issue) {
        work -= slots / issue_rate_;
        energy.core += work * issue_rate_ * rates_.instruction;
      }
      if (work > 0) busiest = std::max(busiest, work + pipes_[i].lost * tensor);
    }
    return time_of(placed, busiest, energy);
  }

 private:
  struct PipeShare {
    double share, lost;
    bool issue;
  };

  [[nodiscard]] Seconds time_of(const PlacedDiagram& placed, double iteration, Energy energy) const {
    const Schedule who = schedule(placed);
    const double longest = real(placed.walk.total.longest);
    const double cycles = iteration * std::max(who.total_iterations / who.nodes, longest) * rounding;
    energy.core *= who.total_iterations;
    energy.device = device_bytes(placed) * rates_.device;
    const Hertz clock = rates_.known ? held_clock(*placed.machine, energy, cycles).clock
                                     : assumed_clock(*placed.machine).frequency;
    return std::max(Seconds(cycles / clock.value) + launch_, time_lower_bound(placed) * rounding);
  }

  Workload workload_;
  EventGraph graph_;
  EnergyRates rates_;
  std::vector<PipeShare> pipes_;  // by index in BlockLoad::pipes
  double issue_rate_ = 1;
  Seconds launch_;
};

namespace {

/// What is known of an iteration: that no run goes below `least` clocks in the mean over a block, and that from
/// `settled` iterations on every further one takes `clocks`.
struct Known {
  double least, clocks;
  int settled;

  [[nodiscard]] double block(double iterations) const {
    const double at_first = std::min(iterations, static_cast<double>(settled));
    return at_first * least + (iterations - at_first) * clocks;
  }
};

/// Clocks of the busiest node: its blocks where all are equally long, else the mean over the nodes.
double busiest_at_least(const PlacedDiagram& placed, const Known& known) {
  const Schedule who = schedule(placed);
  const double mean = who.total_iterations / std::max(who.total_blocks, 1.0), each = known.block(mean);
  if (placed.problem->mask.kind == Mask::Kind::none && who.iterations >= who.blocks * mean)
    return who.blocks * each + (who.iterations - who.blocks * mean) * known.clocks;
  return std::max(who.total_blocks / who.nodes, 1.0) * each;  // some node runs a block of mean length
}

/// The time at which those cycles would be over, at the clock that the card would hold.
Seconds time_at_least(const PlacedDiagram& placed, const EventGraph& graph, double cycles, Count blocks, Seconds launch) {
  const Schedule who = schedule(placed);
  const double together = std::min(real(std::max(blocks, Count(1))), std::max(who.blocks, 1.0));
  if (together > 1)
    cycles = std::max(cycles / together, std::min(cycles, busiest_pipe(graph).clocks * who.iterations));
  const auto energy = energy_of(placed, graph);
  const Hertz clock = energy ? held_clock(*placed.machine, *energy, cycles).clock : assumed_clock(*placed.machine).frequency;
  return Seconds(cycles / clock.value * rounding) + launch;
}

/// What an iteration cannot go below.
double least_clocks(const EventGraph& graph) { return std::max(busiest_pipe(graph).clocks, cycle_clocks(graph)); }

}  // namespace

GraphSteps::GraphSteps(const PlacedDiagram& like, std::shared_ptr<Periods> periods)
    : work_(std::make_shared<WorkBound>(like)), periods_(std::move(periods)), launch_(launch_overhead(*like.machine)) {}

Seconds GraphSteps::by_pipe(const PlacedDiagram& placed) const { return work_->of(placed); }

Seconds GraphSteps::by_cycle(const PlacedDiagram& placed, const EventGraph& graph, Count blocks) const {
  const double least = least_clocks(graph);
  return time_at_least(placed, graph, busiest_at_least(placed, {least, least, 0}), blocks, launch_);
}

Seconds GraphSteps::by_iteration(const PlacedDiagram& placed, const EventGraph& graph, Count blocks) const {
  const SteadyIteration& steady = periods_->steady(graph);
  const double least = least_clocks(graph);
  const Known known{least, std::max(steady.clocks, least), steady.settled};
  return time_at_least(placed, graph, busiest_at_least(placed, known), blocks, launch_);
}

Seconds GraphSteps::expected(const PlacedDiagram& placed, const EventGraph& graph, Count blocks) const {
  const SteadyIteration& steady = periods_->steady(graph);
  const double each = steady.turn > 0 ? steady.clocks : steady.mean, clocks = std::max(each, least_clocks(graph));
  return time_at_least(placed, graph, busiest_at_least(placed, {clocks, clocks, 0}), blocks, launch_);
}

Seconds GraphSteps::by_block(const PlacedDiagram& placed, const EventGraph& graph, Count blocks) const {
  const double cycles = launch_clocks_bound(placed, graph, periods_->of(graph));
  return time_at_least(placed, graph, cycles, blocks, launch_);
}

Timer bound_timer(const PlacedDiagram& like) {
  if (!has_event_graph(like)) return nullptr;
  return [bound = WorkBound(like)](const PlacedDiagram& placed, Count) { return bound.of(placed); };
}

}  // namespace napkin
