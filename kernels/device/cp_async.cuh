#pragma once
// A thread copies 16 bytes from device to shared memory past the L1 and goes on: copy_wait<1>() waits for all groups of
// copies but the last. (PTX ISA, sm_80)

#include "kernels/device/shared.cuh"

namespace napkin {

__device__ __forceinline__ void copy_async(u32 to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from));
}

/// Copies 16 bytes, or writes zeros and reads nothing if `inside` is false.
__device__ __forceinline__ void copy_async_or_zero(u32 to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0));
}

__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;"); }

/// Waits until at most the `Pending` youngest groups of this thread's copies are unfinished.
template <int Pending>
__device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace napkin
