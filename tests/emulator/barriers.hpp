#pragma once
// These functions are what the copy engine asks of mbarriers: deliver() counts the bytes of a box that has come.
// Internal to the emulator.

#include "tests/emulator/engine.hpp"

namespace emulator {

struct BarrierPhase {
  u32 part, phase, offset;
};
/// The phase of that barrier that a box asked for now completes in; in that block the barrier at this address's offset.
[[nodiscard]] BarrierPhase barrier_phase(Block& block, u32 address);
/// So many bytes of it have arrived.
void deliver(Block& block, u32 offset, u32 phase, u32 bytes, Place at);

}  // namespace emulator
