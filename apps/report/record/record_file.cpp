#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "apps/report/file.hpp"
#include "apps/report/record/record.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::report {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& where) {
  throw Error(where, in_quotes(path) + " cannot be written: " + std::strerror(errno),
              "a path in a folder that you may write to");
}

/// Returns the text after the last end of line; "" if the file ends with one.
std::string tail_of(int file, off_t& size) {
  std::string tail;
  size = ::lseek(file, 0, SEEK_END);
  for (off_t at = size; at > 0; --at) {
    char c = 0;
    if (::pread(file, &c, 1, at - 1) != 1 || c == '\n') break;
    tail.insert(tail.begin(), c);
  }
  return tail;
}

/// Drops a row that a crash cut short, and adds the end of line that a whole row lacks.
bool mend(int file) {
  off_t size = 0;
  const std::string tail = tail_of(file, size);
  if (tail.empty()) return true;
  if (Json::accept(tail)) return write_all(file, "\n");
  return ::ftruncate(file, size - static_cast<off_t>(tail.size())) == 0;
}

}  // namespace

RowFile::RowFile(std::string path, std::string where) : path_(std::move(path)), where_(std::move(where)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0 && (errno == EACCES || errno == EINVAL)) file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) fail(path_, where_);
  if (!mend(file_)) fail(path_, where_);
}

RowFile::~RowFile() { ::close(file_); }

void RowFile::append(const Json& row) {
  if (!write_all(file_, line_of(row))) fail(path_, where_);
  if (::fsync(file_) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) fail(path_, where_);
}

}  // namespace napkin::internal::report
