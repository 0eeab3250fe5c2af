#!/usr/bin/env python3
"""Tests grouped heads through napkin.torch on this machine's GPU by the rule of FlashAttention's own tests: the largest
error of an output is at most twice, of a gradient at most three times, that of PyTorch's unfused attention in the same
type.

  PYTHONPATH=build/python python3 tests/kernel/run_grouped.py [--cases 320] [--seed 38] [--jobs 14] [--limit 230] [--out FILE.jsonl]

Cases are drawn by the seed: 3, 5, 6, 7 and 12 query heads over 1 or 2 key heads, d of 64, 96, 128, 192 and 256, bf16 and
f16, causal, windows, packed sequences, as many queries as keys, fewer and more. Each is a line of JSON: errors of O, of the
log-sum-exp and of dQ, dK, dV. Most of the time goes into compiling: --jobs processes share the card, each with its part of
the cases. With --out a case that the file has is not run again. Exit 1 where one is wrong, or none ran.
"""
import argparse, json, os, queue, random, subprocess, sys, threading, time

HEADS = [(3, 1), (5, 1), (6, 1), (6, 2), (7, 1), (12, 1), (12, 2)]
ROWS = [(113, 211), (128, 217), (108, 256), (113, 203), (256, 512), (512, 256), (1023, 1024), (1024, 1023), (300, 300), (1, 147), (7, 65), (64, 128)]
MASKS = ["full", "causal", "window 60,0", "window 30,50", "window 0,0"]
WIDTHS = [64, 128, 96, 64, 128, 192, 96, 256]
LSE_ERROR = 2e-3


def cases(seed, count):
    """Returns the cases in a fixed order; heads, widths, masks and packing repeat with different periods, so that all
    pairs occur."""
    draw, out = random.Random(seed), []
    for number in range(count):
        heads, kv = HEADS[number % len(HEADS)]
        d = WIDTHS[number // 3 % len(WIDTHS)]
        q, x = draw.choice(ROWS)
        case = {"case": number, "heads": heads, "kv": kv, "d": d, "dtype": "f16" if number % 4 == 3 else "bf16",
                "mask": MASKS[draw.randrange(len(MASKS))], "b": 2, "q": q, "x": x, "seed": seed * 100_000 + number}
        if number % 5 >= 3:
            b = draw.randrange(2, 5)
            lengths = [[draw.randrange(1, most + 1) for _ in range(b - 1)] + [most] for most in (q, x)]
            if number % 4 == 0 and d <= 128:
                lengths[draw.randrange(2)][0] = 0  # a sequence without a query or without a key
            case.update(b=b, q_lengths=lengths[0], x_lengths=lengths[1])
        out.append(case)
    return out


def hidden(torch, mask, q, x):
    """Returns the pairs [q, x] that the mask hides, aligned at the bottom right; None if there are none."""
    if mask == "full":
        return None
    left, right = (x, 0) if mask == "causal" else map(int, mask.split()[1].split(","))
    i, j = torch.arange(q, device="cuda")[:, None] + (x - q), torch.arange(x, device="cuda")[None, :]
    return (j < i - left) | (j > i + right)


def unfused(torch, q, k, v, mask, exact):
    """Computes O and the log-sum-exp of [rows, heads, d], in float64 or in the inputs' type."""
    group, scale = q.shape[-2] // k.shape[-2], q.shape[-1] ** -0.5
    k, v = (t.repeat_interleave(group, dim=-2) for t in (k, v))
    if exact:
        q, k, v = q.double() * scale, k.double(), v.double()
    else:
        k = k * scale
    scores = torch.einsum("qhd,xhd->hqx", q, k)
    blind = None
    if (hides := hidden(torch, mask, q.shape[0], k.shape[0])) is not None:
        scores = scores.masked_fill(hides, float("-inf"))
        blind = hides.all(dim=-1)[:, None]
    p = torch.softmax(scores, dim=-1)
    if blind is not None:
        p = p.masked_fill(blind, 0)
    return torch.einsum("hqx,xhd->qhd", p, v), torch.logsumexp(scores.double(), dim=-1)


def sequences(torch, case, q, k, v, exact):
    """Computes unfused() of each sequence by itself: O in q's layout, the log-sum-exps one after another."""
    if "q_lengths" not in case:
        found = [unfused(torch, *(t[b] for t in (q, k, v)), case["mask"], exact) for b in range(case["b"])]
        return torch.stack([o for o, _ in found]), torch.stack([lse for _, lse in found])
    parts, at, first = [], 0, 0
    for rows, keys in zip(case["q_lengths"], case["x_lengths"]):
        part = q[at : at + rows], k[first : first + keys], v[first : first + keys]
        if keys == 0:
            parts.append((part[0].double() * 0, torch.full((q.shape[1], rows), -torch.inf, device="cuda", dtype=torch.float64)))
        else:
            parts.append(unfused(torch, *part, case["mask"], exact))
        at, first = at + rows, first + keys
    return torch.cat([o.to(torch.float64 if exact else q.dtype) for o, _ in parts]), torch.cat([lse for _, lse in parts], dim=-1)


def fused(torch, nt, case, q, k, v):
    mask = {"causal": case["mask"] == "causal"}
    if case["mask"].startswith("window"):
        mask["window_size"] = tuple(map(int, case["mask"].split()[1].split(",")))
    if "q_lengths" not in case:
        return nt.flash_attn_func(q, k, v, return_lse=True, **mask)
    starts = [torch.tensor([0, *lengths], device="cuda").cumsum(0).to(torch.int32) for lengths in (case["q_lengths"], case["x_lengths"])]
    return nt.flash_attn_varlen_func(q, k, v, *starts, max(case["q_lengths"]), max(case["x_lengths"]), return_lse=True, **mask)


def largest(torch, found, exact):
    """Returns the largest difference; infinity if one is NaN."""
    error = (found.double() - exact).abs().max().item() if exact.numel() else 0.0
    return error if error == error else float("inf")


def run(torch, nt, case):
    torch.manual_seed(case["seed"])
    dtype = torch.float16 if case["dtype"] == "f16" else torch.bfloat16
    rows, keys = (sum(case[f"{axis}_lengths"]) if "q_lengths" in case else case[axis] for axis in ("q", "x"))
    outer = () if "q_lengths" in case else (case["b"],)
    make = lambda rows, heads: torch.randn(*outer, rows, heads, case["d"], device="cuda", dtype=dtype)
    q, k, v, d_o = make(rows, case["heads"]), make(keys, case["kv"]), make(keys, case["kv"]), make(rows, case["heads"])
    inputs = [t.requires_grad_() for t in (q, k, v)]
    o, lse = fused(torch, nt, case, *inputs)
    found = torch.autograd.grad(o, inputs, d_o)
    exact_o, exact_lse = sequences(torch, case, *inputs, True)
    exact = torch.autograd.grad(exact_o, inputs, d_o.double())
    own_o, _ = sequences(torch, case, *inputs, False)
    own = torch.autograd.grad(own_o, inputs, d_o)
    seen = torch.isfinite(exact_lse)
    lse_error = largest(torch, lse[seen], exact_lse[seen]) if bool((torch.isfinite(lse) == seen).all()) else float("inf")
    row, good = dict(case, lse_error=lse_error), lse_error <= LSE_ERROR
    for name, factor, one, right, usual in (("o", 2, o, exact_o, own_o), *zip(("dq", "dk", "dv"), (3, 3, 3), found, exact, own)):
        error, allowed = largest(torch, one, right.double()), factor * largest(torch, usual, right.double()) + 1e-5
        row[name] = {"error": error, "allowed": allowed}
        good = good and error <= allowed
    row["good"] = good
    return row


def work(a):
    """Runs a process's part of the cases, and prints a line for each."""
    import torch, napkin, napkin.torch as nt
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    start = time.time()
    for case in json.load(sys.stdin):
        if time.time() - start > a.limit:
            return
        try:
            row = run(torch, nt, case)
        except napkin.InputError as error:
            row = dict(case, refused=str(error))
        except Exception as error:  # of one case: the others go on
            row = dict(case, good=False, error=f"{type(error).__name__}: {error}")
        row.update(device=torch.cuda.get_device_name(), torch=torch.__version__, revision=napkin._core.revision)
        print(json.dumps(row), flush=True)


def main():
    options = argparse.ArgumentParser()
    for name, default in (("cases", 320), ("seed", 38), ("jobs", 14)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--limit", type=float, default=230)
    options.add_argument("--out")
    options.add_argument("--worker", action="store_true")
    a = options.parse_args()
    if a.worker:
        return work(a)
    rows = []
    if a.out and os.path.exists(a.out):
        with open(a.out) as file:
            rows = [json.loads(line) for line in file if line.endswith("\n")]
    done = {(row["seed"], row["case"]) for row in rows}
    left = [case for case in cases(a.seed, a.cases) if (case["seed"], case["case"]) not in done]
    lines, workers = queue.Queue(), []

    def follow(worker):
        for line in worker.stdout:
            lines.put(line)
        lines.put(None)

    for i in range(min(a.jobs, len(left))):
        worker = subprocess.Popen([sys.executable, __file__, "--worker", "--limit", str(a.limit)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        worker.stdin.write(json.dumps(left[i :: a.jobs]))
        worker.stdin.close()
        workers.append(worker)
        threading.Thread(target=follow, args=(worker,), daemon=True).start()
    out = open(a.out, "a") if a.out else None
    ended = 0
    while ended < len(workers):
        line = lines.get()
        if line is None:
            ended += 1
            continue
        rows.append(json.loads(line))
        print(line, end="", flush=True)
        if out:
            out.write(line)
            out.flush()
    passed, refused = sum(row.get("good", False) for row in rows), sum("refused" in row for row in rows)
    failed = len(rows) - passed - refused
    print(f"{passed} passed, {failed} failed, {refused} refused, {a.cases - len(rows)} not run", flush=True)
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
