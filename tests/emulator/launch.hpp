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

struct Outcome {
  std::string error;  ///< empty, or what went wrong, where, and with which seed
  Counters counters;
};

/// Blocks that wait for earlier ones' turns want those to have run.
enum class Blocks { shuffled, ascending };

/// Runs all blocks, cluster after cluster in an order of the seed's. Throws Error for a variant that is not compiled
/// in.
[[nodiscard]] Outcome launch(const napkin::LaunchPlan& plan, std::uint64_t seed, const std::string& planted = "",
                             Trace* trace = nullptr, Blocks blocks = Blocks::shuffled);

}  // namespace emulator
