#pragma once
// These functions show what a percent more of each number would change, as a table, as JSON and as a tornado chart:
// bars to the left are numbers of which more makes the kernel faster, bars to the right those of which more makes it
// slower.

#include <string>

#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "napkin/sensitivity.hpp"

namespace napkin::internal::report {

/// Writes the ten numbers with the largest effects.
[[nodiscard]] std::string text_of(const SensitivityAnswer& answer, const Style& style);
/// Writes all numbers with an effect.
[[nodiscard]] std::string explained(const SensitivityAnswer& answer, const Style& style);
/// Writes a number with its unit: "700 W", "1 result", "1.3".
[[nodiscard]] std::string value_text(const SensitivityRow& row);
[[nodiscard]] Json json_of(const SensitivityAnswer& answer);
/// Writes a self-contained SVG document of the ten largest.
[[nodiscard]] std::string svg_of(const SensitivityAnswer& answer);

}  // namespace napkin::internal::report
