#pragma once
// svg_of draws the labelled diagram: arrays are bundles of wires, one an axis; operations are boxes; time runs to the
// right. Grouped axes, the streamed axis and whole axes have a colour each.

#include <string>
#include <string_view>

#include "model/fusion/streamed.hpp"

namespace napkin::report {

/// Text that stands for itself in XML.
[[nodiscard]] std::string escaped(std::string_view text);

/// A self-contained SVG document.
[[nodiscard]] std::string svg_of(const Streamed& streamed);

}  // namespace napkin::report
