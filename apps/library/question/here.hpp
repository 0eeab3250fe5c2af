#pragma once
// product_of finds the built-in profile of a GPU, h200-sxm for "NVIDIA H200", and profile_of the profile of this very
// card, where `napkin calibrate --power` left one. Internal to apps/.

#include <string>

#include "kernels/runtime/device.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal {

/// Returns true if a device of that name ("NVIDIA H200") may be that product: its words include the first word that has
/// a digit of the product's name or of an alias.
[[nodiscard]] bool may_be(const Machine& product, const std::string& device);

/// Returns the built-in profile of that GPU: equal architecture and number of SMs, and a matching name. Throws Error at
/// --gpu if none matches.
[[nodiscard]] std::string product_of(const DeviceProperties& device);

/// Returns the path of this card's own profile, whether the file exists or not; "" if the card or the user's folder is
/// not known.
[[nodiscard]] std::string card_file(const DeviceProperties& device);
/// Returns the card's own profile if it has one, else its product's.
[[nodiscard]] std::string profile_of(const DeviceProperties& device);
/// Returns the profile of the first GPU of this machine. Throws CudaFailure if there is none.
[[nodiscard]] std::string profile_here();

}  // namespace napkin::internal
