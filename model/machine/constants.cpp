// The named numbers of a profile: what may stand under `constants` and `fitted`. A new one is one row here.

#include <algorithm>
#include <array>

#include "model/machine/number.hpp"
#include "model/machine/sections.hpp"

namespace napkin::profile {
namespace {

using enum Dimension;

struct Constant {
  std::string_view name;
  Dimension dimension;
};

constexpr std::array constants_known = {
    // launching
    Constant{"launch_overhead", seconds},        // from one launch to the next in a stream
    Constant{"launch_overhead_graph", seconds},  // the same inside a graph
    Constant{"call_overhead", seconds},          // of a whole call, whatever it computes
    Constant{"block_handover", clocks},          // from the end of a block to the start of its successor on the SM
    Constant{"block_overhead", clocks},          // SM time per block of a large grid
    Constant{"launch_gap", seconds},             // from a kernel's last block's end to the next one's first start
    // latencies
    Constant{"shared_latency", clocks}, Constant{"device_latency", clocks},  // a dependent load that misses every cache
    Constant{"l2_far_latency", clocks},  // a hit in the other partition, or beyond the near half
    Constant{"tma_l2_latency_8kib", clocks}, Constant{"tma_l2_latency_16kib", clocks},
    Constant{"tma_l2_latency_32kib", clocks}, Constant{"tma_device_latency_8kib", clocks},
    Constant{"tma_device_latency_16kib", clocks}, Constant{"tma_device_latency_32kib", clocks},
    Constant{"cluster_latency_4", clocks},  // SM to SM in a cluster of 4; the pipe's own latency is that of 2
    Constant{"cluster_latency_16", clocks},
    Constant{"tma_ask", clocks},            // a thread's, from one buffer's copies to the next: barrier, bytes to come
    Constant{"tma_ask_cluster", clocks},    // the same where it waits for all blocks of a cluster
    Constant{"tma_box", clocks},            // a thread's, for each box that it asks for
    Constant{"tma_box_multicast", clocks},  // the same into both blocks of a cluster
    Constant{"tma_row_64", bytes},  // of the pipe into a node: what a row of 64 bytes takes, in bytes of rows of 128
    Constant{"tma_box_beside",
             clocks},  // what tma_box is more beside each warpgroup beyond the first, tma_ask in proportion
    Constant{"tma_row_outside",
             clocks},                 // of the copy engine, a row of a box beyond the array, which it fills with zeros
    Constant{"block_start", clocks},  // from a block's start to what its threads do first
    // synchronisation
    Constant{"barrier_128", clocks},  // bar.sync of so many threads
    Constant{"barrier_256", clocks}, Constant{"barrier_384", clocks}, Constant{"barrier_512", clocks},
    Constant{"handover_named_barrier", clocks},  // two warpgroups, a round trip
    Constant{"handover_mbarrier", clocks}, Constant{"fence_proxy_async", clocks},
    Constant{"store_fence_barrier", clocks},
    Constant{"serial_issue", clocks},                // an instruction of a warp whose instructions wait for each other
    Constant{"serial_beside_exponentials", clocks},  // that it takes of a scheduler's exponentials in steps
    Constant{"serial_shuffle", clocks},              // a shuffle and what waits for it
    Constant{"cp_async_loaded_latency", clocks},     // the same, asked for by the threads that need it
    Constant{"mma_sync_ports",
             clocks},  // in which a scheduler's registers serve a tensor instruction whose threads wait for it
    Constant{"mma_sync_ports_one", clocks},  // the same of a scheduler with one warp, whose own waits are in it
    Constant{"mma_sync_product",
             clocks},  // of a scheduler, from one mma.sync m16 n8 k16 of 16-bit operands to the next
    Constant{"mma_sync_latency", clocks},  // from one of them to the next that adds to its result
    Constant{"cluster_handover", clocks},  // from one block's last reader to another block's copy, skew included
    // bandwidths beside those of the pipes
    Constant{"device_write_bandwidth", bytes_per_second}, Constant{"device_copy_bandwidth", bytes_per_second},
    Constant{"device_add_bandwidth", bytes_per_second},          // fp32 add to memory that exceeds the L2
    Constant{"l2_add_bandwidth", bytes_per_second},              // fp32 add inside the L2
    Constant{"l2_bandwidth_shared_tile", bytes_per_clock},       // a SM, when all read the same tile
    Constant{"l2_bandwidth_one_sm", bytes_per_clock},            // one SM alone
    Constant{"l2_bandwidth_overflow", bytes_per_clock},          // a SM, when the set exceeds the L2
    Constant{"multicast_delivered_bandwidth", bytes_per_clock},  // a SM, clusters of 2
    Constant{"cluster_store_bandwidth", bytes_per_clock},        // a SM, stores to another SM
    Constant{"tma_store_bandwidth", bytes_per_clock},            // a SM's copies out, while others come in
    Constant{"tensor_queue",
             instructions},  // asynchronous tensor instructions that an SM takes ahead, the running one too
    Constant{"shared_port_least", bytes_per_clock},  // a SM's threads, beside operands that fill shared memory's port
    Constant{"l2_working_set", bytes},               // largest set that still runs at the L2's rate
    Constant{"l2_partitions", nodes},                // parts of the L2 that each keep what their own SMs read
    Constant{"l2_ways", ways},                       // lines of a set
    Constant{"l2_neighbours",
             nodes},  // SMs side by side that get a line together which they ask for at about the same time
    // vector work
    Constant{"softmax_mix", results_per_clock},  // elements of a softmax, as a kernel orders it
    Constant{"softmax_steps_one",
             results_per_clock},  // elements of one whose exponentials are in steps, of one warpgroup
    Constant{"softmax_steps_two", results_per_clock},  // of two
    Constant{"softmax_steps_three", results_per_clock}, Constant{"softmax_steps_beside_tensor_one", results_per_clock},
    Constant{"softmax_steps_beside_tensor_two", results_per_clock},
    Constant{"softmax_steps_beside_tensor_three", results_per_clock},
    Constant{"softmax_steps_latency",
             clocks},  // from such a softmax's last exponential until all that waits for it may begin
    Constant{"mixed_issue", instructions_per_clock},                // equal mix of special, multiply-add, maximum, add
    Constant{"mixed_issue_beside_tensor", instructions_per_clock},  // of two warpgroups
    Constant{"mixed_issue_beside_tensor_one", instructions_per_clock},    // of one
    Constant{"mixed_issue_beside_tensor_three", instructions_per_clock},  // of three
    // energies
    Constant{"energy_tensor_16bit", energy_per_flop}, Constant{"energy_tensor_8bit", energy_per_flop},
    Constant{"energy_instruction", energy_per_instruction},  // of one warp's vector instruction
    Constant{"energy_l2", energy_per_byte},                  // of a copy that one SM asked for
    Constant{"energy_l2_together",
             energy_per_byte},  // once all of its neighbours have asked for it at about that time; not known: energy_l2
    Constant{"energy_multicast", energy_per_byte},  // of each SM's where one asked for all; not measured: energy_l2
    Constant{"energy_device", energy_per_byte},     // to and from device memory, beyond the L2's
    Constant{"clock_tree", power},                  // at 1.5 GHz, whatever runs
    Constant{"clock_beside_tensor", frequency},     // the SMs' highest while their matrix units run
};

}  // namespace

void read_constants(const yaml::Node& node, bool fitted, std::map<std::string, Number, std::less<>>& into) {
  if (node.is_null()) return;
  std::vector<std::string> known;
  known.reserve(constants_known.size());
  for (const Constant& each : constants_known) known.emplace_back(each.name);
  node.allow(known);
  for (const auto& [name, entry] : node.entries()) {
    const auto row = std::find_if(constants_known.begin(), constants_known.end(),
                                  [&name = name](const Constant& each) { return each.name == name; });
    Number number = read_number(entry, row->dimension);
    number.from.fitted = fitted;
    into.emplace(name, std::move(number));
  }
}

}  // namespace napkin::profile
