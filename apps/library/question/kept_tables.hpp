#pragma once
// kept_tables() is where the solver's tables lie between processes: those of the bundled kernels beside the program, as
// the build made them, and a user's own under ~/.cache/napkin. Internal to apps/.

#include <filesystem>
#include <string>
#include <vector>

#include "solver/select/select.hpp"

namespace napkin {

/// Looks in the user's cache, beside the program, beside the library that this is linked into and in the installed
/// package; saves in the user's cache.
[[nodiscard]] Tables::Store kept_tables();

/// Saves in a folder, for a program to look in for the tables that came with it. Finds nothing there.
[[nodiscard]] Tables::Store shipped_to(const std::filesystem::path& folder);

/// What a name stands for: a built-in name is this program's own, a file is known by its bytes.
[[nodiscard]] std::string content_of(const std::string& name);

/// Folders with tables that came with the program.
[[nodiscard]] std::vector<std::filesystem::path> shipped_tables();

}  // namespace napkin
