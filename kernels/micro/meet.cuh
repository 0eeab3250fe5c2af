#pragma once
// What it costs to wait for each other.

#include "kernels/device/tma.cuh"
#include "kernels/micro/micro_arguments.cuh"

namespace napkin {

template <MeetConfig C>
__global__ void __launch_bounds__(C.threads, 1) meet(const __grid_constant__ MeetArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = shared_address(memory), group = threadIdx.x / 128;
  if (C.meeting == Meeting::mbarrier_round && threadIdx.x == 0) {
    barrier_init(shared, 128);
    barrier_init(shared + 8, 128);
    barrier_init_fence();
  }
  __syncthreads();
  const long long start = clock64();
  u32 parity = 0;
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
    if constexpr (C.meeting == Meeting::barrier) named_sync(1, C.threads);
    if constexpr (C.meeting == Meeting::named_round) {
      if (group == 0) {
        named_arrive(1, 256);
        named_sync(2, 256);
      } else {
        named_sync(1, 256);
        named_arrive(2, 256);
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
      named_sync(1, C.threads);
    }
  }
  if (threadIdx.x == 0) arguments.clocks[0] = clock64() - start;
}

}  // namespace napkin
