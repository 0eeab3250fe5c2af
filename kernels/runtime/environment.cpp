#include "kernels/runtime/environment.hpp"

#include <cstdlib>

#include "kernels/jit/compile.hpp"

namespace napkin {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, before threads
  return value == nullptr ? "" : value;
}

}  // namespace

Environment process_environment() {
  namespace fs = std::filesystem;
  Environment out;
  const std::string cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (fs::path(cache).is_absolute()) {  // the specification: relative paths are to be ignored
    out.cache = fs::path(cache) / "napkin";
  } else if (!home.empty()) {
    out.cache = fs::path(home) / ".cache" / "napkin";
  }
  const std::string toolkit = variable("CUDA_HOME");
  out.compiler = toolkit_directories(toolkit.empty() ? variable("CUDA_PATH") : toolkit);
  return out;
}

}  // namespace napkin
