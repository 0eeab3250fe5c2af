#pragma once
// launch() runs a plan of kernels/plans on the emulator, as it is given to a GPU. A seed makes the choices that are
// free to the hardware, such as the order of warps.

#include <cstdint>
#include <string>

#include "kernels/runtime/launch_plan.hpp"
#include "tests/emulator/counters.hpp"
#include "tests/emulator/trace.hpp"
#include "tests/emulator/variants.hpp"

namespace emulator {

class WrittenOnce;

struct Outcome {
  std::string error;  ///< error with its place and seed; empty: none
  Counters counters;
};

/// Orders of blocks. `ascending` is for kernels whose blocks wait for the turns of earlier ones.
enum class Blocks { shuffled, ascending };

/// A launch to run: the plan, the seed of the order of events, and the name of a planted bug, if any.
struct Launch {
  const napkin::internal::LaunchPlan& plan;
  std::uint64_t seed = 1;
  const std::string& planted;
  Trace* trace = nullptr;
  WrittenOnce* once = nullptr;  ///< outputs of the launch; the caller calls give_back()
  Blocks blocks = Blocks::shuffled;
};

/// Runs all blocks, cluster after cluster, in an order that the seed chooses. Throws Error for a variant that was not
/// compiled into this program.
[[nodiscard]] Outcome launch(const Launch& launch);

}  // namespace emulator
