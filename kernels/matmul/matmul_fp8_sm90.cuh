#pragma once
// This kernel multiplies matrices on Hopper with e4m3 in and bf16 out, C[a, c] = scale A[a, b] B[b, c]: it is
// matmul_sm90 with instructions for e4m3. B is stored as [c, b], the contracted axis innermost. Knobs are those of
// matmul_fp8_sm90.yaml.

#include "kernels/matmul/matmul_sm90.cuh"

namespace napkin {

template <MatmulConfig C>
__global__ void __launch_bounds__((C.warpgroups + 1) * 128, 1)
    matmul_fp8_sm90(const __grid_constant__ MatmulArguments arguments) {
  static_assert(C.fp8 && C.bf16);
  matmul_block<C>(arguments);
}

}  // namespace napkin
