#!/usr/bin/env python3
"""Finds the bits that tensor cores keep of a sum of e4m3 products, by cuBLASLt's product through PyTorch on this
machine's GPU.

  run_fp8_sums.py --out FILE.jsonl

One row a question. `kept`: 1 + 2^-t and 1 - 2^-t, the small product in the same k of 32 or in the next one, and what the sum was
for t of 4 to 18. `random`: operands of 64 rows and 64 columns as bytes and their product as float32, all in hexadecimal,
for 64, 128 and 256 terms of normal numbers of two widths: an emulation of the sum can be held to every bit.
"""
import argparse, json
import torch


def product(a, b):
    """Returns the product [rows, columns] in float32 of e4m3 [rows, terms] and [columns, terms]."""
    one = torch.ones((), device="cuda")
    return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=True)


def e4m3(values):
    return values.to(torch.float8_e4m3fn)


def kept(out):
    for place in (1, 31, 32, 96):
        for sign in (1, -1):
            for many in (1, 8):
                sums = {}
                for t in range(4, 19):
                    a, b = torch.zeros(64, 128, device="cuda"), torch.zeros(64, 128, device="cuda")
                    a[:, 0] = b[:, 0] = 1
                    places = [(place + i) % 128 for i in range(many)]
                    if 0 in places:
                        continue
                    for i in places:
                        a[:, i], b[:, i] = 2.0 ** -(t // 2), sign * 2.0 ** -(t - t // 2)
                    sums[t] = product(e4m3(a), e4m3(b))[0, 0].item() - 1
                out.write(json.dumps({"question": "kept", "place": place, "sign": sign, "many": many, "sums": sums}) + "\n")
                print(place, sign, many, {t: v * 2.0 ** t for t, v in sums.items()}, flush=True)


def random(out):
    torch.manual_seed(11)
    for terms in (64, 128, 256):
        for deviation in (1, 4):
            a, b = (e4m3(deviation * torch.randn(64, terms, device="cuda")) for _ in range(2))
            s = product(a, b)
            error = (s.double() - a.double() @ b.double().t()).abs()
            hexed = lambda x: x.contiguous().view(torch.uint8).cpu().numpy().tobytes().hex()
            out.write(json.dumps({"question": "random", "terms": terms, "deviation": deviation, "a": hexed(a), "b": hexed(b), "product": hexed(s)}) + "\n")
            print(terms, deviation, "largest", s.abs().max().item(), "error: worst", error.max().item(), "mean", error.mean().item(), flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out", required=True)
    with open(options.parse_args().out, "w") as out:
        out.write(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}) + "\n")
        kept(out)
        random(out)


if __name__ == "__main__":
    main()
