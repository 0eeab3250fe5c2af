#pragma once
// own_parts returns the number of parts into which a kernel's own host code cuts a streamed axis: FlashAttention-3's
// num_splits for 8 blocks on 132 SMs.

#include "model/base/count.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin::internal {

/// The facts that a rule of parts reads.
struct RowsToCut {
  Count blocks;  ///< blocks if each computes whole rows
  Count nodes;   ///< nodes of the machine that run blocks
  Count size;    ///< elements of the axis
  Count chunk;   ///< elements of a block's iteration
};

/// Returns the number of parts that the rule chooses; 1: the axis stays whole.
[[nodiscard]] Count own_parts(const OwnParts& rule, const RowsToCut& rows);

}  // namespace napkin::internal
