#pragma once
// This kernel measures bandwidth between device memory or the L2 and the SMs, by ordinary 16-byte accesses.

#include "kernels/micro/micro_arguments.cuh"
#include "kernels/micro/random_words.cuh"

namespace napkin {

template <StreamConfig C>
__device__ __forceinline__ void stream_chunk(char* from, char* to, u32& read) {
  constexpr int step = C.threads * 16;
  Quad q[C.unrolled];
  if constexpr (C.way == StreamWay::read || C.way == StreamWay::copy) {
#pragma unroll
    for (int i = 0; i < C.unrolled; ++i) {  // past the L1
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(q[i].word[0]), "=r"(q[i].word[1]), "=r"(q[i].word[2]), "=r"(q[i].word[3])
                   : "l"(from + i * step));
    }
  } else {
#pragma unroll
    for (int i = 0; i < C.unrolled; ++i) q[i] = {{i * 3u, i * 5u, threadIdx.x, i * 7u}};
  }
#pragma unroll
  for (int i = 0; i < C.unrolled; ++i) {
    if constexpr (C.way == StreamWay::read) read = folded(read, q[i]);
    if constexpr (C.way == StreamWay::write || C.way == StreamWay::copy) {
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to + i * step), "r"(q[i].word[0]),
                   "r"(q[i].word[1]), "r"(q[i].word[2]), "r"(q[i].word[3])
                   : "memory");
    }
    if constexpr (C.way == StreamWay::add) {
      asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(to + i * step), "f"(1.f)
                   : "memory");
    }
  }
}

template <StreamConfig C>
__global__ void __launch_bounds__(C.threads) stream(const __grid_constant__ StreamArguments arguments) {
  const long long part = blockIdx.x * arguments.stride + threadIdx.x * 16;
  long long start = 0;
  u32 read = 0;
#pragma unroll 1
  for (int pass = 0; pass < arguments.warm_passes + arguments.passes; ++pass) {
    if (pass == arguments.warm_passes) {
      __syncthreads();
      start = clock64();
    }
#pragma unroll 2
    for (long long at = 0; at < arguments.bytes; at += C.chunk)
      stream_chunk<C>(arguments.from + part + at, arguments.to + part + at, read);
  }
  __syncthreads();
  if (threadIdx.x == 0) arguments.clocks[blockIdx.x] = clock64() - start;
  if (arguments.kept != nullptr) arguments.kept[threadIdx.x] = read;
}

}  // namespace napkin
