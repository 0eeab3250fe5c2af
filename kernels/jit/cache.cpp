#include "kernels/jit/cache.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "kernels/jit/failure.hpp"
#include "kernels/jit/sha256.hpp"

namespace napkin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view format = "napkin kernel 1\n";  // counted up when an entry's content changes
constexpr std::size_t digest_digits = 64;

// An entry: format, hash of the payload, newline, payload. The payload is fields as "length:bytes".

std::string payload_of(const CompiledKernel& kernel) {
  std::string out;
  const auto field = [&](std::string_view bytes) { out.append(std::to_string(bytes.size())).append(":").append(bytes); };
  field(kernel.lowered_name);
  field(kernel.report.log);
  field(std::to_string(kernel.compile_time.value));
  field(kernel.cubin);
  return out;
}

std::optional<std::string_view> next_field(std::string_view& rest) {
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 12) return std::nullopt;
  const std::size_t size = std::stoull(std::string(rest.substr(0, colon)));
  rest.remove_prefix(colon + 1);
  if (size > rest.size()) return std::nullopt;
  const std::string_view field = rest.substr(0, size);
  rest.remove_prefix(size);
  return field;
}

std::optional<CompiledKernel> read_payload(std::string_view rest) {
  const auto name = next_field(rest), log = next_field(rest), seconds = next_field(rest), cubin = next_field(rest);
  if (!name || !log || !seconds || !cubin || !rest.empty()) return std::nullopt;
  CompiledKernel kernel;
  kernel.lowered_name = std::string(*name);
  kernel.report = read_report(*log);
  kernel.compile_time = Seconds(std::stod(std::string(*seconds)));
  kernel.cubin = std::string(*cubin);
  return kernel;
}

/// A file descriptor that closes itself and takes its file with it unless it was renamed away.
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

/// Unlike any other process's or thread's on any machine that shares the directory.
std::string temporary_name(const std::string& key) {
  static std::atomic<unsigned> count{0};
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return "." + key.substr(0, 16) + "." + std::string(host) + "." + std::to_string(::getpid()) + "." + std::to_string(count++) + ".tmp";
}

}  // namespace

std::string cache_key(const CompileRequest& request, const std::string& compiler_identity) {
  Sha256 hash;
  hash.add(format).add_field(compiler_identity).add_field(request.expression);
  for (const std::string& option : compile_options(request)) hash.add_field(option);
  hash.add_field(request.source.main.path).add_field(request.source.main.text);
  for (const EmbeddedFile& header : request.source.headers) hash.add_field(header.path).add_field(header.text);
  return hex(hash.digest());
}

std::optional<CompiledKernel> KernelCache::find(const std::string& key) const {
  if (directory_.empty()) return std::nullopt;
  std::ifstream in(file_of(key), std::ios::binary);
  if (!in) return std::nullopt;
  const std::string entry{std::istreambuf_iterator<char>(in), {}};
  std::string_view rest(entry);
  if (!rest.starts_with(format) || rest.size() < format.size() + digest_digits + 1) return std::nullopt;
  rest.remove_prefix(format.size());
  const std::string_view digest = rest.substr(0, digest_digits);
  rest.remove_prefix(digest_digits + 1);
  if (hex(Sha256().add_field(key).add(rest).digest()) != digest) return std::nullopt;
  try {
    return read_payload(rest);
  } catch (const std::exception&) {  // written by another version of this code
    return std::nullopt;
  }
}

std::string KernelCache::store(const std::string& key, const CompiledKernel& kernel) const {
  if (directory_.empty()) return "";
  const auto refused = [&](int error) {
    return "kernel cache " + directory_.string() + ": " + std::strerror(error) + ": going on without it";
  };
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) return refused(error.value());
  const std::string payload = payload_of(kernel);
  const std::string digest = hex(Sha256().add_field(key).add(payload).digest());
  Temporary file(directory_ / temporary_name(key));
  if (!file.write(std::string(format) + digest + "\n" + payload) || !file.rename(file_of(key))) return refused(errno);
  const int directory = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return "";
}

Compilation compile_cached(const Compiler& compiler, const KernelCache& cache, const CompileRequest& request) {
  const std::string key = cache_key(request, compiler.identity());
  if (auto kernel = cache.find(key)) return {std::move(*kernel), true, ""};
  Compilation out;
  out.kernel = compiler.compile(request);
  out.warning = cache.store(key, out.kernel);
  return out;
}

}  // namespace napkin
