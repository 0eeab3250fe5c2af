#!/usr/bin/env python3
"""Times the Triton kernels of kernels.py in all their tiles, and the vendor's matrix products, on the GPU at hand.

    python3 script/peers/measure.py --out OUT [--seconds S]     (PyTorch and Triton installed)

OUT/triton.jsonl, OUT/triton_matmul.jsonl and OUT/cublas.jsonl have a row a tile and shape. Launches stand in a CUDA graph
and follow one another until the card has its clock; a time is the median of three such graphs. Results are compared with
float32 on the fly. Tiles whose shared memory does not fit are rows too: `refused` says what the launch said.
"""

import argparse
import datetime
import json
import multiprocessing
import os
import subprocess
import sys
import time

import torch
import triton

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compile as tiles
import kernels

TOKENS, HIDDEN = 16384, 2048
LENGTHS = [2048, 8192]
PRODUCT_TILES = {**tiles.MATMUL, "b": [64]}
PRODUCTS = [(4096, 4096, 4096), (2048, 2048, 2048), (8192, 4096, 2048), (16, 4096, 4096), (64, 4096, 4096), (128, 4096, 4096)]
CUBLAS = [(n, n, n) for n in (1024, 2048, 4096, 8192)] + [(m, 4096, 4096) for m in (16, 32, 64, 128, 512)] + \
    [(8192, 4096, 2048), (3072, 6144, 4096), (16384, 2048, 2048)]


def attention_call(tile, d, causal, heads, length):
    q, k, v = (torch.randn(heads, length, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    o, lse = torch.empty_like(q), torch.empty(heads, length, device="cuda", dtype=torch.float32)
    grid = (triton.cdiv(length, tile["q"]), heads)

    def call():
        return kernels.attention[grid](q, k, v, o, lse, d ** -0.5, length * d, length, BLOCK_M=tile["q"],
                                       BLOCK_N=tile["x"], D=d, CAUSAL=causal, num_warps=tile["warps"],
                                       num_stages=tile["stages"])

    def error():
        few = slice(0, 2)
        want = torch.nn.functional.scaled_dot_product_attention(q[few].float(), k[few].float(), v[few].float(),
                                                                is_causal=causal)
        return ((o[few].float() - want).norm() / want.norm()).item()
    return call, error, o


def matmul_call(tile, m, n, k):
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    grid = (triton.cdiv(m, tile["a"]) * triton.cdiv(n, tile["c"]),)

    def call():
        return kernels.matmul[grid](a, b, c, m, n, k, k, n, n, BLOCK_M=tile["a"], BLOCK_N=tile["c"],
                                    BLOCK_K=tile["b"], GROUP_M=tiles.GROUP_M, num_warps=tile["warps"],
                                    num_stages=tile["stages"])

    def error():
        rows = slice(0, 64)
        want = a[rows].float() @ b.float()
        return ((c[rows].float() - want).norm() / want.norm()).item()
    return call, error, c


def warm_one(job):
    """Compiles one variant into the cache, by a launch."""
    kind, tile, d, causal = job
    try:
        call = attention_call(tile, d, causal, 1, 256)[0] if kind == "attention" else matmul_call(tile, 128, 256, 128)[0]
        call()
        torch.cuda.synchronize()
        return True
    except Exception:  # out of resources, or what the compiler refuses: the sweep says so
        return False


def timed(call, seconds):
    """Returns (median seconds of a launch, spread) of launches in a graph, and the number of launches in a graph."""
    call()
    torch.cuda.synchronize()
    begin = time.time()
    call()
    torch.cuda.synchronize()
    launches = max(3, min(200, int(seconds / 4 / max(time.time() - begin, 1e-6))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            call()
    graph.replay()
    torch.cuda.synchronize()
    begin = time.time()
    graph.replay()
    torch.cuda.synchronize()
    once = max(time.time() - begin, 1e-6)
    for _ in range(max(1, int(seconds / 2 / once))):
        graph.replay()
    taken = []
    for _ in range(3):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        graph.replay()
        last.record()
        last.synchronize()
        taken.append(first.elapsed_time(last) / 1e3 / launches)
    taken.sort()
    return taken[1], (taken[2] - taken[0]) / taken[1], launches


def common():
    query = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                           text=True).stdout.strip()
    return {"device": torch.cuda.get_device_name(), "driver": query, "cuda": torch.version.cuda,
            "pytorch": torch.__version__, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}


def row_of(head, make, seconds):
    row = dict(head)
    try:
        call, error, out = make()
        out.fill_(float("nan"))
        compiled = call()
        torch.cuda.synchronize()
        row["error"] = error() if torch.isfinite(out).all() else float("inf")
        if compiled is not None:
            row["compiled"] = {"registers": compiled.n_regs, "spills": compiled.n_spills,
                               "shared": compiled.metadata.shared}
        seconds_each, spread, launches = timed(call, seconds)
        row["measured"] = {"time": seconds_each, "time_spread": spread, "runs": 3 * launches}
    except Exception as refused:
        row["refused"] = f"{type(refused).__name__}: {refused}"[:160]
    return {**row, **common()}


def sweep(asked):
    with open(f"{asked.out}/triton.jsonl", "w") as out:
        for d in (64, 128):
            for causal in (False, True):
                for tile in tiles.tiles(tiles.ATTENTION):
                    if causal and tile["q"] % tile["x"]:
                        continue
                    for length in LENGTHS:
                        heads = TOKENS // length * (HIDDEN // d)
                        head = {"kernel": "triton", "algorithm": "attention", "dtype": "bf16",
                                "mask": "causal" if causal else "none",
                                "shape": {"h": heads, "q": length, "x": length, "d": d}, "tile": tile}
                        row = row_of(head, lambda: attention_call(tile, d, causal, heads, length), asked.seconds)
                        out.write(json.dumps({**row, "compiler": "Triton " + triton.__version__}) + "\n")
                    out.flush()
            print("attention", d, f"{time.time() - asked.begin:.0f} s", flush=True)
    with open(f"{asked.out}/triton_matmul.jsonl", "w") as out:
        for m, n, k in PRODUCTS:
            for tile in tiles.tiles(PRODUCT_TILES):
                head = {"kernel": "triton_matmul", "algorithm": "matmul", "dtype": "bf16", "mask": "none",
                        "shape": {"a": m, "b": k, "c": n}, "tile": tile}
                row = row_of(head, lambda: matmul_call(tile, m, n, k), asked.seconds)
                out.write(json.dumps({**row, "compiler": "Triton " + triton.__version__}) + "\n")
            out.flush()
            print("matmul", m, n, k, f"{time.time() - asked.begin:.0f} s", flush=True)


def cublas(asked):
    with open(f"{asked.out}/cublas.jsonl", "w") as out:
        for m, n, k in CUBLAS:
            def make():
                a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
                b = torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
                c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
                rows = slice(0, 64)

                def error():
                    want = a[rows].float() @ b.float()
                    return ((c[rows].float() - want).norm() / want.norm()).item()

                def call():
                    torch.matmul(a, b, out=c)
                return call, error, c
            head = {"library": "cuBLAS by torch.matmul", "algorithm": "matmul", "dtype": "bf16", "mask": "none",
                    "shape": {"a": m, "b": k, "c": n}}
            row = row_of(head, make, max(asked.seconds, 0.3))
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
                make()[0]()
                torch.cuda.synchronize()
            names = [e.key for e in profile.key_averages() if "memcpy" not in e.key.lower()]
            row["kernels"] = [name[:120] for name in names if "gemm" in name or "cutlass" in name or "splitK" in name]
            out.write(json.dumps(row) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=0.1, help="of launches before a tile is timed, about twice")
    parser.add_argument("--processes", type=int, default=14, help="that compile beforehand")
    asked = parser.parse_args()
    asked.begin = time.time()
    jobs = [("attention", tile, d, causal) for d in (64, 128) for causal in (False, True)
            for tile in tiles.tiles(tiles.ATTENTION)] + [("matmul", tile, 0, False) for tile in tiles.tiles(PRODUCT_TILES)]
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        made = pool.map(warm_one, jobs, chunksize=1)
    print(f"{sum(made)} of {len(made)} variants launched, {time.time() - asked.begin:.0f} s", flush=True)
    cublas(asked)
    print("cublas", f"{time.time() - asked.begin:.0f} s", flush=True)
    sweep(asked)


if __name__ == "__main__":
    main()
