#pragma once
// This is kernels/device/halves.cuh with the emulator's instructions.

#include "kernels/device/softmax.cuh"
#include "tests/emulator/cuda.hpp"

#define multiply_add_halves multiply_add_halves_assembly
#define add_halves add_halves_assembly
#define largest_halves largest_halves_assembly
#define exp2_halves exp2_halves_assembly
#define store_quad store_quad_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/halves.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef multiply_add_halves
#undef add_halves
#undef largest_halves
#undef exp2_halves
#undef store_quad

namespace napkin {

/// Computes each half separately, in double, and rounds the results.
template <class Compute, class... Pairs>
u32 of_halves(const Compute& compute, Pairs... pairs) {
  const auto half = [&](bool high) {
    return static_cast<float>(compute(static_cast<double>(unpack<false>(pairs, high))...));
  };
  return pack<false>(half(false), half(true));
}

inline u32 multiply_add_halves(u32 a, u32 b, u32 c) {
  return of_halves([](double x, double y, double z) { return x * y + z; }, a, b, c);
}
inline u32 add_halves(u32 a, u32 b) {
  return of_halves([](double x, double y) { return x + y; }, a, b);
}
inline u32 largest_halves(u32 a, u32 b) {
  return of_halves([](double x, double y) { return std::max(x, y); }, a, b);
}
inline u32 exp2_halves(u32 x) {
  return pack<false>(exp2_fast(unpack<false>(x, false)), exp2_fast(unpack<false>(x, true)));
}
inline void store_quad(u32 address, u32 w0, u32 w1, u32 w2, u32 w3, EMULATOR_PLACE) {
  const u32 words[] = {w0, w1, w2, w3};
  emulator::shared_write(address, words, sizeof words, {EMULATOR_AT});
}

}  // namespace napkin
