#pragma once
// BlockIds numbers the iterations of all blocks, one block after the other, so that a kernel can give every node an
// equal share of the numbers. Under a causal mask with N columns of N, N - 1, ... 1 tiles, numbers 0 to N - 1 are
// column 0.

#include <cstdint>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Consecutive blocks of a plane with equal numbers of iterations.
struct EqualBlocks {
  double iterations;
  std::int64_t blocks;
};

/// Returns true if a mask makes blocks unequally long, and the stream is not also split among blocks.
[[nodiscard]] bool has_unequal_blocks(const PlacedDiagram& placed);

/// Returns the blocks of a plane of the mask, in order, without a visit to every block; empty if all blocks are equally
/// long.
[[nodiscard]] std::vector<EqualBlocks> block_runs(const PlacedDiagram& placed);

class BlockIds {
 public:
  explicit BlockIds(const PlacedDiagram& placed);
  [[nodiscard]] std::int64_t size() const { return size_; }  ///< returns the iterations of all blocks

  struct Place {
    std::int64_t block = 0, iteration = 0;  ///< index of the block, and of its iteration
  };
  /// Returns the place of id < size().
  [[nodiscard]] Place at(std::int64_t id) const;

 private:
  struct Run {
    std::int64_t id = 0, block = 0;  ///< first id and block of the run
    std::int64_t iterations = 0;     ///< iterations of each block
  };
  std::vector<Run> runs_;  ///< runs of a plane, without blocks that have no iterations
  std::int64_t ids_of_plane_ = 0, blocks_of_plane_ = 1, size_ = 0;
};

}  // namespace napkin::internal
