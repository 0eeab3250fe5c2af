#pragma once
// This kernel times products from the issue to the end of the wait: of one warpgroup, or of several that issue at once
// or one shortly after the other.

#include "kernels/device/tma.cuh"
#include "kernels/device/wgmma_e4m3.cuh"
#include "kernels/micro/micro_arguments.cuh"
#include "kernels/micro/random_words.cuh"

namespace napkin {

template <ProductsConfig C>
__global__ void __launch_bounds__(128 * C.groups, 1) products(const __grid_constant__ ProductsArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = shared_address(memory), group = threadIdx.x / 128;
  if constexpr (C.e4m3)
    fill_shared_bytes(shared, C.shared());
  else
    fill_shared(shared, C.shared());
  async_fence();
  __syncthreads();
  float d[C.n / 2];
#pragma unroll
  for (float& each : d) each = 0.f;
  u32 a[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    a[i] = static_cast<u32>(read(shared + 16 * (threadIdx.x % 128) + 4 * i));  // read here, not where it is used
  const u64 in_shared = descriptor<64>((shared + group * AgentsConfig::a_bytes) >> 4, 0),
            b = descriptor<64>((shared + C.b_at()) >> 4, 0);
#pragma unroll 1
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    named_sync(NamedBarrier::all, 0, warpgroup_threads * C.groups);
    const long long together = clock64();
    while (clock64() - together < static_cast<long long>(group) * arguments.offset) {
    }
    const long long start = clock64();
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < C.batch; ++i) {
      const u64 step = descriptor_offset<64, 64>(0, i % 4 * 16);  // four in a span
      if constexpr (C.e4m3 && C.a_registers)
        wgmma_e4m3<C.n>(d, a, b + step, i != 0);
      else if constexpr (C.e4m3)
        wgmma_e4m3<C.n>(d, in_shared + step, b + step, i != 0);
      else if constexpr (C.a_registers)
        wgmma<C.n, true, 0>(d, a, b + step, i != 0);
      else
        wgmma<C.n, true, 0>(d, in_shared + step, b + step, i != 0);
    }
    wgmma_commit();
    const long long issued = clock64();
    wgmma_wait<0>();
    pin(d);
    const long long end = clock64();
    if (threadIdx.x % 128 == 0) {
      unsigned long long* to = arguments.marks + 3 * (repeat * C.groups + group);
      to[0] = start;
      to[1] = issued;
      to[2] = end;
    }
  }
  if (arguments.kept != nullptr) arguments.kept[threadIdx.x] = summed(d);
}

}  // namespace napkin
