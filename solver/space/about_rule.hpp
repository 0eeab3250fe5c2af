#pragma once
// about_rule says in a line what a rule that keeps tiles out asks for: "q is a multiple of 64 times warpgroups".

#include <string>
#include <string_view>

#include "model/mapping/mapping.hpp"

namespace napkin::internal {

/// Says what a rule requires, by the name that its violation has; "" if no rule has that name.
[[nodiscard]] std::string about_rule(const Mapping& mapping, std::string_view name);

}  // namespace napkin::internal
