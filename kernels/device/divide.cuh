#pragma once
// A thread divides by a number that the host knows in two instructions: n / 12 is n times 2863311531, shifted.

#include "kernels/device/tensor_map.cuh"

namespace napkin {

/// Returns n / divisor.
__device__ __forceinline__ int divide(int n, const Divisor& by) {
  return by.value == 1 ? n : static_cast<int>(__umulhi(static_cast<unsigned int>(n), by.multiplier) >> by.shift);
}
/// Returns the quotient of n = quotient * divisor + remainder, and sets the remainder.
__device__ __forceinline__ int divide(int n, const Divisor& by, int& remainder) {
  const int quotient = divide(n, by);
  remainder = n - quotient * by.value;
  return quotient;
}

}  // namespace napkin
