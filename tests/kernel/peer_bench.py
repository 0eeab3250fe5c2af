"""What the programs that measure beside PyTorch share: the time of a call, rows of a file, a bench that answers lines.

  times = [median_time(lambda: x @ y) for x, y in products]        bench = Bench("build/tests/run_attention"); bench.ask("--shape ...")
"""
import json, statistics, subprocess, time


def timed(torch, call, queued=1):
    """Seconds of a call, of that many queued ones between two events."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(queued):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / queued / 1e3


def median_time(torch, call, queued=20, runs=12, warm_up=0.1):
    """Behind `warm_up` seconds of the same calls."""
    start = time.time()
    while time.time() - start < warm_up:
        for _ in range(queued):
            call()
        torch.cuda.synchronize()
    return statistics.median(timed(torch, call, queued) for _ in range(runs))


def write(out, row):
    if out:
        out.write(json.dumps(row) + "\n")
        out.flush()


class Bench:
    """A program that reads a problem a line and answers each with a line of JSON."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
