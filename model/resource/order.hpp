#pragma once
// A block order is the order in which a launch distributes its tiles: under `grid` row after row, each to the first
// node that is free. The mapping gives each word of its order knob an order. (docs/own-kernel.md, "Sections")

#include <optional>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

enum class BlockOrder {
  grid,        ///< row after row, plane after plane; the next block or drawn tile goes to the first free node
  persistent,  ///< row after row, plane after plane; node i has blocks i, i + nodes, ...
  /// Sections of planes; in a section the last row of every plane, then the row before it; to the first free node.
  longest_first,
  grouped,  ///< groups of rows, in each the columns one after the other; node i has blocks i, i + nodes, ...
  hilbert,  ///< Hilbert curve over rows and columns; node i has blocks i, i + nodes, ...
  even      ///< row after row; every node has equally many iterations, and may share a tile with its neighbours
};

/// Returns true if, without a mask, every word of the order knob means the rows of a plane, then the next plane.
[[nodiscard]] bool always_rows_first(const Mapping& mapping);

/// Returns the meaning of the tile's word of the order knob; grid without such a knob.
[[nodiscard]] BlockOrder block_order(const PlacedDiagram& placed);

/// Returns true if the tile's word of the order knob takes the grid's axes in another order than the mapping lists
/// them. Axes of one group have no order.
[[nodiscard]] bool permutes_axes(const PlacedDiagram& placed);

/// Returns the number of node shares that end within a tile, under order `even`; else 0. So many more parts of results
/// are stored than there are results; the node with a tile's end adds the tile's parts.
[[nodiscard]] Count cut_tiles(const PlacedDiagram& placed);

/// Returns true if a node's tiles belong to one launched block.
[[nodiscard]] bool blocks_persist(const PlacedDiagram& placed);

/// Returns the planes of a section of order longest_first: few enough that their streamed bytes stay in a quarter of
/// the L2, row by row, and such that the last section is not much shorter. 1 without a mask, as all rows are then
/// equally long.
[[nodiscard]] Count section_planes(Count planes, Count plane_bytes, Bytes l2, bool masked);

/// Returns the number of rows that order `grouped` takes together, out of `rows`: the `resident` tiles at work then
/// cover about a square of elements, so that they read the fewest rows and columns.
[[nodiscard]] Count grouped_rows(Count rows, Count resident, Count tile_height, Count tile_width);

/// A block's place: its row, along the fastest grouped axis (the last that the order's word or the mapping lists), and
/// its plane, a mixed-radix number over the other grouped axes.
struct BlockPlace {
  std::int64_t row = 0, plane = 0;
  bool operator==(const BlockPlace&) const = default;
};

/// The blocks of a launch in launch order.
class BlockSequence {
 public:
  /// Orders the launch's blocks. `section` replaces the launch's own choice: planes at a time of longest_first, rows at
  /// a time of grouped.
  explicit BlockSequence(const PlacedDiagram& placed, std::optional<Count> section = std::nullopt);
  /// Returns the number of launched blocks, in whole clusters: the last row's may lie beyond the array.
  [[nodiscard]] std::int64_t size() const { return rows_ * cluster_ * planes_; }
  [[nodiscard]] std::int64_t planes() const { return planes_; }
  /// Returns the rows of blocks, those beyond the array included.
  [[nodiscard]] std::int64_t rows() const { return rows_ * cluster_; }
  [[nodiscard]] BlockOrder order() const { return order_; }
  /// Returns the section: planes for longest_first, rows of clusters for grouped.
  [[nodiscard]] std::int64_t section() const { return section_; }
  /// Returns the grouped axes as listed; the last is the row.
  [[nodiscard]] const std::vector<AxisId>& axes() const { return axes_; }
  /// Returns the place of block number `index` < size() in the order.
  [[nodiscard]] BlockPlace at(std::int64_t index) const;
  /// Computes the block's number along each axis, by AxisId; 0 along axes that are not grouped.
  void coordinates(const BlockPlace& place, std::vector<std::int64_t>& into) const;

 private:
  [[nodiscard]] BlockPlace of_clusters(std::int64_t index) const;
  [[nodiscard]] BlockPlace along_hilbert(std::int64_t index) const;

  BlockOrder order_;
  std::vector<AxisId> axes_;
  std::vector<std::int64_t> groups_;    ///< number of groups by AxisId
  std::int64_t rows_ = 1, planes_ = 1;  ///< rows of clusters, and planes
  std::int64_t cluster_ = 1;            ///< blocks of a cluster, adjacent along the rows
  std::int64_t section_ = 1;            ///< longest_first: planes; grouped: rows
};

/// Returns true if each block of a packed batch works for one sequence, whatever its row.
[[nodiscard]] bool takes_one_sequence(const PlacedDiagram& launch);

/// The assignment of launched blocks to the sequences of a packed batch.
class PackedBlocks {
 public:
  /// Finds the assignment; takes_one_sequence(launch) must hold.
  PackedBlocks(const PlacedDiagram& launch, const BlockSequence& sequence);
  /// Returns the index into PlacedDiagram::packed; -1: the block is beyond its sequence, and ends at once.
  [[nodiscard]] int part_of(const BlockPlace& place) const {
    const int part = part_of_plane(place.plane);
    return part >= 0 && place.row < rows_[static_cast<std::size_t>(part)] ? part : -1;
  }
  /// Returns the part of the plane's sequence; -1: all its blocks are beyond it.
  [[nodiscard]] int part_of_plane(std::int64_t plane) const {
    const int part = parts_[static_cast<std::size_t>(sequence_.of(plane))];
    for (const Split& split : splits_) {
      if (part >= 0 && split.digit.of(plane) >= split.groups[static_cast<std::size_t>(part)]) return -1;
    }
    return part;
  }
  /// Returns the rows of tiles of the part's sequences; 0 for part -1.
  [[nodiscard]] std::int64_t rows(int part) const { return part < 0 ? 0 : rows_[static_cast<std::size_t>(part)]; }
  /// Consecutive planes of one part.
  struct Run {
    std::int64_t first = 0, last = 0;
    int part = -1;
  };
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

 private:
  [[nodiscard]] std::int64_t next_part(std::int64_t plane) const;

  /// The digit of a plane's number along an axis.
  struct Digit {
    std::int64_t stride = 1, size = 1;
    [[nodiscard]] std::int64_t of(std::int64_t plane) const { return plane / stride % size; }
  };
  /// An axis with lengths that is divided among planes.
  struct Split {
    Digit digit;
    std::vector<std::int64_t> groups;  ///< groups by part
  };
  Digit sequence_;
  std::vector<Split> splits_;
  std::vector<int> parts_;          ///< part by sequence
  std::vector<std::int64_t> rows_;  ///< rows by part
  std::vector<Run> runs_;
};

}  // namespace napkin::internal
