#pragma once
// NapkinConfig has the compile-time parameters of napkin_fp8_sm90. Example: 384 queries and 64 keys a tile, of whose
// output each product of P and V makes 32 columns. The kernel's run-time parameter is AttentionArguments.

#include "kernels/attention/common/arguments.cuh"

namespace napkin {

/// Configuration. The copy engine and `forward` take a pair of e4m3 of Q or K as one element of 16 bits: forward.d is
/// half the head's width. V and O are fp16.
struct NapkinConfig {
  AttentionConfig forward;
  int u_x, d_block, d_step;
  bool single;         // true if O accumulates in fp32
  int partial_offset;  // offset of dO, a subloop's product of P and V, in shared memory, bytes
};

}  // namespace napkin
