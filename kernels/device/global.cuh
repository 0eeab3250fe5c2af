#pragma once
// Blocks pass numbers to each other through device memory by loads and stores that skip the L1, which does not see
// other SMs' writes. Example: store, __threadfence(), atomicAdd by the one; atomicAdd, __threadfence(), load by the
// other.

namespace napkin {

struct alignas(8) FloatPair {
  float value[2];
};
struct alignas(16) FloatQuad {
  float value[4];
};

__device__ __forceinline__ float load_from_others(const float* from) {
  float value;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(from));
  return value;
}
__device__ __forceinline__ FloatPair load_pair_from_others(const float* from) {
  FloatPair pair;
  asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];" : "=f"(pair.value[0]), "=f"(pair.value[1]) : "l"(from));
  return pair;
}
__device__ __forceinline__ FloatQuad load_quad_from_others(const float* from) {
  FloatQuad q;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(q.value[0]), "=f"(q.value[1]), "=f"(q.value[2]), "=f"(q.value[3])
               : "l"(from));
  return q;
}

}  // namespace napkin
