#pragma once
// load_nest finds a loop nest by name, such as attention_forward: the built-in ones are YAML files like a user's own,
// embedded at build time.

#include <string>
#include <vector>

#include "model/dependence/nest.hpp"

namespace napkin::dependence {

/// The names of the embedded nests, sorted.
[[nodiscard]] std::vector<std::string> builtin_nests();

/// The nest of that name, or the file at that path: what ends in ".yaml" or contains '/' is a path. Throws Error:
/// an unknown name lists the known ones.
[[nodiscard]] Nest load_nest(const std::string& name_or_path);

}  // namespace napkin::dependence
