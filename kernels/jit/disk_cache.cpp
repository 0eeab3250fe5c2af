#include "kernels/jit/disk_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "kernels/jit/sha256.hpp"
#include "model/base/file.hpp"

namespace napkin::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t digest_digits = 64;

/// A file descriptor that closes itself, and removes its file unless that was renamed.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  ~Temporary() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (!kept_) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] bool write(std::string_view bytes) const {
    if (descriptor_ < 0) return false;
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::fsync(descriptor_) == 0;
  }
  [[nodiscard]] bool rename(const fs::path& to) {
    kept_ = ::rename(path_.c_str(), to.c_str()) == 0;
    return kept_;
  }

 private:
  fs::path path_;
  int descriptor_ = -1;
  bool kept_ = false;
};

/// Returns a name that no other process or thread uses, on any machine that shares the directory.
std::string temporary_name(const std::string& key) {
  static std::atomic<unsigned> count{0};
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return "." + key.substr(0, 16) + "." + std::string(host) + "." + std::to_string(::getpid()) + "." +
         std::to_string(count++) + ".tmp";
}

}  // namespace

DiskCache::DiskCache(fs::path directory, std::string kind, int version)
    : directory_(std::move(directory)),
      kind_(std::move(kind)),
      format_("napkin " + kind_ + " " + std::to_string(version) + "\n") {}

std::string DiskCache::head_of(const std::string& key, std::string_view content) const {
  return format_ + hex(Sha256().add_field(key).add(content).digest()) + "\n";
}

std::optional<std::string> DiskCache::find(const std::string& key) const {
  if (directory_.empty()) return std::nullopt;
  const fs::path path = file_of(key);
  if (!is_file(path)) return std::nullopt;  // also if something else has its name: a folder, a FIFO, a device
  std::ifstream in(path, std::ios::binary);
  std::string head(format_.size() + digest_digits + 1, '\0');
  if (!in.read(head.data(), static_cast<std::streamsize>(head.size())) || !head.starts_with(format_))
    return std::nullopt;
  std::string content{std::istreambuf_iterator<char>(in), {}};
  if (head != head_of(key, content)) return std::nullopt;
  return content;
}

std::string DiskCache::store(const std::string& key, std::string_view content) const {
  if (directory_.empty()) return "";
  const auto refused = [&](int error) {
    return kind_ + " cache " + directory_.string() + ": " + std::strerror(error) + ": going on without it";
  };
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) return refused(error.value());
  Temporary file(directory_ / temporary_name(key));
  if (!file.write(head_of(key, content) + std::string(content)) || !file.rename(file_of(key))) return refused(errno);
  const int directory = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return "";
}

void add_field(std::string& content, std::string_view bytes) {
  content.append(std::to_string(bytes.size())).append(":").append(bytes);
}

std::optional<std::string_view> next_field(std::string_view& rest) {
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 12) return std::nullopt;
  if (rest.substr(0, colon).find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const std::size_t size = std::stoull(std::string(rest.substr(0, colon)));
  rest.remove_prefix(colon + 1);
  if (size > rest.size()) return std::nullopt;
  const std::string_view field = rest.substr(0, size);
  rest.remove_prefix(size);
  return field;
}

}  // namespace napkin::internal
