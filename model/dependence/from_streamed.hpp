#pragma once
// nest_of writes the streamed program of a diagram as a loop nest, so that its labels can be judged by its dependences.
// (eq. 18.1; model/README.md, "Groups" and "Streams")
//
// Groups and chunks of one element: a loop for each grouped axis, one for the streamed axis, and inner loops of its own
// for each statement of head, loop and tail. Memory belongs to a group, so every value that is not an input or output
// of the diagram is subscripted by all grouped loops; what an iteration makes anew is subscripted by the streamed loop;
// what the loop maintains is not. Partial results of a split axis are subscripted by it and combined by statements
// behind all other loops, as a second launch would. An output that does not depend on a grouped axis at all is made by
// every group of that axis, and has a place for each of these equal copies. Masks are left out: they remove iterations
// and add no dependence.

#include <cstdint>
#include <optional>
#include <vector>

#include "model/dependence/nest.hpp"
#include "model/fusion/streamed.hpp"

namespace napkin::dependence {

struct StreamedNest {
  Nest nest;
  std::vector<std::optional<LoopId>> grouped;  ///< by AxisId: the loop over an axis's groups
  std::optional<LoopId> stream;
  std::vector<AxisId> axes;  ///< by LoopId: what it walks over
  std::size_t outer = 0;     ///< grouped and streamed loops: the outermost ones
};

/// `sizes` by AxisId, the iterations of each axis's loops; an axis that is split and streamed has as many groups as
/// chunks.
[[nodiscard]] StreamedNest nest_of(const Streamed& streamed, const std::vector<std::int64_t>& sizes);
/// All sizes 3: enough for every direction to show.
[[nodiscard]] StreamedNest nest_of(const Streamed& streamed);

/// Where dependences and labels part, one sentence each: a grouped axis whose loop is not parallel; a streamed loop
/// that carries nothing although something is maintained, or something although nothing is. Empty: they agree.
[[nodiscard]] std::vector<std::string> disagreements(const Streamed& streamed);

}  // namespace napkin::dependence
