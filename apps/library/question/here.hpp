#pragma once
// profile_of finds the built-in profile of a GPU: h200-sxm for "NVIDIA H200". Internal to apps/.

#include <string>

#include "kernels/runtime/device.hpp"
#include "model/machine/machine.hpp"

namespace napkin {

/// Whether a device of that name ("NVIDIA H200") may be of the product: the first word of its name or of an alias that
/// has a digit is one of the device's.
[[nodiscard]] bool may_be(const Machine& product, const std::string& device);

/// The built-in profile of that GPU: equal architecture and SMs, and the name that says so. Throws Error at --gpu where
/// none is.
[[nodiscard]] std::string profile_of(const DeviceProperties& device);
/// The profile of the first GPU of this machine. Throws CudaFailure where there is none.
[[nodiscard]] std::string profile_here();

}  // namespace napkin
