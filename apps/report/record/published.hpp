#pragma once
// parse_published reads published speeds from JSON, strictly; text_of and json_of print the prediction for each: "160
// TFLOP/s, predicted 171".

#include <string>
#include <string_view>
#include <vector>

#include "apps/library/judge/published.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"

namespace napkin::internal::report {

/// Parses a JSON list of rows (tests/published/README.md has the keys). Throws Error at file:line:column for missing,
/// unknown and repeated keys, wrong types and impossible sizes.
[[nodiscard]] std::vector<PublishedRow> parse_published(std::string_view text, const std::string& file);

[[nodiscard]] std::string text_of(const PublishedSummary& summary, const Style& style);
[[nodiscard]] Json json_of(const PublishedSummary& summary);
[[nodiscard]] Json json_of(const PublishedAnswer& answer);

}  // namespace napkin::internal::report
