#pragma once
// write_file leaves a file that is whole or not there at all: a page is written under another name in the same folder,
// then renamed.

#include <string>
#include <string_view>

namespace napkin::internal::report {

/// Writes `text` beside `path` and renames it into place. Throws Error at `where`, without a partial file.
void write_file(const std::string& path, std::string_view text, const std::string& where);

/// Checks, before any work is done, that write_file() can write there. Throws Error at `where`.
void check_writable(const std::string& path, const std::string& where);

/// Writes to an open file. Returns false if not everything was written; errno tells why.
[[nodiscard]] bool write_all(int file, std::string_view text);

}  // namespace napkin::internal::report
