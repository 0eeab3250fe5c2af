#pragma once
// launch() runs a plan of kernels/plans on the emulator as a GPU would get it, with a seed for what the hardware is
// free to choose.

#include <cstdint>
#include <string>

#include "kernels/runtime/launch_plan.hpp"
#include "tests/emulator/counters.hpp"
#include "tests/emulator/trace.hpp"
#include "tests/emulator/variants.hpp"

namespace emulator {

class WrittenOnce;

struct Outcome {
  std::string error;  ///< empty, or what went wrong, where, and with which seed
  Counters counters;
};

/// Blocks that wait for earlier ones' turns want those to have run.
enum class Blocks { shuffled, ascending };

/// What to run, and how: the order of events by `seed`, the text with a planted bug where one is named.
struct Launch {
  const napkin::internal::LaunchPlan& plan;
  std::uint64_t seed = 1;
  const std::string& planted;
  Trace* trace = nullptr;
  WrittenOnce* once = nullptr;  ///< of the launch's outputs; give_back() is the caller's
  Blocks blocks = Blocks::shuffled;
};

/// Runs all blocks, cluster after cluster in an order of the seed's. Throws Error for a variant that is not compiled
/// in.
[[nodiscard]] Outcome launch(const Launch& launch);

}  // namespace emulator
