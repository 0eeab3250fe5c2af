#pragma once
// source_revision() is the revision of the sources that this program was built from: "8a2a849" in each recorded row.

#include <string_view>

namespace napkin::internal {

/// Returns the revision of the sources that this program was built from, as git describes it; "unknown" without git.
[[nodiscard]] std::string_view source_revision();

/// Returns a hash of everything that answers depend on: all files of model, solver, kernels, hardware_profiles and
/// apps/library except pages.
[[nodiscard]] std::string_view source_digest();

}  // namespace napkin::internal
