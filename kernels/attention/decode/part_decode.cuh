#pragma once
// A DecodePart is the tile of a block of attention_decode_sm90, and the block's part of the keys: block 5 of four parts
// a tile has the second part of the second tile. Sequences may be shorter than the longest: their last parts are empty.

#include "kernels/attention/common/tiles.cuh"
#include "kernels/attention/decode/arguments_decode.cuh"

namespace napkin {

struct DecodePart {
  Tile tile;                  // tile, its chunks cut to the part's
  int number, part;           // number of the tile; number of the part among the tile's
  int first_part, last_part;  // parts that have any keys

  __device__ __forceinline__ int parts() const { return last_part - first_part; }
  /// Returns true if this part has nothing to do. A tile that sees no key is written by its first part.
  __device__ __forceinline__ bool idle() const { return part < first_part || part >= last_part; }
  __device__ __forceinline__ bool empty() const { return tile.first >= tile.last; }
};

template <AttentionConfig C>
__device__ __forceinline__ DecodePart find_part(const AttentionDecodeArguments& a, int block) {
  DecodePart out;
  out.number = divide(block, a.parts, out.part);
  AttentionShape shape = a.forward.shape;
  if (a.lengths != nullptr) shape.x = a.lengths[divide(out.number, a.batch_tiles)];
  out.tile = find_tile<C.q, C.x, C.g, C.order, C.mask, false>(shape, out.number);
  Tile& tile = out.tile;
  tile.last = max(tile.last, tile.first);
  out.first_part = tile.first / a.part_chunks;
  out.last_part = max((tile.last + a.part_chunks - 1) / a.part_chunks, out.first_part + 1);
  if (tile.first == tile.last) out.first_part = 0, out.last_part = 1;
  tile.first = max(tile.first, out.part * a.part_chunks);
  tile.last = min(tile.last, (out.part + 1) * a.part_chunks);
  return out;
}

}  // namespace napkin
