#pragma once
// find_variant finds a kernel's variant that was compiled into this program, by the expression that names it to the
// run-time compiler.

#include <string>

namespace emulator {

using Entry = void (*)(const void* arguments);

/// Called before main() by what make_variants wrote. `planted`: the name of a planted bug, else empty.
bool add_variant(const char* expression, const char* planted, Entry entry);
/// Null where there is none.
[[nodiscard]] Entry find_variant(const std::string& expression, const std::string& planted);

}  // namespace emulator
