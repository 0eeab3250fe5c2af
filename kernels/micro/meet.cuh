#pragma once
// This kernel measures how many clocks threads take to wait for each other, by a named barrier or by an mbarrier.

#include "kernels/device/tma.cuh"
#include "kernels/micro/micro_arguments.cuh"

namespace napkin {

template <MeetConfig C>
__global__ void __launch_bounds__(C.threads, 1) meet(const __grid_constant__ MeetArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = shared_address(memory), group = threadIdx.x / warpgroup_threads;
  if (C.meeting == Meeting::mbarrier_round && threadIdx.x == 0) {
    barrier_init(shared, warpgroup_threads);
    barrier_init(shared + 8, warpgroup_threads);
    barrier_init_fence();
  }
  __syncthreads();
  const long long start = clock64();
  u32 parity = 0;
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
    if constexpr (C.meeting == Meeting::barrier) named_sync(NamedBarrier::all, 0, C.threads);
    if constexpr (C.meeting == Meeting::named_round) {
      if (group == 0) {
        named_arrive(NamedBarrier::turn, 0, 2 * warpgroup_threads);
        named_sync(NamedBarrier::turn, 1, 2 * warpgroup_threads);
      } else {
        named_sync(NamedBarrier::turn, 0, 2 * warpgroup_threads);
        named_arrive(NamedBarrier::turn, 1, 2 * warpgroup_threads);
      }
    }
    if constexpr (C.meeting == Meeting::mbarrier_round) {
      if (group == 0) {
        barrier_arrive(shared);
        barrier_wait(shared + 8, parity);
      } else {
        barrier_wait(shared, parity);
        barrier_arrive(shared + 8);
      }
      parity ^= 1;
    }
    if constexpr (C.meeting == Meeting::fence) async_fence();
    if constexpr (C.meeting == Meeting::store_fence_barrier) {
      store_word(shared + 64 + 4 * threadIdx.x, round);
      async_fence();
      named_sync(NamedBarrier::all, 0, C.threads);
    }
  }
  if (threadIdx.x == 0) arguments.clocks[0] = clock64() - start;
}

}  // namespace napkin
