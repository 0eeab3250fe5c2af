#pragma once
// source_revision() says which sources this program was built from: "8a2a849" in each recorded row.

#include <string_view>

namespace napkin {

/// The sources that this program was built from, as git describes them; "unknown" where there was no git.
[[nodiscard]] std::string_view source_revision();

/// Hash of what an answer depends on: every file of model, solver, kernels, hardware_profiles and apps/library
/// but pages.
[[nodiscard]] std::string_view source_digest();

}  // namespace napkin
