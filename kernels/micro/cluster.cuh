#pragma once
// This kernel measures the bandwidth of the network between the SMs of a cluster: every block works on the shared
// memory of the next.

#include "kernels/device/barrier.cuh"
#include "kernels/micro/chase.cuh"
#include "kernels/micro/micro_arguments.cuh"
#include "kernels/micro/random_words.cuh"

namespace napkin {

template <ClusterConfig C>
__global__ void __launch_bounds__(C.threads) cluster_traffic(const __grid_constant__ ClusterArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  constexpr int step = C.threads * 16, unrolled = 8;
  u32 size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  u32 there = in_block(shared_address(memory) + threadIdx.x * 16, (cluster_rank() + 1) % size);
  for (u32 at = 4 * threadIdx.x; at < C.bytes; at += 4 * C.threads) store_word(shared_address(memory) + at, at);
  cluster_meet();
  u32 read = 0;
  const long long start = clock64();
#pragma unroll 1
  for (int pass = 0; pass < arguments.passes; ++pass) {
    Quad q[unrolled];
    there += arguments.shift;
#pragma unroll
    for (int i = 0; i < unrolled; ++i) {
      const u32 at = there + i * step;
      if constexpr (C.store) {
        asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(threadIdx.x) : "memory");
      } else {
        asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(q[i].word[0]), "=r"(q[i].word[1]), "=r"(q[i].word[2]), "=r"(q[i].word[3])
                     : "r"(at)
                     : "memory");
      }
    }
    if constexpr (!C.store) {
#pragma unroll
      for (int i = 0; i < unrolled; ++i) read = folded(read, q[i]);
    }
  }
  cluster_meet();  // stores have arrived
  if (threadIdx.x == 0) arguments.clocks[blockIdx.x] = clock64() - start;
  if (arguments.kept != nullptr) arguments.kept[threadIdx.x] = read;
}

}  // namespace napkin
