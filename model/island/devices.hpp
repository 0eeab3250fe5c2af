#pragma once
// run_devices executes a division on so many simulated GPUs, each with a memory of its own: what the closed forms of
// division.hpp say moves is counted here value by value as it crosses from one memory to another, and the results are
// put together and compared with the algorithm run in one piece.

#include <vector>

#include "model/interpret/run.hpp"
#include "model/island/division.hpp"

namespace napkin::internal {

struct DevicesRun {
  Tensors outputs;                           ///< whole outputs, gathered from the GPUs' parts
  std::vector<std::vector<Count>> received;  ///< values, by GPU and by ArrayId
  std::vector<Count> work;                   ///< unmasked pairs that each GPU computed; 0 without a mask
};

/// Runs the division on these inputs, in float64. Throws Error if a result in parts has no log-sum-exp to weight them
/// by.
[[nodiscard]] DevicesRun run_devices(const Division& division, const Tensors& inputs);

}  // namespace napkin::internal
