#pragma once
// These functions let the copy engine use mbarriers: deliver() counts the bytes of a box that has arrived. Internal to
// the emulator.

#include "tests/emulator/engine.hpp"

namespace emulator {

struct BarrierPhase {
  u32 part, phase, offset;
};
/// Returns the phase of the barrier in which a box that is requested now completes; in block `block`, at this address's
/// offset.
[[nodiscard]] BarrierPhase barrier_phase(Block& block, u32 address);
/// Counts `bytes` bytes that have arrived for that phase.
void deliver(Block& block, u32 offset, u32 phase, u32 bytes, Place at);

}  // namespace emulator
