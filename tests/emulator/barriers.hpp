#pragma once
// What the copy engine asks of mbarriers. Internal to the emulator.

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
