// The named numbers that a profile may have under `constants` and `fitted`. A new one is one row here.

#include <algorithm>
#include <array>

#include "model/machine/number.hpp"
#include "model/machine/sections.hpp"

namespace napkin::internal::profile {
namespace {

using enum Dimension;

struct Constant {
  std::string_view name;
  Dimension dimension;
  std::string_view about;
};

constexpr std::array constants_known = {
    // launching
    Constant{"launch_overhead", seconds, "from one launch to the next in a stream"},
    Constant{"burst_time", seconds, "after a rest, that a card holds its burst's power"},
    Constant{"block_handover", clocks, "from the end of a block to the start of its successor on the node"},
    Constant{"block_overhead", clocks, "time of a node for each block of a large grid"},
    Constant{"launch_gap", seconds, "from the end of a kernel's last block to the next one's first start"},
    // latencies
    Constant{"tma_l2_latency_16kib", clocks, "of one box from the L2 alone, until all of it is there"},
    Constant{"tma_device_latency_16kib", clocks, "of one box from device memory alone, until all of it is there"},
    Constant{"tma_ask", clocks, "of a thread, from one buffer's copies to the next: barrier, bytes to come"},
    Constant{"tma_ask_cluster", clocks, "tma_ask where the thread waits for all blocks of a cluster"},
    Constant{"tma_box", clocks, "of a thread, for each box that it asks for"},
    Constant{"tma_box_multicast", clocks, "of a box into both blocks of a cluster"},
    Constant{"tma_row_64", bytes_per_row, "of the pipe into a node, for a row of 64 bytes, in bytes of rows of 128"},
    Constant{"tma_box_beside", clocks,
             "added to tma_box beside each warpgroup beyond the first, to tma_ask in proportion"},
    Constant{"tma_box_warps", warps, "of a scheduler, beside which tma_box was measured, the asking one included"},
    Constant{"device_row", bytes,
             "that a row of a chunk takes beyond its own on device memory's pipe, if it is a part of its array's row"},
    Constant{"device_wait_share", ratio,
             "of the time that device memory's first byte takes longer, the part that a copy waits in step"},
    Constant{"tma_row_outside", clocks, "of the copy engine, for a row of a box beyond the array, filled with zeros"},
    Constant{"block_start", clocks, "from a block's start to its threads' first work"},
    // synchronisation
    Constant{"handover_mbarrier", clocks, "from an arrival at a barrier to the threads that wait there"},
    Constant{"store_fence_barrier", clocks, "of a fence and a barrier before a copy engine takes a result away"},
    Constant{"cp_async_loaded_latency", clocks,
             "until bytes that threads ask for themselves are there, while all nodes copy"},
    Constant{"mma_sync_ports", clocks,
             "in which a scheduler's registers serve a tensor instruction whose threads wait for it"},
    Constant{"mma_sync_ports_one", clocks, "mma_sync_ports with one warp a scheduler, whose own waits are in it"},
    Constant{"mma_sync_product", clocks, "of a scheduler, from one mma.sync m16 n8 k16 of 16-bit operands to the next"},
    Constant{"mma_sync_latency", clocks, "from one mma.sync to the next that adds to its result"},
    Constant{"cluster_handover", clocks, "from one block's last reader to another block's copy, skew included"},
    // bandwidths beside those of the pipes
    Constant{"l2_bandwidth_shared_tile", bytes_per_clock, "of the L2 to a node, when all read the same tile"},
    Constant{"l2_bandwidth_one_sm", bytes_per_clock, "of the L2 to one node alone"},
    Constant{"device_bandwidth_one_sm", bytes_per_clock, "of device memory to one node alone, by boxes"},
    Constant{"l2_add_bandwidth", bytes_per_clock, "of fp32 numbers that are added in the L2, all nodes together"},
    Constant{"l2_bandwidth_total", bytes_per_clock, "of the L2 to all nodes together: few get more each"},
    Constant{"multicast_delivered_bandwidth", bytes_per_clock, "of a multicast to a node, in clusters of 2"},
    Constant{"tma_store_bandwidth", bytes_per_clock, "of a node's copies out, while others come in"},
    Constant{"tensor_queue", instructions,
             "asynchronous tensor instructions that a node takes ahead, the running one too"},
    Constant{"shared_port_least", bytes_per_clock,
             "of a node's threads, beside operands that fill the port of the block's memory"},
    Constant{"l2_working_set", bytes, "the largest set that still runs at the L2's rate"},
    Constant{"l2_partitions", nodes, "parts of the L2 that each keep the lines that their own nodes read"},
    Constant{"l2_ways", ways, "lines of a set of the L2"},
    Constant{"l2_neighbours", nodes, "side by side that get a line together which they ask for at about the same time"},
    // energies
    Constant{"energy_tensor_16bit", energy_per_flop, "of a FLOP of 16-bit operands on the matrix units"},
    Constant{"energy_tensor_8bit", energy_per_flop, "of a FLOP of 8-bit operands on the matrix units"},
    Constant{"energy_tensor_synchronous", energy_per_flop,
             "of a FLOP of 16-bit instructions whose threads wait for them"},
    Constant{"energy_shared", energy_per_byte,
             "of a byte that threads load from the block's memory for a tensor instruction"},
    Constant{"energy_instruction", energy_per_instruction, "of one warp's vector instruction"},
    Constant{"energy_l2", energy_per_byte, "of a byte out of the L2, of a copy that one node asked for"},
    Constant{"energy_l2_together", energy_per_byte,
             "of a byte out of the L2 once all neighbours have asked for it; not known: energy_l2"},
    Constant{"energy_multicast", energy_per_byte,
             "of a byte to each node where one asked for all; not measured: energy_l2"},
    Constant{"energy_device", energy_per_byte, "of a byte to and from device memory, beyond the L2's"},
    Constant{"energy_exponent", ratio, "the power of the clock with which energies grow (n of eq. 16.1)"},
    Constant{"clock_tree", power, "at 1.5 GHz, whatever runs"},
    Constant{"energy_of_card", ratio, "energies and clock tree of this card over its product's"},
    Constant{"burst_share", ratio, "what the card holds for tens of milliseconds after a rest, over its power limit"},
    Constant{"clock_beside_tensor", frequency, "the nodes' highest while their matrix units run"},
};

/// The constants of a unit, named by the unit and a dot: "issue.serial".
constexpr std::array unit_constants_known = {
    Constant{"serial", clocks, "of an instruction of a warp whose instructions wait for each other"},
    Constant{"latency", clocks, "from the result of serial work, or of work in steps, to its reader"},
    Constant{"control", clocks, "of a scheduler's unit, that a serial instruction takes of work in steps"},
    Constant{"least_share", ratio, "of an instance's clocks, with which it counts as at work on the unit"},
};

template <class Constants>
const Constant* find(const Constants& constants, std::string_view name) {
  const auto found =
      std::find_if(constants.begin(), constants.end(), [&](const Constant& c) { return c.name == name; });
  return found == constants.end() ? nullptr : &*found;
}

/// Returns the constant of that name, of the machine or of one of its units; nullptr where there is none.
const Constant* find_constant(std::string_view name, const std::vector<Unit>& units) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return find(constants_known, name);
  const auto is_named = [&](const Unit& unit) { return unit.name == name.substr(0, dot); };
  if (std::none_of(units.begin(), units.end(), is_named)) return nullptr;
  return find(unit_constants_known, name.substr(dot + 1));
}

/// Returns the names that a profile with those units may give.
std::vector<std::string> names_known(const std::vector<Unit>& units) {
  std::vector<std::string> out;
  for (const Constant& each : constants_known) out.emplace_back(each.name);
  for (const Unit& unit : units) {
    for (const Constant& each : unit_constants_known) out.push_back(unit.name + "." + std::string(each.name));
  }
  return out;
}

}  // namespace

std::string_view about_constant(std::string_view name) {
  const std::size_t dot = name.find('.');
  const Constant* known =
      dot == std::string_view::npos ? find(constants_known, name) : find(unit_constants_known, name.substr(dot + 1));
  return known == nullptr ? "" : known->about;
}

void read_constants(const yaml::Node& node, bool fitted, Machine& machine) {
  if (node.is_null()) return;
  for (const auto& [name, entry] : node.entries()) {
    const Constant* known = find_constant(name, machine.units);
    if (known == nullptr) node.allow(names_known(machine.units));
    Number number = read_number(entry, known->dimension);
    number.from.fitted = fitted;
    (fitted ? machine.fitted : machine.constants).emplace(name, std::move(number));
  }
}

}  // namespace napkin::internal::profile
