#pragma once
// bind_calls gives Python the functions that launch on the GPU, attention, its backward pass and matmul, on addresses
// and strides: napkin.torch calls them with a tensor's.

#include <nanobind/nanobind.h>

namespace napkin::internal::python {

void bind_calls(nanobind::module_& module);

}  // namespace napkin::internal::python
