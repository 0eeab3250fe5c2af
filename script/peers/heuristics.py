#!/usr/bin/env python3
"""Writes first choices of other selectors and ours as tiles of the bundled kernels, which run_picks.py times on a GPU.

    python3 script/peers/heuristics.py --out PICKS.jsonl [--gpu h200-sxm]     (nvidia-matmul-heuristics installed)

24 products of the layers of Llama 3 8B and 70B at 512, 2,048 and 8,192 rows: the first pick of nvMatmulHeuristics (CUTLASS 3,
bf16, by its timing model), as a tile of matmul_sm90; what our kernel has no word for (clusters along the columns) becomes its nearest,
and the rest (order) is what napkin ranks first. Eight calls of attention: the tile of FlashAttention-4's table for Hopper
(flash_attn/cute/interface.py, 4.0.0b36). A line: the question, `theirs`, `ours`, and the predicted time of each, in seconds.
"""
import argparse
import json
import os

import napkin

ROWS = [512, 2048, 8192]
LAYERS = [(4096, 6144), (4096, 4096), (4096, 28672), (14336, 4096), (8192, 10240), (8192, 8192), (8192, 57344), (28672, 8192)]

# Head width, queries and keys of a tile, of two or three warpgroups with 64 queries each.
TABLE = {64: (192, 128), 96: (192, 128), 128: (128, 128), 192: (128, 112), 256: (128, 80)}
ATTENTION = [(64, 4096, False), (64, 8192, True), (128, 4096, False), (128, 8192, True), (128, 16384, False), (192, 4096, True),
             (256, 4096, False), (256, 8192, True)]
TOKENS, WIDTH = 16384, 2048


def heuristics(gpu):
    """Returns a function from a product's rows, columns and contracted size to nvMatmulHeuristics' first choice and its
    predicted seconds."""
    import nvMatmulHeuristics as h
    library = h.NvMatmulHeuristicsInterface(h.NvMatmulHeuristicsTarget.CUTLASS3, precision="TST",
                                            flags=h.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING)
    hardware = library.createHardwareDescriptor()
    library.setHardwarePredefinedGpu(hardware, getattr(h.NvMatmulHeuristicsNvidiaGpu, gpu))
    layout = h.NvMatmulHeuristicsMatmulLayout.TN_ROW_MAJOR
    library.loadInternalDiscoverySet(layout, hardware)

    def first(rows, columns, inner):
        found = library.get_with_mnk(rows, columns, inner, layout, 1, hardware)[0]
        return found["kernel"], found["runtime"]
    return first


def tile_of(pick):
    """Returns a tile with the choice's rows, columns, depth and stages, and two consumer warpgroups, as CUTLASS'
    cooperative kernel has."""
    cluster = pick.cluster_m * pick.cluster_n
    return {"a": pick.cta_tile_m, "c": pick.cta_tile_n, "b": pick.cta_tile_k, "warpgroups": 2 if pick.cta_tile_m > 64 else 1,
            "stages": pick.stages, "cluster": min(cluster, 2), "split": pick.split_k}


def asked(algorithm, question, tile, gpu, kernel):
    """Returns the best tile with these knobs, and its predicted time, with a stage less if shared memory has no room
    for all."""
    found = napkin.select(algorithm, gpu=gpu, kernel=kernel, tile=tile, **question)
    if found.predicted is None:
        return asked(algorithm, question, {**tile, "stages": tile["stages"] - 1}, gpu, kernel)
    return found.tile, found.predicted.time


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out", required=True)
    options.add_argument("--gpu", default="h200-sxm")
    a = options.parse_args()
    with open(a.out, "w") as out:
        def add(kernel, algorithm, question, tile, **more):
            (theirs, their_time), (ours, our_time) = (asked(algorithm, question, t, a.gpu, kernel) for t in (tile, {}))
            shape = {axis: size for axis, size in question.items() if axis != "causal"}
            row = {"kernel": kernel, "shape": shape, "mask": "causal" if question.get("causal") else "none", "theirs": theirs, "ours": ours,
                   "predicted": {"theirs": their_time, "ours": our_time}}
            out.write(json.dumps({**row, **more}) + "\n")

        first = heuristics(a.gpu.replace("-", "_").upper())
        for rows in ROWS:
            for inner, columns in LAYERS:
                pick, runtime = first(rows, columns, inner)
                add("matmul_sm90", "matmul", {"a": rows, "b": inner, "c": columns}, tile_of(pick), pick=str(pick), their_runtime=runtime)
        for d, s, causal in ATTENTION:
            q, x = TABLE[d]
            question = {"b": TOKENS // s, "h": WIDTH // d, "q": s, "x": s, "d": d, "causal": causal}
            add("attention_sm90", "attention", question, {"q": q, "x": x, "warpgroups": q // 64}, pick=f"{q} x {x}")
    os._exit(0)  # the destructor of nvMatmulHeuristics 0.1.0.27 crashes


if __name__ == "__main__":
    main()
