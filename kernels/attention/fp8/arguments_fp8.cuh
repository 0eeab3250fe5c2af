#pragma once
// AttentionFp8Arguments holds the parameters of attention_fp8_sm90 beside a forward kernel's: the scales of Q, K and V.
// Example: scales of 128 rows have the strides (heads * blocks, blocks, 1), one of a whole tensor has (0, 0, 0).

#include "kernels/attention/common/arguments.cuh"

namespace napkin {

/// Configuration. The copy engine and `forward` take a pair of e4m3 of Q, K or V as one element of 16 bits: forward.d
/// is half of Q's columns, forward.dv is O's columns.
struct AttentionFp8Config {
  AttentionConfig forward;
  int turned_offset;  // offset of V^T, bytes
  bool
      merges;  // true if O is summed from chunks outside of the tensor cores, which keep about 14 bits of a running sum
  bool product_sums;  // true if sums of P are a product's too, by rows of ones beneath V^T's; needs `merges`
  bool block_scales;  // true if K and V have a scale for every 128 keys, of which a chunk is a part; needs `merges`
};

/// View of scales: f32 numbers by batch, head (of Q: query head) and block of 128 rows.
struct Fp8ScaleView {
  const float* first;      // null: all are 1
  int batch, head, block;  // strides; 0 where one scale serves all
};

struct AttentionFp8Arguments {
  AttentionArguments forward;  // k_map and v_map of pairs; scale and scale_log2 of the softmax alone
  Fp8ScaleView q_scale, k_scale, v_scale;
};

static_assert(sizeof(Fp8ScaleView) == 24);

}  // namespace napkin
