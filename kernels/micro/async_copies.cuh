#pragma once
// Copies by cp.async: every thread asks for its pieces of a chunk, waits for the oldest chunk in flight, and meets the
// others at a barrier, as kernels do whose warps copy for themselves.

#include "kernels/device/cp_async.cuh"
#include "kernels/micro/micro_arguments.cuh"

namespace napkin {

template <AsyncCopiesConfig C>
__device__ __forceinline__ void ask_for_chunk(u32 to, const char* from) {
#pragma unroll
  for (int i = 0; i < C.pieces; ++i) copy_async(to + i * C.threads * 16, from + i * C.threads * 16);
  copy_commit();
}

template <AsyncCopiesConfig C>
__global__ void __launch_bounds__(C.threads, 1) async_copies(const __grid_constant__ AsyncCopiesArguments arguments) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 shared = shared_address(memory) + threadIdx.x * 16;
  const char* from = arguments.from + blockIdx.x * arguments.apart + threadIdx.x * 16;
  int asked = 0, place = 0, stage = 0;
  const auto ask = [&] {
    ask_for_chunk<C>(shared + stage * C.bytes(), from + static_cast<long long>(place) * C.bytes());
    ++asked;
    place = place + 1 == arguments.around ? 0 : place + 1;
    stage = stage + 1 == C.stages ? 0 : stage + 1;
  };
  __syncthreads();
  while (asked < C.stages) ask();
  long long start = clock64();
#pragma unroll 1
  for (int chunk = 0; chunk < arguments.count; ++chunk) {
    copy_wait<C.stages - 1>();
    __syncthreads();
    if (chunk + 1 == arguments.warm) start = clock64();
    ask();
  }
  const long long clocks = clock64() - start;
  copy_wait<0>();
  if (threadIdx.x == 0) arguments.clocks[blockIdx.x] = clocks;
}

}  // namespace napkin
