#pragma once
// Published speeds as JSON, strictly read; and what the model says of them as table and JSON.

#include <string>
#include <string_view>
#include <vector>

#include "apps/library/published.hpp"
#include "apps/report/json.hpp"
#include "apps/report/table.hpp"

namespace napkin::report {

/// A JSON list of rows (tests/published/README.md has the keys). Missing, unknown and repeated keys, wrong types and
/// impossible sizes are an Error at file:line:column.
[[nodiscard]] std::vector<PublishedRow> parse_published(std::string_view text, const std::string& file);

[[nodiscard]] std::string text_of(const PublishedSummary& summary, const Style& style);
[[nodiscard]] Json json_of(const PublishedSummary& summary);
[[nodiscard]] Json json_of(const PublishedAnswer& answer);

}  // namespace napkin::report
