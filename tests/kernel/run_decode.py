#!/usr/bin/env python3
"""Compares attention_decode_sm90 with float64 on this machine's GPU, then times it against PyTorch at twelve shapes
with the L2 cold and warm.

  run_decode.py --program build/tests/run_decode [--out FILE.jsonl] [--pages 0,64] [--tiles 2] [--gpu h200-sxm] [--no-check]

Every shape: each backend of PyTorch's scaled_dot_product_attention that takes it (FlashAttention-2 and cuDNN split keys
themselves; their keys and values are dense, [b, h, x, d]). L2 cold: a buffer larger than the L2 is written before each launch.
"""
import statistics, sys
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from peer_bench import beside_peers, timed

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}
flush = None


def cold_time(call, runs=30):
    global flush
    if flush is None:
        flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    times = []
    for _ in range(runs):
        flush.fill_(1)
        times.append(timed(torch, call))
    return statistics.median(times)


def peers(b, h, g, q, x, d):
    query = torch.randn(b, h * g, q, d, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(b, h, x, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = {}
    for name, backend in BACKENDS.items():
        try:
            with sdpa_kernel(backend):
                call = lambda: torch.nn.functional.scaled_dot_product_attention(query, k, v, enable_gqa=g > 1)
                call()
                out[name] = cold_time(call)
        except RuntimeError:
            out[name] = None
    return out


def show(row):
    s = row["shape"]
    read = 2 * s["b"] * s["h"] * s["x"] * (s["d"] + s["dv"])
    others = " ".join(f"{name} {read / time / 1e12:.2f}" for name, time in row["peers"].items() if time)
    return (f"page {row['page']:3} cold {row['cold'] * 1e6:7.1f} us {row['cold_rate'] / 1e12:.2f} TB/s warm {row['warm'] * 1e6:7.1f} us "
            f"predicted {row['predicted'] * 1e6:7.1f} us; TB/s of {others}")


if __name__ == "__main__":
    sys.exit(beside_peers({"pages": "0,64", "tiles": "2", "gpu": "h200-sxm"},
                          lambda row: tuple(row["shape"][axis] for axis in ("b", "h", "g", "q", "x", "d")), peers, show))
