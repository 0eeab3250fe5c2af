#pragma once
// TensorReader reads a tensor of Python without a call of Python: by the functions that PyTorch (2.10 on) gives to C,
// DLPack's exchange protocol. Nothing of PyTorch is included or linked.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

namespace napkin::python {

class TensorReader {
 public:
  /// `functions`: the class's capsule __dlpack_c_exchange_api__, or None where it has none; then nothing can be read.
  /// `classes`: a tuple of the classes whose objects are read, and no others.
  TensorReader(const nanobind::object& functions, nanobind::tuple classes);

  /// What the tensor owns: it lives as long as the tensor, and until that is resized. Nothing where it cannot be read.
  [[nodiscard]] std::optional<nanobind::dlpack::dltensor> read(nanobind::handle tensor) const;
  /// The stream that PyTorch works on at present, of the device of a tensor that was read.
  [[nodiscard]] void* stream(nanobind::dlpack::device device) const;

 private:
  struct Functions;
  const Functions* functions_ = nullptr;
  nanobind::tuple classes_;
};

}  // namespace napkin::python
