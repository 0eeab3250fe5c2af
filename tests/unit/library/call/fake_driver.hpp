#pragma once
// A FakeDriver is a driver that computes nothing (tests/golden/fake_cuda) in the test's process, with a cache of its
// own.

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace napkin::internal::test {

/// The driver in this process, with its own cache. It is loaded before a driver is looked for, so that the search finds
/// it.
class FakeDriver {
 public:
  FakeDriver() {
    std::string name = (std::filesystem::temp_directory_path() / "napkin-call-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    const std::filesystem::path lib = folder_ / "lib64";
    std::filesystem::create_directory(lib);
    const std::string driver = (lib / "libcuda.so.1").string();
    const std::string command = std::string(NAPKIN_CXX) + " -std=c++20 -shared -fPIC -Wl,-soname,libcuda.so.1 -o " +
                                driver + " " + NAPKIN_SOURCE_DIR "/tests/golden/fake_cuda/fake_cuda.cpp";
    REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(concurrency-mt-unsafe)
    std::filesystem::copy_file(driver, lib / "libnvrtc.so.13");
    handle_ = ::dlopen(driver.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle_ != nullptr);
    ::setenv("CUDA_HOME", folder_.c_str(), 1);                   // NOLINT(concurrency-mt-unsafe)
    ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~FakeDriver() { std::filesystem::remove_all(folder_); }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  [[nodiscard]] std::filesystem::path cache() const { return folder_ / "cache" / "napkin"; }
  [[nodiscard]] long launches() const { return reinterpret_cast<long (*)()>(::dlsym(handle_, "fakeLaunches"))(); }
  /// Returns the expression of the last launch, or of the one `back` launches before it.
  [[nodiscard]] std::string last(int back = 0) const {
    return reinterpret_cast<const char* (*)(int)>(::dlsym(handle_, "fakeLaunched"))(back);
  }

 private:
  std::filesystem::path folder_;
  void* handle_ = nullptr;
};

inline FakeDriver& fake_driver() {
  static FakeDriver one;
  return one;
}

}  // namespace napkin::internal::test
