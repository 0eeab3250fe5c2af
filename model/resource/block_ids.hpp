#pragma once
// BlockIds gives numbers to the iterations of all blocks, one block behind the other: what a kernel divides among nodes
// that has them in equal shares. Under a causal mask with N columns of N, N - 1, ... 1 tiles id 0 to N - 1 are column
// 0.

#include <cstdint>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin {

/// Neighbouring blocks of one plane that have as many iterations each.
struct EqualBlocks {
  double iterations;
  std::int64_t blocks;
};

/// Whether a mask makes blocks unequally long, and the stream is not split among blocks too.
[[nodiscard]] bool has_unequal_blocks(const PlacedDiagram& placed);

/// The blocks of one plane of the mask, in order, found without looking at every block; empty where blocks are equally
/// long.
[[nodiscard]] std::vector<EqualBlocks> block_runs(const PlacedDiagram& placed);

class BlockIds {
 public:
  explicit BlockIds(const PlacedDiagram& placed);
  [[nodiscard]] std::int64_t size() const { return size_; }  ///< iterations of all blocks

  struct Place {
    std::int64_t block = 0, iteration = 0;  ///< of the block
  };
  /// id < size()
  [[nodiscard]] Place at(std::int64_t id) const;

 private:
  struct Run {
    std::int64_t id = 0, block = 0;  ///< its first
    std::int64_t iterations = 0;     ///< of each block
  };
  std::vector<Run> runs_;  ///< of one plane; those without iterations are left out
  std::int64_t ids_of_plane_ = 0, blocks_of_plane_ = 1, size_ = 0;
};

}  // namespace napkin
