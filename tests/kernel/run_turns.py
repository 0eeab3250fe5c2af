#!/usr/bin/env python3
"""Times napkin.torch in turns with other attention on this machine's GPU, in one process: cuDNN's and PyTorch's flash,
and FlashAttention-4 if installed.

  run_turns.py [--out FILE.jsonl] [--only forward,wide,backward,decode,step] [--who napkin,cudnn] [--rounds 3] [--limit SECONDS] [--warm I/N]

Each question, each round, each of them: a rest of 0.2 s and 20 ms of launches between two events (`burst`), then half a second of
launches and as many again between two events (`sustained`); medians of the rounds, in seconds. `error` is the largest difference from float64 of
some rows, over the largest value there (gradients: of dQ, dK and dV from cuDNN's, relative norms). `step`: a generation whose keys
grow by one; microseconds of the host a call, nothing waited for. --warm I/N: only calls the I-th of N shares once, so that compilers fill their caches.
"""
import argparse, contextlib, functools, json, statistics, sys, time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import napkin.torch
from peer_bench import timed, write

# Kind, sequences, heads of queries and of keys, queries, keys, widths of keys and of values, causal, window.
QUESTIONS = [("forward", 16384 // s, 16, 16, s, s, 128, 128, causal, None) for s in (2048, 8192, 16384) for causal in (False, True)]
QUESTIONS += [("forward", 2, 32, 32, 8192, 8192, 64, 64, causal, None) for causal in (False, True)]
QUESTIONS += [("forward", 2, 8, 8, 8192, 8192, 256, 256, causal, None) for causal in (False, True)]
QUESTIONS += [("forward", 2, 16, 16, 8192, 8192, 192, 128, True, None), ("forward", 2, 16, 16, 8192, 8192, 96, 96, True, None),
              ("forward", 2, 32, 8, 8192, 8192, 128, 128, True, None), ("forward", 1, 16, 16, 16384, 16384, 128, 128, True, 1024)]
QUESTIONS += [("backward", *q[1:]) for q in QUESTIONS[:8]]
QUESTIONS += [("backward", 2, 32, 8, 8192, 8192, 128, 128, True, None), ("backward", 2, 32, 4, 8192, 8192, 96, 96, True, None)]
QUESTIONS += [("decode", b, hq, h, n, x, 128, 128, False, None) for b, hq, h, n, x in
              ((8, 32, 32, 1, 8192), (64, 64, 8, 1, 4096), (16, 64, 8, 1, 8192), (1, 64, 8, 1, 131072), (16, 64, 8, 4, 16384))]
# Heads that neither cuDNN nor FlashAttention takes.
QUESTIONS += [("wide", b, 4, 4, s, s, d, 512, causal, None) for b, s, d in ((8, 2048, 512), (2, 8192, 512), (2, 8192, 576)) for causal in (False, True)]
STEPS = [(1, 32, 8, 4096), (32, 32, 8, 4096)]


def flash4():
    try:
        from flash_attn.cute import flash_attn_func
    except Exception as missing:  # not installed, or not for this PyTorch
        print("FlashAttention-4:", missing, file=sys.stderr)
        return None
    return flash_attn_func


def sdpa(backend, q, k, v, causal):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]).transpose(1, 2)


def first(result):
    return result[0] if isinstance(result, tuple) else result


def ways(causal, window, wide, of_flash4):
    """Returns the implementations by name, each a function of tensors [b, rows, heads, d]."""
    side = {} if window is None else {"window_size": (window, 0)}
    out = {"napkin": lambda q, k, v: napkin.torch.flash_attn_func(q, k, v, causal=causal, **side)}
    if wide:
        out["efficient"] = functools.partial(sdpa, SDPBackend.EFFICIENT_ATTENTION, causal=causal)
        return out
    if of_flash4:
        out["flash4"] = lambda q, k, v: first(of_flash4(q, k, v, causal=causal, **side))
    if window is None:
        out["cudnn"] = functools.partial(sdpa, SDPBackend.CUDNN_ATTENTION, causal=causal)
        out["flash"] = functools.partial(sdpa, SDPBackend.FLASH_ATTENTION, causal=causal)
    return out


def error_of(o, q, k, v, causal, window):
    """Returns the error of the last head's last rows, in the last sequence, against float64."""
    rows = min(64, q.shape[1])
    scores = q[-1, -rows:, -1].double() @ k[-1, :, -1].double().T * q.shape[-1] ** -0.5
    ahead = torch.arange(k.shape[1], device="cuda")[None] - (torch.arange(rows, device="cuda")[:, None] + k.shape[1] - rows)
    if causal:
        scores.masked_fill_(ahead > 0, -torch.inf)
    if window is not None:
        scores.masked_fill_(ahead < -window, -torch.inf)
    want = scores.softmax(-1) @ v[-1, :, -1].double()
    return ((o[-1, -rows:, -1].double() - want).abs().max() / want.abs().max()).item()


def calls_of(question, of_flash4, who_asked=None):
    """Returns, by implementation, (a call without arguments, its error)."""
    kind, b, hq, h, n, x, d, dv, causal, window = question
    make = lambda rows, heads, width: torch.randn(b, rows, heads, width, device="cuda", dtype=torch.bfloat16, requires_grad=kind == "backward")
    q, k, v = make(n, hq, d), make(x, h, d), make(x, h, dv)
    do, out, grads = torch.randn(b, n, hq, dv, device="cuda", dtype=torch.bfloat16), {}, {}
    for who, way in ways(causal, window, kind == "wide", of_flash4).items():
        if who_asked and who not in who_asked:
            continue
        try:
            o = way(q, k, v)
            if kind == "backward":
                call = functools.partial(torch.autograd.grad, o, (q, k, v), do, retain_graph=True)
                grads[who] = call()
                out[who] = (call, None)
            else:
                out[who] = (functools.partial(way, q, k, v), error_of(o, q, k, v, causal, window))
        except Exception as refused:
            print(question, who, str(refused).splitlines()[0][:160], file=sys.stderr)
    if "cudnn" in grads:
        for who, (call, _) in out.items():
            out[who] = (call, max(((a.float() - c.float()).norm() / c.float().norm()).item() for a, c in zip(grads[who], grads["cudnn"])))
    torch.cuda.synchronize()
    return out


def burst_and_sustained(call):
    one = timed(torch, call, 3)
    time.sleep(0.2)
    burst = timed(torch, call, max(3, int(0.02 / one)))
    half = max(3, int(0.5 / burst))
    timed(torch, call, half)
    return burst, timed(torch, call, max(3, half // 5))


def measure(question, of_flash4, rounds, who_asked):
    calls, times = calls_of(question, of_flash4, who_asked), {}
    for _ in range(rounds):
        for who, (call, _) in calls.items():
            times.setdefault(who, []).append(burst_and_sustained(call))
    kind, b, hq, h, n, x, d, dv, causal, window = question
    row = {"kind": kind, "shape": {"b": b, "h": h, "g": hq // h, "q": n, "x": x, "d": d, "dv": dv}, "causal": causal, "window": window}
    for who, pairs in times.items():
        row[who] = {"burst": statistics.median(p[0] for p in pairs), "sustained": statistics.median(p[1] for p in pairs),
                    "all": pairs, "error": calls[who][1]}
    return row


def growing(b, hq, h, x):
    """Returns the host's microseconds a call, for 256 calls with a key more each; caches have one length."""
    q = torch.randn(b, 1, hq, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(b, x + 600, h, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    ours = {"napkin.attention": lambda n: napkin.torch.flash_attn_func(q, k[:, :n], v[:, :n]),
            "napkin.kvcache": lambda n: napkin.torch.flash_attn_with_kvcache(q, k, v, cache_seqlens=n),
            "sdpa": lambda n: sdpa(SDPBackend.FLASH_ATTENTION, q, k[:, :n], v[:, :n], False)}
    row = {"kind": "step", "shape": {"b": b, "h": h, "g": hq // h, "q": 1, "x": x, "d": 128}}
    for who, call in ours.items():
        took = []
        try:
            call(x)
        except Exception as refused:
            print(who, str(refused).splitlines()[0][:160], file=sys.stderr)
            continue
        for n in range(x + 1, x + 513):
            begin = time.perf_counter()
            call(n)
            took.append((time.perf_counter() - begin) * 1e6)
            if n % 16 == 0:
                torch.cuda.synchronize()
        row[who] = {"first": took[0], "median": statistics.median(took[256:]), "ninth_of_ten": sorted(took[256:])[230], "most": max(took[1:])}
    return row


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out")
    options.add_argument("--only", default="forward,wide,backward,decode,step")
    options.add_argument("--who")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--limit", type=float, default=400)
    options.add_argument("--warm")
    a = options.parse_args()
    who_asked = a.who.split(",") if a.who else None
    kinds, of_flash4, begin = a.only.split(","), flash4(), time.time()
    asked = [q for q in QUESTIONS if q[0] in kinds]
    if a.warm:
        share, of = map(int, a.warm.split("/"))
        for question in asked[share::of]:
            calls_of(question, of_flash4, who_asked)
        return 0
    with open(a.out, "a") if a.out else contextlib.nullcontext() as out:
        if "step" in kinds:
            for step in STEPS:
                row = growing(*step)
                write(out, row)
                print(json.dumps(row), flush=True)
        for question in asked:
            if time.time() - begin > a.limit:
                print("no time for", question)
                continue
            row = measure(question, of_flash4, a.rounds, who_asked)
            write(out, row)
            ours = row.get("napkin", {})
            print(*question, *(f"{who} {row[who]['burst'] * 1e6:.1f}/{row[who]['sustained'] * 1e6:.1f} us"
                               f" ({row[who]['burst'] / ours['burst']:.3f}/{row[who]['sustained'] / ours['sustained']:.3f}) e {row[who]['error'] or 0:.4f}"
                               for who in ("napkin", "flash4", "cudnn", "flash", "efficient") if who in row and ours), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
