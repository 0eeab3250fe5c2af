#pragma once
// text_of and json_of print the ways in which several GPUs can divide a question, a line for each, such as
// ring_attention over 8 GPUs.

#include <string>
#include <string_view>

#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "napkin/island.hpp"

namespace napkin::internal::report {

[[nodiscard]] std::string text_of(const IslandAnswer& answer, const Style& style);
/// Converts the answer; `command` is "query" or "select".
[[nodiscard]] Json json_of(const IslandAnswer& answer, std::string_view command);

}  // namespace napkin::internal::report
