#pragma once
// A FakeCuda runs the program with a driver and a compiler that compute nothing (fake_cuda/fake_cuda.cpp).

#include <filesystem>
#include <string>
#include <vector>

#include "tests/golden/cli.hpp"

namespace cli {

/// The fake driver and compiler in a folder of their own, built once.
class FakeCuda {
 public:
  FakeCuda() {
    const std::string lib = folder_ / "lib64";
    std::filesystem::create_directory(lib);
    const std::string driver = lib + "/libcuda.so.1";
    const auto run = run_program({NAPKIN_CXX, "-std=c++20", "-shared", "-fPIC", "-o", driver,
                                  NAPKIN_SOURCE_DIR "/tests/golden/fake_cuda/fake_cuda.cpp"});
    REQUIRE_MESSAGE(run.code == 0, run.err);
    std::filesystem::copy_file(driver, lib + "/libnvrtc.so.13");
    std::filesystem::copy_file(driver, lib + "/libnccl.so.2");
  }
  [[nodiscard]] Run napkin(const std::string& line, std::vector<std::string> more = {}) const {
    more.push_back("LD_LIBRARY_PATH=" + (folder_ / "lib64"));
    more.push_back("CUDA_HOME=" + (folder_ / ""));
    more.push_back("XDG_CACHE_HOME=" + (folder_ / "cache"));
    return cli::napkin(words_of(line), std::move(more));
  }

 private:
  Folder folder_;
};

inline const FakeCuda& fake() {
  static const FakeCuda cuda;
  return cuda;
}

}  // namespace cli
