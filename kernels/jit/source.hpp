#pragma once
// A KernelSource is what the run-time compiler reads: a kernel's file, the headers it includes, and the one struct that
// names its variant, such as "attention_sm90<AttentionConfig{...}>". All of it is embedded in the program or written by
// the program: nothing of a user's file gets here.

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/embedded.hpp"

namespace napkin::internal {

/// A kernel file with every header that it includes, directly or not, as views into the embedded files.
struct KernelSource {
  EmbeddedFile main;
  std::vector<EmbeddedFile> headers;  ///< headers by path, each once, named as in the #include lines
};

/// Finds a kernel file and its headers by #include "..." lines, from `path` on. Throws CudaFailure for a file that is
/// not among `files`.
[[nodiscard]] KernelSource kernel_source(std::string_view path, std::span<const EmbeddedFile> files);
/// Reads a kernel from the files embedded in this program.
[[nodiscard]] KernelSource kernel_source(std::string_view path);

/// Hashes a kernel's text and that of its headers (SHA-256, 64 hex digits) without comments, file names, and white
/// space that separates no two tokens: moving or rewording keeps the hash, a changed token does not.
[[nodiscard]] std::string source_hash(const KernelSource& source);
/// Hashes a kernel embedded in this program, by its mapping's name: "attention_sm90" for
/// kernels/attention/sm90/attention_sm90.cuh, which attention_wide_sm90's mapping names too. Throws CudaFailure for an
/// unknown name.
[[nodiscard]] std::string kernel_source_hash(std::string_view kernel);

/// Writes a struct value by field name: "napkin::Config{.q = 128, .overlap = true, .order = napkin::TileOrder::grid}".
/// A name or an order that the kernel's struct does not have stops the compilation.
class Initialiser {
 public:
  explicit Initialiser(std::string_view type) : text_(std::string(type) + "{") {}

  Initialiser& set(std::string_view field, std::same_as<int> auto value) { return add(field, std::to_string(value)); }
  Initialiser& set(std::string_view field, std::same_as<bool> auto value) {
    return add(field, value ? "true" : "false");
  }
  /// An enumerator by its C++ name within the namespace.
  struct Enumerator {
    std::string_view name;  ///< "TileOrder::grid"
  };
  Initialiser& set(std::string_view field, Enumerator value) {
    return add(field, "napkin::" + std::string(value.name));
  }
  /// Sets a field that is a struct.
  Initialiser& set(std::string_view field, const Initialiser& value) { return add(field, value.text()); }
  [[nodiscard]] std::string text() const { return text_ + "}"; }

 private:
  Initialiser& add(std::string_view field, const std::string& value);

  std::string text_;
};

/// Writes a name expression: "napkin::kernel<value>".
[[nodiscard]] std::string name_expression(std::string_view kernel, const Initialiser& value);

}  // namespace napkin::internal
