#pragma once
// add_part_plan plans the launch that adds a part of attention's result to the running one, and finish_plan the one
// that writes the result in its own type: a ring of GPUs launches the first after each step and the second at its end.

#include "kernels/attention/common/add_part_arguments.cuh"
#include "kernels/runtime/device.hpp"
#include "model/base/dtype.hpp"

namespace napkin::internal {

/// Plans the addition of a part in bf16 or f16; d is a multiple of 4. `first`: the part becomes the running result.
[[nodiscard]] LaunchPlan add_part_plan(const AddPartArguments& arguments, DType type, bool first,
                                       const DeviceProperties& device);
[[nodiscard]] LaunchPlan finish_plan(const AddPartArguments& arguments, DType type, const DeviceProperties& device);

}  // namespace napkin::internal
