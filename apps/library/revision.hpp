#pragma once

#include <string_view>

namespace napkin {

/// The sources that this program was built from, as git describes them; "unknown" where there was no git.
[[nodiscard]] std::string_view source_revision();

}  // namespace napkin
