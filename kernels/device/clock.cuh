#pragma once
// note_start and note_end record the start of an SM's first block and the end of its last, by the SM's own counter.

namespace napkin {

__device__ __forceinline__ unsigned int sm_id() {
  unsigned int id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/// Notes that a block starts, in one of its threads. `spans` has {first start, last end} of each SM, set to {all ones,
/// 0} before the launch.
__device__ __forceinline__ void note_start(unsigned long long* spans) {
  atomicMin(spans + 2 * sm_id(), static_cast<unsigned long long>(clock64()));
}
__device__ __forceinline__ void note_end(unsigned long long* spans) {
  atomicMax(spans + 2 * sm_id() + 1, static_cast<unsigned long long>(clock64()));
}

}  // namespace napkin
