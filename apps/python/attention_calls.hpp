#pragma once
// bind_attention_calls gives Python the calls of attention that came before: C++ finds one again by its tensors, and
// launches it.

#include <nanobind/nanobind.h>

namespace napkin::python {

/// Binds the calls, after AttentionShapes.
void bind_attention_calls(nanobind::module_& module);

}  // namespace napkin::python
