#pragma once
// text_of prints a step of a model as a table of its launches, and json_of as JSON.

#include <string>

#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "napkin/step.hpp"

namespace napkin::internal::report {

[[nodiscard]] std::string text_of(const StepAnswer& answer, const Style& style);
[[nodiscard]] Json json_of(const StepAnswer& answer);

}  // namespace napkin::internal::report
