#pragma once
// Where this process keeps compiled kernels and finds the toolkit: the one place of kernels/ that reads the
// environment.

#include <filesystem>
#include <string>
#include <vector>

namespace napkin {

struct Environment {
  std::filesystem::path cache;        ///< $XDG_CACHE_HOME/napkin, else ~/.cache/napkin; empty: no cache
  std::vector<std::string> compiler;  ///< directories to look for NVRTC in: $CUDA_HOME, $CUDA_PATH, the usual ones
};

[[nodiscard]] Environment process_environment();

}  // namespace napkin
