// A lower bound of the event graph's time, from the work of the placement alone: for searches.

#include <algorithm>

#include "model/clock/load.hpp"
#include "model/clock/power.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {
namespace {

constexpr double rounding = 1 - 1e-9;  // sums in another order

double real(Count count) { return static_cast<double>(count); }

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
    energy.device = compulsory_bytes(placed) * rates_.device;
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

}  // namespace

Timer bound_timer(const PlacedDiagram& like) {
  if (!has_event_graph(like)) return nullptr;
  return [bound = WorkBound(like)](const PlacedDiagram& placed, Count) { return bound.of(placed); };
}

}  // namespace napkin
