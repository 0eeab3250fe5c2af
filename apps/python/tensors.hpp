#pragma once
// TensorReader reads a tensor of Python without a call of Python: by the functions that PyTorch (2.10 on) gives to C,
// DLPack's exchange protocol. HostState asks PyTorch's own functions what it is doing. Nothing of PyTorch is included
// or linked.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <span>
#include <vector>

namespace napkin::python {

class TensorReader {
 public:
  /// `functions`: the class's capsule __dlpack_c_exchange_api__, or None where it has none; then nothing can be read.
  /// `classes`: a tuple of the classes whose objects are read, and no others.
  TensorReader(const nanobind::object& functions, const nanobind::tuple& classes);

  /// What the tensor owns: it lives as long as the tensor, and until that is resized. Nothing where it cannot be read:
  /// it is of another class, or has no memory (a batch of vmap's, a sparse one).
  [[nodiscard]] std::optional<nanobind::dlpack::dltensor> read(nanobind::handle tensor) const;
  /// The stream that PyTorch works on at present, of the device of a tensor that was read.
  [[nodiscard]] void* stream(nanobind::dlpack::device device) const;

 private:
  struct Functions;
  const Functions* functions_ = nullptr;
  std::vector<nanobind::object> classes_;
};

/// What PyTorch is doing on this thread, by functions of no arguments that it has.
class HostState {
 public:
  /// `grad_enabled` and `device` give whether gradients are kept, and the number of the current GPU. Each of `watchers`
  /// gives something true where someone wants to see each operator: a mode, a tracer.
  HostState(nanobind::object grad_enabled, nanobind::object device, const nanobind::tuple& watchers);

  [[nodiscard]] bool watched() const;
  /// Whether gradients are kept, and one of these wants one or is no tensor.
  [[nodiscard]] bool wants_gradient(std::span<const nanobind::handle> tensors) const;
  [[nodiscard]] int device() const;

 private:
  nanobind::object grad_enabled_, device_, requires_grad_;
  std::vector<nanobind::object> watchers_;
};

}  // namespace napkin::python
