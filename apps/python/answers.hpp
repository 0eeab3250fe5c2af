#pragma once
// bind_answers makes the answers known to Python: SelectAnswer and its parts with the members and the words of
// apps/library/include/napkin/answers.hpp. They cannot be changed; to_dict() gives what the command prints with --json.

#include <nanobind/nanobind.h>

#include "apps/report/json/json.hpp"

namespace napkin::internal::python {

void bind_answers(nanobind::module_& module);

/// Gives the class of a part of an answer a repr() with its values.
void show_part(nanobind::handle type);

/// Converts JSON to dicts, lists, strings and numbers.
[[nodiscard]] nanobind::object to_python(const report::Json& json);

}  // namespace napkin::internal::python
