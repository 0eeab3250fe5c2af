#pragma once
// These functions read special registers, such as thread_id(), and access shared memory by its own 32-bit addresses.

namespace napkin {

using u32 = unsigned int;
using u64 = unsigned long long;

constexpr u32 warp_threads = 32, warpgroup_threads = 128;

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

/// Returns the lane's number. The read is volatile: the compiler repeats it where it is used, and keeps no values that
/// depend on it in registers around a loop.
__device__ __forceinline__ u32 lane_id() {
  u32 lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ __forceinline__ u32 thread_id() {
  u32 thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
__device__ __forceinline__ int block_id() {
  int block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
}

struct Quad {
  u32 word[4];
};

__device__ __forceinline__ void store_word(u32 address, u32 value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

/// Loads 16 bytes from a 16-byte aligned address.
__device__ __forceinline__ Quad load_quad(u32 address) {
  Quad q;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3])
               : "r"(address)
               : "memory");
  return q;
}

}  // namespace napkin
