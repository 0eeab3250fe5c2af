#pragma once
// A Compiler turns kernels into machine code by NVRTC, which is opened at run time: attention_sm90.cuh and a tile
// become a cubin, without a GPU.

#include <optional>
#include <string>
#include <vector>

#include "kernels/jit/report.hpp"
#include "kernels/jit/source.hpp"

namespace napkin::internal {

/// A variant of a kernel for an architecture.
struct CompileRequest {
  KernelSource source;
  std::string expression;            ///< "napkin::attention_sm90<napkin::AttentionConfig{...}>" (name_expression)
  std::string architecture;          ///< "sm_90a", "sm_80"
  std::vector<std::string> options;  ///< options beside those of every kernel
};

struct CompiledKernel {
  std::string cubin;         ///< bytes of an ELF image
  std::string lowered_name;  ///< kernel's lowered name in the machine code
  CompileReport report;
  Seconds compile_time;  ///< time of the compilation, also if it comes from the cache
};

/// Returns the options of every kernel, the architecture's included.
[[nodiscard]] std::vector<std::string> compile_options(const CompileRequest& request);

/// An NVRTC library on this machine, opened when something is to be compiled.
class Compiler {
 public:
  /// Finds NVRTC in the first of the directories that has it, else by the system's loader; nothing if there is none.
  [[nodiscard]] static std::optional<Compiler> find(const std::vector<std::string>& directories);

  /// Returns an identity for cache keys, without opening the library (which takes up to half a second).
  [[nodiscard]] const std::string& identity() const { return identity_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns the version, "13.0". Opens the library.
  [[nodiscard]] std::string version() const;

  /// Compiles a kernel. Throws CudaFailure with the compiler's log if the source does not compile. The report has
  /// spills and serialised instructions: CompileReport::clean().
  [[nodiscard]] CompiledKernel compile(const CompileRequest& request) const;

 private:
  std::string path_, identity_;
};

/// Lists directories in which a CUDA toolkit is usually installed, after `toolkit` (CUDA_HOME; may be empty).
[[nodiscard]] std::vector<std::string> toolkit_directories(const std::string& toolkit);

}  // namespace napkin::internal
