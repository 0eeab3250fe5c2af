#pragma once
// nest_of writes the streamed program of a diagram as a loop nest, so that its labels can be judged by its dependences.
// (eq. 18.1; model/README.md, "Groups" and "Streams")
//
// Groups and chunks of one element: a loop for each grouped axis, one for the streamed axis, and inner loops of its own
// for each statement of head, loop and tail. Memory belongs to a group, so every value that is not an input or output
// of the diagram is subscripted by all grouped loops; a value that each iteration makes is also subscripted by the
// streamed loop; a value that the loop maintains is not. Partial results of a split axis are subscripted by it and
// combined by statements after all other loops, as a second launch would. An output that does not depend on a grouped
// axis at all is made by every group of that axis, and has a place for each of these equal copies. Masks are left out:
// they remove iterations and add no dependence.

#include <cstdint>
#include <optional>
#include <vector>

#include "model/dependence/nest.hpp"
#include "model/fusion/streamed.hpp"

namespace napkin::internal::dependence {

struct StreamedNest {
  Nest nest;
  std::vector<std::optional<LoopId>> grouped;  ///< loop over an axis's groups, by AxisId
  std::optional<LoopId> stream;
  std::vector<AxisId> axes;  ///< axis that a loop walks over, by LoopId
  std::size_t outer = 0;     ///< grouped and streamed loops: the outermost ones
};

/// Makes the nest of a streamed diagram. `sizes` by AxisId are the iterations of each axis's loops; an axis that is
/// split and streamed has as many groups as chunks.
[[nodiscard]] StreamedNest nest_of(const Streamed& streamed, const std::vector<std::int64_t>& sizes);
/// Makes the nest with all sizes 3, enough for every direction of a dependence to show.
[[nodiscard]] StreamedNest nest_of(const Streamed& streamed);

/// Lists the disagreements between dependences and labels, a sentence each: a grouped axis whose loop is not parallel;
/// a streamed loop that carries nothing although an array is maintained, or carries a value although none is. Empty:
/// they agree.
[[nodiscard]] std::vector<std::string> disagreements(const Streamed& streamed);

}  // namespace napkin::internal::dependence
