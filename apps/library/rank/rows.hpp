#pragma once
// row_note says which arrays' rows a kernel's copies cannot read or write as they lie. Internal to apps/.

#include <string>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Names the arrays between device memory and blocks whose rows no multiple of 16 bytes separates, which neither the
/// copy engine nor copies of 16 bytes take, and what a launch costs that pads them; "" if there is none.
[[nodiscard]] std::string row_note(const PlacedDiagram& placed);

}  // namespace napkin::internal
