#pragma once
// A ReadingRow is one reading of a micro-kernel as a JSON line; table_of prints many: "tma_box 75 clk".

#include <string>
#include <string_view>
#include <vector>

#include "apps/library/judge/validation.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "model/machine/calibrate/calibration.hpp"

namespace napkin::internal::report {

/// A reading, with the place and time of its measurement.
struct ReadingRow {
  Reading reading;
  MeasuredBy from;
};

[[nodiscard]] Json json_of(const ReadingRow& row);

/// Parses every row of a text, completed by shared members (record/shared.hpp); empty lines are skipped. Throws Error
/// at file:line for missing and unknown keys, wrong types and empty values.
[[nodiscard]] std::vector<ReadingRow> parse_readings(std::string_view text, const std::string& file);

/// Writes the findings beside the base's numbers, and the products' table.
[[nodiscard]] std::string table_of(const Calibration& calibration, const Style& style);
/// Makes "findings" and "tensor" of `napkin calibrate --json`: value, unit, spread, before; null if not known.
[[nodiscard]] Json json_of(const Calibration& calibration);

}  // namespace napkin::internal::report
