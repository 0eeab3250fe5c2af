#pragma once
// An Environment says where this process keeps compiled kernels and finds the toolkit, ~/.cache/napkin and
// /usr/local/cuda: process_environment() is the one place of kernels/ that reads the environment.

#include <filesystem>
#include <string>
#include <vector>

namespace napkin::internal {

struct Environment {
  std::filesystem::path cache;         ///< directory of the cache: $XDG_CACHE_HOME/napkin, else ~/.cache/napkin; empty:
                                       ///< no cache
  std::vector<std::string> compiler;   ///< directories to look for NVRTC in: $CUDA_HOME, $CUDA_PATH, the usual ones
  std::filesystem::path shipped = {};  ///< kernels that a package brings along: compiled_kernels beside its library
  std::filesystem::path ship_to =
      {};  ///< folder into which kernels for such a package are compiled: $NAPKIN_SHIP_TO; empty: none
};

[[nodiscard]] Environment process_environment();

}  // namespace napkin::internal
