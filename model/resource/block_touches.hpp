#pragma once
// BlockTouches finds the pieces of arrays that each block of a launch touches, which means that it loads or stores
// them: a block of attention touches its tile of Q and of O once, and K and V segment by segment. Internal to
// resource/.

#include <cstdint>
#include <optional>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/order.hpp"
#include "model/resource/touches.hpp"

namespace napkin::internal {

/// An array as blocks touch it.
struct TouchedArray {
  std::vector<AxisId> grouped;      ///< grouped axes of the array
  std::vector<double> fixed_bytes;  ///< bytes of a piece, without its ragged axes and the streamed axis, by lengths
  std::vector<double> copies;       ///< fraction of the cache's partitions that keep it, by lengths
  bool streams = false;  ///< true for a segment at a step; else once, at the block's first step, or stored at its last
  bool stored = false;
  bool left_out = false;  ///< true if blocks that see nothing do not touch it
  bool alone = false;     ///< true if each block has a piece of its own
  bool by_row = false;    ///< true if the grouped axes include that of rows
  std::size_t as = 0;     ///< index of the first array with the same grouped axes, whose piece numbers this array uses
  std::size_t index = 0;  ///< index among the arrays with these axes
};

/// The piece of an array that a block touches: its index, and bytes of a piece (for a streamed array of a column), as
/// they are read and as they lie in a partition of the cache.
struct BlockPieces {
  std::size_t first = 0;
  double bytes = 0, kept = 0;
};

/// Returns the columns of a segment, the part of the streamed axis that a piece has: some whole chunks, so that there
/// are few segments; 1 without a streamed axis.
[[nodiscard]] std::int64_t segment_of(const PlacedDiagram& placed);

class BlockTouches {
 public:
  /// Prepares the touches; `partitions` of the cache, `running` blocks at a time.
  BlockTouches(const PlacedDiagram& placed, int partitions, std::optional<Count> section, std::int64_t running);

  struct Block {
    std::int64_t first = 0, last = 0;  ///< range of segments, the end excluded; counted from the other end if blocks
                                       ///< walk backward
    std::size_t lengths = 0;           ///< index of the lengths, in a packed batch
    BlockPieces* pieces = nullptr;     ///< pieces by array
  };
  /// Finds the block of that number in launch order. Returns false for a block beyond its sequence, which touches
  /// nothing.
  [[nodiscard]] bool find(std::int64_t number, Block& block);
  /// A segment of the streamed axis.
  struct Segment {
    std::size_t index = 0;
    double columns = 0;
  };
  /// Returns the segment that the block touches `taken` steps after its first.
  [[nodiscard]] Segment segment(const Block& block, std::int64_t taken) const {
    const std::int64_t at = backward_ ? block.last - 1 - taken : block.first + taken;
    const std::int64_t columns = std::min(segment_, lengths_[block.lengths].columns - at * segment_);
    return {static_cast<std::size_t>(at), static_cast<double>(columns)};
  }
  /// Returns the steps of all blocks: counted, with one plane for all if planes are equal, or estimated from a sample
  /// spread over the launch.
  [[nodiscard]] double all_steps();

  [[nodiscard]] const BlockSequence& sequence() const { return sequence_; }
  [[nodiscard]] const std::vector<TouchedArray>& arrays() const { return arrays_; }
  [[nodiscard]] std::int64_t segments() const { return segments_; }  ///< returns the segments of the streamed axis
  [[nodiscard]] bool backward() const { return backward_; }

 private:
  /// The sizes of a block: the question's, or those of its packed sequence.
  struct Lengths {
    Sizes sizes;
    std::vector<Count> groups;           // numbers of groups by AxisId
    std::int64_t columns = 1, part = 1;  // columns of the streamed axis: all, and one group's
    bool blank = false;                  // true for PackedPart::blank
  };
  /// A group of the axes that an array has, or of some of them: those of rows or of planes. Cells multiply, keys add.
  struct Group {
    double cells = 1;
    std::uint64_t key = 0;
  };
  /// The facts that a row or a plane of blocks gives its blocks, kept for the latest ones: blocks of a row follow one
  /// another in some orders, those of a plane in others.
  struct Known {
    std::int64_t at = -1;
    std::size_t lengths = 0;
    Span seen;                       // segments, if rows decide what blocks see
    std::vector<Group> groups;       // groups by array, at the first array of those with the same axes
    std::vector<std::size_t> first;  // numbers of a plane's first pieces, by array, if rows share them
  };
  void find_lengths();
  void add(const Crossing& c, int partitions, double running);
  void find_equal_axes();
  [[nodiscard]] bool rows_decide() const;
  [[nodiscard]] std::int64_t steps_of(const BlockPlace& place);
  [[nodiscard]] Span columns_seen(const Lengths& lengths) const;
  [[nodiscard]] Span segments_seen(const Lengths& lengths) const;
  /// Returns the kept facts of that row or plane; calls `find` at the place's coordinates for those that are not kept.
  template <class Find>
  [[nodiscard]] const Known& kept(std::vector<Known>& all, std::int64_t number, const BlockPlace& place,
                                  std::size_t lengths, const Find& find);
  [[nodiscard]] const Known& row_of(const BlockPlace& place, std::size_t lengths);
  [[nodiscard]] const Known& plane_of(const BlockPlace& place, std::size_t lengths);
  void find_groups(bool of_row, const Lengths& lengths, Known& known) const;
  /// Returns the number of pieces of an array that a block may touch.
  [[nodiscard]] std::size_t pieces_each(const TouchedArray& array) const {
    return array.streams ? static_cast<std::size_t>(segments_) : 1;
  }
  [[nodiscard]] std::size_t number_of(std::size_t array, std::uint64_t key);

  const PlacedDiagram& p_;
  BlockSequence sequence_;
  std::vector<Lengths> lengths_;  // a single element; packed: elements by PlacedDiagram::packed
  std::optional<PackedBlocks> packed_;
  std::vector<TouchedArray> arrays_;
  std::vector<Numbering> known_;      // numbers of each array's first pieces
  std::vector<Known> rows_, planes_;  // latest rows and planes, by their numbers modulo as many
  bool rows_decide_ = false;          // true if a block's segments follow from its row
  std::vector<std::size_t> sharing_;  // number of arrays with pieces along the same axes, at the first such array
  std::size_t pieces_ = 0;
  std::int64_t segment_ = 1, segments_ = 1;
  bool backward_ = false;
  std::vector<std::int64_t> coordinate_;
};

}  // namespace napkin::internal
