#pragma once
// A block's threads wait for each other and for the copy engine at barriers: an mbarrier in shared memory counts
// arrivals and bytes and completes phase by phase, a named barrier joins whole warps. Also here: clusters, setmaxnreg,
// a word in shared memory, and the position in a ring of buffers. (PTX ISA, sm_90)

#include "kernels/device/shared.cuh"

namespace napkin {

__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

/// Makes initialised barriers visible to the copy engine and to the cluster.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives at the same barrier in block `rank` of the cluster, to say that shared memory was read. It makes no writes
/// visible: a release at cluster scope would cost a fence to device memory each time.
__device__ __forceinline__ void barrier_arrive_remote(u32 barrier, u32 rank) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

/// Arrives and announces the bytes that the copy engine will deliver in this phase.
__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Waits until the phase of that parity has completed.
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Named barriers and the threads that meet at each. A kind has one barrier for every consumer warpgroup w; barrier 0
/// is __syncthreads'.
enum class NamedBarrier : u32 {
  turn = 1,       // turn of warpgroup w on the tensor cores: w waits, the one before it arrives (ping-pong)
  all = 1,        // barrier of all threads of a block whose warpgroups take no turns
  warpgroup = 6,  // the four warps of warpgroup w
};

/// Waits until that many threads, whole warps, have arrived at the barrier; named_arrive() arrives without waiting.
__device__ __forceinline__ void named_sync(NamedBarrier kind, u32 warpgroup, u32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(static_cast<u32>(kind) + warpgroup), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_arrive(NamedBarrier kind, u32 warpgroup, u32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(static_cast<u32>(kind) + warpgroup), "r"(threads) : "memory");
}
/// Waits until the four warps of a warpgroup have arrived.
__device__ __forceinline__ void warpgroup_sync(u32 warpgroup) {
  named_sync(NamedBarrier::warpgroup, warpgroup, warpgroup_threads);
}

/// Returns gridDim.x, read where it is used: kept in a register of a small producer, it would be spilled.
__device__ __forceinline__ int grid_blocks() {
  int blocks;
  asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));
  return blocks;
}

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// Waits until all threads of the cluster have arrived. Publishes no writes: initialised barriers have a fence of their
/// own.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

template <int N>
__device__ __forceinline__ void registers_grow() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
__device__ __forceinline__ void registers_shrink() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

/// Writes a word to shared memory. Its reader must wait at a barrier.
__device__ __forceinline__ void post(u32 address, int value) {
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
__device__ __forceinline__ int read(u32 address) {
  int value;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

/// Position in a ring of `Stages` buffers, with the parity of its current round.
template <int Stages>
struct Ring {
  u32 stage = 0;
  u32 parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace napkin
