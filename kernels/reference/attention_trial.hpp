#pragma once
// attention_trial makes problems of attention with known answers, for every kernel that takes an AttentionCall:
// attention_sm90 at 1000 queries against float64.

#include <memory>

#include "kernels/reference/attention_data.hpp"
#include "kernels/reference/bundled.hpp"

namespace napkin::internal {

using AttentionPlanner = LaunchPlan (*)(const PlacedDiagram& placed, const AttentionCall& call,
                                        const LaunchDevice& device);

/// Returns a call without memory, for compiling the placement's variant.
[[nodiscard]] AttentionCall call_without_arrays(const PlacedDiagram& placed, bool counting);

/// Returns this placement's layout, its arrays dense. Throws Overflow for packed rows that an int does not count.
[[nodiscard]] AttentionLayout attention_layout(const PlacedDiagram& placed, std::uint64_t seed);

[[nodiscard]] std::unique_ptr<KernelTrial> attention_trial(Runtime& runtime, const PlacedDiagram& placed,
                                                           const TrialOptions& options, AttentionPlanner planner);

}  // namespace napkin::internal
