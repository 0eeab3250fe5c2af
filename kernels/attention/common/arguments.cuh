#pragma once
// AttentionConfig and AttentionArguments hold the parameters of the attention kernels: a tile of 128 x 176 in two
// warpgroups; 8192 keys, and their address. They are plain structs that host and device code include, so that both have
// one layout; kernels/plans writes each configuration by field name.

#include "kernels/device/tensor_map.cuh"

namespace napkin {

/// Orders of tiles. `told` is grid or longest_first as the launch's arguments say, so that one compiled kernel serves
/// both.
enum class TileOrder { grid, persistent, longest_first, told };
enum class MaskKind { none, causal, window };

struct AttentionConfig {
  int q, x, warpgroups, stages, q_stages;
  bool overlap, pingpong, p_shared, rescale_rarely;
  int g, cluster;
  TileOrder order;
  bool by_columns;  // true if warpgroups have the same rows and divide O's columns (attention_wide_sm90)
  int d, dv;
  bool bf16;
  MaskKind mask;
  bool packed;  // true for sequences of different lengths, one after another
  bool padded;  // true if d or dv is more than heads have: the columns beyond are 0 and not stored
  bool cycles;  // true if each SM notes its first block's start and its last one's end
  bool dump;    // true for the debug variant: intermediates of every tile and chunk (attention/common/dump.cuh)
  // offsets in shared memory, bytes; O is staged in Q's place
  int q_offset, k_offset, v_offset, p_offset, barriers_offset;
  int producer_registers, consumer_registers;
};

struct AttentionShape {
  int b, g, q, x;     // sizes; packed: q and x are the longest
  int d, dv;          // columns that heads have, multiples of 8
  int tiles;          // b * h * ceil(g / tile g) * ceil(q / tile q)
  Divisor q_tiles;    // ceil(q / tile q)
  Divisor h, groups;  // key heads; ceil(g / tile g)
  // longest_first: head tiles whose K and V stay in L2 together, tiles of one section, and the width of the last one
  Divisor section, section_tiles, last_section;
  int left, right;      // window
  int rows_ascend;      // 1: rows of a section are taken from the first on, unless longest_first
  const int* q_starts;  // packed: b + 1 first rows
  const int* x_starts;
};

struct AttentionArguments {
  TensorMap q_map, k_map, v_map, o_map;
  AttentionShape shape;
  void* o;
  long long o_row, o_head, o_batch;  // strides in elements
  float* lse;                        // [b, h * g, q], or [h * g, total q] when packed; null: not wanted
  float scale, scale_log2;           // softmax scale, positive; it times log2 e
  int* ticket;  // longest_first: tiles drawn, blocks done; zero before the first launch, and after each
  union {       // destination of what a debug variant writes besides its results
    unsigned long long* cycles;  // cycles: by SM, first start and last end
    float* dump;                 // dump: as attention/common/dump.cuh lays it out
  };
};

static_assert(sizeof(AttentionShape) == 128 && sizeof(AttentionArguments) == 704);

}  // namespace napkin
