#pragma once
// This kernel measures the bandwidth from the L2 to the blocks of a product: a producer and a consumer as in
// matmul_sm90, with its boxes and without its products. The consumer waits `work` clocks for each chunk. Each is one
// thread, since other waiting lanes of a warp make a wait longer.

#include "kernels/device/tma.cuh"
#include "kernels/micro/micro_arguments.cuh"

namespace napkin {

template <TilesConfig C>
struct Tiles {
  u32 shared;
  const TilesArguments& arguments;

  __device__ __forceinline__ u32 full(u32 stage) const { return shared + C.barriers_at() + 16 * stage; }
  __device__ __forceinline__ u32 empty(u32 stage) const { return full(stage) + 8; }

  __device__ __forceinline__ void produce() const {
    constexpr int share = C.chunk / C.cluster;  // share of B's rows that a block loads for all of the cluster
    constexpr int a_span = C.span(C.chunk), c_span = C.span(C.c);
    const u32 rank = C.cluster > 1 ? cluster_rank() : 0;
    const int block = static_cast<int>(blockIdx.x) / C.cluster, rows = arguments.rows / C.cluster;
    const int row = (block % rows * C.cluster + static_cast<int>(rank)) * C.a, column = block / rows * C.c;
    Ring<C.stages> ring;
#pragma unroll 1
    for (int chunk = 0, place = 0; chunk < arguments.count; ++chunk) {
      barrier_wait(empty(ring.stage), ring.parity ^ 1);
      const u32 ready = full(ring.stage), a = shared + ring.stage * C.stage_bytes(),
                b = a + C.a_bytes() + rank * (share * c_span * 2);
      barrier_expect(ready, C.stage_bytes());
      const int k = place * C.chunk;
#pragma unroll
      for (int i = 0; i < C.chunk; i += a_span) load_box(a + i * C.a * 2, arguments.a, ready, k + i, row);
#pragma unroll 1
      for (int i = 0; i < C.c; i += c_span) {
        const u32 to = b + i * (C.chunk * 2);
        if constexpr (C.cluster > 1) {
          load_box_multicast(to, arguments.b, ready, (1 << C.cluster) - 1, column + i,
                             k + static_cast<int>(rank) * share);
        } else {
          load_box(to, arguments.b, ready, column + i, k);
        }
      }
      if (++place == arguments.around) place = 0;
      ring.advance();
    }
  }

  __device__ __forceinline__ void release(u32 stage) const {
    if constexpr (C.cluster > 1) {
      for (u32 block = 0; block < C.cluster; ++block) barrier_arrive_remote(empty(stage), block);
    } else {
      barrier_arrive(empty(stage));
    }
  }

  /// Waits for each chunk in order, then for `work` clocks. A chunk's stage is free once the next chunk has arrived and
  /// this one's work is done.
  __device__ __forceinline__ void consume() const {
    long long start = clock64(), end = start;
    Ring<C.stages> ring;
#pragma unroll 1
    for (int chunk = 0; chunk < arguments.count; ++chunk) {
      barrier_wait(full(ring.stage), ring.parity);
      const long long now = clock64();
      if (chunk == arguments.warm) start = now;
      while (clock64() < end) {
      }
      if (chunk > 0) release(ring.stage == 0 ? C.stages - 1 : ring.stage - 1);
      end = max(end, now) + arguments.work;
      ring.advance();
    }
    arguments.clocks[blockIdx.x] = clock64() - start;
  }
};

template <TilesConfig C>
__global__ void __launch_bounds__(64) tiles(const __grid_constant__ TilesArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Tiles<C> all{shared_address(memory), arguments};
  if (threadIdx.x == 0) {
    prefetch(arguments.a);
    prefetch(arguments.b);
    for (u32 stage = 0; stage < C.stages; ++stage) {
      barrier_init(all.full(stage), 1);
      barrier_init(all.empty(stage), C.cluster);
    }
    barrier_init_fence();
  }
  if constexpr (C.cluster > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  if (threadIdx.x == 0) all.produce();
  if (threadIdx.x == 32) all.consume();
  if constexpr (C.cluster > 1) cluster_sync();
}

}  // namespace napkin
