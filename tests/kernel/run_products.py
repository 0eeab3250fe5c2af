#!/usr/bin/env python3
"""Compares products with parts (split-K) and of e4m3 with float64 on this machine's GPU, then times them against cuBLAS
in the same run.

  run_products.py --program build/tests/run_products [--out FILE.jsonl] [--type bf16] [--tiles 2] [--gpu h200-sxm] [--no-check]

cuBLAS: torch.matmul of row-major matrices in bf16; torch._scaled_mm of e4m3 into bf16, one scale a tensor, B with its contracted axis
inside, with the tensor cores' own sums (fast) and without. Launches are queued behind each other, as for the kernels here.
"""
import sys
import torch

from peer_bench import beside_peers, median_time


def cublas(dtype, a, b, c):
    if dtype != "e4m3":
        x, y = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((a, b), (b, c)))
        z = torch.empty(a, c, device="cuda", dtype=torch.bfloat16)
        return {"cublas": median_time(torch, lambda: torch.matmul(x, y, out=z))}
    x, y = (torch.randn(shape, device="cuda").to(torch.float8_e4m3fn) for shape in ((a, b), (c, b)))
    one = torch.ones((), device="cuda")
    out = {}
    for name, fast in (("cublas", False), ("cublas_fast", True)):
        try:
            call = lambda: torch._scaled_mm(x, y.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)
            out[name] = median_time(torch, call)
        except RuntimeError:
            out[name] = None
    return out


def show(row):
    others = " ".join(f"{name} {time * 1e6:.1f}" for name, time in row["peers"].items() if time)
    return f"{row['time'] * 1e6:7.1f} us predicted {row['predicted'] * 1e6:7.1f}; us of {others}"


if __name__ == "__main__":
    sys.exit(beside_peers({"type": None, "tiles": "2", "gpu": "h200-sxm"},
                          lambda row: (row["dtype"], *(row["shape"][axis] for axis in ("a", "b", "c"))), cublas, show))
