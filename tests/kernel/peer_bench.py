"""The common part of the programs that measure against PyTorch: the time of a call, rows of a file, a bench that
answers lines.

  times = [median_time(lambda: x @ y) for x, y in products]        bench = Bench("build/tests/run_attention"); bench.ask("--shape ...")
"""
import argparse, contextlib, json, statistics, subprocess, sys, time


def timed(torch, call, queued=1):
    """Returns the seconds of a call, from that many queued ones between two events."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(queued):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / queued / 1e3


def median_time(torch, call, queued=20, runs=12, warm_up=0.1):
    """Returns the median time of a call, after `warm_up` seconds of the same calls."""
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


def rows_beside(command, key, peers, out):
    """(key of the row, its tile as text, the row) of what a program prints, a row a line; exits where it fails. `peers` of a key
    are timed once, when the program has ended, so that nothing else runs on the card. Each line goes to stderr as it comes: a
    limit that cuts the peers off leaves it there."""
    bench, known = subprocess.Popen(command, stdout=subprocess.PIPE, text=True), {}
    rows = []
    for line in bench.stdout:
        rows.append(json.loads(line))
        print(line, end="", file=sys.stderr, flush=True)
    for row in rows:
        of = key(row)
        if of not in known:
            known[of] = peers(*of)
        row["peers"] = known[of]
        write(out, row)
        yield of, ",".join(f"{knob}={value}" for knob, value in row["tile"].items()), row
    if bench.wait() != 0:
        raise SystemExit(1)


def beside_peers(passed, key, peers, show, always=()):
    """The main program of a bench beside PyTorch: --program checks itself unless --no-check stands there, then times with the options
    `passed` ({"tiles": "2"}, by their defaults; None: not passed on) and `always`. `show(row)`: a line of
    a row. What main() returns: 1 where something was wrong or failed."""
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    options.add_argument("--out")
    options.add_argument("--no-check", action="store_true")
    for name, default in passed.items():
        options.add_argument(f"--{name}", default=default)
    a = options.parse_args()
    good = a.no_check or subprocess.run([a.program, "--check"]).returncode == 0
    command = [a.program, "--time", *always]
    for name in passed:
        if getattr(a, name):
            command += [f"--{name}", getattr(a, name)]
    with open(a.out, "a") if a.out else contextlib.nullcontext() as out:
        for of, tile, row in rows_beside(command, key, peers, out):
            right = "error" not in row and row.get("good", True)
            print(*of, row["error"] if "error" in row else show(row), "" if right else "WRONG", tile, flush=True)
            good = good and right
    return 0 if good else 1


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
