#pragma once
// Threads of different blocks add to device memory: four floats at once in any order, or in a fixed order that a
// counter in device memory keeps, so that a sum has the same bits in every run. Also here: floats in shared memory by
// twos and fours. (PTX ISA, sm_90)

#include "kernels/device/global.cuh"
#include "kernels/device/shared.cuh"

namespace napkin {

struct Floats {
  float value[4];
};

/// Adds four floats to device memory in one instruction; `to` is a multiple of 16.
__device__ __forceinline__ void add_four(float* to, const Floats& four) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(four.value[0]),
               "f"(four.value[1]), "f"(four.value[2]), "f"(four.value[3])
               : "memory");
}

/// Waits until the counter equals `turn`; then all that its earlier owners wrote is visible.
__device__ __forceinline__ void await_turn(const u32* counter, u32 turn) {
  u32 now;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
  } while (now != turn);
}
/// Waits until the counter is at least `least`: for counters whose additions come in no order.
__device__ __forceinline__ void await_count(const u32* counter, u32 least) {
  u32 now;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
  } while (now < least);
}
__device__ __forceinline__ void end_turn(u32* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

__device__ __forceinline__ void store_four(u32 address, const Floats& four) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(four.value[0]), "f"(four.value[1]),
               "f"(four.value[2]), "f"(four.value[3])
               : "memory");
}

__device__ __forceinline__ FloatPair load_two(u32 address) {
  FloatPair pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.value[0]), "=f"(pair.value[1]) : "r"(address) : "memory");
  return pair;
}

}  // namespace napkin
