#pragma once
// written("dv") is dv, written("2 rows") is "2 rows" in quotes: a word as YAML reads it back.

#include <string>

namespace napkin::yaml {

/// A plain word where YAML reads it back as it stands, else a double-quoted one.
[[nodiscard]] std::string written(const std::string& word);

}  // namespace napkin::yaml
