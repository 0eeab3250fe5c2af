#pragma once
// Labels with numbers: the group and stream sizes of one abstract level, and the paper's two rules on it.

#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"

namespace napkin {

/// Sizes of one group at a level, by AxisId: the group size of a grouped axis, the chunk of the streamed axis, else the
/// full size.
struct Partition {
  std::vector<Count> group;  ///< g of grouped axes, full size of all others (the h of theory section 1)
  Count chunk = 1;           ///< s of the streamed axis
};

}  // namespace napkin
