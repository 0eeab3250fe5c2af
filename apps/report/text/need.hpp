#pragma once
// text_of prints what a machine must have to reach a target as a table of its numbers, json_of as JSON.

#include <string>

#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "napkin/need.hpp"

namespace napkin::internal::report {

[[nodiscard]] std::string text_of(const NeedAnswer& answer, const Style& style);
[[nodiscard]] Json json_of(const NeedAnswer& answer);

}  // namespace napkin::internal::report
