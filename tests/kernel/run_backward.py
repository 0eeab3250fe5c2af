#!/usr/bin/env python3
"""attention_backward_sm90 and attention_backward_wide_sm90 on this machine's GPU: compared with float64 on odd shapes,
then timed against PyTorch's backward passes.

  run_backward.py --program build/tests/run_backward [--out FILE.jsonl] [--limit SECONDS] [--tiles 5] [--heads 128 64] [--no-peers]

First `checks`: odd lengths, masks, grouped heads, both types, every way to add up dQ; of ordered the bits of two runs are
compared. Then d of 128 and 64, or of `--heads`, causal and not, s of 2048, 8192 and 16384 (b s = 16384, h d = 2048): each tile of `tiles`, all
three launches together (delta, gradients, conversion) and the gradients alone, beside cuDNN's and FlashAttention-2's backward
passes through PyTorch (torch.autograd.grad with a kept graph), the median of 7 runs of 5 queued calls behind 0.1 s of them.
FLOP are 2.5 times the forward pass's, a causal mask halves them. --tiles: so many of them a shape, the fastest first. Exit 1 where a result is wrong.
"""
import argparse, sys, time

from peer_bench import Bench, median_time, write

checks = [
    "--shape b=2,h=2,q=1000,x=1000,d=128 --tile {128}",
    "--shape b=1,h=2,q=1000,x=1000,d=128 --tile {128} --causal",
    "--shape b=1,h=2,g=4,q=65,x=300,d=128 --tile {128},dq=atomic --causal",
    "--shape b=1,h=2,q=300,x=65,d=128 --tile {128},overlap=off --causal",
    "--shape b=1,h=2,q=513,x=700,d=128 --tile {128},dq=ordered --window 100,0 --twice",
    "--shape b=1,h=1,q=1,x=1,d=128 --tile {128}",
    "--shape b=1,h=2,q=7,x=4097,d=128 --tile {128} --dtype f16",
    "--shape b=1,h=2,q=4097,x=7,d=128 --tile {128}",
    "--shape b=2,h=2,q=1000,x=1000,d=64 --tile {64}",
    "--shape b=1,h=2,q=1000,x=1000,d=64 --tile {64} --causal --dtype f16",
    "--shape b=1,h=2,g=4,q=65,x=300,d=64 --tile {64},dq=atomic --causal",
    "--shape b=1,h=2,q=513,x=700,d=64 --tile {64},dq=ordered --window 30,70 --twice",
    "--shape b=1,h=2,q=2048,x=2048,d=64 --tile {64},dq=ordered,overlap=off --twice",
    "--shape b=4,h=64,q=300,x=100,d=128 --tile {128} --causal",
    "--shape b=4,h=64,g=2,q=200,x=257,d=64 --tile {64}",
    "--shape b=4,h=64,q=300,x=257,d=128 --tile {128},dq=bulk,overlap=off --dtype f16",
    "--shape b=1,h=2,q=2048,x=2048,d=128 --tile {128},dq=ordered --causal --twice",
    "--shape b=1,h=2,q=257,x=257,d=64 --tile q=64,x=64,warpgroups=1,s_stages=2 --causal",
    "--shape b=1,h=2,q=513,x=700,d=96 --tile {96} --causal",
    "--shape b=1,h=2,g=4,q=300,x=257,d=96 --tile {96},dq=atomic,overlap=off --window 100,0 --dtype f16",
    "--shape b=2,h=2,q=1000,x=1000,d=96 --tile {128},dq=atomic",
    "--shape b=1,h=2,g=8,q=513,x=700,d=96 --tile {128},dq=bulk --causal",
    "--shape b=1,h=2,q=513,x=700,d=80 --tile {128},dq=ordered --window 100,0 --twice",
    "--shape b=1,h=2,q=257,x=300,d=64 --tile {128},dq=atomic --causal",
    "--shape b=2,h=2,g=3,q=113,x=211,d=64 --tile {64} --causal",
    "--shape b=2,h=2,g=3,q=512,x=256,d=64 --tile {64} --window 60,0",
    "--shape b=2,h=1,g=6,q=300,x=300,d=96 --tile {96} --causal",
    "--shape b=1,h=2,g=5,q=128,x=217,d=128 --tile {128},dq=ordered --twice",
    "--shape b=1,h=2,g=12,q=65,x=130,d=128 --tile {128} --dtype f16",
    "--shape b=2,h=2,q=1000,x=1000,d=256 --tile {wide},dq=atomic",
    "--shape b=1,h=2,q=1000,x=1000,d=256 --tile {wide},dq=atomic --causal --dtype f16",
    "--shape b=1,h=2,g=4,q=65,x=300,d=192 --tile {wide},dq=atomic --causal",
    "--shape b=1,h=2,q=513,x=700,d=256 --tile {wide},dq=ordered --window 100,0 --twice",
    "--shape b=1,h=2,q=2048,x=2048,d=192 --tile {wide},dq=ordered --causal --twice",
    "--shape b=1,h=1,q=1,x=1,d=256 --tile {wide},dq=atomic",
    "--shape b=1,h=2,q=7,x=4097,d=192,dv=128 --tile {wide},dq=atomic",
    "--shape b=4,h=64,q=300,x=100,d=256 --tile {wide},dq=atomic --causal",
    "--shape b=2,h=2,g=3,q=113,x=211,d=200,dv=136 --tile {wide},dq=atomic",
    "--shape b=1,h=2,g=7,q=65,x=130,d=64 --library --causal",
    "--shape b=2,h=2,q=1000,x=1000,d=128 --library",
    "--shape b=1,h=2,g=4,q=513,x=700,d=64 --library --causal",
    "--shape b=1,h=2,q=700,x=513,d=96 --library --causal",
    "--shape b=1,h=2,q=2048,x=2048,d=128 --library --deterministic --causal --twice",
]
base = {96: "warpgroups=2,x=128,q=64,stages=2,o_stages=2,s_stages=2", 64: "warpgroups=2,x=128,q=128,stages=2,o_stages=2,s_stages=2", 128: "warpgroups=2,x=128,q=64,stages=2,o_stages=2,s_stages=2"}
wide = "x=64,q=64,stages=2,o_stages=2,s_stages=2"  # heads beyond 128
tiles = [",overlap=on,dq=atomic", ",overlap=off,dq=atomic", ",overlap=on,dq=bulk", ",overlap=off,dq=bulk", ",overlap=on,dq=ordered"]
wide_tiles = [",dq=atomic", ",dq=ordered"]
pause = 0.25  # seconds before each timing: what ran before has not warmed the card for it


def peer(torch, name, b, h, s, d, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v = (torch.randn(b, s, h, d, device="cuda", dtype=torch.bfloat16).transpose(1, 2).requires_grad_() for _ in range(3))
    try:
        with sdpa_kernel(getattr(SDPBackend, name)):
            o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            d_o = torch.randn_like(o)
            torch.cuda.synchronize()
            time.sleep(pause)
            return median_time(torch, lambda: torch.autograd.grad(o, (q, k, v), d_o, retain_graph=True), queued=5, runs=7)
    except RuntimeError as error:
        print(name, str(error).splitlines()[0], flush=True)
        return None


def check(bench, out):
    good = True
    for line in checks:
        line = line.replace("{64}", base[64]).replace("{96}", base[96]).replace("{128}", base[128]).replace("{wide}", wide)
        row = bench.ask(line + " --rows 5 --runs 3 --queued 1")
        right = row.get("good", False) and row.get("bits_equal", True)
        good = good and right
        said = row.get("error") or " ".join(f"{k} {row[k]['max_error']:.2e}/{row[k]['reference_error']:.2e}" for k in ("dq", "dk", "dv"))
        print("right" if right else "WRONG", said, "" if row.get("bits_equal", True) else "bits differ", row.get("faults", ""), line, flush=True)
        write(out, row)
    return good


def compare(bench, a, torch, out, start):
    good = True
    for s in (16384, 8192, 2048):
        for d in a.heads:
            for causal in (False, True):
                if time.time() - start > a.limit:
                    return good
                b, h = 16384 // s, 2048 // d
                flops = 10 * b * h * s * s * d * (0.5 if causal else 1)
                peers = {} if torch is None else {name: peer(torch, name, b, h, s, d, causal) for name in ("FLASH_ATTENTION", "CUDNN_ATTENTION")}
                said = " ".join(f"{name.split('_')[0]} {flops / t / 1e12:.0f}" for name, t in peers.items() if t)
                print(f"d={d} {'causal' if causal else 'full'} s={s}: {said}", flush=True)
                for tile in (wide_tiles if d > 128 else tiles)[: a.tiles]:
                    time.sleep(pause)
                    row = bench.ask(f"--shape b={b},h={h},q={s},x={s},d={d} --tile {base.get(d, wide)}{tile} --rows 2 --runs 7 --queued 5{' --causal' if causal else ''}")
                    row["peers"] = peers
                    good = good and row.get("good", False)
                    print(f"   {row['tflops']:6.1f} TFLOP/s, gradients alone {row.get('tflops_gradients', 0):6.1f}, {row.get('power', 0):3.0f} W {row.get('clock', 0) / 1e9:.2f} GHz "
                          f"{'' if row.get('good') else 'WRONG'}{row.get('faults', '')}{tile}" if "tflops" in row else f"   {row.get('error')} {tile}", flush=True)
                    write(out, row)
    return good


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    options.add_argument("--out")
    options.add_argument("--limit", type=float, default=240)
    options.add_argument("--tiles", type=int, default=len(tiles))
    options.add_argument("--heads", type=int, nargs="+", default=[128, 64])
    options.add_argument("--no-peers", action="store_true")
    a = options.parse_args()
    start = time.time()
    out = open(a.out, "a") if a.out else None
    bench = Bench(a.program)
    good = check(bench, out)
    torch = None
    if not a.no_peers:
        import torch
    return 0 if compare(bench, a, torch, out, start) and good else 1


if __name__ == "__main__":
    sys.exit(main())
