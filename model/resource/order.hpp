#pragma once
// A block order says which tile a launch hands out when: under `grid` row after row, each to the first node that is
// free. The mapping says which order a word of its order knob means. (docs/own-kernel.md,
// "Sections")

#include <optional>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin {

enum class BlockOrder {
  grid,           ///< row after row, plane after plane; the next block goes to the first node that is free
  persistent,     ///< row after row, plane after plane; node i has blocks i, i + nodes, ...
  longest_first,  ///< planes by sections, in each the last row of all planes first; to the first node that is free
  grouped,        ///< rows in groups, down the columns of a group; dealt out as persistent
  hilbert,        ///< along a Hilbert curve over rows and columns; dealt out as persistent
  even            ///< row after row; every node has as many iterations, those of a tile perhaps with its neighbours
};

/// Whether every word of the order knob takes row after row, plane after plane where nothing is masked.
[[nodiscard]] bool always_rows_first(const Mapping& mapping);

/// What the tile's word of the order knob means; grid where there is no such knob.
[[nodiscard]] BlockOrder block_order(const PlacedDiagram& placed);

/// Whether the tile's word of the order knob says which of the grid's axes is the fastest.
[[nodiscard]] bool permutes_axes(const PlacedDiagram& placed);

/// Under `even`: how often a node's share ends within a tile. So many parts of results beyond the first of each are
/// stored where the nodes meet, and added by whoever has the tile's end. 0 under every other order.
[[nodiscard]] Count cut_tiles(const PlacedDiagram& placed);

/// Whether a node's tiles are those of one launched block, one after the other.
[[nodiscard]] bool blocks_persist(const PlacedDiagram& placed);

/// Order longest_first takes that many planes at a time, row by row, so that what they stream (bytes a plane) stays in
/// the L2 until the last row. Its partitions each keep what their SMs read, and all else passes through: a quarter. (an
/// H200 with 60 MiB reads 16 MiB once, 30 MiB again with every wave: tests/measured/README.md) A last section much
/// shorter than the others would leave its longest tiles to few SMs. Without a mask all rows are equally long: one.
[[nodiscard]] Count section_planes(Count planes, Count plane_bytes, Bytes l2, bool masked);

/// Order grouped takes that many of `rows` tiles: those at work together (`resident`) read the fewest rows and columns
/// of elements where they make a square of them.
[[nodiscard]] Count grouped_rows(Count rows, Count resident, Count tile_height, Count tile_width);

/// A block's place: its row (the fastest grouped axis: the last that the order's word or the mapping lists) and its
/// plane, a number of mixed radix over the grouped axes listed before.
struct BlockPlace {
  std::int64_t row = 0, plane = 0;
  bool operator==(const BlockPlace&) const = default;
};

/// The blocks of a launch in the order in which they are handed out.
class BlockSequence {
 public:
  /// `section`: planes at a time of longest_first, rows at a time of grouped, where the launch chooses it otherwise.
  explicit BlockSequence(const PlacedDiagram& placed, std::optional<Count> section = std::nullopt);
  /// Blocks launched: whole clusters, so that the last row's may lie beyond the array.
  [[nodiscard]] std::int64_t size() const { return rows_ * cluster_ * planes_; }
  [[nodiscard]] std::int64_t planes() const { return planes_; }
  [[nodiscard]] std::int64_t rows() const { return rows_ * cluster_; }  ///< of blocks, beyond the array too
  [[nodiscard]] BlockOrder order() const { return order_; }
  /// Of longest_first: planes at a time; of grouped: rows of clusters.
  [[nodiscard]] std::int64_t section() const { return section_; }
  [[nodiscard]] const std::vector<AxisId>& axes() const { return axes_; }  ///< grouped, as listed: the last is the row
  /// The block that is handed out as number `index` < size().
  [[nodiscard]] BlockPlace at(std::int64_t index) const;
  /// Its number along each axis, by AxisId: 0 along those that are not grouped.
  void coordinates(const BlockPlace& place, std::vector<std::int64_t>& into) const;

 private:
  [[nodiscard]] BlockPlace of_clusters(std::int64_t index) const;
  [[nodiscard]] BlockPlace along_hilbert(std::int64_t index) const;

  BlockOrder order_;
  std::vector<AxisId> axes_;
  std::vector<std::int64_t> groups_;    ///< by AxisId
  std::int64_t rows_ = 1, planes_ = 1;  ///< rows: of clusters
  std::int64_t cluster_ = 1;            ///< blocks side by side along the rows
  std::int64_t section_ = 1;            ///< longest_first: planes; grouped: rows
};

/// Whether each block of a packed batch works for one sequence, whatever its row.
[[nodiscard]] bool takes_one_sequence(const PlacedDiagram& launch);

/// Which sequence of a packed batch a launched block works for.
class PackedBlocks {
 public:
  /// takes_one_sequence(launch) must hold.
  PackedBlocks(const PlacedDiagram& launch, const BlockSequence& sequence);
  /// Index into PlacedDiagram::packed; -1: the block is beyond its sequence, and ends at once.
  [[nodiscard]] int part_of(const BlockPlace& place) const {
    const int part = part_of_plane(place.plane);
    return part >= 0 && place.row < rows_[static_cast<std::size_t>(part)] ? part : -1;
  }
  /// The part of the plane's sequence; -1: all of its blocks are beyond it.
  [[nodiscard]] int part_of_plane(std::int64_t plane) const {
    const int part = parts_[static_cast<std::size_t>(sequence_.of(plane))];
    for (const Split& split : splits_) {
      if (part >= 0 && split.digit.of(plane) >= split.groups[static_cast<std::size_t>(part)]) return -1;
    }
    return part;
  }
  /// Rows of tiles of the part's sequences; 0 of part -1.
  [[nodiscard]] std::int64_t rows(int part) const { return part < 0 ? 0 : rows_[static_cast<std::size_t>(part)]; }
  /// Neighbouring planes of one part.
  struct Run {
    std::int64_t first = 0, last = 0;
    int part = -1;
  };
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

 private:
  /// The number of a plane along one axis.
  struct Digit {
    std::int64_t stride = 1, size = 1;
    [[nodiscard]] std::int64_t of(std::int64_t plane) const { return plane / stride % size; }
  };
  /// An axis of lengths that is divided among planes.
  struct Split {
    Digit digit;
    std::vector<std::int64_t> groups;  ///< by part
  };
  Digit sequence_;
  std::vector<Split> splits_;
  std::vector<int> parts_;          ///< by sequence
  std::vector<std::int64_t> rows_;  ///< by part
  std::vector<Run> runs_;
};

}  // namespace napkin
