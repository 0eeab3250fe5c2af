#pragma once
// bind_attention_calls lets Python repeat earlier calls of attention: C++ finds the earlier call by its tensors, and
// launches it.

#include <nanobind/nanobind.h>

namespace napkin::internal::python {

/// Binds the calls, after AttentionShapes.
void bind_attention_calls(nanobind::module_& module);

}  // namespace napkin::internal::python
