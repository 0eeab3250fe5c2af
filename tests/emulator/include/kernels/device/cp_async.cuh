#pragma once
// This is kernels/device/cp_async.cuh with the emulator's instructions.

#include "kernels/device/shared.cuh"
#include "tests/emulator/cuda.hpp"

#define copy_async copy_async_assembly
#define copy_async_or_zero copy_async_or_zero_assembly
#define copy_commit copy_commit_assembly
#define copy_wait copy_wait_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/cp_async.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef copy_async
#undef copy_async_or_zero
#undef copy_commit
#undef copy_wait

namespace napkin {

inline void copy_async(u32 to, const void* from, EMULATOR_PLACE) {
  emulator::copy_async(to, from, true, {EMULATOR_AT});
}
inline void copy_async_or_zero(u32 to, const void* from, bool inside, EMULATOR_PLACE) {
  emulator::copy_async(to, from, inside, {EMULATOR_AT});
}
inline void copy_commit(EMULATOR_PLACE) { emulator::copy_commit({EMULATOR_AT}); }
template <int Pending>
void copy_wait(EMULATOR_PLACE) {
  emulator::copy_wait(Pending, {EMULATOR_AT});
}

}  // namespace napkin
