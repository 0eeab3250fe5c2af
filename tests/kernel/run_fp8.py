#!/usr/bin/env python3
"""Compares attention_fp8_sm90 with float64 on this machine's GPU, then times it at d of 64, 128 and 256 against
attention_sm90 and cuDNN in bf16.

  run_fp8.py --program build/tests/run_fp8 [--out FILE.jsonl] [--d 128] [--tiles 2] [--no-check]
  run_fp8.py --means          what cuDNN's front end makes of V = 1 in e4m3, whose right output is 1, one JSON object a line

PyTorch has no attention of its own in FP8: its backends of scaled_dot_product_attention are timed in bf16. Where FlashAttention-3
(flash_attn_interface) or cuDNN's front end (nvidia-cudnn-frontend) is installed, it is timed in e4m3, all scales 1. Each call runs by
itself behind others for half a second. --program build/tests/run_napkin: the paper's kernel beside the same peers.
"""
import json, statistics, sys, time
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


def cudnn_e4m3(q, k, v, causal):
    """Returns a call of cuDNN's attention in e4m3 by its front end, and the array of its output."""
    import cudnn

    handle = cudnn.create_handle()
    cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream().cuda_stream)
    kind = cudnn.data_type
    graph = cudnn.pygraph(handle=handle, io_data_type=kind.FP8_E4M3, intermediate_data_type=kind.FLOAT, compute_data_type=kind.FLOAT)
    arrays, one = [x.to(torch.float8_e4m3fn) for x in (q, k, v)], torch.ones(1, 1, 1, 1, device="cuda")
    out, largest = torch.empty_like(arrays[0]), [torch.zeros_like(one) for _ in range(2)]
    inputs = [graph.tensor(dim=list(x.shape), stride=list(x.stride()), data_type=kind.FP8_E4M3) for x in arrays]
    scales = {name: graph.tensor(dim=[1] * 4, stride=[1] * 4, data_type=kind.FLOAT)
              for name in ("descale_q", "descale_k", "descale_v", "descale_s", "scale_s", "scale_o")}
    o, _, *most = graph.sdpa_fp8(**dict(zip("qkv", inputs)), **scales, generate_stats=False, attn_scale=q.shape[-1] ** -0.5, use_causal_mask=causal)
    o.set_output(True).set_dim(list(out.shape)).set_stride(list(out.stride())).set_data_type(kind.FP8_E4M3)
    for x in most:
        x.set_output(True).set_dim([1] * 4).set_stride([1] * 4).set_data_type(kind.FLOAT)
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    graph.check_support()
    graph.build_plans()
    space = torch.empty(max(graph.get_workspace_size(), 1), device="cuda", dtype=torch.uint8)
    pack = {**dict(zip(inputs, arrays)), **{x: one for x in scales.values()}, o: out, **dict(zip(most, largest))}
    call = lambda: graph.execute(pack, space, handle=handle)
    call()
    want = torch.nn.functional.scaled_dot_product_attention(*(x[:1, :1].float() for x in arrays), is_causal=causal)
    off = ((out[:1, :1].float() - want).norm() / want.norm()).item()
    print(f"cuDNN {cudnn.backend_version()} in e4m3: {off:.3f} off", file=sys.stderr)
    return call, out


def print_means():
    for s in (1024, 4096, 16384):
        q, k = (torch.randn(1, s, 2, 128, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(2))
        import cudnn
        out = cudnn_e4m3(q, k, torch.ones_like(q), False)[1].float()
        print(json.dumps({"library": f"cuDNN {cudnn.backend_version()}", "s": s, "d": 128, "mean": out.mean().item(),
                          "least": out.min().item(), "most": out.max().item()}))


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
    try:
        out["cudnn_fp8"] = warm_time(cudnn_e4m3(q, k, v, causal)[0])
    except Exception as refused:  # not installed, or cuDNN has no kernel
        print("cuDNN in e4m3:", str(refused).splitlines()[0][:200], file=sys.stderr)
        out["cudnn_fp8"] = None
    return out


def show(row):
    others = " ".join(f"{name} {row['tflops'] * row['time'] / t:.0f}" for name, t in row["peers"].items() if t)
    return (f"{row['kernel']:18} {row['time'] * 1e6:8.1f} us {row['tflops']:6.0f} TFLOP/s predicted {row['predicted_tflops']:6.0f}; "
            f"{others}")


if __name__ == "__main__":
    if "--means" in sys.argv:
        sys.exit(print_means())
    sys.exit(beside_peers({"d": None, "tiles": "2"}, lambda row: (*(row["shape"][axis] for axis in ("b", "h", "q", "d")), row["causal"]),
                          peers, show, ["--bf16"]))
