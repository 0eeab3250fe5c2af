#!/usr/bin/env python3
"""Times the bundled kernels against peers through PyTorch in one run on this machine's GPU: attention against cuDNN
and, if installed, FlashAttention-2; products against cuBLAS.

  run_speed.py --program build/tests/run_attention --tiles FILE [--kernel attention_sm80] [--out FILE.jsonl] [--limit SECONDS] [--rounds N]
  run_speed.py --program build/tests/run_attention --picks build/napkin --inputs normal,zeros,growing,shrinking,spike [--out FILE.jsonl]
  run_speed.py --program build/napkin --kernel matmul_sm90 --tiles FILE [--out FILE.jsonl] [--limit SECONDS] [--rounds N]

A line of FILE: d causal(0|1) s TILE [TILE ...], each TILE as run_attention takes it; b s = 16384, h d = 2048. Every shape:
cuDNN, FlashAttention-2, each tile, cuDNN again; all alike: launches for 0.1 s, then 12 times 20 queued launches between two
events (warm L2), the median. One JSON object a tile and shape. Products: a line is n TILE [TILE ...], a tile as napkin
takes it, measured by napkin validate with cuBLAS right before and after. A card that was idle is faster for a second than
one at its power limit: two seconds of products come first. --rounds N: the whole list N times (rows carry `round`).
--picks NAPKIN: of d 64, 128, 256, causal or not, s 512 to 16384, the tile that select answers, in place of a FILE. --inputs:
each shape on each of these (kernels/reference/attention_data.hpp says what they are; the peers' are made by the same rule), with
power and cycles, and where s is 512 or 4096 compared with float64.
"""
import argparse, json, math, os, statistics, subprocess, sys, tempfile, threading, time
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from peer_bench import Bench, median_time, write


def heat(seconds=2):
    x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    median_time(torch, lambda: x @ y, runs=1, warm_up=seconds)


class Power:
    """NVML's readings while a block runs."""

    def __init__(self):
        import pynvml
        pynvml.nvmlInit()
        self.nvml, self.device = pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)

    def __enter__(self):
        self.over, self.readings = threading.Event(), []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        return self

    def read(self):
        while not self.over.wait(0.01):
            self.readings.append(self.nvml.nvmlDeviceGetPowerUsage(self.device) / 1e3)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def median(self):
        later = self.readings[len(self.readings) // 3:]  # NVML's own averages lag
        return statistics.median(later) if later else None


def shaped(inputs, b, h, s, d, causal):
    """Returns Q, K, V of [b, h, s, d] as run_attention --inputs makes them, from other random numbers."""
    q, k, v = (torch.randn(b, s, h, d, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))
    if inputs == "zeros":
        for each in (q, k, v):
            each.zero_()
    elif inputs.startswith(("growing", "shrinking")):
        step = float((inputs + ":0.25").split(":")[1]) * math.log(2)
        unit = max(1, s * step / 256)
        constant = torch.tensor(unit * math.sqrt(d)).bfloat16().item()
        key = torch.arange(s, device="cuda", dtype=torch.float32)
        score = step * (s - 1 - key if inputs.startswith("growing") else key) / (constant / math.sqrt(d))
        k[..., 0], k[..., 1] = score.floor(), score - score.floor()
        q[..., :2] = constant
    elif inputs == "spike":
        seen = torch.arange(1, s + 1, device="cuda") if causal else torch.full((s,), s, device="cuda")
        place = (torch.rand(b, h, s, device="cuda") * seen).long().clamp(max=s - 1)
        q.copy_(4 * torch.gather(k, 2, place.unsqueeze(-1).expand(b, h, s, d)))
    return q, k, v


def peer_time(backend, q, k, v, causal):
    try:
        with sdpa_kernel(backend):
            return median_time(torch, lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))
    except RuntimeError:
        return None


def on_inputs(a, lines, out, number):
    """Times each shape's tile on each of the inputs, right after cuDNN."""
    bench = Bench(a.program)
    power = Power()
    for words in lines:
        d, causal, s, tile = int(words[0]), words[1] == "1", int(words[2]), words[3]
        b, h = 16384 // s, 2048 // d
        for inputs in a.inputs.split(","):
            q, k, v = shaped(inputs, b, h, s, d, causal)
            with power:
                cudnn = peer_time(SDPBackend.CUDNN_ATTENTION, q, k, v, causal)
            q = k = v = None
            rows = 16 if s in (512, 4096) else 0
            row = bench.ask(f"--kernel {a.kernel} --shape b={b},h={h},q={s},x={s},d={d} --tile {tile} --rows {rows} --runs 12 --inputs {inputs}"
                              f"{' --causal' if causal else ''}")
            row = {"inputs": inputs, "round": number, **row, "peers": {"cudnn": cudnn, "cudnn_power": power.median()}}
            if "time" in row:
                print(f"{inputs:9} d={d} {'causal' if causal else 'full':6} s={s:5} cuDNN {cudnn * 1e6:7.1f} us {row['peers']['cudnn_power'] or 0:3.0f} W "
                      f"ours {row['time'] * 1e6:7.1f} us {row.get('power', 0):3.0f} W {row['cycles']:8.0f} clk {'' if row.get('good', True) else 'WRONG'} {tile}", flush=True)
            else:
                print(inputs, d, causal, s, tile, row.get("error"), flush=True)
            write(out, row)
    bench.close()


def picks(program):
    """Yields the selected tiles as lines of --tiles."""
    for d in (64, 128, 256):
        for causal in (0, 1):
            for s in (512, 1024, 2048, 4096, 8192, 16384):
                done = subprocess.run([program, "select", "attention", "--gpu", "h200-sxm", "--kernel", "attention_sm90", "--json", "--shape",
                                       f"b={16384 // s},h={2048 // d},q={s},x={s},d={d}", *(["--causal"] if causal else [])],
                                      capture_output=True, text=True, check=True)
                yield [str(d), str(causal), str(s), ",".join(f"{k}={v}" for k, v in json.loads(done.stdout)["tile"].items())]


def attention(a, lines, out, number):
    bench = Bench(a.program)
    for words in lines:
        d, causal, s = int(words[0]), words[1] == "1", int(words[2])
        b, h = 16384 // s, 2048 // d
        q, k, v = (torch.randn(b, s, h, d, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))
        flops = 4 * b * h * s * s * d * (0.5 if causal else 1)
        before = peer_time(SDPBackend.CUDNN_ATTENTION, q, k, v, causal)
        flash2 = peer_time(SDPBackend.FLASH_ATTENTION, q, k, v, causal)
        rows = []
        for tile in words[3:]:
            mask = " --causal" if causal else ""
            lse = " --no-lse" if a.kernel == "attention_sm90" else ""  # cuDNN writes none where no input wants a gradient
            rows.append(bench.ask(f"--kernel {a.kernel} --shape b={b},h={h},q={s},x={s},d={d} --tile {tile} --rows 16 --runs 12 --no-cycles{lse}{mask}"))
        after = peer_time(SDPBackend.CUDNN_ATTENTION, q, k, v, causal)
        peers = {"cudnn": (before + after) / 2, "cudnn_spread": abs(before - after) / before, "flash_attention_2": flash2}
        for tile, row in zip(words[3:], rows):
            row["round"], row["peers"] = number, peers
            if "time" in row:
                row["ratio"] = {"cudnn": peers["cudnn"] / row["time"], "flash_attention_2": flash2 / row["time"] if flash2 else None}
                print(f"d={d} {'causal' if causal else 'full':6} s={s:5} cuDNN {flops / peers['cudnn'] / 1e12:6.1f} "
                      f"ours {row['tflops']:6.1f} = {row['ratio']['cudnn']:.3f} {'' if row.get('good') else 'WRONG'} {tile}", flush=True)
            else:
                print(d, causal, s, tile, row.get("error"), flush=True)
            write(out, row)
    bench.close()


def matmul(a, lines, out, number):
    for words in lines:
        n = int(words[0])
        x, y = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        for tile in words[1:]:
            before = median_time(torch, lambda: x @ y)
            with tempfile.TemporaryDirectory() as folder:
                record = os.path.join(folder, "row.jsonl")
                done = subprocess.run([a.program, "validate", "matmul", "--kernel", a.kernel, "--shape", f"a={n},b={n},c={n}", "--tile", tile, "--out", record],
                                      capture_output=True, text=True)
                row = json.loads(open(record).readline()) if os.path.exists(record) else None
            after = median_time(torch, lambda: x @ y)
            if row is None:
                print(n, tile, done.stderr.strip(), flush=True)
                continue
            row["round"] = number
            row["peers"] = {"cublas": (before + after) / 2, "cublas_spread": abs(before - after) / before}
            print(f"n={n} cuBLAS {2 * n**3 / row['peers']['cublas'] / 1e12:6.1f} ours {2 * n**3 / row['measured']['time'] / 1e12:6.1f} = "
                  f"{row['peers']['cublas'] / row['measured']['time']:.3f} {tile}", flush=True)
            write(out, row)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    options.add_argument("--tiles")
    options.add_argument("--picks")
    options.add_argument("--inputs")
    options.add_argument("--out")
    options.add_argument("--limit", type=float, default=1e9)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--kernel", default="attention_sm90")
    a = options.parse_args()
    if not a.tiles and not a.picks:
        options.error("give --tiles or --picks")
    start = time.time()
    listed = [line.split() for line in open(a.tiles) if line.split()] if a.tiles else list(picks(a.picks))

    def lines():
        return (words for words in listed if time.time() - start < a.limit)

    run = matmul if a.kernel.startswith("matmul") else on_inputs if a.inputs else attention
    out = open(a.out, "a") if a.out else None
    heat()
    for number in range(1, a.rounds + 1):
        run(a, lines(), out, number)


if __name__ == "__main__":
    sys.exit(main())
