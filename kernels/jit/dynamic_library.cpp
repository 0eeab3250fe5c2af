#include "kernels/jit/dynamic_library.hpp"

#include <dlfcn.h>

#include "kernels/jit/failure.hpp"

namespace napkin::internal {

std::optional<DynamicLibrary> DynamicLibrary::open(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      DynamicLibrary library;
      // Never closed: CUDA's libraries start threads and register exit handlers of their own.
      library.handle_ = std::shared_ptr<void>(handle, [](void*) {});
      library.name_ = name;
      return library;
    }
  }
  return std::nullopt;
}

void* DynamicLibrary::find(const char* symbol) const { return dlsym(handle_.get(), symbol); }

void* DynamicLibrary::required(const char* symbol) const {
  void* found = find(symbol);
  if (found == nullptr)
    throw CudaFailure(name_ + " has no " + symbol + ": it is too old; CUDA 12.4 or later is needed");
  return found;
}

}  // namespace napkin::internal
