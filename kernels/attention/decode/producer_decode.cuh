#pragma once
// DecodeProducer loads the data of a block of attention_decode_sm90: each lane of a warp loads one box of a chunk from
// its page. Example: 128 keys in pages of 16 take eight lanes, each of which reads its next page number while the chunk
// before is being loaded.

#include "kernels/attention/decode/part_decode.cuh"
#include "kernels/attention/sm90/producer_sm90.cuh"

namespace napkin {

template <AttentionConfig C>
struct DecodeProducer : AttentionProducer<C> {
  const AttentionDecodeArguments& decode;

  using Block = AttentionBlock<C>;
  using Block::barrier;

  /// Place of a box of keys: its first row within its page and the page, or within the sequence and the sequence's
  /// number.
  struct BoxPlace {
    int row, index;
  };

  /// Returns the place of the box that begins at `key`. For boxes after the last key that is a page that does not
  /// exist, for which the copy engine delivers zeros.
  __device__ __forceinline__ BoxPlace place_of(const Tile& tile, int key) const {
    if (decode.pages == nullptr) return {key, tile.batch};
    if (key >= tile.keys) return {0, decode.page_count};
    BoxPlace place;
    const int page = divide(key, decode.page, place.row);
    place.index = decode.pages[static_cast<long long>(tile.batch) * decode.table_row + page];
    return place;
  }

  /// Loads a chunk of K or V.
  template <int D>
  __device__ __forceinline__ void load_boxes(const TensorMap& map, u32 to, u32 full, u32 empty, u32 parity,
                                             const Tile& tile, const BoxPlace& place) const {
    constexpr int span = swizzle_columns(D);
    const u32 lane = threadIdx.x % warp_threads;
    barrier_wait(empty, parity ^ 1);
    if (lane == 0) barrier_expect(full, C.x * D * 2);
    __syncwarp();
    if (static_cast<int>(lane) >= decode.boxes) return;
#pragma unroll 1
    for (int c = 0; c < D; c += span) {
      load_box(to + c * C.x * 2 + lane * static_cast<u32>(decode.box_keys) * (span * 2), map, full, evict_first, c,
               place.row, tile.head, place.index);
    }
  }

  /// Loads all chunks of the part, by a whole warp.
  __device__ __forceinline__ void produce_chunks(const Tile& tile) const {
    const int own = static_cast<int>(threadIdx.x % warp_threads) * decode.box_keys;
    Ring<C.stages> ring;
    BoxPlace next = place_of(tile, (tile.last - 1) * C.x + own);
#pragma unroll 1
    for (int n = tile.last - 1; n >= tile.first; --n) {
      const BoxPlace place = next;
      if (n > tile.first) next = place_of(tile, (n - 1) * C.x + own);
      load_boxes<C.d>(Block::arguments.k_map, Block::k_place(ring.stage), barrier(Block::k_full + ring.stage),
                      barrier(Block::k_empty + ring.stage), ring.parity, tile, place);
      load_boxes<C.dv>(Block::arguments.v_map, Block::v_place(ring.stage), barrier(Block::v_full + ring.stage),
                       barrier(Block::v_empty + ring.stage), ring.parity, tile, place);
      ring.advance();
    }
  }
};

}  // namespace napkin
