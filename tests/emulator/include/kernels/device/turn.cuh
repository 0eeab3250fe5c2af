#pragma once
// This is kernels/device/turn.cuh with the emulator's instructions.

#include "kernels/device/global.cuh"
#include "kernels/device/shared.cuh"
#include "tests/emulator/cuda.hpp"

#define add_four add_four_assembly
#define await_turn await_turn_assembly
#define await_count await_count_assembly
#define end_turn end_turn_assembly
#define store_four store_four_assembly
#define load_two load_two_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/turn.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef add_four
#undef await_turn
#undef await_count
#undef end_turn
#undef store_four
#undef load_two

namespace napkin {

inline void add_four(float* to, const Floats& four, EMULATOR_PLACE) {
  emulator::add_four(to, four.value, {EMULATOR_AT});
}
inline void await_turn(const u32* counter, u32 turn, EMULATOR_PLACE) {
  emulator::await_turn(counter, turn, {EMULATOR_AT});
}
inline void await_count(const u32* counter, u32 least, EMULATOR_PLACE) {
  emulator::await_turn(counter, least, {EMULATOR_AT});
}
inline void end_turn(u32* counter, EMULATOR_PLACE) { emulator::end_turn(counter, {EMULATOR_AT}); }
inline void store_four(u32 address, const Floats& four, EMULATOR_PLACE) {
  emulator::shared_write(address, &four, sizeof four, {EMULATOR_AT});
}
inline FloatPair load_two(u32 address, EMULATOR_PLACE) {
  FloatPair pair;
  emulator::shared_read(&pair, address, sizeof pair, {EMULATOR_AT});
  return pair;
}

}  // namespace napkin
