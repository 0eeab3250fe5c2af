#!/usr/bin/env python3
"""Compiles FlashAttention-2 in its tiles, without a GPU, and writes what came out as a table.

    script/peers/flash_attention_2.py forward FLASH_ATTENTION CUTLASS > kernels/attention/mappings/flash_attention_2.compiled.csv
    script/peers/flash_attention_2.py split FLASH_ATTENTION CUTLASS > kernels/attention/mappings/flash_attention_2_split.compiled.csv
    script/peers/flash_attention_2.py backward FLASH_ATTENTION CUTLASS > kernels/attention/mappings/flash_attention_2_backward.compiled.csv

The two are checkouts of Dao-AILab/flash-attention and NVIDIA/cutlass; nvcc and cuobjdump are found by PATH.

forward: a row is a head of its own tile, compiled as its authors do (fused) or as PyTorch does (unfused): registers of a thread, bytes of
its stack, and in an iteration without a mask, for each row of a thread and 16 keys, the instructions that are no product, load,
copy, result or sum (control), and the clocks that a warp with a scheduler of its own takes beyond its instructions' slots and
its products' register ports, as issue.py has it (waits). split: the same of the kernel of split and paged keys, as its authors build it.

backward: a row is a tile: registers of a thread, bytes of its stack, and of an iteration without a mask the clocks that a warp waits
beyond its instructions' slots, by the compiler's stall counts: up to the last product of S, of dP, from there up to the first barrier,
up to the last product of dV, and from there on; and the instructions of a warp that are no product, load, result or sum
(addresses, moves, branches).
"""

import argparse
import pathlib
import subprocess
import tempfile

import issue
import sass

# d, queries, keys, parts of the rows of S, of dK and dV, of dQ, whether V is in registers, whether Q has one buffer
# (flash_bwd_launch_template.h), and the cells that tell the tiles of a head apart. All have eight warps.
TILES = [(32, 128, 128, 4, 4, 4, False, False, "*,*,*"), (64, 128, 128, 4, 4, 4, False, False, "128,*,*"),
         (64, 64, 128, 2, 4, 4, True, False, "64,*,*"), (96, 64, 128, 2, 4, 4, True, False, "*,*,*"),
         (128, 64, 128, 2, 4, 2, False, False, "*,128,*"), (128, 64, 64, 4, 2, 2, True, False, "*,64|32,*"),
         (192, 64, 64, 4, 2, 2, False, False, "*,*,shared"), (192, 64, 64, 4, 2, 2, True, True, "*,*,registers"),
         (256, 64, 64, 4, 2, 2, False, True, "*,128|64,*"), (256, 64, 32, 4, 1, 2, True, True, "*,32,*")]
BACKWARD = """
#include "flash_bwd_launch_template.h"
using namespace FLASH_NAMESPACE;
using T = Flash_bwd_kernel_traits<{d}, {q}, {x}, 8, {s}, {kv}, {dq}, {v}, {one}, cutlass::bfloat16_t>;
template __global__ void FLASH_NAMESPACE::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<T, false, false, false, false, true, true, false>(
    const __grid_constant__ Flash_bwd_params);
"""
# d, queries, keys, warps of a head's own tile (flash_fwd_launch_template.h), and where an architecture has another one.
HEADS = {32: (128, 128, 4), 64: (128, 128, 4), 96: (128, 64, 4), 128: (128, 64, 4), 192: (128, 64, 8), 256: (64, 64, 4)}
OTHERS = {"sm_80": {256: (128, 64, 8)}, "sm_86": {128: (128, 32, 4)}}
# The kernel of split keys is compiled for sm_80 alone; sm_80's and sm_86's counts stand for the others.
SPLIT_NAMES = {"sm_80": "sm_80|sm_90|sm_100", "sm_86": "sm_86|sm_89|sm_120"}
SPLIT = {32: (64, 256, 4), 64: (64, 256, 4), 96: (64, 128, 4), 128: (64, 128, 4), 192: (64, 64, 4), 256: (64, 64, 4)}
# Of each architecture what its code is compiled for, its name in a table, and the clocks of a scheduler's register ports for a product of
# one warp (mma_sync_ports_one).
BUILDS = {"sm_80": ("sm_80", "sm_80", 8.8), "sm_86": ("sm_80", "sm_86|sm_89", 8.1), "sm_90": ("sm_90", "sm_90", 8.1),
          "sm_100": ("sm_100", "sm_100", 9.9), "sm_120": ("sm_120", "sm_120", 8.1)}
MATHS = {"fused": "--use_fast_math", "unfused": "-DUNFUSE_FMA"}
FORWARD = """
#include "flash_fwd_launch_template.h"
using namespace FLASH_NAMESPACE;
using T = Flash_fwd_kernel_traits<{d}, {q}, {x}, {warps}, false, false, cutlass::bfloat16_t>;
template __global__ void FLASH_NAMESPACE::{kernel}(const __grid_constant__ Flash_fwd_params);
"""
# No mask, no ALiBi; whole tiles and heads for the first, whole heads for the second, neither split nor appended to.
KERNELS = {"forward": "flash_fwd_kernel<T, false, false, false, false, true, true, false, false>",
           "split": "flash_fwd_splitkv_kernel<T, false, false, false, false, true, false, false, false>"}
# What the kernels' headers want of PyTorch's.
HEADERS = {
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


# Opcodes of the forward kernel that its mapping counts by its arrays: products and their loads, copies, results.
COUNTED = {"HMMA", "LDSM", "LDGSTS", "MUFU", "FADD", "FMUL", "FFMA", "F2FP", "SHFL", "FMNMX", "FSETP"}


def compiled(text, architecture, math, a, folder):
    for name, text_of in HEADERS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("#pragma once\n" + text_of)
    source, cubin = folder / "tile.cu", folder / "tile.cubin"
    source.write_text(text)
    subprocess.run(["nvcc", "-std=c++17", "-O3", MATHS[math], "--expt-relaxed-constexpr", f"-arch={architecture}", "-cubin", f"-I{folder}",
                    f"-I{a.cutlass / 'include'}", f"-I{a.attention / 'csrc/flash_attn/src'}", "-DFLASHATTENTION_DISABLE_DROPOUT",
                    "-o", cubin, source], check=True, capture_output=True)
    loops = sass.main_loops(sass.disassemble("cuobjdump", str(cubin)))
    return sass.resources("cuobjdump", str(cubin)), max(loops, key=len)


def waits(loop, architecture, ports):
    """Returns what a warp with a scheduler of its own takes beyond what the mapping says of its iteration: Q K by its slots and its
    products' register ports, the port of shared memory, or the matrix unit; the next K's copy; and the rest by slots and ports."""
    products = [n for n, i in enumerate(loop) if i.unit == "tensor"]
    half = len(products) // 2
    first, rest = loop[:products[half - 1] + 1], loop[products[half - 1] + 1:]
    copies = sum(i.unit == "copy" for i in loop) // 2

    def slots(part):
        return sum(i.unit != "tensor" for i in part) + half * ports

    port = issue.SCHEDULERS * (sum(issue.PORT[i.unit] for i in first if i.unit == "ldmatrix") + copies * issue.PORT["copy"])
    said = max(slots(first), port, half * issue.PIPES[architecture]["tensor"]) + issue.SCHEDULERS * copies * issue.PORT["copy"] + slots(rest)
    return max(issue.clocks(loop, architecture, 1) - said, 0)


def counts(resources, loop, architecture, ports, each):
    """Returns a thread's registers, its stack, and by the rows of a thread and 16 keys of an iteration its control instructions and waits."""
    control = sum(i.opcode not in COUNTED for i in loop)
    return *resources, round(control / each), round(waits(loop, architecture, ports) / each)


def forward(a, folder):
    split = a.direction == "split"
    sass.print_head([f"What nvcc makes of FlashAttention-2's {a.direction} tiles: registers of a thread, bytes of its stack, and in one iteration, for each",
                     "row of a thread and 16 keys, control instructions and clocks that a warp waits (script/peers/flash_attention_2.py). Made, not edited."],
                    "bf16, no mask", f"script/peers/flash_attention_2.py {a.direction} FLASH_ATTENTION CUTLASS",
                    f"architecture,{'' if split else 'math,'}d,registers,stack,control,waits")
    for architecture, (code, name, ports) in BUILDS.items():
        if split and architecture not in SPLIT_NAMES:
            continue
        name = SPLIT_NAMES[architecture] if split else name
        for math in ["fused"] if split else MATHS:
            for d, (q, x, warps) in (SPLIT if split else {**HEADS, **OTHERS.get(architecture, {})}).items():
                made = compiled(FORWARD.format(d=d, q=q, x=x, warps=warps, kernel=KERNELS[a.direction]), code, math, a, folder)
                numbers = counts(*made, architecture, ports, q * x / (32 * warps * 16))
                print(",".join(map(str, (name, *([] if split else [math]), d, *numbers))), flush=True)


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


def backward(a, folder):
    sass.print_head(["What nvcc makes of each tile of FlashAttention-2's gradients: registers of a thread, bytes of its stack, clocks that a warp",
                     "waits beyond its instructions' slots, and control instructions, in one iteration (script/peers/flash_attention_2.py). Made, not edited."],
                    "sm_80, bf16, no mask", "script/peers/flash_attention_2.py backward FLASH_ATTENTION CUTLASS",
                    "d,q,x,v_in,registers,stack,s_stall,p_stall,ds_stall,dv_stall,last_stall,control")
    for d, q, x, s, kv, dq, v, one, cells in TILES:
        text = BACKWARD.format(d=d, q=q, x=x, s=s, kv=kv, dq=dq, v=str(v).lower(), one=str(one).lower())
        (registers, stack), loop = compiled(text, "sm_80", "fused", a, folder)
        print(",".join(map(str, (d, cells, registers, stack, *sections(loop)))), flush=True)


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("direction", choices=["forward", "split", "backward"])
    asked.add_argument("attention", type=pathlib.Path)
    asked.add_argument("cutlass", type=pathlib.Path)
    a = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (backward if a.direction == "backward" else forward)(a, pathlib.Path(folder))


if __name__ == "__main__":
    main()
