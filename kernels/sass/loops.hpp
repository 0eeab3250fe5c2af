#pragma once
// loops_of finds the loops of machine code, and iteration_of the instructions that one iteration executes. Of two sides
// of a branch it takes the side with the copies and products, else the shorter side, since code for masks and retries
// seldom runs.

#include <vector>

#include "kernels/sass/sass.hpp"

namespace napkin::internal {

/// A natural loop: all instructions on a path from its first instruction back to it.
struct SassLoop {
  int head = 0;
  std::vector<int> body;    ///< instructions in order
  std::vector<int> closes;  ///< jumps back to the first instruction

  [[nodiscard]] bool has(int instruction) const;
};

[[nodiscard]] std::vector<SassLoop> loops_of(const std::vector<SassInstruction>& code);

/// Returns the instructions of an iteration, in the order in which they are issued. An inner loop counts as one
/// iteration.
[[nodiscard]] std::vector<int> iteration_of(const std::vector<SassInstruction>& code,
                                            const std::vector<SassLoop>& loops, const SassLoop& loop);

/// Returns the innermost loop that contains an instruction; nullptr: none.
[[nodiscard]] const SassLoop* innermost(const std::vector<SassLoop>& loops, int instruction);

}  // namespace napkin::internal
