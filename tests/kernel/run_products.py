#!/usr/bin/env python3
"""Products with parts (split-K) and of e4m3 on the GPU here: right against float64, then timed beside cuBLAS in one run.

  run_products.py --program build/tests/run_products [--out FILE.jsonl] [--type bf16] [--tiles 2] [--gpu h200-sxm] [--no-check]

cuBLAS: torch.matmul of row-major matrices in bf16; torch._scaled_mm of e4m3 into bf16, one scale a tensor, B with its contracted axis
inside, with the tensor cores' own sums (fast) and without. Launches are queued behind each other, as for the kernels here.
"""
import argparse, subprocess, sys
import torch

from peer_bench import median_time, rows_beside


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


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    options.add_argument("--out")
    options.add_argument("--type")
    options.add_argument("--tiles", default="2")
    options.add_argument("--gpu", default="h200-sxm")
    options.add_argument("--no-check", action="store_true")
    a = options.parse_args()
    good = True
    if not a.no_check:
        good = subprocess.run([a.program, "--check"]).returncode == 0
    command = [a.program, "--time", "--tiles", a.tiles, "--gpu", a.gpu] + (["--type", a.type] if a.type else [])
    out = open(a.out, "a") if a.out else None
    key_of = lambda row: (row["dtype"], *(row["shape"][axis] for axis in ("a", "b", "c")))
    for key, tile, row in rows_beside(command, key_of, cublas, out):
        if "error" in row:
            print(*key, tile, row["error"], flush=True)
            good = False
            continue
        others = " ".join(f"{name} {time * 1e6:.1f}" for name, time in row["peers"].items() if time)
        print(f"{key} {row['time'] * 1e6:7.1f} us predicted {row['predicted'] * 1e6:7.1f}; us of {others} {'' if row['good'] else 'WRONG'} {tile}", flush=True)
        good = good and row["good"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
