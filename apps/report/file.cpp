#include "apps/report/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "model/base/error.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal::report {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& where, int error) {
  throw Error(where, in_quotes(path) + " cannot be written: " + std::strerror(error),
              "a path in a folder that you may write to");
}

/// Returns true for a device or a pipe (/dev/stdout), which is written in place, since a rename would replace it.
bool is_special(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

std::string temporary_of(const std::string& path) { return path + "." + std::to_string(::getpid()) + ".part"; }

void write_special(const std::string& path, std::string_view text, const std::string& where) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) fail(path, where, errno);
  const bool written = write_all(file, text);
  const int error = errno;
  ::close(file);
  if (!written) fail(path, where, error);
}

}  // namespace

void check_writable(const std::string& path, const std::string& where) {
  if (is_special(path)) return;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) fail(path, where, EISDIR);
  const std::string temporary = temporary_of(path);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail(path, where, errno);
  ::close(file);
  ::unlink(temporary.c_str());
}

void write_file(const std::string& path, std::string_view text, const std::string& where) {
  if (is_special(path)) return write_special(path, text, where);
  const std::string temporary = temporary_of(path);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail(path, where, errno);
  const bool written = write_all(file, text) && ::fsync(file) == 0;
  const int write_error = errno;
  const bool closed = ::close(file) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = written ? errno : write_error;
    ::unlink(temporary.c_str());
    fail(path, where, error);
  }
}

}  // namespace napkin::internal::report
