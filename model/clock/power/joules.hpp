#pragma once
// joules_of_byte and joules_of_flop are a machine's energies without a kernel, the weights of sums over its levels: 25
// pJ for a byte out of an H200's L2. (model/README.md, "Several levels")

#include "model/machine/machine.hpp"

namespace napkin::internal {

/// Returns the joules of a byte over the pipe into a level: the pipe's own energy, else the architecture's for a byte
/// of device memory, out of the L2, or that threads load; 0 if none is known.
[[nodiscard]] double joules_of_byte(const Machine& machine, LevelId into);

/// Returns the joules of a FLOP of a tensor instruction; 0 if not known.
[[nodiscard]] double joules_of_flop(const Machine& machine, const TensorInstruction& instruction);

}  // namespace napkin::internal
