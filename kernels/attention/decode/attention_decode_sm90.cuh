#pragma once
// This kernel computes forward attention of few queries on Hopper: each block has a part of a tile's keys, which may
// lie in pages; rows of a tile are (query, packed head), so that all query heads of a key head read its keys once. The
// products, the softmax and their pipeline are attention_sm90's. Knobs are those of attention_decode_sm90.yaml.

#include "kernels/attention/decode/combine_decode.cuh"
#include "kernels/attention/decode/producer_decode.cuh"

namespace napkin {

template <AttentionConfig C>
struct DecodeConsumer : DecodeCombiner<C> {
  using Block = AttentionBlock<C>;
  using Combiner = DecodeCombiner<C>;
  using Combiner::decode, Block::barrier;
  using typename Block::Outputs;
  using RowState = typename AttentionSoftmax<C>::RowState;

  /// Zeroes rows of V after a sequence's last key: memory there may hold NaN, which a P of 0 does not hide. Needed
  /// only where pages or lengths cut the keys; elsewhere the copy engine brings zeros.
  __device__ __forceinline__ void clear_tail(const Tile& tile, const Ring<C.stages>& at) const {
    const int keys = tile.keys - (tile.last - 1) * C.x;
    if (keys >= C.x || (decode.pages == nullptr && decode.lengths == nullptr)) return;
    barrier_wait(barrier(Block::v_full + at.stage), at.parity);
    constexpr int words = C.dv / 2;
    const u32 v = Block::v_place(at.stage);
#pragma unroll 1
    for (int i = keys * words + static_cast<int>(Combiner::own_thread()); i < C.x * words; i += Combiner::threads)
      store_word(v + swizzled<C.x, Block::dv_span>(i / words, i % words * 2), 0);
    async_fence();
    Combiner::consumers_sync();
  }

  __device__ __forceinline__ void consume(int block) const {
    Outputs o;
    RowState state{{-infinity, -infinity}, {0, 0}, {0, 0}};
    {
      const DecodePart at = find_part<C>(decode, block);
      if (at.empty()) {
#pragma unroll
        for (int i = 0; i < Block::outputs; ++i) o[i] = 0;
      } else {
        Ring<C.stages> ring;
        clear_tail(at.tile, ring);
        barrier_wait(barrier(Block::q_full + Block::q_slot(0, Block::wg)), 0);
        Combiner::attend(at.tile, o, state, ring, 0, -1);
      }
    }
    // Computed again: kept through the loop, it would take registers that the loop needs.
    asm volatile("" : "+r"(block));
    const DecodePart at = find_part<C>(decode, block);
    Combiner::store_part(at, o, state);
    if (at.parts() > 1 && Combiner::comes_last(at)) Combiner::combine(at);
  }
};

/// Blocks that an SM's registers must suffice for: two, or one if O has so many columns that a thread needs more
/// registers.
template <AttentionConfig C>
constexpr int blocks_of_sm = C.warpgroups == 1 && C.dv <= 128 ? 2 : 1;

template <AttentionConfig C>
__global__ void __launch_bounds__((C.warpgroups + 1) * 128, blocks_of_sm<C>)
    attention_decode_sm90(const __grid_constant__ AttentionDecodeArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / warpgroup_threads, 0);
  const AttentionBlock<C> block{shared, arguments.forward, warpgroup - 1};
  if (C.cycles && threadIdx.x == 0) note_start(arguments.forward.cycles);
  if (threadIdx.x == 0) block.initialise();
  __syncthreads();
  const DecodePart part = find_part<C>(arguments, blockIdx.x);
  if (warpgroup == 0) {
    registers_shrink<C.producer_registers>();
    if (part.idle() || part.empty()) return;
    if (threadIdx.x < warp_threads) {
      DecodeProducer<C>{{block}, arguments}.produce_chunks(part.tile);
    } else if (threadIdx.x == warp_threads) {
      DecodeProducer<C>{{block}, arguments}.load_q(part.tile, {});
    }
  } else {
    registers_grow<C.consumer_registers>();
    if (!part.idle()) DecodeConsumer<C>{{{{{{{block}}}}}, arguments}}.consume(blockIdx.x);
    if (C.cycles && warpgroup_thread() == 0) note_end(arguments.forward.cycles);
  }
}

}  // namespace napkin
