#pragma once
// find_tile returns the tile that a block computes, and seen_by the keys that its rows see: plain integer arithmetic
// shared by the attention kernels. Example: block 5 of a grid with four tiles a head computes the second tile of the
// second head.

#include "kernels/attention/common/arguments.cuh"
#include "kernels/device/divide.cuh"

namespace napkin {

struct Tile {
  int batch, head, packed_head;  // key head; first query head of the group that this tile packs
  int q_first, queries, keys;    // first query, and this sequence's lengths
  int q_start, x_row, q_row,
      map_batch;                // first query of the sequence; rows and batch as the copy engine addresses them
  int first, last;              // chunks of keys visited
  int whole_first, whole_last;  // visited chunks that every row sees in full
};

struct Span {
  int first, last;
};

/// Returns the keys [first, last) that one query sees. Aligned at the bottom right: of 3 queries and 5 keys query 0
/// sees keys 0 to 2 under a causal mask, query 2 sees all.
template <MaskKind Mask>
__device__ __forceinline__ Span seen_by(const AttentionShape& shape, const Tile& tile, int query) {
  const int diagonal = query + tile.keys - tile.queries;
  Span seen{0, tile.keys};
  if constexpr (Mask == MaskKind::causal) seen.last = min(seen.last, diagonal + 1);
  if constexpr (Mask == MaskKind::window) {
    seen.first = max(0, diagonal - shape.left);
    seen.last = min(seen.last, diagonal + shape.right + 1);
  }
  return seen;
}

template <int Queries, int Keys, int Heads, TileOrder Order, MaskKind Mask, bool Packed>
__device__ __forceinline__ Tile find_tile(const AttentionShape& shape, int index) {
  Tile tile;
  int heads, row;
  if constexpr (Order == TileOrder::longest_first || Order == TileOrder::told) {
    int within, head;
    const int section = divide(index, shape.section_tiles, within);
    const bool last = (section + 1) * shape.section_tiles.value > shape.tiles;
    row = divide(within, last ? shape.last_section : shape.section, head);
    if (Order == TileOrder::longest_first || !shape.rows_ascend) row = shape.q_tiles.value - 1 - row;
    heads = section * shape.section.value + head;
  } else {
    heads = divide(index, shape.q_tiles, row);
  }
  int group;
  heads = divide(heads, shape.groups, group);
  tile.packed_head = group * Heads;
  tile.batch = divide(heads, shape.h, tile.head);
  tile.q_first = row * Queries;
  tile.queries = shape.q;
  tile.keys = shape.x;
  tile.q_start = 0;
  tile.x_row = 0;
  tile.map_batch = tile.batch;
  if constexpr (Packed) {
    tile.q_start = shape.q_starts[tile.batch];
    tile.x_row = shape.x_starts[tile.batch];
    tile.queries = shape.q_starts[tile.batch + 1] - tile.q_start;
    tile.keys = shape.x_starts[tile.batch + 1] - tile.x_row;
    tile.map_batch = 0;
  }
  tile.q_row = tile.q_start + tile.q_first;

  const int q_last = min(tile.q_first + Queries, tile.queries) - 1;
  const Span top = seen_by<Mask>(shape, tile, tile.q_first), bottom = seen_by<Mask>(shape, tile, q_last);
  tile.first = top.first / Keys;
  tile.last = bottom.last <= top.first ? tile.first : (bottom.last + Keys - 1) / Keys;
  if (tile.q_first >= tile.queries) tile.last = tile.first;
  tile.whole_first = (bottom.first + Keys - 1) / Keys;
  tile.whole_last = max(top.last, 0) / Keys;
  return tile;
}

/// A row of a tile: its query, and its head of the group. Example: of 3 query heads a key head, tiles of 2 heads have
/// rows of a fourth head. A thread writes to device memory only if `exists`.
struct TileRow {
  int query, head;
  bool exists;
};

/// Returns the query and the packed head of a row of the tile; the head is the fastest index.
template <int Heads>
__device__ __forceinline__ TileRow row_of(const AttentionShape& shape, const Tile& tile, unsigned int row) {
  const int query = tile.q_first + static_cast<int>(row) / Heads,
            head = tile.packed_head + static_cast<int>(row % Heads);
  return {query, head, query < tile.queries && (Heads == 1 || head < shape.g)};
}

/// Returns a tile's number among all tiles, whatever the order in which they are taken: batch, head, group of heads,
/// then queries. Not for packed sequences.
template <int Queries, int Heads>
__device__ __forceinline__ int tile_number(const AttentionShape& shape, const Tile& tile) {
  const int heads = (tile.batch * shape.h.value + tile.head) * shape.groups.value + tile.packed_head / Heads;
  return heads * shape.q_tiles.value + tile.q_first / Queries;
}

/// Returns the index into the log-sum-exp: [b, h, g, q], or [h, g, total q] when packed.
template <bool Packed>
__device__ __forceinline__ long long lse_index(const AttentionShape& shape, const Tile& tile, const TileRow& row) {
  const long long heads = static_cast<long long>(tile.head) * shape.g + row.head;
  if constexpr (Packed) return heads * shape.q_starts[shape.b] + tile.q_start + row.query;
  return (static_cast<long long>(tile.batch) * shape.h.value * shape.g + heads) * shape.q + row.query;
}

}  // namespace napkin
