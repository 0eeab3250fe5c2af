#pragma once
// find_variant finds a kernel's variant that was compiled into this program, by the expression that names it to the
// run-time compiler.

#include <string>

namespace emulator {

using Entry = void (*)(const void* arguments);

/// Registers a variant. Called before main() by the sources that make_variants writes; `planted` is the name of a
/// planted bug, else empty.
bool add_variant(const char* expression, const char* planted, Entry entry);
/// Finds a variant; null if there is none.
[[nodiscard]] Entry find_variant(const std::string& expression, const std::string& planted);

}  // namespace emulator
