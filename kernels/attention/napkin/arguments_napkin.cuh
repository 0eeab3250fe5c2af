#pragma once
// NapkinConfig is what a variant of napkin_fp8_sm90 is: a tile of 384 queries and 64 keys, of which a product of P and
// V makes 32 columns. Its parameter is AttentionArguments.

#include "kernels/attention/common/arguments.cuh"

namespace napkin {

/// Configuration. To the copy engine and to `forward`, Q and K consist of pairs of e4m3: d is half of Q's columns. V
/// and O are fp16.
struct NapkinConfig {
  AttentionConfig forward;
  int u_x, d_block, d_step;
  bool single;         // true if O accumulates in fp32
  int partial_offset;  // offset of dO, bytes; A lies where P was
};

}  // namespace napkin
