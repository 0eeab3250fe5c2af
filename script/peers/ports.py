#!/usr/bin/env python3
"""Derives an A100's mma_sync_ports and mma_sync_ports_one from an H200's: compiles the kernel by which calibration measures them
(kernels/micro/agents.cuh, products among a softmax's mix and ldmatrix) for both, without a GPU, and simulates it (issue.py).

    script/peers/ports.py [--record tests/measured/mma_sync/loops.jsonl]

nvcc and cuobjdump are found by PATH. --record writes the loops: of each instruction its opcode, its stall count, the barriers that its
result and its last read release, and a bit for each barrier that it waits for.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

import issue
import sass

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURED = ROOT / "tests/measured/mma_sync/attention_1.jsonl"
LOOPS = ROOT / "tests/measured/mma_sync/loops.jsonl"
WARPS = [1, 2, 4]  # of a scheduler
SOURCE = """
#include "kernels/micro/agents.cuh"
namespace napkin {
constexpr AgentsConfig config{1, 64, true, 0, VectorWork::MIX, false, true, %d, %d};
__global__ void __launch_bounds__(128, 1) multiply(const __grid_constant__ AgentsArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Agents<config> all{shared_address(memory), arguments};
  all.multiply_synchronously(threadIdx.x / 128);
}
}
"""


def compiled(architecture, mixes, loads, folder):
    source, cubin = folder / "ports.cu", folder / "ports.cubin"
    source.write_text(SOURCE.replace("MIX", "mix" if mixes else "none") % (mixes, loads))
    target = "sm_90a" if architecture == "sm_90" else architecture
    subprocess.run(["nvcc", "-std=c++20", "-O3", "--expt-relaxed-constexpr", f"-arch={target}", "-cubin", f"-I{ROOT}", "-o", cubin, source],
                   check=True, capture_output=True)
    return max(sass.main_loops(sass.disassemble("cuobjdump", str(cubin))), key=len)


def written(loop):
    return " ".join(f"{i.opcode}{i.suffix}:{i.stall}:{i.writes}:{i.reads}:{i.waits}" for i in loop)


def read(text):
    loop = []
    for word in text.split():
        name, *numbers = word.split(":")
        opcode, dot, suffix = name.partition(".")
        loop.append(sass.Instruction(0, opcode, dot + suffix, ""))
        loop[-1].stall, loop[-1].writes, loop[-1].reads, loop[-1].waits = map(int, numbers)
    return loop


def product(loop, architecture, warps):
    """Returns the clocks of a product of each scheduler, of so many warps."""
    return issue.clocks(loop, architecture, warps, apart=37) / sum(i.unit == "tensor" for i in loop)


def measured():
    """Returns an H200's clocks of a product by mixes, loads and warps."""
    readings = (json.loads(line) for line in MEASURED.read_text().splitlines() if "experiment" in line)
    return {tuple(int(row["with"][name]) for name in ("mixes", "loads", "warps")): statistics.median(row["values"]) for row in readings}


def ports(products):
    """Returns both numbers as calibration has them: a product's clocks less the instructions among products, of several warps and of one."""
    of = {True: [], False: []}
    for (mixes, loads, warps), clocks in products.items():
        if mixes and loads:
            of[warps == 1].append(clocks - 2 * mixes - loads / 4)
    return statistics.median(of[False]), statistics.median(of[True])


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--record", type=pathlib.Path)
    a = asked.parse_args()
    read_by, rows = measured(), []
    simulated = {"sm_90": {}, "sm_80": {}}
    with tempfile.TemporaryDirectory() as folder:
        for architecture, products in simulated.items():
            for mixes, loads in sorted({each[:2] for each in read_by}):
                loop = compiled(architecture, mixes, loads, pathlib.Path(folder))
                rows.append({"architecture": architecture, "mixes": mixes, "loads": loads, "loop": written(loop)})
                for warps in WARPS:
                    products[mixes, loads, warps] = product(loop, architecture, warps)
    if a.record:
        a.record.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    errors = [simulated["sm_90"][key] / read_by[key] - 1 for key in read_by]
    print(f"an H200's {len(errors)} readings: {100 * statistics.mean(map(abs, errors)):.1f} % off in the mean")
    for name, of_h200, at_h200, at_a100 in zip(("mma_sync_ports", "mma_sync_ports_one"), ports(read_by), ports(simulated["sm_90"]),
                                               ports(simulated["sm_80"])):
        print(f"{name}: H200 {of_h200:.2f}, simulated {at_h200:.2f}; A100 simulated {at_a100:.2f}, so {of_h200 * at_a100 / at_h200:.2f}")


if __name__ == "__main__":
    main()
