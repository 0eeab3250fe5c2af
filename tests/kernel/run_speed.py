#!/usr/bin/env python3
"""attention_sm90 beside cuDNN (through PyTorch) and, where it is installed, FlashAttention-2, in one run on the GPU here.

  run_speed.py --program build/tests/run_attention --tiles FILE [--out FILE.jsonl] [--limit SECONDS] [--dtype bf16]

A line of FILE: d causal(0|1) s TILE [TILE ...], each TILE as run_attention takes it; b s = 16384, h d = 2048. Every shape:
cuDNN, FlashAttention-2, each tile, cuDNN again; all alike: launches for 0.1 s, then 12 times 20 queued launches between two
events (warm L2), the median. One JSON object a tile and shape.
"""
import argparse, json, shlex, statistics, subprocess, sys, time
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def median_time(call, queued=20, runs=12, warm_up=0.1):
    start = time.time()
    while time.time() - start < warm_up:
        for _ in range(queued):
            call()
        torch.cuda.synchronize()
    times = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(queued):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / queued / 1e3)
    return statistics.median(times)


def peer_time(backend, q, k, v, causal):
    try:
        with sdpa_kernel(backend):
            return median_time(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))
    except RuntimeError:
        return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    options.add_argument("--tiles", required=True)
    options.add_argument("--out")
    options.add_argument("--limit", type=float, default=1e9)
    options.add_argument("--kernel", default="attention_sm90")
    a = options.parse_args()
    start = time.time()
    bench = subprocess.Popen([a.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    out = open(a.out, "a") if a.out else None
    for line in open(a.tiles):
        words = line.split()
        if not words or time.time() - start > a.limit:
            continue
        d, causal, s = int(words[0]), words[1] == "1", int(words[2])
        b, h = 16384 // s, 2048 // d
        q, k, v = (torch.randn(b, s, h, d, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))
        flops = 4 * b * h * s * s * d * (0.5 if causal else 1)
        before = peer_time(SDPBackend.CUDNN_ATTENTION, q, k, v, causal)
        flash2 = peer_time(SDPBackend.FLASH_ATTENTION, q, k, v, causal)
        rows = []
        for tile in words[3:]:
            mask = " --causal" if causal else ""
            lse = " --no-lse" if a.kernel == "attention_sm90" else ""  # cuDNN writes none where no input wants a gradient
            bench.stdin.write(f"--kernel {a.kernel} --shape b={b},h={h},q={s},x={s},d={d} --tile {tile} --rows 16 --runs 12 --no-cycles{lse}{mask}\n")
            bench.stdin.flush()
            rows.append(json.loads(bench.stdout.readline()))
        after = peer_time(SDPBackend.CUDNN_ATTENTION, q, k, v, causal)
        peers = {"cudnn": (before + after) / 2, "cudnn_spread": abs(before - after) / before, "flash_attention_2": flash2}
        for tile, row in zip(words[3:], rows):
            row["peers"] = peers
            if "time" in row:
                row["ratio"] = {"cudnn": peers["cudnn"] / row["time"], "flash_attention_2": flash2 / row["time"] if flash2 else None}
                print(f"d={d} {'causal' if causal else 'full':6} s={s:5} cuDNN {flops / peers['cudnn'] / 1e12:6.1f} "
                      f"ours {row['tflops']:6.1f} = {row['ratio']['cudnn']:.3f} {'' if row.get('good') else 'WRONG'} {tile}", flush=True)
            else:
                print(d, causal, s, tile, row.get("error"), flush=True)
            if out:
                out.write(json.dumps(row) + "\n")
                out.flush()
    bench.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
