#pragma once
// This kernel's blocks only wait for some time, such as a thousand clocks: what the launch takes beyond that is the
// cost of launching blocks.

#include "kernels/device/clock.cuh"
#include "kernels/micro/micro_arguments.cuh"

namespace napkin {

template <BlocksConfig C>
__global__ void blocks(const __grid_constant__ BlocksArguments arguments) {
  const long long start = clock64();
  while (clock64() - start < arguments.window) {
  }
  if constexpr (C.noted) {
    if (threadIdx.x != 0) return;
    unsigned long long* span = arguments.spans + 3ull * blockIdx.x;
    span[0] = sm_id();
    span[1] = start;
    span[2] = clock64();
  }
}

}  // namespace napkin
