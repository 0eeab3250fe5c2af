#!/usr/bin/env python3
"""attention_fp8_sm90 on the GPU here: right against float64, then d of 64, 128 and 256 beside attention_sm90 and cuDNN in bf16.

  run_fp8.py --program build/tests/run_fp8 [--out FILE.jsonl] [--d 128] [--tiles 2] [--no-check]

PyTorch has no attention of its own in FP8: its backends of scaled_dot_product_attention are timed in bf16. Where FlashAttention-3
(flash_attn_interface) is installed, it is timed in e4m3. Each call runs by itself behind others for half a second.
"""
import statistics, sys, time
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from peer_bench import beside_peers

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def warm_time(call, seconds=0.5):
    call()
    torch.cuda.synchronize()
    times, begin = [], time.time()
    while time.time() - begin < seconds or len(times) < 10:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


def peers(b, h, s, d, causal):
    q, k, v = (torch.randn(b, s, h, d, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))
    out = {}
    for name, backend in BACKENDS.items():
        try:
            with sdpa_kernel(backend):
                out[name] = warm_time(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))
        except RuntimeError:
            out[name] = None
    try:
        from flash_attn_interface import flash_attn_func
        q8, k8, v8 = (x.transpose(1, 2).contiguous().to(torch.float8_e4m3fn) for x in (q, k, v))
        out["flash3_fp8"] = warm_time(lambda: flash_attn_func(q8, k8, v8, causal=causal))
    except (ImportError, RuntimeError):
        out["flash3_fp8"] = None
    return out


def show(row):
    others = " ".join(f"{name} {row['tflops'] * row['time'] / t:.0f}" for name, t in row["peers"].items() if t)
    return (f"{row['kernel']:18} {row['time'] * 1e6:8.1f} us {row['tflops']:6.0f} TFLOP/s predicted {row['predicted_tflops']:6.0f}; "
            f"{others}")


if __name__ == "__main__":
    sys.exit(beside_peers({"d": None, "tiles": "2"}, lambda row: (*(row["shape"][axis] for axis in ("b", "h", "q", "d")), row["causal"]),
                          peers, show, ["--bf16"]))
