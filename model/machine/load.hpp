#pragma once
// Hardware profiles from YAML, strictly. (schema: hardware_profiles/README.md)

#include <string>
#include <string_view>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin {

/// The machine that a profile's text describes; `file` is used in messages only. Throws Error (file:line:column, field
/// path, what, what would be right) for everything that is not a well-formed, complete and plausible profile.
[[nodiscard]] Machine parse_machine(std::string_view text, const std::string& file);

/// A built-in profile by name, or a file by path (contains '/' or ends in .yaml). Unknown names: an Error at `where`
/// that lists the known.
[[nodiscard]] Machine load_machine(const std::string& name_or_path, const std::string& where);

/// Names of the built-in profiles, sorted.
[[nodiscard]] std::vector<std::string> builtin_machines();

/// The names that a profile may give its units.
[[nodiscard]] std::vector<std::string> unit_vocabulary();

}  // namespace napkin
