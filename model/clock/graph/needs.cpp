// What each clock needs of a machine, by what the tile does. One walk names every number; the questions whether an
// event graph and a power can be made stop at the first that is missing.

#include "model/clock/graph/needs.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/roofline/combine_cost.hpp"
#include "model/mapping/compile/compiled.hpp"
#include "model/resource/order.hpp"

namespace napkin::internal {
namespace {

/// The features of a tile that decide which numbers are read.
struct Features {
  bool loads = false, boxes = false, own_copies = false, stored_boxes = false, multicast = false;
  bool added = false, asynchronous = false, waiting = false, bits_8 = false, bits_16 = false, serial = false,
       cluster = false;

  explicit Features(const PlacedDiagram& placed) : cluster(placed.cluster > Count(1)) {
    for (const Crossing& c : placed.crossings) {
      if (c.into != placed.block().level) continue;
      const bool box = c.engine == CopyEngine::tma;
      loads = loads || !c.store;
      added = added || (c.store && adds(c.engine));
      boxes = boxes || (box && !c.store);
      stored_boxes = stored_boxes || (box && c.store);
      const bool through_registers = c.engine == CopyEngine::plain && c.phase == Phase::loop;
      own_copies = own_copies || ((c.engine == CopyEngine::cp_async || through_registers) && !c.store);
      multicast = multicast || (cluster && placed.multicast(c));
    }
    for (const PlacedOperation& op : placed.operations) add(op);
  }

 private:
  void add(const PlacedOperation& op) {
    if (op.tensor && op.instruction != nullptr) {
      const bool alone = op.instruction->asynchronous;
      asynchronous = asynchronous || alone;
      waiting = waiting || !alone;
      const bool narrow = bits(op.instruction->type) == 8;
      bits_8 = bits_8 || narrow;
      bits_16 = bits_16 || !narrow;
    }
    for (const PlacedWork& work : op.work) serial = serial || (work.mapping != nullptr && work.mapping->serial);
  }
};

/// The walk over a tile's numbers, which calls visit(what, name, known, without), with "constants." and "tma_box".
template <class Visit>
class NeedsWalk {
 public:
  NeedsWalk(const PlacedDiagram& placed, Visit& visit)
      : placed_(placed), machine_(*placed.machine), has_(placed), visit_(visit) {}

  void graph() {
    pipes();
    instructions();
    threads();
    copies();
    launch();
  }
  void power() {
    if (has_.waiting) constant("energy_shared", Without::no_power);
    tensor_energies();
    for (const char* name : {"energy_instruction", "energy_l2", "energy_device", "energy_exponent"})
      constant(name, Without::no_power);
    // Every byte at the energy of one that an SM asked for alone.
    constant("energy_l2_together");
    if (has_.multicast) constant("energy_multicast");
    constant("clock_tree");                                                   // no power of the clock tree
    constant("clock_beside_tensor");                                          // the maximum clock
    say("power.", "limit", machine_.power.limit.has_value(), Without::less);  // no limit
    say("power.", "idle", machine_.power.idle.has_value(), Without::less);    // none
  }
  /// Adds the numbers that any prediction reads.
  void rest() {
    // The maximum clock, else the base.
    say("clocks.", "tensor", machine_.clocks.tensor.has_value(), Without::less);
    caches();
    exchange();
  }

 private:
  [[nodiscard]] bool has(std::string_view name) const { return machine_.find_constant(name) != nullptr; }
  void say(std::string_view section, std::string_view name, bool known, Without without) {
    visit_(section, name, known, without);
  }
  void constant(std::string_view name, Without without = Without::less) {
    const bool fitted = machine_.fitted.find(name) != machine_.fitted.end();
    say(fitted ? "fitted." : "constants.", name, fitted || has(name), without);
  }
  void tensor_energies() {
    if (has_.bits_8) constant("energy_tensor_8bit", Without::no_power);
    if (!has_.bits_16) return;
    const bool own = has_.waiting && has("energy_tensor_synchronous");
    if (has_.asynchronous || !own) constant("energy_tensor_16bit", Without::no_power);
    // That of the instructions that run by themselves.
    if (has_.waiting) constant("energy_tensor_synchronous");
  }
  void latency(const Pipe* pipe) {
    if (pipe != nullptr) say("pipes.", pipe->name + ".latency", pipe->latency.has_value(), Without::no_graph);
  }
  void pipes() {
    const Pipe* into = machine_.pipe_into(placed_.block().level);
    latency(into);
    if (into != nullptr)
      say("pipes.", into->name + ".bandwidth_per_node", into->per_node_clock.known(), Without::no_graph);
    const Pipe* device = device_pipe();
    if (device != into) latency(device);
    // Parts of results pass the caches in between too, on their way to where they meet.
    for (LevelId at = placed_.block().level; placed_.combine && at > 0;
         at = machine_.levels[static_cast<std::size_t>(at)].parent) {
      const Pipe* between = machine_.pipe_into(at);
      if (between != nullptr && between != into && between != device)
        say("pipes.", between->name + ".latency", between->latency.has_value(), Without::less);
    }
    for (const Pipe& pipe : machine_.pipes) {
      const bool joins = machine_.levels[static_cast<std::size_t>(pipe.from)].kind == LevelKind::cross_transfer;
      if (has_.cluster && joins) latency(&pipe);
    }
  }
  [[nodiscard]] const Pipe* device_pipe() const {
    LevelId at = placed_.block().level;
    while (at > 0 && machine_.levels[static_cast<std::size_t>(at)].parent > 0)
      at = machine_.levels[static_cast<std::size_t>(at)].parent;
    return machine_.pipe_into(at);
  }
  void instructions() {
    for (const PlacedOperation& op : placed_.operations) {
      if (!op.tensor || op.instruction == nullptr || !op.instruction->asynchronous) continue;
      const TensorInstruction& i = *op.instruction;
      const std::string name = i.name + "." + std::string(name_of(i.type));
      say("tensor.", name + ".timing", !i.timing.empty(), Without::no_graph);
      const bool late = std::any_of(i.timing.begin(), i.timing.end(), [](const InstructionTiming& row) {
        return row.latency_shared > 0 || row.latency_registers > 0;
      });
      say("tensor.", name + ".latency", late, Without::less);  // a result is there when the instruction ends
    }
    if (has_.asynchronous) {
      for (const char* name : {"tensor_queue", "shared_port_least", "store_fence_barrier"})
        constant(name, Without::no_graph);
    }
    if (!has_.waiting) return;
    constant("mma_sync_ports", Without::no_graph);
    constant("mma_sync_ports_one", Without::no_graph);
  }
  void threads() {
    const Unit* issue = machine_.unit(UnitRole::issue);
    if (has_.serial && issue != nullptr) constant(issue->name + ".serial", Without::no_graph);
    bool steps = false;
    for (const PlacedOperation& op : placed_.operations) {
      for (const PlacedWork& work : op.work) {
        if (work.mapping == nullptr || work.mapping->unit.empty() || work.mapping->stalls) continue;
        if (work.unit < 0) say("units.", work.mapping->unit + ".rate", false, Without::no_graph);
        if (work.unit < 0) continue;
        const Unit& unit = machine_.units[static_cast<std::size_t>(work.unit)];
        unit_of(unit, *work.mapping);
        steps = steps || (work.mapping->in_steps && !unit.co_use.alone.empty() && !unit.co_use.beside.empty());
      }
    }
    // All that is left to threads, however few of them ask.
    if (issue != nullptr && !steps) co_use(*issue);
    if (issue != nullptr) beside(*issue);
  }
  void beside(const Unit& unit) {
    // The same rate beside the tensor unit as without.
    if (has_.asynchronous && unit.counts != Counted::bytes)  // operands leave others what they do not take of a port
      say("units.", unit.name + ".beside_tensor", unit.beside_tensor.has_value(), Without::less);
  }
  void co_use(const Unit& unit) {
    say("units.", unit.name + ".co_use.beside", !unit.co_use.beside.empty(), Without::less);
  }
  void unit_of(const Unit& unit, const WorkMapping& work) {
    beside(unit);
    if (unit.packed) say("units.", unit.name + ".per_lane", unit.per_lane.has_value(), Without::less);  // one
    // The next instruction of a chain may begin when a plain addition's may.
    if ((work.serial || work.in_steps) && unit.late_results) constant(unit.name + ".latency");
    if (!work.in_steps) return;
    co_use(unit);
    say("units.", unit.name + ".co_use.alone", !unit.co_use.alone.empty(), Without::less);
    if (unit.co_use.alone.empty() || unit.co_use.beside.empty()) return;
    constant(unit.name + ".control", Without::no_graph);
    constant(unit.name + ".least_share", Without::no_graph);
  }
  void copies() {
    own_copies();
    if (has_.stored_boxes) constant("tma_store_bandwidth", Without::no_graph);
    // A tile that others read too passes no faster than one that nobody does.
    if (has_.loads && machine_.pipe_into(placed_.block().level) != nullptr) constant("l2_bandwidth_shared_tile");
    if (has_.added) constant("l2_add_bandwidth");  // as fast as bytes that are stored
    if (has_.loads && placed_.blocks < machine_.compute_nodes() && has("l2_bandwidth_one_sm")) {
      if (has("l2_bandwidth_total")) constant("l2_bandwidth_total");  // else what all get at once
      constant("device_bandwidth_one_sm");                            // chunks from device memory pass like others
    }
    if (!has_.boxes) return;
    for (const char* name :
         {"tma_l2_latency_16kib", "tma_device_latency_16kib", "l2_bandwidth_one_sm", "tma_ask", "tma_box",
          "tma_box_beside", "tma_box_warps", "device_wait_share", "tma_row_outside", "tma_row_64", "handover_mbarrier"})
      constant(name, Without::no_graph);
    if (has_.cluster) {
      constant("tma_ask_cluster", Without::no_graph);
      constant("cluster_handover", Without::no_graph);
    }
    if (!has_.multicast) return;
    constant("tma_box_multicast", Without::no_graph);
    constant("multicast_delivered_bandwidth", Without::no_graph);
  }
  /// Copies that threads ask for, like boxes where no operands are loaded beside them.
  void own_copies() {
    if (!has_.own_copies) return;
    if (has_.waiting || !has("tma_l2_latency_16kib")) constant("cp_async_loaded_latency", Without::no_graph);
    if (has_.boxes || (!has("tma_l2_latency_16kib") && !has("tma_device_latency_16kib"))) return;
    constant("tma_l2_latency_16kib");                    // cp_async_loaded_latency stands for a box's first bytes
    constant("tma_device_latency_16kib");                // device memory is no later than the L2
    if (!has_.waiting) constant("l2_bandwidth_one_sm");  // so does a pointer chase's latency
  }
  void launch() {
    constant("block_start", Without::no_graph);
    constant("block_handover", Without::no_graph);
    constant("block_overhead", Without::no_graph);
    const bool draws = block_order(placed_) == BlockOrder::grid || block_order(placed_) == BlockOrder::longest_first;
    if (draws && !has_.boxes) constant("handover_mbarrier");  // a drawn tile's number needs no message
    const bool either = has("launch_gap") || has("launch_overhead");
    constant("launch_gap", either ? Without::less : Without::no_graph);  // launch_overhead stands for it
    const bool second = placed_.combine && placed_.combine->by == CombineMapping::By::launch;
    if (second) constant("launch_overhead", Without::no_graph);
  }
  void caches() {
    for (const Level& level : machine_.levels) {
      if (level.kind != LevelKind::cache) continue;
      say("levels.", level.name + ".capacity", level.capacity.known(), Without::less);  // it holds everything
      if (level.parent != 0) continue;
      constant("l2_ways");         // a line leaves it when as many bytes as it holds have come since
      constant("l2_partitions");   // one
      constant("device_row");      // rows in pieces pass as fast as whole ones
      constant("l2_working_set");  // nothing is still there from the launch before
      if (in_step(*placed_.problem)) constant("l2_neighbours");  // each SM's copy comes by itself
    }
  }
  void exchange() {
    const Pipe* pipe = exchange_pipe(placed_);
    if (pipe == nullptr || pipe->by_cluster_size.empty()) return;
    const auto is = [&](const auto& each) { return each.first == placed_.cluster; };
    const bool known = std::any_of(pipe->by_cluster_size.begin(), pipe->by_cluster_size.end(), is);
    // The rate of the smallest cluster.
    say("pipes.", pipe->name + ".bandwidth_of_" + std::to_string(placed_.cluster.get()), known, Without::less);
  }

  const PlacedDiagram& placed_;
  const Machine& machine_;
  Features has_;
  Visit& visit_;
};

}  // namespace

std::vector<Need> needs_of(const PlacedDiagram& placed) {
  std::vector<Need> out;
  auto visit = [&](std::string_view section, std::string_view name, bool known, Without without) {
    std::string whole = std::string(section) + std::string(name);
    const auto is = [&](const Need& need) { return need.name == whole; };
    if (std::none_of(out.begin(), out.end(), is)) out.push_back({std::move(whole), known, without});
  };
  NeedsWalk walk(placed, visit);
  walk.graph();
  walk.power();
  walk.rest();
  return out;
}

bool graph_needs_known(const PlacedDiagram& placed) {
  bool all = true;
  auto visit = [&](std::string_view, std::string_view, bool known, Without without) {
    all = all && (known || without != Without::no_graph);
  };
  NeedsWalk walk(placed, visit);
  walk.graph();
  return all;
}

bool power_needs_known(const PlacedDiagram& placed) {
  bool all = true;
  auto visit = [&](std::string_view, std::string_view, bool known, Without without) {
    all = all && (known || without != Without::no_power);
  };
  NeedsWalk walk(placed, visit);
  walk.power();
  return all;
}

}  // namespace napkin::internal
