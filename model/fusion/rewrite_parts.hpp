#pragma once
// The rewriting rules share these functions: remove_unused drops the arrays that nothing reads any more. Internal to
// the folder.

#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal::rewrite {

/// Adds an array that is named after another: "O_1", "O_2", ....
ArrayId add_array(Diagram& diagram, const Array& after, std::vector<AxisId> axes);

/// Returns the operation's result axes in the order of its present output, new axes at the end.
[[nodiscard]] std::vector<AxisId> result_axes(const Diagram& diagram, const Operation& op);

/// Removes arrays that no operation touches and that are no input or output; later ids move up.
void remove_unused(Diagram& diagram);

}  // namespace napkin::internal::rewrite
