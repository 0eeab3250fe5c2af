#!/usr/bin/env python3
"""Compiles FlashInfer's prefill by mma.sync in its tiles, without a GPU, and writes what came out as a table.

    script/peers/flashinfer.py FLASHINFER > kernels/attention/mappings/flashinfer_fa2.compiled.csv

FLASHINFER is a checkout of flashinfer-ai/flashinfer; nvcc, cuobjdump and a CCCL that has cuda::fast_mod_div are found by PATH and
NAPKIN_CCCL. A row is a tile: registers of a thread, bytes of its stack, and of an iteration without a mask the clocks that a warp waits
beyond its instructions' slots, by the compiler's stall counts: up to the last product of Q K, from there up to P V, and from P V on.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import sass

# Rows and 16-row products of a warp by head width (FA2DetermineCtaTileQ, get_num_mma_q), and keys of an iteration.
ROWS = {64: (128, 2), 128: (128, 2), 256: (64, 1)}
KEYS = [64, 32, 16]
SOURCE = r"""
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>
using namespace flashinfer;
struct Params {
  using DTypeQ = nv_bfloat16; using DTypeKV = nv_bfloat16; using DTypeO = nv_bfloat16; using IdType = int32_t;
  DTypeQ* q; DTypeKV *k, *v; IdType *q_indptr, *kv_indptr; DTypeO* o; float* lse; uint_fastdiv group_size;
  float logits_soft_cap, sm_scale, rope_rcp_scale, rope_rcp_theta;
  uint32_t num_qo_heads, num_kv_heads, q_stride_n, q_stride_h, k_stride_n, k_stride_h, v_stride_n, v_stride_h;
  uint32_t k_sf_stride_page, k_sf_stride_n, k_sf_stride_h, v_sf_stride_page, v_sf_stride_n, v_sf_stride_h;
  int32_t window_left;
  IdType *request_indices, *qo_tile_indices, *kv_tile_indices, *merge_indptr, *o_indptr, *kv_chunk_size_ptr;
  bool* block_valid_mask; uint32_t max_total_num_rows; uint32_t* total_num_rows; uint32_t padded_batch_size; bool partition_kv;
  __host__ __device__ uint32_t get_qo_len(uint32_t b) const { return q_indptr[b + 1] - q_indptr[b]; }
  __host__ __device__ uint32_t get_kv_len(uint32_t b) const { return kv_indptr[b + 1] - kv_indptr[b]; }
};
using Traits = KernelTraits<MaskMode::kCausal, ROWS, PRODUCTS, KEYS / 16, WIDTH / 16, WIDTH / 16, 4, 1, PosEncodingMode::kNone,
                            nv_bfloat16, nv_bfloat16, nv_bfloat16, float, int32_t, DefaultAttention<false, false, false, false>>;
template __global__ void flashinfer::BatchPrefillWithRaggedKVCacheKernel<Traits, Params>(const __grid_constant__ Params);
"""


def compiled(include, d, keys, folder):
    rows, products = ROWS[d]
    source, cubin = folder / "tile.cu", folder / "tile.cubin"
    source.write_text(SOURCE)
    sizes = [f"-DROWS={rows}", f"-DPRODUCTS={products}", f"-DKEYS={keys}", f"-DWIDTH={d}"]
    cccl = [f"-I{os.environ['NAPKIN_CCCL']}"] if "NAPKIN_CCCL" in os.environ else []
    subprocess.run(["nvcc", "-std=c++17", "-O3", "--use_fast_math", "-arch=sm_80", "-cubin", *cccl, f"-I{include}", *sizes,
                    "-o", cubin, source], check=True, capture_output=True)
    registers, stack = sass.resources("cuobjdump", str(cubin))
    return registers, stack, sass.main_loops(sass.disassemble("cuobjdump", str(cubin)))[0]


def sections(loop):
    """The iteration cut at its jump round the mask's code and at its barriers: Q K before the jump, the softmax up to the barrier
    after which P V's products stand, the rest."""
    parts = [[]]
    for instruction in loop:
        parts[-1].append(instruction)
        if instruction.opcode == "BAR" or instruction.opcode == "BRA":
            parts.append([])
    jump = next(n for n, part in enumerate(parts) if part and part[-1].opcode == "BRA")
    return [sum(map(sass.stalls, some)) for some in (parts[:jump + 1], parts[jump + 2:jump + 3], parts[jump + 3:])]


def main():
    checkout = pathlib.Path(sys.argv[1])
    sass.print_head(["What nvcc makes of each tile of FlashInfer's prefill: registers of a thread, bytes of its stack, and clocks that a warp waits",
                     "beyond its instructions' slots in one iteration (script/peers/flashinfer.py). Made, not edited."],
                    "sm_80, bf16, causal", "script/peers/flashinfer.py FLASHINFER", "d,x,registers,stack,s_stall,p_stall,o_stall")
    with tempfile.TemporaryDirectory() as folder:
        for d in ROWS:
            for keys in KEYS:
                registers, stack, loop = compiled(checkout / "include", d, keys, pathlib.Path(folder))
                print(",".join(map(str, (d, keys, registers, stack, *sections(loop)))))


if __name__ == "__main__":
    main()
