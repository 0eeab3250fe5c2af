#pragma once
// One thread moves rows of bytes by the bulk copy engine: 256 bytes of device memory arrive in shared memory at a
// barrier, or 4 KiB of floats in shared memory are added to floats in device memory. (PTX ISA, sm_90)

#include "kernels/device/barrier.cuh"

namespace napkin {

/// Loads bytes by the copy engine; addresses and `bytes` are multiples of 16.
__device__ __forceinline__ void load_bytes(u32 to, const void* from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

/// Adds floats of shared memory to floats of device memory by the copy engine, in no order among blocks. The caller
/// commits and waits: store_commit() and store_wait() of tma.cuh.
__device__ __forceinline__ void add_floats(float* to, u32 from, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
}

}  // namespace napkin
