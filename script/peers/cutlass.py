#!/usr/bin/env python3
"""Compiles CUTLASS' multistage products in several tiles, without a GPU, and writes what an iteration of each has and takes.

    script/peers/cutlass.py CUTLASS > tests/measured/cutlass_sm80/loops.jsonl

The argument is a checkout of NVIDIA/cutlass; nvcc and cuobjdump are found by PATH. A line is a tile (bf16, A and B with the contracted
axis inside). Of an iteration it has a warp's instructions: products, loads of fragments, copies, others, from the barrier to the next
product, products behind the barrier; and an SM's clocks for one block and for two (issue.py) on an A100, there without the
barrier, and where a product takes 16 clocks.
"""

import argparse
import copy
import json
import pathlib
import subprocess
import tempfile

import issue
import sass

TILES = [(128, 256, 64, 64, 64, 3), (256, 128, 64, 64, 64, 3), (128, 256, 32, 64, 64, 3), (128, 128, 64, 64, 32, 3),
         (128, 128, 32, 64, 64, 3), (128, 128, 64, 64, 64, 3), (64, 256, 32, 64, 64, 4), (64, 256, 64, 64, 64, 3),
         (64, 128, 64, 32, 64, 4), (128, 64, 64, 64, 32, 4), (64, 64, 64, 32, 32, 5)]
SOURCE = """
#include "cutlass/gemm/device/gemm_universal.h"
#include "cutlass/gemm/kernel/default_gemm.h"
#include "cutlass/gemm/kernel/default_gemm_universal.h"
using T = cutlass::bfloat16_t;
using Multistage = typename cutlass::gemm::kernel::DefaultGemmUniversal<T, cutlass::layout::RowMajor, cutlass::ComplexTransform::kNone, 8, T,
    cutlass::layout::ColumnMajor, cutlass::ComplexTransform::kNone, 8, T, cutlass::layout::RowMajor, float, cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80, cutlass::gemm::GemmShape<{a}, {c}, {b}>, cutlass::gemm::GemmShape<{rows}, {columns}, {b}>,
    cutlass::gemm::GemmShape<16, 8, 16>, cutlass::epilogue::thread::LinearCombination<T, 8, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, {stages}, cutlass::arch::OpMultiplyAdd>::GemmKernel;
template __global__ void cutlass::Kernel2<Multistage>(typename Multistage::Params);
"""


def compiled(cutlass, folder, tile):
    a, c, b, rows, columns, stages = tile
    source, cubin = folder / "tile.cu", folder / "tile.cubin"
    source.write_text(SOURCE.format(a=a, c=c, b=b, rows=rows, columns=columns, stages=stages))
    subprocess.run(["nvcc", "-std=c++17", "-O3", "--expt-relaxed-constexpr", "-arch=sm_80", "-cubin", f"-I{cutlass / 'include'}",
                    f"-I{cutlass / 'tools/util/include'}", "-o", cubin, source],
                   check=True, capture_output=True)
    return max(sass.main_loops(sass.disassemble("cuobjdump", str(cubin))), key=len)


def without_barrier(loop):
    """Returns the loop with nothing in the barrier's place."""
    out = [copy.copy(i) for i in loop]
    for instruction in out:
        if instruction.opcode == "BAR":
            instruction.opcode = "NOP"
    return out


def numbers(loop, warps):
    of, barrier = sass.count(loop), max(n for n, i in enumerate(loop) if i.opcode == "BAR")
    behind = loop[barrier + 1:]

    def taken(each, architecture):
        return [round(issue.clocks(each, architecture, blocks, warps) * blocks) for blocks in (1, 2)]

    return {"products": of["tensor"], "loads": of["ldmatrix"], "copies": of["copy"],
            "others": len(loop) - of["tensor"] - of["ldmatrix"] - of["copy"], "lead": next(n for n, i in enumerate(behind) if i.unit == "tensor"),
            "behind": sum(i.unit == "tensor" for i in behind), "a100": taken(loop, "sm_80"), "a100_free": taken(without_barrier(loop), "sm_80"),
            "slower_unit": taken(loop, "sm_86")}


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("cutlass", type=pathlib.Path)
    a = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for tile in TILES:
            warps = tile[0] // tile[3] * (tile[1] // tile[4])
            row = {"a": tile[0], "c": tile[1], "b": tile[2], "warps": warps, "warp_rows": tile[3], "stages": tile[5]}
            print(json.dumps({**row, **numbers(compiled(a.cutlass, pathlib.Path(folder), tile), warps)}), flush=True)


if __name__ == "__main__":
    main()
