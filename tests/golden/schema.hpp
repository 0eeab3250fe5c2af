#pragma once
// schema_error checks JSON against docs/schema/answers.schema.json: it knows the part of JSON Schema that the file
// uses.

#include <nlohmann/json.hpp>
#include <string>

namespace cli {

/// Returns the first violation of the schema, "machines[0].predicted: has no 'time'"; "" if there is none.
[[nodiscard]] std::string schema_error(const nlohmann::ordered_json& answer);

}  // namespace cli
