#pragma once
// A DynamicLibrary is a shared library that is opened when it is needed, such as libcuda.so.1, so that the program runs
// where it is not installed.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace napkin::internal {

class DynamicLibrary {
 public:
  /// Opens the first of `names` (file names or paths) that the system's loader finds; nothing if it finds none.
  [[nodiscard]] static std::optional<DynamicLibrary> open(const std::vector<std::string>& names);

  /// Finds a symbol; nullptr if the library lacks it.
  [[nodiscard]] void* find(const char* symbol) const;
  /// Binds a function. Throws CudaFailure if the library has no such symbol.
  template <class Function>
  void bind(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(required(symbol));
  }
  /// Binds a function, or leaves nullptr if the library lacks it.
  template <class Function>
  void bind_optional(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find(symbol));
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] void* required(const char* symbol) const;

  std::shared_ptr<void> handle_;
  std::string name_;
};

}  // namespace napkin::internal
