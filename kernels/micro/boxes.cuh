#pragma once
// The copy engine: latency of a box (one stage), bandwidth (several), by multicast too.

#include "kernels/device/tma.cuh"
#include "kernels/micro/micro_arguments.cuh"

namespace napkin {

template <BoxesConfig C>
struct Boxes {
  static constexpr u32 bytes = C.kib * 1024;
  static constexpr int share = C.rows() / C.cluster;  // rows that a block loads, for all

  u32 shared, rank;
  const BoxesArguments& arguments;

  __device__ __forceinline__ u32 full(int stage) const { return shared + C.barriers_at() + 16 * stage; }
  __device__ __forceinline__ u32 empty(int stage) const { return full(stage) + 8; }

  __device__ __forceinline__ void issue(int box) const {
    const int stage = box % C.stages;
    const int row = (static_cast<int>(blockIdx.x) / C.cluster * arguments.block_rows + box % arguments.around * C.rows()) % arguments.rows;
    const u32 to = shared + stage * bytes;
    barrier_expect(full(stage), bytes);
    if constexpr (C.cluster > 1) {
      const int first = static_cast<int>(rank) * share;
      load_box_multicast(to + first * 128, arguments.from, full(stage), (1 << C.cluster) - 1, 0, row + first);
    } else {
      load_box(to, arguments.from, full(stage), 0, row);
    }
  }
  // Every block of the cluster has read this stage.
  __device__ __forceinline__ void release(int stage) const {
    if constexpr (C.cluster > 1) {
      for (int block = 0; block < C.cluster; ++block) barrier_arrive_remote(empty(stage), block);
    }
  }

  __device__ __forceinline__ void run() const {
    unsigned long long* clocks = arguments.clocks + static_cast<long long>(blockIdx.x) * (1 + arguments.count);
    long long start = clock64();
    Ring<C.stages> ring;
    if constexpr (C.stages > 1) {
      for (int box = 0; box < C.stages; ++box) issue(box);
    }
#pragma unroll 1
    for (int box = 0; box < arguments.count; ++box) {
      const long long now = clock64();
      if (box == arguments.warm) start = now;
      if constexpr (C.stages == 1) issue(box);
      barrier_wait(full(ring.stage), ring.parity);
      if constexpr (C.stages == 1) clocks[1 + box] = clock64() - now;
      release(ring.stage);
      if (C.stages > 1 && box + C.stages < arguments.count) {
        if constexpr (C.cluster > 1) barrier_wait(empty(ring.stage), ring.parity);
        issue(box + C.stages);
      }
      ring.advance();
    }
    clocks[0] = clock64() - start;
  }
};

template <BoxesConfig C>
__global__ void __launch_bounds__(32) boxes(const __grid_constant__ BoxesArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Boxes<C> all{shared_address(memory), C.cluster > 1 ? cluster_rank() : 0, arguments};
  if (threadIdx.x == 0) {
    prefetch(arguments.from);
    for (int stage = 0; stage < C.stages; ++stage) {
      barrier_init(all.full(stage), 1);
      barrier_init(all.empty(stage), C.cluster);
    }
    barrier_init_fence();
  }
  __syncwarp();
  if constexpr (C.cluster > 1) cluster_sync();
  if (threadIdx.x == 0) all.run();
  __syncwarp();
  if constexpr (C.cluster > 1) cluster_sync();
}

}  // namespace napkin
