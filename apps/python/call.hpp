#pragma once
// bind_calls gives Python the two functions that launch on the GPU, attention and matmul, on addresses and strides:
// napkin.torch calls them with a tensor's.

#include <nanobind/nanobind.h>

namespace napkin::python {

void bind_calls(nanobind::module_& module);

}  // namespace napkin::python
