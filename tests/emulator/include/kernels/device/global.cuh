#pragma once
// This is kernels/device/global.cuh with the emulator's instructions: device memory has no caches here.

#include "tests/emulator/cuda.hpp"

#define load_from_others load_from_others_assembly
#define load_pair_from_others load_pair_from_others_assembly
#define load_quad_from_others load_quad_from_others_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/global.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef load_from_others
#undef load_pair_from_others
#undef load_quad_from_others

namespace napkin {

inline float load_from_others(const float* from, EMULATOR_PLACE) {
  emulator::check_device_memory(from, sizeof *from, false, {EMULATOR_AT});
  return *from;
}
inline FloatPair load_pair_from_others(const float* from, EMULATOR_PLACE) {
  FloatPair pair;
  emulator::check_device_memory(from, sizeof pair, false, {EMULATOR_AT});
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}
inline FloatQuad load_quad_from_others(const float* from, EMULATOR_PLACE) {
  FloatQuad quad;
  emulator::check_device_memory(from, sizeof quad, false, {EMULATOR_AT});
  std::memcpy(&quad, from, sizeof quad);
  return quad;
}

}  // namespace napkin
