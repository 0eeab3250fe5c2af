#pragma once
// TensorReader reads a tensor of Python without a call of Python: by the functions that PyTorch (2.10 on) gives to C,
// DLPack's exchange protocol. HostState asks PyTorch's own functions what it is doing. Nothing of PyTorch is included
// or linked.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <span>
#include <vector>

namespace napkin::internal::python {

class TensorReader {
 public:
  /// Prepares reading. `functions` is the class's capsule __dlpack_c_exchange_api__, or None, so that nothing can be
  /// read; `classes` is a tuple of the only classes whose objects are read.
  TensorReader(const nanobind::object& functions, const nanobind::tuple& classes);

  /// Reads a tensor. The result belongs to the tensor and is valid until that is resized. Nothing if it is of another
  /// class, or has no memory (a batch of vmap's, a sparse one).
  [[nodiscard]] std::optional<nanobind::dlpack::dltensor> read(nanobind::handle tensor) const;
  /// Returns PyTorch's current stream on the device of a tensor that was read.
  [[nodiscard]] void* stream(nanobind::dlpack::device device) const;

 private:
  struct Functions;
  const Functions* functions_ = nullptr;
  std::vector<nanobind::object> classes_;
};

/// The state of PyTorch on this thread, read by functions without arguments.
class HostState {
 public:
  /// Prepares reading. `grad_enabled` and `device` return whether gradients are kept, and the current GPU's number;
  /// each of `watchers` returns a true value if a mode or a tracer wants to see every operator.
  HostState(nanobind::object grad_enabled, nanobind::object device, const nanobind::tuple& watchers);

  [[nodiscard]] bool watched() const;
  /// Returns true if gradients are kept, and one of these wants one or is no tensor.
  [[nodiscard]] bool wants_gradient(std::span<const nanobind::handle> tensors) const;
  [[nodiscard]] int device() const;

 private:
  nanobind::object grad_enabled_, device_, requires_grad_;
  std::vector<nanobind::object> watchers_;
};

}  // namespace napkin::internal::python
