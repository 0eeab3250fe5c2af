#!/usr/bin/env python3
"""Predicts and times the FlashAttention-2 forward pass of PyTorch (scaled_dot_product_attention, backend
FLASH_ATTENTION).

  run_flash_attention_2.py --rows FORWARD.jsonl --predict FILE.jsonl --program build/napkin --gpu h100-sxm    no GPU needed
  run_flash_attention_2.py --rows FORWARD.jsonl --measure FILE.jsonl                                          on the GPU here

Shapes, masks and tiles are those of recorded rows, such as tests/measured/flash_attention_2/forward.jsonl; the tiles are the
kernel's own. Each shape on normal values: 0.3 s of calls, then five times 20 queued launches between two events, then a
loop of 1.2 seconds with the median power and clock that NVML reads in its later two thirds.
"""
import argparse, json, pathlib, statistics, subprocess, sys, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "measured"))
from rows import read_rows  # noqa: E402


def pairs(values):
    return ",".join(f"{k}={v}" for k, v in values.items())


def predict(a, rows):
    with open(a.predict, "w") as out:
        for row in rows:
            command = [a.program, "query", "attention", "--gpu", a.gpu, "--json", "--kernel", row["peer"], "--shape", pairs(row["shape"])]
            command += ["--tile", pairs(row["tile"])] + (["--causal"] if row["mask"] == "causal" else [])
            answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            out.write(json.dumps({k: row[k] for k in ("peer", "shape", "mask", "dtype", "tile")} | {"gpu": a.gpu, "predicted": answer["predicted"]}) + "\n")


class Readings:
    """Power and the SMs' clock by NVML while a block runs."""

    def __init__(self):
        import pynvml
        pynvml.nvmlInit()
        self.nvml, self.card = pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)

    def __enter__(self):
        self.over, self.power, self.clock = threading.Event(), [], []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        return self

    def read(self):
        while not self.over.wait(0.004):
            self.power.append(self.nvml.nvmlDeviceGetPowerUsage(self.card) / 1e3)
            self.clock.append(self.nvml.nvmlDeviceGetClockInfo(self.card, self.nvml.NVML_CLOCK_SM) * 1e6)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def later(self, values):
        return values[len(values) // 3:]


def measure(a, rows):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from peer_bench import timed, write
    x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    keep_busy(torch, lambda: x @ y, 3)
    with open(a.measure, "a") as out, sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        for row in rows:
            n = row["shape"]
            q = torch.randn(n["b"], n["h"] * n["g"], n["q"], n["d"], device="cuda", dtype=torch.bfloat16)
            k, v = (torch.randn(n["b"], n["h"], n["x"], n["d"], device="cuda", dtype=torch.bfloat16) for _ in range(2))
            call = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=row["mask"] == "causal")
            keep_busy(torch, call, 0.3)
            times = [timed(torch, call, 20) for _ in range(5)]
            readings = Readings()
            with readings:
                took = keep_busy(torch, call, 1.2)
            loop = {"time": took, "power": statistics.median(readings.later(readings.power)),
                    "clock": statistics.fmean(readings.later(readings.clock)), "samples": len(readings.clock)}
            kept = {k: row[k] for k in ("peer", "shape", "mask", "dtype", "tile")}
            write(out, kept | {"l2": "warm", "time": statistics.median(times), "times": times, "loop": loop})
            print(pairs(n), row["mask"], f"{statistics.median(times) * 1e6:.1f} us, loop {took * 1e6:.1f} us {loop['power']:.0f} W", flush=True)


def keep_busy(torch, call, seconds):
    """Returns the seconds of a call in a loop that lasts so long; 20 calls are queued between readings of the clock."""
    torch.cuda.synchronize()
    start, calls = time.time(), 0
    while time.time() - start < seconds:
        for _ in range(20):
            call()
        torch.cuda.synchronize()
        calls += 20
    return (time.time() - start) / calls


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rows", required=True)
    options.add_argument("--predict")
    options.add_argument("--measure")
    options.add_argument("--program")
    options.add_argument("--gpu", default="h200-sxm")
    a = options.parse_args()
    rows = list(read_rows(a.rows))
    if a.predict:
        predict(a, rows)
    if a.measure:
        measure(a, rows)


if __name__ == "__main__":
    main()
