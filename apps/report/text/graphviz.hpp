#pragma once
// svg_of_dot lays a picture of a graph out by graphviz: the two nodes of "digraph { S -> P }" become boxes with an
// arrow.

#include <string>

namespace napkin::report {

/// The SVG that graphviz's `dot` makes of this graph. Throws Error at `where`: that names the package where there is no
/// such program, and what it said where it fails.
[[nodiscard]] std::string svg_of_dot(const std::string& dot, const std::string& where);

}  // namespace napkin::report
