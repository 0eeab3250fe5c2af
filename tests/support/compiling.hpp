#pragma once
// compiling_environment() serves tests that compile kernels: if (const auto environment = compiling_environment())
// compile(plan, *environment).

#include <cstdio>
#include <filesystem>
#include <optional>

#include "kernels/jit/compile.hpp"
#include "kernels/runtime/environment.hpp"

namespace napkin::internal::test {

/// Returns the process's environment with the build's cache of kernels; nothing, after a message, if there is no
/// compiler.
inline std::optional<Environment> compiling_environment() {
  Environment environment = process_environment();
  environment.cache = std::filesystem::path(NAPKIN_BINARY_DIR) / "kernel-cache";
  if (Compiler::find(environment.compiler)) return environment;
  std::puts("SKIP: no NVRTC on this machine");
  return std::nullopt;
}

}  // namespace napkin::internal::test
