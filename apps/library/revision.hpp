#pragma once

#include <string_view>

namespace napkin {

/// The sources that this program was built from, as git describes them; "unknown" where there was no git.
[[nodiscard]] std::string_view source_revision();

/// Hash of what an answer depends on: every file of model, solver, kernels, hardware_profiles and apps/library.
[[nodiscard]] std::string_view source_digest();

}  // namespace napkin
