#pragma once
// load_diagram finds a diagram by name, such as attention: the built-in ones are YAML files like a user's own, embedded
// at build time.

#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

/// Returns the names of the embedded diagrams, sorted.
[[nodiscard]] std::vector<std::string> builtin_diagrams();

/// Loads the diagram of that name, or the file at that path (text that ends in ".yaml" or contains '/'). Throws Error;
/// for an unknown name it lists the known ones.
[[nodiscard]] Diagram load_diagram(const std::string& name_or_path);

}  // namespace napkin::internal
