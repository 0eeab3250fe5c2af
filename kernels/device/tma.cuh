#pragma once
// The bulk tensor copy engine (TMA) moves boxes between device memory and swizzled shared memory: one thread asks for
// 64 columns of 128 rows, and their 16 KiB arrive at a barrier. (PTX ISA, sm_90)

#include "kernels/device/barrier.cuh"
#include "kernels/device/tensor_map.cuh"

namespace napkin {

constexpr u64 evict_first = 0x12F0000000000000ull;
constexpr u64 evict_last = 0x14F0000000000000ull;

__device__ __forceinline__ void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<u64>(&map)) : "memory");
}

/// Loads one box; its bytes complete on `barrier`. Coordinates: innermost first.
__device__ __forceinline__ void load_box(u32 to, const TensorMap& map, u32 barrier, u64 policy, int c0, int c1, int c2,
                                         int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
      "l"(reinterpret_cast<u64>(&map)), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "l"(policy)
      : "memory");
}

/// Loads one box into every block of the cluster whose bit is set in `blocks`, at one offset in all of them, completing
/// on each block's barrier.
__device__ __forceinline__ void load_box_multicast(u32 to, const TensorMap& map, u32 barrier, u64 policy,
                                                   unsigned short blocks, int c0, int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], %7, %8;" ::"r"(to),
      "l"(reinterpret_cast<u64>(&map)), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "h"(blocks), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void load_box(u32 to, const TensorMap& map, u32 barrier, u64 policy, int c0, int c1, int c2,
                                         int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(to),
      "l"(reinterpret_cast<u64>(&map)), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4), "l"(policy)
      : "memory");
}

/// Loads a box of a matrix, without a cache hint.
__device__ __forceinline__ void load_box(u32 to, const TensorMap& map, u32 barrier, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(reinterpret_cast<u64>(&map)), "r"(barrier), "r"(c0), "r"(c1)
      : "memory");
}
__device__ __forceinline__ void load_box_multicast(u32 to, const TensorMap& map, u32 barrier, unsigned short blocks,
                                                   int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
      "l"(reinterpret_cast<u64>(&map)), "r"(barrier), "r"(c0), "r"(c1), "h"(blocks)
      : "memory");
}
__device__ __forceinline__ void store_box(u32 from, const TensorMap& map, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(reinterpret_cast<u64>(&map)),
      "r"(from), "r"(c0), "r"(c1)
      : "memory");
}

__device__ __forceinline__ void store_box(u32 from, const TensorMap& map, int c0, int c1, int c2, int c3, int c4) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(
                   reinterpret_cast<u64>(&map)),
               "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
               : "memory");
}

__device__ __forceinline__ void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until the copy engine has read the shared memory of every group committed by this thread but the last
/// `Pending`.
template <int Pending = 0>
__device__ __forceinline__ void store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}
__device__ __forceinline__ void store_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// Orders ordinary shared-memory writes before reads by the copy engine and the tensor cores.
__device__ __forceinline__ void async_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace napkin
