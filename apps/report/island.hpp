#pragma once
// What several GPUs make of a question, as text and as JSON.

#include <string>
#include <string_view>

#include "apps/library/island.hpp"
#include "apps/report/json.hpp"
#include "apps/report/table.hpp"

namespace napkin::report {

[[nodiscard]] std::string text_of(const IslandAnswer& answer, const Style& style);
/// `command`: "query" or "select".
[[nodiscard]] Json json_of(const IslandAnswer& answer, std::string_view command);

}  // namespace napkin::report
