#pragma once
// An Environment has the folders of compiled kernels and of the toolkit, such as ~/.cache/napkin and /usr/local/cuda.
// In kernels/ only process_environment() reads environment variables.

#include <filesystem>
#include <string>
#include <vector>

namespace napkin::internal {

struct Environment {
  std::filesystem::path cache;        ///< directory of the cache: $XDG_CACHE_HOME/napkin, else ~/.cache/napkin; empty:
                                      ///< no cache
  std::vector<std::string> compiler;  ///< directories to look for NVRTC in: $CUDA_HOME, $CUDA_PATH, the usual ones
  /// Kernels that an installed package contains: the folder compiled_kernels beside its library.
  std::filesystem::path shipped = {};
  std::filesystem::path ship_to =
      {};  ///< folder into which kernels for such a package are compiled: $NAPKIN_SHIP_TO; empty: none
};

[[nodiscard]] Environment process_environment();

}  // namespace napkin::internal
