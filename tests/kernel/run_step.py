#!/usr/bin/env python3
"""Times a small transformer's step in PyTorch as one CUDA graph: one JSON object for each question.

  run_step.py [--out FILE.jsonl] [--card N] [--kernels] prefill:b=1,q=4096 decode:b=32,x=2048 ...

Eight layers of hidden size 2048, 16 heads of 128, an inner size of 8192, bf16, random weights: norm, product, attention
(PyTorch's FlashAttention-2), product, sum, norm, product, GELU, product, sum. tests/measured/steps has the same as
`napkin step` reads it. Replays run for three seconds before the timed second: the clock is the sustained one. --kernels
also times the launches of one replay by name.
"""
import argparse, json, subprocess, sys, time

LAYERS, HIDDEN, HEADS, D, FFN = 8, 2048, 16, 128, 8192


def about(number):
    ask = "name,uuid,driver_version,power.draw,clocks.sm"
    line = subprocess.run(["nvidia-smi", f"--id={number}", f"--query-gpu={ask}", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True).stdout.strip().split(", ")
    return {"device": line[0], "card": line[1][-6:], "driver": line[2], "watts": line[3], "nvml_clock": line[4],
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def model(torch, kind, sizes):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    f = torch.nn.functional
    make = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * shape[0] ** -0.5
    b, q = sizes["b"], sizes.get("q", 1)
    layers = [dict(norm=torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16), qkv=make(HIDDEN, 3 * HIDDEN),
                   out=make(HIDDEN, HIDDEN), up=make(HIDDEN, FFN), down=make(FFN, HIDDEN)) for _ in range(LAYERS)]
    for layer in layers:
        if kind == "decode":
            layer["keys"] = torch.randn(b, sizes["x"], HEADS, D, device="cuda", dtype=torch.bfloat16)
            layer["values"] = torch.randn_like(layer["keys"])
    first = torch.randn(b * q, HIDDEN, device="cuda", dtype=torch.bfloat16)

    def step():
        x = first
        for layer in layers:
            parts = (f.rms_norm(x, (HIDDEN,), layer["norm"]) @ layer["qkv"]).view(b, q, 3, HEADS, D)
            query, key, value = (parts[:, :, i] for i in range(3))
            if kind == "decode":
                layer["keys"][:, -1:].copy_(key)
                layer["values"][:, -1:].copy_(value)
                key, value = layer["keys"], layer["values"]
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                o = f.scaled_dot_product_attention(*(a.transpose(1, 2) for a in (query, key, value)),
                                                   is_causal=kind == "prefill")
            x = x + o.transpose(1, 2).reshape(b * q, HIDDEN) @ layer["out"]
            h = f.rms_norm(x, (HIDDEN,), layer["norm"])
            x = x + f.gelu(h @ layer["up"], approximate="tanh") @ layer["down"]
        return x
    return step


def measure(torch, kind, sizes, kernels):
    step = model(torch, kind, sizes)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def replays(seconds, one):
        count = max(int(seconds / one), 3)
        start.record()
        for _ in range(count):
            graph.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / 1e3 / count
    one = replays(0, 1)
    time.sleep(1)
    burst = replays(0.02, one)
    one = replays(3, one)
    row = {"step": kind, "shape": sizes, "seconds": replays(1, one), "burst_seconds": burst}
    assert torch.isfinite(out.float()).all()
    if kernels:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            graph.replay()
            torch.cuda.synchronize()
        row["kernels"] = [[e.key[:90], e.count, round(e.self_device_time_total / e.count, 2)]
                          for e in sorted(profile.key_averages(), key=lambda e: -e.self_device_time_total) if e.count]
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--card", type=int, default=0)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("steps", nargs="+")
    arguments = parser.parse_args()
    import torch
    torch.cuda.set_device(arguments.card)
    out = open(arguments.out, "a") if arguments.out else sys.stdout
    for text in arguments.steps:
        kind, sizes = text.split(":")
        sizes = {name: int(size) for name, size in (one.split("=") for one in sizes.split(","))}
        row = measure(torch, kind, sizes, arguments.kernels)
        row.update(about(arguments.card), torch=torch.__version__)
        print(json.dumps(row), file=out, flush=True)
        print(kind, sizes, f"{row['seconds'] * 1e3:.3f} ms, burst {row['burst_seconds'] * 1e3:.3f} ms", file=sys.stderr)


if __name__ == "__main__":
    main()
