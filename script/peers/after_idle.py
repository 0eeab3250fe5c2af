#!/usr/bin/env python3
"""Measures how long a card exceeds its power limit: a product is launched again and again after a pause, and each
launch is timed.

    python3 script/peers/after_idle.py --out OUT.jsonl [--rests S,...] [--seconds S]     (PyTorch installed)

A row is one launch: the rest before the run (seconds), the launch's number, when it began behind the first one and how
long it took (both seconds, by events), and the clock and the power that NVML reads every millisecond, the nearest before
the launch. Published products are often thirty launches behind a rest: the time until the limit acts says whether their
clock is the card's highest or the one that it holds.
"""

import argparse
import bisect
import json
import subprocess
import threading
import time

import torch

PRODUCTS = [2048, 4096, 8192]


class Reader(threading.Thread):
    """NVML's clock (Hz) and power (W) by time, as nvidia-smi loops over them."""

    def __init__(self):
        super().__init__(daemon=True)
        self.readings = []
        query = "--query-gpu=clocks.sm,power.draw.instant"
        self.smi = subprocess.Popen(["nvidia-smi", query, "--format=csv,noheader,nounits", "-lms", "1"], text=True,
                                    stdout=subprocess.PIPE)

    def run(self):
        for line in self.smi.stdout:
            clock, power = (float(word) for word in line.split(","))
            self.readings.append((time.perf_counter(), clock * 1e6, power))

    def before(self, when):
        at = bisect.bisect_right(self.readings, (when, float("inf"), 0)) - 1
        return self.readings[at][1:] if at >= 0 else (None, None)

    def close(self):
        self.smi.terminate()


def launches(n, rest, seconds):
    """Returns (begin, duration) of each launch, after `rest` seconds without work."""
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    torch.mm(a, b)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    torch.mm(a, b)
    torch.cuda.synchronize()
    count = max(10, min(4000, int(seconds / (time.perf_counter() - begin))))
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    time.sleep(rest)
    started = time.perf_counter()
    events[0].record()
    for event in events[1:]:
        torch.mm(a, b)
        event.record()
    torch.cuda.synchronize()
    at = [events[0].elapsed_time(event) / 1e3 for event in events]
    return started, [(at[i], at[i + 1] - at[i]) for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rests", default="0.1,1,5", help="seconds of nothing before a run")
    parser.add_argument("--seconds", type=float, default=0.5, help="of launches behind a rest")
    asked = parser.parse_args()
    reader = Reader()
    reader.start()
    with open(asked.out, "w") as out:
        for n in PRODUCTS:
            for rest in (float(word) for word in asked.rests.split(",")):
                started, times = launches(n, rest, asked.seconds)
                for i, (began, took) in enumerate(times):
                    clock, power = reader.before(started + began)
                    row = {"n": n, "dtype": "bf16", "rest": rest, "launch": i, "began": began, "time": took,
                           "clock": clock, "power": power, "device": torch.cuda.get_device_name()}
                    out.write(json.dumps(row) + "\n")
    reader.close()


if __name__ == "__main__":
    main()
