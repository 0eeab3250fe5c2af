#pragma once
// parse_machine reads a hardware profile from YAML, strictly. (schema: docs/own-gpu.md, "Keys")

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin::internal {

/// Parses a profile: a product over its architecture, or a whole machine in one file (with `vendor` and `compute`).
/// `file` is for messages, and says where the folder architectures/ is. Throws Error (file:line:column, field path,
/// what, what would be right) unless the profile is well-formed, complete and plausible.
[[nodiscard]] Machine parse_machine(std::string_view text, const std::string& file);

/// Loads a built-in profile by its name or an alias, or a file by path (contains '/' or ends in .yaml). Throws Error at
/// `where` for an unknown name, and lists the known ones.
[[nodiscard]] Machine load_machine(const std::string& name_or_path, const std::string& where);

/// Lists the built-in profiles by name, sorted.
[[nodiscard]] std::vector<std::string> builtin_machines();

/// Lists the aliases of built-in profiles, each with the profile's own name.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> builtin_aliases();

/// Lists the built-in architectures by name, sorted.
[[nodiscard]] std::vector<std::string> builtin_architectures();

/// Lists the names that a profile may give its units.
[[nodiscard]] std::vector<std::string> unit_vocabulary();

}  // namespace napkin::internal
