#pragma once
// These functions print recorded rows and the errors of their predictions: "attention_sm90, held-out: 1,042 rows, time
// 3.0 % off in the mean".

#include <string>
#include <vector>

#include "apps/library/judge/validation.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"

namespace napkin::internal::report {

/// Makes {"kernels": {name: {split: {...}}}, "regret": {...}}, as `--replay --json` prints it.
[[nodiscard]] Json json_of(const ValidationSummary& summary);
/// Writes the summary. `measured` adds three columns for the same rows without the constants that were fitted to whole
/// kernels.
[[nodiscard]] std::string text_of(const ValidationSummary& summary, const Style& style,
                                  const ValidationSummary* measured = nullptr);

/// Writes a table with prediction beside measurement, a row each.
[[nodiscard]] std::string table_of(const std::vector<const ValidationRow*>& rows, const Style& style);

}  // namespace napkin::internal::report
