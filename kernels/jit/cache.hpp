#pragma once
// A KernelCache keeps compiled kernels on disk, by the hash of all inputs of the compilation: a second process does not
// compile attention_sm90 again.

#include <filesystem>
#include <optional>
#include <string>

#include "kernels/jit/compile.hpp"
#include "kernels/jit/disk_cache.hpp"

namespace napkin::internal {

/// Hashes the kernel's text, its headers' names and texts, options, name expression and compiler: 64 hex digits. For
/// kernels that a package contains the compiler is "": they are used with any compiler, or without one.
[[nodiscard]] std::string cache_key(const CompileRequest& request, const std::string& compiler_identity);

class KernelCache {
 public:
  /// Opens the cache. The directory is made at the first write; an empty path means no cache.
  explicit KernelCache(std::filesystem::path directory);

  /// Returns the entry; nothing if it is missing or damaged.
  [[nodiscard]] std::optional<CompiledKernel> find(const std::string& key) const;
  /// Stores a kernel. Returns "", or the reason why it could not be written; never throws for that, since it can be
  /// compiled again.
  [[nodiscard]] std::string store(const std::string& key, const CompiledKernel& kernel) const;

  [[nodiscard]] std::filesystem::path file_of(const std::string& key) const { return entries_.file_of(key); }

 private:
  DiskCache entries_;
};

/// A compiled kernel, and how it was obtained.
struct Compilation {
  CompiledKernel kernel;
  bool cached = false;
  std::string warning;  ///< reason why the cache could not be written; else ""
};

/// Returns the kernel from the cache, or compiles and stores it. Throws CudaFailure if it does not compile.
[[nodiscard]] Compilation compile_cached(const Compiler& compiler, const KernelCache& cache,
                                         const CompileRequest& request);

}  // namespace napkin::internal
