#pragma once
// parts_memory returns the sizes of the parts of results. A launch keeps parts in device memory beside its arrays until
// the last part of a result is complete; the kernel chooses their layout. (model/README.md, "Combining partial
// results")

#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// The sizes of an output's parts, in values.
struct OutputParts {
  ArrayId output = 0;
  Count whole;  ///< values of all parts, as an array of the output's own axes and its parts
  Count tile;   ///< values of a part of a block's tile, rows and columns beyond the array's end included
};

/// The parts of a launch. Example: a product of 16 x 4096 in tiles of 64 x 128, its contracted axis in 4 parts, has 32
/// tiles: C's `tile` is 64 * 128, its `whole` 4 * 16 * 4096.
struct PartsMemory {
  Count tiles;      ///< tiles with parts: the launch's blocks, in whole clusters, over `parts`
  Count parts = 1;  ///< parts of a tile
  std::vector<OutputParts> outputs;
};

/// Returns the memory of parts; no outputs and a single part if no result has parts, or if the mapping adds them at
/// once. Throws Overflow.
[[nodiscard]] PartsMemory parts_memory(const PlacedDiagram& placed);

}  // namespace napkin::internal
