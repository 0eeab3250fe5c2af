#!/usr/bin/env python3
"""Compiles FlashAttention-2's gradients in its tiles, without a GPU, and writes what came out as a table.

    script/peers/flash_attention_2.py FLASH_ATTENTION CUTLASS > kernels/attention/mappings/flash_attention_2_backward.compiled.csv

The two are checkouts of Dao-AILab/flash-attention and NVIDIA/cutlass; nvcc and cuobjdump are found by PATH. A row is a tile: registers of a thread, bytes of its stack, and of an
iteration without a mask the clocks that a warp waits beyond its instructions' slots, by the compiler's stall counts: up to the
last product of S, of dP, from there up to the first barrier, up to the last product of dV, and from there on; and the instructions of a
warp that are no product, load, result or sum (addresses, moves, branches).
"""

import argparse
import pathlib
import subprocess
import tempfile

import sass

# d, queries, keys, parts of the rows of S, of dK and dV, of dQ, whether V is in registers, whether Q has one buffer
# (flash_bwd_launch_template.h), and the cells that tell the tiles of a head apart. All have eight warps.
TILES = [(32, 128, 128, 4, 4, 4, False, False, "*,*"), (64, 128, 128, 4, 4, 4, False, False, "128,*"),
         (64, 64, 128, 2, 4, 4, True, False, "64,*"), (96, 64, 128, 2, 4, 4, True, False, "*,*"),
         (128, 64, 128, 2, 4, 2, False, False, "*,128"), (128, 64, 64, 4, 2, 2, True, False, "*,64"),
         (192, 64, 64, 4, 2, 2, False, False, "*,*"), (256, 64, 64, 4, 2, 2, False, True, "*,*")]
SOURCE = """
#include "flash_bwd_launch_template.h"
using namespace FLASH_NAMESPACE;
using T = Flash_bwd_kernel_traits<{d}, {q}, {x}, 8, {s}, {kv}, {dq}, {v}, {one}, cutlass::bfloat16_t>;
template __global__ void FLASH_NAMESPACE::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<T, false, false, false, false, true, true, false>(
    const __grid_constant__ Flash_bwd_params);
"""
# What the kernels' headers want of PyTorch's.
STUBS = {
    "c10/cuda/CUDAException.h": "#define C10_CUDA_CHECK(x) (x)\n#define C10_CUDA_KERNEL_LAUNCH_CHECK()\n",
    "ATen/cuda/detail/UnpackRaw.cuh": "",
    "ATen/cuda/PhiloxCudaState.h": """#include <cstdint>
#include <tuple>
namespace at { struct PhiloxCudaState { uint64_t seed, offset; };
namespace cuda { namespace philox { __device__ inline std::tuple<uint64_t, uint64_t> unpack(const at::PhiloxCudaState& of) {
  return std::make_tuple(of.seed, of.offset); } } } }
""",
}
SUMS = {"RED", "REDG", "BAR", "FSETP", "FSEL"}
RESULTS = {"special", "fp32", "conversion", "shared", "ldmatrix", "copy", "local", "tensor"}


def compiled(tile, attention, cutlass, folder):
    for name, text in STUBS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("#pragma once\n" + text)
    d, q, x, s, kv, dq, v, one, _ = tile
    source, cubin = folder / "tile.cu", folder / "tile.cubin"
    source.write_text(SOURCE.format(d=d, q=q, x=x, s=s, kv=kv, dq=dq, v=str(v).lower(), one=str(one).lower()))
    subprocess.run(["nvcc", "-std=c++17", "-O3", "--use_fast_math", "--expt-relaxed-constexpr", "-arch=sm_80", "-cubin", f"-I{folder}",
                    f"-I{cutlass / 'include'}", f"-I{attention / 'csrc/flash_attn/src'}", "-DFLASHATTENTION_DISABLE_DROPOUT",
                    "-o", cubin, source], check=True, capture_output=True)
    return sass.resources("cuobjdump", str(cubin)), sass.disassemble("cuobjdump", str(cubin))


def sections(loop):
    """Returns an iteration's stall clocks in five sections, each of which ends with what its name says: the last product of S, of dP, the first
    barrier behind both, the last product of dV, the end; and its number of control instructions. The five products are equally long."""
    product = sum(i.unit == "tensor" for i in loop) // 5
    stalls, done, at = [0] * 5, 0, 0
    for instruction in loop:
        stalls[at] += sass.stalls([instruction])
        done += instruction.unit == "tensor"
        at = max(at, done // product if done <= 2 * product else 3 if done < 3 * product else 4)
        if at == 2 and instruction.opcode == "BAR":
            at = 3
    control = [i for i in loop if i.unit not in RESULTS and i.opcode not in SUMS]
    return [*stalls, len(control)]


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("attention", type=pathlib.Path)
    asked.add_argument("cutlass", type=pathlib.Path)
    a = asked.parse_args()
    sass.print_head(["What nvcc makes of each tile of FlashAttention-2's gradients: registers of a thread, bytes of its stack, clocks that a warp",
                     "waits beyond its instructions' slots, and control instructions, in one iteration (script/peers/flash_attention_2.py). Made, not edited."],
                    "sm_80, bf16, no mask", "script/peers/flash_attention_2.py FLASH_ATTENTION CUTLASS",
                    "d,q,x,registers,stack,s_stall,p_stall,ds_stall,dv_stall,last_stall,control")
    with tempfile.TemporaryDirectory() as folder:
        for tile in TILES:
            (registers, stack), code = compiled(tile, a.attention, a.cutlass, pathlib.Path(folder))
            loop = max(sass.main_loops(code), key=len)
            print(",".join(map(str, (tile[0], tile[-1], registers, stack, *sections(loop)))), flush=True)


if __name__ == "__main__":
    main()
