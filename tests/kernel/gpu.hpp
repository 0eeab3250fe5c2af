#pragma once
// gpu() is the GPU that a kernel test runs on, or it prints why there is none.

#include <cstdio>
#include <memory>
#include <string>

#include "kernels/jit/failure.hpp"
#include "kernels/runtime/run.hpp"

namespace napkin::internal::test {

/// nullptr where the test cannot run; says SKIP and why, once a program.
inline Runtime* gpu(const std::string& architecture) {
  static const std::unique_ptr<Runtime> runtime = [&]() -> std::unique_ptr<Runtime> {
    std::string why;
    try {
      Environment environment = process_environment();
      if (!Compiler::find(environment.compiler)) throw CudaFailure("no NVRTC on this machine");
      // What is right is tested here; what the compiler objects to, in unit.launch.
      auto out = std::make_unique<Runtime>(Device(), std::move(environment), Objections::report);
      const std::string& found = out->device().properties().architecture;
      if (found == architecture) return out;
      why = "the GPU is " + found + ", the kernel is for " + architecture;
    } catch (const CudaFailure& failure) {
      why = failure.what();
    }
    std::printf("SKIP: %s\n", why.c_str());
    return nullptr;
  }();
  return runtime.get();
}

}  // namespace napkin::internal::test
