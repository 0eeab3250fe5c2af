#pragma once
// about_rule writes a rule that rejects tiles as one line of text: "q is a multiple of 64 times warpgroups".

#include <string>
#include <string_view>

#include "model/mapping/mapping.hpp"

namespace napkin::internal {

/// Writes what a rule asks for; `name` is its violation's name. "" if no rule has that name.
[[nodiscard]] std::string about_rule(const Mapping& mapping, std::string_view name);

}  // namespace napkin::internal
