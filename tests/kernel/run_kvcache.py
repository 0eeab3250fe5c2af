#!/usr/bin/env python3
"""Compares napkin.torch.flash_attn_with_kvcache with float64 on this machine's GPU: pages, counted keys, new keys, few
queries.

  run_kvcache.py [--out FILE.jsonl] [--cases 60]

Cases are drawn by a seed. Each: sequences of unequal lengths in caches that are dense or in pages in a drawn order, with or without new keys that the call
stores first, one to four queries, causal or not. A row has the largest difference over the largest value, that of PyTorch's own attention in the
same type, and whether the new keys lie where they should. Exit 1 where a result is wrong.
"""
import argparse, contextlib, random, sys

import torch

import napkin.torch
from peer_bench import write


def drawn(seed):
    pick = random.Random(seed)
    page = pick.choice([0, 16, 64, 128, 256])
    most = pick.choice([256, 1024, 4096, 20000])
    b, new = pick.choice([1, 3, 8, 33]), pick.choice([0, 0, 1, 2])
    return {"seed": seed, "b": b, "h": pick.choice([1, 2, 8]), "g": pick.choice([1, 4, 8]), "q": max(new, pick.choice([1, 1, 2, 4])),
            "d": pick.choice([64, 128, 128]), "page": page, "most": -(-most // page) * page if page else most, "new": new, "causal": pick.random() < 0.5,
            "lengths": [pick.randint(8, most - 8) for _ in range(b)]}


def reference(q, k, v, causal, number):
    """Computes attention of a sequence [rows, heads, d] in a type, with repeated key heads."""
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = torch.einsum("qhd,xhd->hqx", q.to(number), k.to(number)) * q.shape[-1] ** -0.5
    if causal:
        ahead = torch.arange(k.shape[0], device="cuda")[None] > torch.arange(q.shape[0], device="cuda")[:, None] + k.shape[0] - q.shape[0]
        scores.masked_fill_(ahead, -torch.inf)
    return torch.einsum("hqx,xhd->qhd", scores.softmax(-1), v.to(number))


def run(case):
    torch.manual_seed(case["seed"])
    b, h, d, page, most, new = (case[name] for name in ("b", "h", "d", "page", "most", "new"))
    make = lambda *size: torch.randn(*size, device="cuda", dtype=torch.bfloat16)
    q, dense = make(b, case["q"], h * case["g"], d), [make(b, most, h, d) for _ in range(2)]
    added = [make(b, new, h, d) for _ in range(2)] if new else [None, None]
    lengths, table, caches = torch.tensor(case["lengths"], dtype=torch.int32, device="cuda"), None, dense
    if page:
        table = torch.randperm(b * most // page, device="cuda").to(torch.int32).view(b, most // page)
        caches = [torch.empty(b * most // page, page, h, d, device="cuda", dtype=torch.bfloat16) for _ in dense]
        for cache, rows in zip(caches, dense):
            cache[table.long().flatten()] = rows.view(-1, page, h, d)
    caches = [cache.clone() for cache in caches]
    out = napkin.torch.flash_attn_with_kvcache(q, *caches, *added, cache_seqlens=lengths, block_table=table, causal=case["causal"])
    stored, off, own = True, 0.0, 0.0
    for i, length in enumerate(case["lengths"]):
        keys = [torch.cat([rows[i, :length], more[i]]) if new else rows[i, :length] for rows, more in zip(dense, added)]
        if new:
            lie = [cache[table[i].long()].flatten(0, 1) if page else cache[i] for cache in caches]
            stored = stored and all(torch.equal(a[:length + new], b) for a, b in zip(lie, keys))
        want = reference(q[i], *keys, case["causal"], torch.float64)
        largest = want.abs().max()
        off = max(off, ((out[i].double() - want).abs().max() / largest).item())
        own = max(own, ((reference(q[i], *keys, case["causal"], torch.bfloat16).double() - want).abs().max() / largest).item())
    return {"error": off, "reference_error": own, "stored": stored, "good": stored and off <= max(2 * own, 0.02)}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out")
    options.add_argument("--cases", type=int, default=60)
    a = options.parse_args()
    wrong = 0
    with open(a.out, "a") if a.out else contextlib.nullcontext() as out:
        for seed in range(a.cases):
            case = drawn(seed)
            try:
                row = {**case, **run(case)}
            except Exception as failed:
                row = {**case, "good": False, "failed": f"{type(failed).__name__}: {failed}"[:200]}
            write(out, row)
            wrong += not row["good"]
            if not row["good"]:
                print("WRONG", row, flush=True)
    print(f"{a.cases - wrong} of {a.cases} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
