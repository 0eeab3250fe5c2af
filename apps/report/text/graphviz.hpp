#pragma once
// svg_of_dot draws a graph by graphviz: the two nodes of "digraph { S -> P }" become boxes with an arrow.

#include <string>

namespace napkin::internal::report {

/// Makes the SVG of a graph by graphviz's `dot`. Throws Error at `where`, which names the package if the program is
/// missing, and its message if it fails.
[[nodiscard]] std::string svg_of_dot(const std::string& dot, const std::string& where);

}  // namespace napkin::internal::report
