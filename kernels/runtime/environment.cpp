#include "kernels/runtime/environment.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "kernels/jit/compile.hpp"
#include "kernels/runtime/card.hpp"

namespace napkin::internal {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, before threads
  return value == nullptr ? "" : value;
}

/// Returns napkin's folder in a base directory: the one that the variable names, else one in the home directory.
std::filesystem::path base_directory(const char* name, const char* in_home) {
  namespace fs = std::filesystem;
  const std::string base = variable(name), home = variable("HOME");
  if (fs::path(base).is_absolute()) return fs::path(base) / "napkin";  // the specification: ignore relative paths
  return home.empty() ? fs::path() : fs::path(home) / in_home / "napkin";
}

/// Returns the folder of kernels beside the library or the program that this function is in; empty if none is there.
std::filesystem::path shipped_kernels() {
  Dl_info here;
  if (::dladdr(reinterpret_cast<const void*>(&process_environment), &here) == 0 || here.dli_fname == nullptr) return {};
  std::error_code error;
  const auto folder = std::filesystem::absolute(here.dli_fname, error).parent_path() / "compiled_kernels";
  return !error && std::filesystem::is_directory(folder, error) ? folder : std::filesystem::path();
}

}  // namespace

std::filesystem::path cards_folder() {
  const std::filesystem::path base = base_directory("XDG_CONFIG_HOME", ".config");
  return base.empty() ? base : base / "cards";
}

Environment process_environment() {
  Environment out;
  out.cache = base_directory("XDG_CACHE_HOME", ".cache");
  const std::string toolkit = variable("CUDA_HOME");
  out.compiler = toolkit_directories(toolkit.empty() ? variable("CUDA_PATH") : toolkit);
  static const std::filesystem::path shipped = shipped_kernels();
  out.shipped = shipped;
  out.ship_to = variable("NAPKIN_SHIP_TO");
  return out;
}

}  // namespace napkin::internal
