#pragma once
// AttentionSm80Config and AttentionSm80Arguments hold the parameters of attention_sm80: a tile of 128 x 64 in four
// warps; 8192 keys, and their address. They are plain structs that host and device code include.

#include "kernels/attention/common/arguments.cuh"

namespace napkin {

struct AttentionSm80Config {
  int q, x, warps, stages;
  bool q_registers, swizzle;
  bool rescale_rarely;  // true to rescale only if a score outgrows the maximum by 2^8, else with each chunk
  int d, dv;
  bool bf16;
  MaskKind mask;
  bool packed;                                 // true for sequences of different lengths, one after another
  bool padded;                                 // true if d or dv is more than heads have: zeros follow
  bool cycles;                                 // true if each SM notes its first block's start and its last one's end
  bool dump;                                   // true for the debug variant: intermediates of every tile and chunk
  int q_offset, k_offset, v_offset, o_offset;  // bytes, multiples of 128; copies of K and of V lie one after another
  int blocks;                                  // least blocks that an SM holds at once, which bounds the registers
};

/// Strides in elements, multiples of 8; the innermost axis is contiguous. Packed: `batch` is 0.
struct Strides {
  long long row, head, batch;
};

struct AttentionSm80Arguments {
  const void *q, *k, *v;
  void* o;
  Strides q_strides, k_strides, v_strides, o_strides;
  AttentionShape shape;
  float* lse;                    // [b, h * g, q], or [h * g, total q] when packed; null: not wanted
  float scale, scale_log2;       // softmax scale, positive; it times log2 e
  union {                        // destination of what a debug variant writes besides its results
    unsigned long long* cycles;  // cycles: by SM, first start and last end
    float* dump;                 // dump: as attention/common/dump.cuh lays it out
  };
};

static_assert(sizeof(Strides) == 24 && sizeof(AttentionSm80Arguments) == 280);

}  // namespace napkin
