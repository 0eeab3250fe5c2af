#pragma once
// parse_machine reads a hardware profile from YAML, strictly. (schema: docs/own-gpu.md, "Keys")

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin {

/// The machine that a profile's text describes: a product over its architecture, or a whole machine in one file (it
/// then has `vendor` and `compute`). `file` is used in messages, and for an architecture that stands beside it, in
/// architectures/. Throws Error (file:line:column, field
/// path, what, what would be right) for everything that is not a well-formed, complete and plausible profile.
[[nodiscard]] Machine parse_machine(std::string_view text, const std::string& file);

/// A built-in profile by its name or an alias of it, or a file by path (contains '/' or ends in .yaml). Unknown names:
/// an Error at `where` that lists the known.
[[nodiscard]] Machine load_machine(const std::string& name_or_path, const std::string& where);

/// Names of the built-in profiles, sorted.
[[nodiscard]] std::vector<std::string> builtin_machines();

/// Other names of built-in profiles, each with the profile's own.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> builtin_aliases();

/// Names of the built-in architectures, sorted.
[[nodiscard]] std::vector<std::string> builtin_architectures();

/// The names that a profile may give its units.
[[nodiscard]] std::vector<std::string> unit_vocabulary();

}  // namespace napkin
