#pragma once
// This kernel copies by cp.async: every thread requests its pieces of a chunk, waits for the oldest chunk in flight,
// and waits for the other threads at a barrier, as in kernels without a producer warp. Other warps may multiply at the
// same time.

#include "kernels/device/barrier.cuh"
#include "kernels/device/cp_async.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/micro/micro_arguments.cuh"
#include "kernels/micro/random_words.cuh"

namespace napkin {

template <AsyncCopiesConfig C>
__device__ __forceinline__ void ask_for_chunk(u32 to, const char* from) {
#pragma unroll
  for (int i = 0; i < C.pieces; ++i) copy_async(to + i * C.threads * 16, from + i * C.threads * 16);
  copy_commit();
}

/// Multiplies, and loads the operands, until the copies are done.
template <AsyncCopiesConfig C>
__device__ __forceinline__ void keep_busy(u32 shared, const AsyncCopiesArguments& arguments) {
  constexpr int count = 8;
  float d[count][4] = {};
  u32 a[4], address = shared + C.busy_at() + 16 * (threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = random_pair(threadIdx.x * 4 + i);
  int over = 0;
  while (over == 0) {
#pragma unroll
    for (int pair = 0; pair < 32; ++pair) {
      u32 b[4];
      load_matrices(b, address + 16 * pair);
      mma<true>(d[2 * pair % count], a, b[0], b[1]);
      mma<true>(d[(2 * pair + 1) % count], a, b[2], b[3]);
    }
    address += arguments.shift;
    asm volatile("ld.volatile.shared.s32 %0, [%1];" : "=r"(over) : "r"(shared + C.over_at()) : "memory");
    over = __shfl_sync(0xFFFFFFFF, over, 0);
  }
  if (arguments.kept == nullptr) return;
  float sum = 0.f;
#pragma unroll
  for (auto& each : d) sum += summed(each);
  arguments.kept[threadIdx.x] = sum;
}

template <AsyncCopiesConfig C>
__global__ void __launch_bounds__(C.threads + 32 * C.busy, 1)
    async_copies(const __grid_constant__ AsyncCopiesArguments arguments) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 all = shared_address(memory), shared = all + threadIdx.x * 16;
  if constexpr (C.busy > 0) fill_shared(all + C.busy_at(), C.busy_bytes);
  if (threadIdx.x == 0) store_word(all + C.over_at(), 0);
  __syncthreads();
  if constexpr (C.busy > 0) {
    if (threadIdx.x >= C.threads) {
      keep_busy<C>(all, arguments);
      return;
    }
  }
  const char* from = arguments.from + blockIdx.x * arguments.apart + threadIdx.x * 16;
  int asked = 0, place = 0, stage = 0;
  const auto ask = [&] {
    ask_for_chunk<C>(shared + stage * C.bytes(), from + static_cast<long long>(place) * C.bytes());
    ++asked;
    place = place + 1 == arguments.around ? 0 : place + 1;
    stage = stage + 1 == C.stages ? 0 : stage + 1;
  };
  while (asked < C.stages) ask();
  long long start = clock64();
#pragma unroll 1
  for (int chunk = 0; chunk < arguments.count; ++chunk) {
    copy_wait<C.stages - 1>();
    named_sync(NamedBarrier::all, 0, C.threads);
    if (chunk + 1 == arguments.warm) start = clock64();
    ask();
  }
  const long long clocks = clock64() - start;
  copy_wait<0>();
  if (threadIdx.x != 0) return;
  store_word(all + C.over_at(), 1);
  arguments.clocks[blockIdx.x] = clocks;
}

}  // namespace napkin
