#pragma once
// AttentionBackwardConfig and AttentionBackwardArguments hold the parameters of the kernels of attention's backward
// pass: 128 keys a block, chunks of 64 queries; the address of dO. They are plain structs that host and device code
// include.

#include "kernels/attention/common/arguments.cuh"

namespace napkin {

/// Ways in which blocks of different keys add up dQ: bulk, by the copy engine from shared memory; atomic, by threads
/// from their registers; ordered, by threads, one block after another.
enum class SumOrder { bulk, atomic, ordered };

struct AttentionBackwardConfig {
  int q, x, warpgroups, stages, o_stages, s_stages;
  bool overlap;
  SumOrder dq;
  bool by_gradient;  // true if warpgroups divide the gradients of 64 keys among them (attention_backward_wide_sm90)
  int d, dv;
  bool bf16;
  MaskKind mask;
  bool packed;  // true for sequences of different lengths, one after another
  bool padded;  // true if d or dv is more than heads have: the columns beyond are 0 and not stored
  bool cycles;  // true if each SM notes its first block's start and its last one's end
  // bytes
  int q_offset, k_offset, v_offset, do_offset, lse_offset, delta_offset, ds_offset, dq_offset, p_offset,
      barriers_offset;
  int producer_registers, consumer_registers, queries_registers;
};

struct AttentionBackwardShape {
  int b, g, q, x;    // sizes; packed: q and x are the longest
  int d, dv;         // columns that heads have, multiples of 8
  int tiles;         // tiles of keys, of all heads
  int q_tiles;       // tiles of queries of a head in the scratch memory
  Divisor x_tiles;   // ceil(x / tile x)
  Divisor q_grid;    // ceil(q / tile q)
  Divisor h;         // key heads
  Divisor together;  // heads whose blocks of the same keys come one after another: a divisor of b h
  Divisor section;   // blocks of a section of heads
  int sections;      // sections of heads
  // number of first sections whose sums the launch before sets to zero; the launch after rounds as many last ones
  int ahead;
  int section_tiles;  // tiles of queries of a section
  // number of first blocks of a section, which zero the sums of a later one and round those of an earlier one
  int asides;
  Divisor groups;       // query heads of a key head
  int left, right;      // window
  const int* q_starts;  // packed: b + 1 first rows
  const int* x_starts;
};

/// Rows of heads; strides in elements.
struct RowsPointer {
  void* first;
  long long row, head, batch;
};

struct AttentionBackwardArguments {
  TensorMap q_map, k_map, v_map, do_map;
  AttentionBackwardShape shape;
  RowsPointer o, d_o, dq, dk, dv;
  const float* lse;              // [b, h * g, q], or [h * g, total q] when packed
  float *rows_lse, *rows_delta;  // scratch [heads, q tiles, tile q]: log2 of the softmax's sums, rowsum(dO O)
  // scratch [heads, q tiles]: sums of dQ, each tile in the order in which threads hold it, not yet scaled
  float* dq_sum;
  unsigned int* turns;         // scratch [heads, q tiles, warps]; for SumOrder::ordered
  unsigned int* zeroed;        // scratch [sections]: warps that have zeroed their part of a section's sums
  unsigned int* added;         // scratch [sections]: blocks that have added all of their sums
  float scale, scale_log2;     // softmax scale, positive; it times log2 e
  unsigned long long* cycles;  // first start and last end, by SM
};

}  // namespace napkin
