#!/usr/bin/env python3
"""Compiles the kernels of usual questions for a wheel, so that their first call waits for no compiler.

  usual_kernels.py FOLDER [--limit BYTES]     PYTHONPATH names the package that asks; FOLDER gets one file a kernel

The most usual questions come first; where the next kernel would pass --limit, as a wheel packs it, the rest is left out. Without
NVRTC the folder stays empty. What is compiled is the tile that `select` answers for a shape, which many other shapes share.
"""
import argparse
import os
import pathlib
import sys
import zlib


def questions():
    """Yields an algorithm and its keywords: attention of an LLM's prompts by head width and mask, decoding, products of its layers."""
    for d in (128, 64):
        for causal in (True, False):
            for s in (8192, 2048, 16384, 1024, 512):
                yield "attention", dict(b=max(16384 // s, 1), h=2048 // d, q=s, x=s, d=d, causal=causal)
    for g in (4, 8):
        for s in (8192, 2048):
            yield "attention", dict(b=1, h=8, g=g, q=s, x=s, d=128, causal=True)
    for b in (1, 16, 64):
        for x in (2048, 8192):
            yield "attention", dict(b=b, h=8, g=4, q=1, x=x, d=128)
    for d in (256, 96):
        for causal in (True, False):
            yield "attention", dict(b=2, h=2048 // d, q=8192, x=8192, d=d, causal=causal)
    for a in (4096, 64):
        for b, c in ((4096, 4096), (4096, 14336), (14336, 4096)):
            yield "matmul", dict(a=a, b=b, c=c)


def packed(folder):
    """Returns the bytes of each kernel as a wheel packs it."""
    return {file: len(zlib.compress(file.read_bytes(), 6)) for file in folder.iterdir()}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--limit", type=int, default=2_500_000)
    asked = options.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for file in asked.folder.iterdir():
        file.unlink()
    os.environ["NAPKIN_SHIP_TO"] = str(asked.folder)

    sys.path.pop(0)  # this folder, whose napkin/ is sources without a compiled _core
    import napkin
    for dtype in ("bf16", "f16"):
        for algorithm, shape in questions():
            before = set(asked.folder.iterdir())
            try:
                napkin.query(algorithm, gpu="h200-sxm", dtype=dtype, bundled=True, compile=True, **shape)
            except (napkin.InputError, napkin.CudaError) as error:
                print(f"usual_kernels: {algorithm} {shape}: {error}", file=sys.stderr)
                if "NVRTC" in str(error):
                    return
                continue
            sizes = packed(asked.folder)
            if sum(sizes.values()) > asked.limit:
                for file in set(sizes) - before:
                    file.unlink()
                break
    sizes = packed(asked.folder)
    print(f"usual_kernels: {len(sizes)} kernels, {sum(sizes.values())} bytes packed")


if __name__ == "__main__":
    main()
