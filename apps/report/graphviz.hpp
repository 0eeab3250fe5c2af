#pragma once
// Pictures of graphs, laid out by graphviz.

#include <string>

namespace napkin::report {

/// The SVG that graphviz's `dot` makes of this graph. Throws Error at `where`: that names the package where there is no
/// such program, and what it said where it fails.
[[nodiscard]] std::string svg_of_dot(const std::string& dot, const std::string& where);

}  // namespace napkin::report
