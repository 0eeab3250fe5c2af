#pragma once
// This is kernels/device/bytes.cuh with the emulator's instructions.

#include "kernels/device/shared.cuh"
#include "tests/emulator/cuda.hpp"

#define pack_bytes pack_bytes_assembly
#define store_two_words store_two_words_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/bytes.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef pack_bytes
#undef store_two_words

namespace napkin {

inline u32 pack_bytes(float b0, float b1, float b2, float b3) {
  const unsigned char bytes[] = {emulator::to_e4m3(b0), emulator::to_e4m3(b1), emulator::to_e4m3(b2),
                                 emulator::to_e4m3(b3)};
  u32 word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}
inline void store_two_words(u32 address, u32 first, u32 second, EMULATOR_PLACE) {
  const u32 words[] = {first, second};
  emulator::shared_write(address, words, sizeof words, {EMULATOR_AT});
}

}  // namespace napkin
