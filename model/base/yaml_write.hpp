#pragma once
// written("dv") is dv, written("2 rows") is "2 rows" in quotes: a word as YAML reads it back.

#include <string>

namespace napkin::internal::yaml {

/// Returns the word as YAML: plain if it reads back unchanged, else in double quotes.
[[nodiscard]] std::string written(const std::string& word);

}  // namespace napkin::internal::yaml
