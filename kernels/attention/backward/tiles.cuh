#pragma once
// find_key_tile returns the keys of a block of the backward pass, seers_of the tiles of queries that see some of them,
// scratch_tile the place of a tile of queries in the scratch memory: all plain integer arithmetic. Example: under a
// causal mask the second 128 keys are seen from query 128 on.

#include "kernels/attention/backward/arguments.cuh"
#include "kernels/device/divide.cuh"
#include "kernels/device/shared.cuh"

namespace napkin {

struct KeyTile {
  int batch, head;                  // key head
  int number, x_first;              // number among this sequence's tiles of keys; its first key
  int queries, keys;                // lengths of the sequence
  int q_start, x_start, map_batch;  // first rows of the sequence; batch as the copy engine addresses it
  int first, last;                  // tiles of queries visited
  int start;                        // tile visited first; after `last` the visit goes on at `first`
  int whole_first, whole_last;      // visited tiles whose rows all see every key of the tile
};

/// The place of a walk over a key tile's queries: query head of the group, tile of queries.
struct TileWalk {
  int in_group = 0, q_tile = 0;

  __device__ __forceinline__ void next_tile(const KeyTile& tile) {
    if (++q_tile == tile.last) q_tile = tile.first;
    if (q_tile == tile.start) ++in_group;
  }
};

/// Finds the lengths and the place of a sequence.
template <bool Packed, class Tile>
__device__ __forceinline__ void find_sequence(const AttentionBackwardShape& shape, Tile& tile) {
  tile.queries = shape.q;
  tile.keys = shape.x;
  tile.q_start = 0;
  tile.x_start = 0;
  tile.map_batch = tile.batch;
  if constexpr (Packed) {
    tile.q_start = shape.q_starts[tile.batch];
    tile.x_start = shape.x_starts[tile.batch];
    tile.queries = shape.q_starts[tile.batch + 1] - tile.q_start;
    tile.keys = shape.x_starts[tile.batch + 1] - tile.x_start;
    tile.map_batch = 0;
  }
}

/// Queries that see one key: first .. last, both in. Bottom-right aligned.
struct Seers {
  int first, last;
};
template <MaskKind Mask>
__device__ __forceinline__ Seers seers_of(const AttentionBackwardShape& shape, const KeyTile& tile, int key) {
  const int diagonal = key - (tile.keys - tile.queries);
  Seers seers{0, tile.queries - 1};
  if constexpr (Mask == MaskKind::causal) seers.first = max(0, diagonal);
  if constexpr (Mask == MaskKind::window) {
    seers.first = max(0, diagonal - shape.right);
    seers.last = min(seers.last, diagonal + shape.left);
  }
  return seers;
}

template <int Queries, int Keys, MaskKind Mask, bool Packed>
__device__ __forceinline__ KeyTile find_key_tile(const AttentionBackwardShape& shape, int index) {
  KeyTile tile;
  int block, head;
  const int section = divide(index, shape.section, block);
  tile.number = divide(block, shape.together, head);
  tile.batch = divide(section * shape.together.value + head, shape.h, tile.head);
  find_sequence<Packed>(shape, tile);
  tile.x_first = tile.number * Keys;
  const int x_last = min(tile.x_first + Keys, tile.keys) - 1;
  const Seers top = seers_of<Mask>(shape, tile, tile.x_first), bottom = seers_of<Mask>(shape, tile, x_last);
  tile.first = top.first / Queries;
  tile.last = bottom.last < top.first ? tile.first : bottom.last / Queries + 1;
  if (tile.x_first >= tile.keys) tile.last = tile.first;
  // Blocks that run at the same time start at different tiles, so that they do not add to one dQ at once in the L2.
  tile.start = tile.first +
               static_cast<int>(static_cast<long long>(tile.number) * (tile.last - tile.first) / shape.x_tiles.value);
  tile.whole_first = (bottom.first + Queries - 1) / Queries;
  tile.whole_last = top.last == tile.queries - 1 ? tile.last : (top.last + 1) / Queries;
  if (tile.x_first + Keys > tile.keys) tile.whole_last = tile.whole_first;
  return tile;
}

/// Returns the number of blocks that add to a tile of queries before the block of these keys.
template <int Queries, int Keys, MaskKind Mask>
__device__ __forceinline__ u32 turn_of(const AttentionBackwardShape& shape, const KeyTile& tile, int q_tile) {
  if constexpr (Mask != MaskKind::window) return tile.number;
  const int first_key = max(0, q_tile * Queries + tile.keys - tile.queries - shape.left);
  return tile.number - first_key / Keys;
}

/// Returns the place of a tile of queries of one query head in the scratch memory.
template <int Queries, bool Packed, class Tile>
__device__ __forceinline__ long long scratch_tile(const AttentionBackwardShape& shape, const Tile& tile, int in_group,
                                                  int q_tile) {
  const int heads = tile.head * shape.g + in_group;
  if constexpr (Packed)
    return static_cast<long long>(heads) * shape.q_tiles + tile.q_start / Queries + tile.batch + q_tile;
  return (static_cast<long long>(tile.batch) * shape.h.value * shape.g + heads) * shape.q_tiles + q_tile;
}

/// A tile of queries of one query head, for the launches before and after the gradients.
struct QueryTile {
  int batch, head, in_group, number;
  int queries, keys, q_start, x_start, map_batch;
};
template <bool Packed>
__device__ __forceinline__ QueryTile find_query_tile(const AttentionBackwardShape& shape, int index) {
  QueryTile tile;
  int heads = divide(index, shape.q_grid, tile.number);
  heads = divide(heads, shape.groups, tile.in_group);
  tile.batch = divide(heads, shape.h, tile.head);
  find_sequence<Packed>(shape, tile);
  return tile;
}

}  // namespace napkin
