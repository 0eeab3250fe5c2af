#include "kernels/micro/experiment.hpp"

namespace napkin::internal {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = {
      {"device_query", "what the driver says: SMs, L2, shared memory of a block", device_query},
      {"tensor_time", "clocks of one product back to back against n, A from shared memory or registers", tensor_time},
      {"tensor_latency", "one product and batches of them, from issue to the end of the wait", tensor_latency},
      {"tensor_together", "two warpgroups that issue batches at the same time, without turns", tensor_together},
      {"vector_alone", "rates of vector instructions and of shared-memory accesses", vector_alone},
      {"vector_beside", "the same beside products, and how much slower the products are", vector_beside},
      {"copies_beside", "products beside copies into shared memory, A from shared memory or registers", copies_beside},
      {"mma_alone", "mma.sync: clocks of a product against accumulators and warps a scheduler", mma_alone},
      {"mma_among", "the same with other instructions of the same warps among the products", mma_among},
      {"mma_attention", "the same with a softmax's mix and ldmatrix among them, as attention has them", mma_attention},
      {"mma_beside", "the same beside other warps, and what they get done", mma_beside},
      {"latency", "dependent loads: shared memory, L2 by working set, device memory, clusters", latency},
      {"l2_bandwidth", "L2 to SMs against the working set; one tile for all; one SM alone; adds", l2_bandwidth},
      {"device_bandwidth", "device memory: reads, writes, copies, adds", device_bandwidth},
      {"copy_engine", "boxes from L2 and device memory: latency alone and with all SMs, bandwidth, multicast",
       copy_engine},
      {"async_copies", "cp.async: from the asking to the end of the wait against bytes in flight", async_copies},
      {"shared_tiles",
       "boxes from L2 against how many SMs read the same ones, side by side or not, and as a product's blocks do",
       shared_tiles},
      {"tiles",
       "a product's blocks without their products: clocks of a chunk against rows of tiles, stages, cluster, work, "
       "warm and cold",
       tiles},
      {"cluster_network", "shared memory of the next SM: loads and stores against the cluster's size", cluster_network},
      {"waiting", "barriers, hand-overs between warpgroups, the fence before the copy engine", waiting},
      {"launching", "launches in a row, blocks behind each other on an SM", launching},
      {"power", "clock and power under steady loads", power},
      {"e4m3_time", "clocks of a product of eight bits, back to back and from issue to the end of the wait", e4m3_time},
      {"e4m3_beside", "vector instructions beside products of eight bits, and clocks of those products", e4m3_beside},
      {"power_e4m3", "clock and power under steady loads of such products, and of conversions to them", power_e4m3},
      {"power_card", "clock and power of this card under long loads of products, beside its product's", power_card,
       true},
  };
  return all;
}

}  // namespace napkin::internal
