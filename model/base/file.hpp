#pragma once
// read_file reads a whole file, or throws with the reason: a profile, a diagram, a recording. Anything but a regular
// file (a folder, a FIFO, /dev/zero, a link to one) is refused before it is read, since reading it might never end.

#include <cstddef>
#include <string>

namespace napkin::internal {

/// Reads a file of at most `most` bytes. `where` begins the message: the file's name, or the option that names it.
/// Throws Error.
[[nodiscard]] std::string read_file(const std::string& path, std::size_t most, const std::string& where);

/// Returns true if a regular file (or a link to one) has that name.
[[nodiscard]] bool is_file(const std::string& path);

}  // namespace napkin::internal
