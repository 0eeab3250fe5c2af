#pragma once
// This header makes the kernels' integer arithmetic callable on the CPU. It is a system header, since its pragmas are
// those of the device compiler.
#pragma GCC system_header

#include <algorithm>
#include <cstdint>

#include "kernels/attention/sm80/arguments_sm80.cuh"
#include "kernels/matmul/arguments.cuh"
#include "kernels/runtime/launch_plan.hpp"
#include "model/mapping/placed.hpp"

#define __device__
#define __forceinline__ inline

namespace napkin {

using std::max;
using std::min;

inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(static_cast<std::uint64_t>(a) * b >> 32);
}

}  // namespace napkin

// The device's names of a tile and a span are the model's too.
#define Tile DeviceTile
#define Span DeviceSpan
#include "kernels/attention/common/dump.cuh"
#include "kernels/attention/common/tiles.cuh"
#undef Tile
#undef Span
#include "kernels/matmul/order.cuh"
