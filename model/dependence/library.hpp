#pragma once
// load_nest finds a loop nest by name, such as attention_forward: the built-in ones are YAML files like a user's own,
// embedded at build time.

#include <string>
#include <vector>

#include "model/dependence/nest.hpp"

namespace napkin::internal::dependence {

/// Returns the names of the embedded nests, sorted.
[[nodiscard]] std::vector<std::string> builtin_nests();

/// Loads the nest of that name, or the file at that path (text that ends in ".yaml" or contains '/'). Throws Error; for
/// an unknown name it lists the known ones.
[[nodiscard]] Nest load_nest(const std::string& name_or_path);

}  // namespace napkin::internal::dependence
