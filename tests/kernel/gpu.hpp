#pragma once
// gpu() returns the GPU for a kernel test, or prints why there is none.

#include <cstdio>
#include <memory>
#include <string>

#include "kernels/jit/failure.hpp"
#include "kernels/runtime/run.hpp"

namespace napkin::internal::test {

/// Returns nullptr if the test cannot run, and prints SKIP and the reason once a program.
inline Runtime* gpu(const std::string& architecture) {
  static const std::unique_ptr<Runtime> runtime = [&]() -> std::unique_ptr<Runtime> {
    std::string why;
    try {
      Environment environment = process_environment();
      if (!Compiler::find(environment.compiler)) throw CudaFailure("no NVRTC on this machine");
      // Kernels to which the compiler objects run too: unit.launch tests for objections.
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
