#include "apps/python/tensors.hpp"

#include <cstdint>
#include <utility>

namespace napkin::python {

namespace nb = nanobind;

/// DLPackExchangeAPI of dlpack.h, major version 1. What is not called here has no type.
struct TensorReader::Functions {
  struct Version {
    std::uint32_t major, minor;
  } version;
  const void* previous;
  void (*allocate)();
  void (*to_managed)();
  void (*from_managed)();
  int (*read)(void* tensor, nb::dlpack::dltensor* out);  ///< may be null
  int (*stream)(std::int32_t device_type, std::int32_t device, void** out);
};

TensorReader::TensorReader(const nb::object& functions, nb::tuple classes) : classes_(std::move(classes)) {
  if (functions.is_none()) return;
  const auto* found = static_cast<const Functions*>(PyCapsule_GetPointer(functions.ptr(), "dlpack_exchange_api"));
  if (found == nullptr) throw nb::python_error();
  if (found->version.major == 1 && found->read != nullptr) functions_ = found;
}

std::optional<nb::dlpack::dltensor> TensorReader::read(nb::handle tensor) const {
  if (functions_ == nullptr) return std::nullopt;
  for (const nb::handle one : classes_) {
    if (tensor.type().ptr() != one.ptr()) continue;
    nb::dlpack::dltensor out;
    if (functions_->read(tensor.ptr(), &out) != 0) throw nb::python_error();
    return out;
  }
  return std::nullopt;
}

void* TensorReader::stream(nb::dlpack::device device) const {
  void* out = nullptr;
  if (functions_->stream(device.device_type, device.device_id, &out) != 0) throw nb::python_error();
  return out;
}

}  // namespace napkin::python
