#!/usr/bin/env python3
"""Times first choices of other selectors and ours in turns on this machine's GPU, from the file that
script/peers/heuristics.py writes.

  run_picks.py PICKS.jsonl --build build/tests [--out FILE.jsonl] [--limit SECONDS]

Each question: theirs, ours, ours, theirs, by the bundled kernel (run_products, run_attention); where both are one tile, only
ours. A product then by cuBLAS through PyTorch. Times are medians of launches behind each other. The row has every time and the
cycles; its regret is the mean time of theirs over that of ours, less 1.
"""
import argparse, contextlib, json, statistics, subprocess, sys, time

import torch

from peer_bench import Bench, median_time, write


def text(tile):
    return ",".join(f"{knob}={value}" for knob, value in tile.items())


def products(build, q, tiles):
    command = [f"{build}/run_products", "--shape", f"{q['a']},{q['b']},{q['c']}"]
    for tile in tiles:
        command += ["--tile", text(tile)]
    ran = subprocess.run(command, capture_output=True, text=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def cublas(q):
    x, y = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in ((q["a"], q["b"]), (q["b"], q["c"])))
    return median_time(torch, lambda: x @ y, queued=5, runs=7, warm_up=0.3)


def attention(bench, q, causal, tiles):
    shape = ",".join(f"{axis}={q[axis]}" for axis in ("b", "h", "q", "x", "d"))
    return [bench.ask(f"--shape {shape} --tile {text(tile)} --rows 4 {'--causal' if causal else ''}") for tile in tiles]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("picks")
    options.add_argument("--build", required=True)
    options.add_argument("--out")
    options.add_argument("--limit", type=float, default=300)
    a = options.parse_args()
    begin, bench, regrets = time.time(), Bench(f"{a.build}/run_attention"), {}
    with open(a.out, "a") if a.out else contextlib.nullcontext() as out, open(a.picks) as picks:
        for row in map(json.loads, picks):
            if time.time() - begin > a.limit:
                break
            same, q = row["theirs"] == row["ours"], row["shape"]
            tiles = [row["ours"]] if same else [row["theirs"], row["ours"], row["ours"], row["theirs"]]
            runs = products(a.build, q, tiles) if "a" in q else attention(bench, q, row["mask"] == "causal", tiles)
            row["runs"] = [{k: run[k] for k in ("time", "cycles", "good", "error") if k in run} for run in runs]
            if "a" in q:
                row["cublas"] = cublas(q)
            if not same and all("time" in run for run in runs) and len(runs) == 4:
                theirs, ours = (runs[0]["time"] + runs[3]["time"]) / 2, (runs[1]["time"] + runs[2]["time"]) / 2
                row["regret"] = theirs / ours - 1
                regrets.setdefault(row["kernel"], []).append(row["regret"])
            write(out, row)
            print(*q.values(), [f"{r.get('time', 0) * 1e6:.1f}" for r in runs], f"regret {row.get('regret', 0):.3f}",
                  f"cublas {row.get('cublas', 0) * 1e6:.1f}", [r.get("error", r.get("good")) for r in runs], flush=True)
    for kernel, all_of in regrets.items():
        print(kernel, "regret of theirs: median", round(statistics.median(all_of), 4), "mean", round(statistics.mean(all_of), 4))


if __name__ == "__main__":
    sys.exit(main())
