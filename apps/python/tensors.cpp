#include "apps/python/tensors.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace napkin::internal::python {

namespace nb = nanobind;

namespace {

std::vector<nb::object> members(const nb::tuple& tuple) {
  std::vector<nb::object> out;
  for (const nb::handle one : tuple) out.push_back(nb::borrow(one));
  return out;
}

nb::object called(const nb::object& function) {
  PyObject* const found = PyObject_CallNoArgs(function.ptr());
  if (found == nullptr) throw nb::python_error();
  return nb::steal(found);
}

bool is_true(const nb::object& value) {
  const int found = value.is(nb::handle(Py_False)) ? 0 : PyObject_IsTrue(value.ptr());
  if (found < 0) throw nb::python_error();
  return found != 0;
}

}  // namespace

/// DLPackExchangeAPI of dlpack.h, major version 1. Functions that are not called here have no type.
struct TensorReader::Functions {
  struct Version {
    std::uint32_t major, minor;
  } version;
  const void* previous;
  void (*allocate)();
  void (*to_managed)();
  void (*from_managed)();
  int (*read)(void* tensor,
              nb::dlpack::dltensor* out);  ///< reads a tensor (a function of the exchange API); may be null
  int (*stream)(std::int32_t device_type, std::int32_t device, void** out);
};

TensorReader::TensorReader(const nb::object& functions, const nb::tuple& classes) : classes_(members(classes)) {
  if (functions.is_none()) return;
  const auto* found = static_cast<const Functions*>(PyCapsule_GetPointer(functions.ptr(), "dlpack_exchange_api"));
  if (found == nullptr) throw nb::python_error();
  if (found->version.major == 1 && found->read != nullptr) functions_ = found;
}

std::optional<nb::dlpack::dltensor> TensorReader::read(nb::handle tensor) const {
  if (functions_ == nullptr) return std::nullopt;
  const auto is_class = [&](const nb::object& one) { return tensor.type().is(one); };
  if (std::none_of(classes_.begin(), classes_.end(), is_class)) return std::nullopt;
  nb::dlpack::dltensor out;
  if (functions_->read(tensor.ptr(), &out) == 0) return out;
  PyErr_Clear();
  return std::nullopt;
}

void* TensorReader::stream(nb::dlpack::device device) const {
  void* out = nullptr;
  if (functions_->stream(device.device_type, device.device_id, &out) != 0) throw nb::python_error();
  return out;
}

HostState::HostState(nb::object grad_enabled, nb::object device, const nb::tuple& watchers)
    : grad_enabled_(std::move(grad_enabled)),
      device_(std::move(device)),
      requires_grad_(nb::steal(PyUnicode_InternFromString("requires_grad"))),
      watchers_(members(watchers)) {}

bool HostState::watched() const {
  return std::any_of(watchers_.begin(), watchers_.end(), [](const nb::object& one) { return is_true(called(one)); });
}

bool HostState::wants_gradient(std::span<const nb::handle> tensors) const {
  const auto wants = [&](nb::handle one) {
    return is_true(nb::getattr(one, requires_grad_, nb::handle(Py_True)));  // not a tensor: the caller has to look
  };
  return is_true(called(grad_enabled_)) && std::any_of(tensors.begin(), tensors.end(), wants);
}

int HostState::device() const { return nb::cast<int>(called(device_)); }

}  // namespace napkin::internal::python
