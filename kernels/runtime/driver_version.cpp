#include "kernels/runtime/driver_version.hpp"

#include <array>

#include "kernels/jit/dynamic_library.hpp"
#include "kernels/jit/failure.hpp"

namespace napkin::internal {

std::string driver_version() {
  const auto library = DynamicLibrary::open({"libnvidia-ml.so.1"});
  if (!library) return "";
  int (*init)() = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  try {
    library->bind(init, "nvmlInit_v2");
    library->bind(version, "nvmlSystemGetDriverVersion");
  } catch (const CudaFailure&) {
    return "";
  }
  std::array<char, 81> text{};
  if (init() != 0 || version(text.data(), static_cast<unsigned>(text.size() - 1)) != 0) return "";
  return text.data();
}

}  // namespace napkin::internal
