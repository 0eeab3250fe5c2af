#pragma once
// run_devices runs a division on simulated GPUs, each with a memory of its own. It counts every value that crosses from
// one memory to another, which tests compare with the closed forms of division.hpp, and puts the results together.

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
