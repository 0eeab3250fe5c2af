#pragma once
// This kernel measures latency: one thread follows a ring of addresses.

#include "kernels/device/barrier.cuh"
#include "kernels/micro/micro_arguments.cuh"

namespace napkin {

/// Waits for all threads of the cluster, and makes earlier writes to shared memory visible to them.
__device__ __forceinline__ void cluster_meet() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ u32 in_block(u32 address, u32 rank) {
  u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

/// Size of a ring in shared memory: a word every 132 bytes, so that all banks are used.
constexpr u32 ring_words = 1024, ring_step = 33;

template <ChaseConfig C>
__global__ void chase(const __grid_constant__ ChaseArguments arguments) {
  __shared__ u32 ring[ring_words];
  u32 size = 1, rank = 0;
  if constexpr (C.space == ChaseSpace::cluster) {
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    rank = cluster_rank();
  }
  const u32 next = (rank + 1) % size, base = shared_address(ring);
  for (u32 i = threadIdx.x; i < ring_words; i += blockDim.x) {
    const u32 to = base + 4 * ((i + ring_step) % ring_words);
    ring[i] = C.space == ChaseSpace::cluster ? in_block(to, rank) : to;
  }
  if constexpr (C.space == ChaseSpace::cluster)
    cluster_meet();
  else
    __syncthreads();
  if (threadIdx.x == 0) {
    u32 at = 0;
    long long start = 0;
#pragma unroll 1
    for (int pass = 0; pass < arguments.passes; ++pass) {
      at = C.space == ChaseSpace::cluster  ? in_block(base, next)
           : C.space == ChaseSpace::shared ? base
                                           : static_cast<u32>(arguments.first);
      start = clock64();
#pragma unroll 8
      for (int i = 0; i < arguments.steps; ++i) {
        if constexpr (C.space == ChaseSpace::shared) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
        if constexpr (C.space == ChaseSpace::cluster)
          asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(at)::"memory");
        if constexpr (C.space == ChaseSpace::global) {
          asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(arguments.ring + 32ull * at) : "memory");
        }
      }
    }
    const long long clocks = clock64() - start;
    // `at` never has that value; the test keeps the compiler from dropping the chain.
    arguments.clocks[blockIdx.x] = at == 0xFFFFFFFFu ? 0 : clocks;
  }
  if constexpr (C.space == ChaseSpace::cluster) cluster_meet();
}

/// Writes the ring that chase() follows in device memory.
template <RingConfig C>
__global__ void lay_ring(const __grid_constant__ ChaseArguments arguments) {
  const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < arguments.lines; i += threads) {
    if (C.lay) arguments.ring[32 * i] = static_cast<u32>((i + arguments.step) % arguments.lines);
  }
}

}  // namespace napkin
