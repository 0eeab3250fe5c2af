"""Measures the time that a Triton autotuner saves with napkin's prune on this machine's GPU: a plain attention kernel
in 36 configurations (30 under a causal mask) and a matrix product in 60 (script/peers/kernels.py). All are predicted
first, then measured.

    python tests/python/run_triton_prune.py OUT.jsonl [--seconds S] [--processes N]

OUT.jsonl has, in this order: the predictions of all configurations at all shapes (written before the GPU is asked
anything), the measurements, and for each shape the regret: time of the best of our first one and first three over the
best of all, less one, and the seconds of compiling and timing that the others would have cost. At last Triton's own
autotuner runs with the hook, from an empty cache. Three minutes on an H200 with 16 cores.
"""

import argparse
import datetime
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import napkin

PEERS = pathlib.Path(__file__).resolve().parents[2] / "script/peers"
GPU = "h200-sxm"
TOKENS, WIDTH = 16384, 2048

# Other lengths and products than those in tests/measured/peers.
ATTENTION = [{"q": 1024, "d": 64, "causal": False}, {"q": 4096, "d": 128, "causal": False}, {"q": 4096, "d": 128, "causal": True},
             {"q": 16384, "d": 64, "causal": True}]
MATMUL = [(4096, 14336, 4096), (1024, 4096, 8192), (6144, 6144, 6144), (256, 8192, 4096)]


class Question:
    """A kernel at a shape, with the configurations that an autotuner would try."""

    def __init__(self, kind, shape, causal, configs):
        self.kind, self.shape, self.causal, self.configs, self.dtype = kind, shape, causal, configs, "bf16"
        self.kernel = "triton" if kind == "attention" else "triton_matmul"

    def head(self):
        return {"kernel": self.kernel, "algorithm": self.kind, "dtype": self.dtype, "mask": "causal" if self.causal else "none", "shape": self.shape}

    def ask(self):
        return {"gpu": GPU, "kernel": self.kernel, "dtype": self.dtype, "causal": self.causal, **self.shape}

    def small(self):
        """Returns the question of the kernel at small sizes, whose launch only serves to compile a configuration."""
        size = {"h": 1, "q": 256, "x": 256} if self.kind == "attention" else {"a": 128, "b": 128, "c": 256}
        return Question(self.kind, {**self.shape, **size}, self.causal, [])

    def call(self, config):
        """Returns a launch, the error of its result, and the result."""
        sys.path.insert(0, str(PEERS))
        import measure

        tile, shape = tile_of(self, config), self.shape
        if self.kind == "attention":
            return measure.attention_call(tile, shape["d"], self.causal, shape["h"], shape["q"])
        return measure.matmul_call(tile, shape["a"], shape["c"], shape["b"])


def configs_of(tiles):
    """Returns the configurations as a user lists them: with Triton's names, in an order without preference."""
    attention = [{"BLOCK_M": t["q"], "BLOCK_N": t["x"], "num_warps": t["warps"], "num_stages": t["stages"]} for t in tiles["attention"]]
    matmul = [{"BLOCK_M": t["a"], "BLOCK_N": t["c"], "BLOCK_K": t["b"], "num_warps": t["warps"], "num_stages": t["stages"]} for t in tiles["matmul"]]
    return attention, matmul


def questions_of(attention, matmul):
    whole = [one for one in attention if one["BLOCK_M"] >= one["BLOCK_N"]]  # the kernel's loop over the diagonal needs it
    made = [Question("attention", {"b": 1, "h": TOKENS // one["q"] * (WIDTH // one["d"]), "q": one["q"], "x": one["q"], "d": one["d"]},
                     one["causal"], whole if one["causal"] else attention) for one in ATTENTION]
    return made + [Question("matmul", {"a": m, "b": k, "c": n}, False, matmul) for m, n, k in MATMUL]


def predicted(question):
    """Returns a row for each configuration (whether it can run, its time and its rank), and the milliseconds of the
    call."""
    start = time.perf_counter()
    ranked = napkin.rank_configs(question.kind, question.configs, **question.ask())
    spent = time.perf_counter() - start
    rows = [{"row": "prediction", **question.head(), "config": question.configs[one.index], "place": place, "legal": one.legal,
             "predicted": {"time": one.time}, "why": one.why} for place, one in enumerate(ranked)]
    return rows, spent


def regret_of(rows, spent):
    """Returns the regrets of a shape's rows, which are in the order of prediction with measured times; nothing if none
    ran."""
    ran = [row for row in rows if row.get("time") is not None]
    if not ran:
        return None
    legal = [row for row in rows if row["legal"]]
    best = min(row["time"] for row in ran)

    def behind(first):
        times = [row["time"] for row in legal[:first] if row.get("time") is not None]
        return min(times) / best - 1 if times else None

    def cost(some):
        return sum(row.get("compile_s", 0) + row.get("measure_s", 0) for row in some)

    errors = [abs(row["predicted"]["time"] / row["time"] - 1) for row in legal if row.get("time") is not None]
    return {"configs": len(rows), "legal": len(legal), "ran": len(ran), "legal_that_failed": len(legal) - len(errors),
            "best": best, "regret_top1": behind(1), "regret_top3": behind(3),
            "place_of_best": next(at for at, row in enumerate(rows) if row.get("time") == best),
            "median_error": statistics.median(errors) if errors else None, "prune_ms": 1e3 * spent,
            "sweep_s": cost(rows), "top3_s": cost(legal[:3])}


def tile_of(question, config):
    names = ("q", "x") if question.kind == "attention" else ("a", "c")
    depth = {} if question.kind == "attention" else {"b": config["BLOCK_K"]}
    return {names[0]: config["BLOCK_M"], names[1]: config["BLOCK_N"], **depth, "warps": config["num_warps"], "stages": config["num_stages"]}


def compile_one(job):
    """Returns the seconds to compile a variant into the cache, by a launch; None if the compiler or the card
    refuses."""
    question, config = job
    try:
        import torch

        torch.empty(1, device="cuda")
        call = question.small().call(config)[0]
        start = time.perf_counter()
        call()
        spent = time.perf_counter() - start
        torch.cuda.synchronize()
        return spent
    except Exception:  # out of resources: the sweep says so
        return None


def measured(question, config, seconds):
    import measure
    import torch

    start = time.perf_counter()
    try:
        call, error, out = question.call(config)
        out.fill_(float("nan"))
        call()
        torch.cuda.synchronize()
        off = error() if torch.isfinite(out).all() else float("inf")
        if not off < 0.02:
            return {"refused": f"wrong result: {off}", "measure_s": time.perf_counter() - start}
        each, spread, _ = measure.timed(call, seconds)
        return {"time": each, "time_spread": spread, "error": off, "measure_s": time.perf_counter() - start}
    except Exception as refused:
        return {"refused": f"{type(refused).__name__}: {refused}"[:160], "measure_s": time.perf_counter() - start}


def facts():
    """Returns the fields of every row that name its origin."""
    import torch
    import triton

    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    return {"device": torch.cuda.get_device_name(), "driver": driver.stdout.strip().split("\n")[0], "cuda": torch.version.cuda,
            "pytorch": torch.__version__, "compiler": f"triton {triton.__version__}", "napkin": napkin.__version__, "revision": napkin._core.revision,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}


def autotuned(question, top_k):
    """Returns the seconds of Triton's autotuner with napkin's hook, from an empty cache, and the configuration that it
    chooses."""
    import torch
    import triton

    import kernels
    import napkin.triton

    listed = [triton.Config({k: v for k, v in c.items() if k.startswith("BLOCK")}, num_warps=c["num_warps"], num_stages=c["num_stages"])
              for c in question.configs]
    shape = question.shape

    def make(*size):
        return torch.randn(*size, device="cuda", dtype=torch.bfloat16)

    if question.kind == "attention":
        axes = {"h": shape["h"], "q": "length", "x": "length", "d": "D"}
        q, k, v = (make(shape["h"], shape["q"], shape["d"]) for _ in range(3))
        o, lse = torch.empty_like(q), torch.empty(q.shape[:2], device="cuda")

        def run(tuned):
            tuned[lambda meta: (triton.cdiv(shape["q"], meta["BLOCK_M"]), shape["h"])](
                q, k, v, o, lse, shape["d"] ** -0.5, shape["q"] * shape["d"], shape["q"], D=shape["d"], CAUSAL=question.causal)
    else:
        axes = {"a": "M", "b": "K", "c": "N"}
        a, b = make(shape["a"], shape["b"]), make(shape["b"], shape["c"])
        c = torch.empty(shape["a"], shape["c"], device="cuda", dtype=torch.bfloat16)

        def run(tuned):
            tuned[lambda meta: (triton.cdiv(shape["a"], meta["BLOCK_M"]) * triton.cdiv(shape["c"], meta["BLOCK_N"]),)](
                a, b, c, shape["a"], shape["c"], shape["b"], shape["b"], shape["c"], shape["c"], GROUP_M=8)

    prune = napkin.triton.prune(question.kernel, top_k, gpu=GPU, algorithm=question.kind, shape=axes, causal=question.causal)
    fresh = triton.JITFunction(getattr(kernels, question.kind).fn)  # what was compiled before is not in its memory
    tuned = triton.autotune(configs=listed, key=[], prune_configs_by={"early_config_prune": prune})(fresh)
    with tempfile.TemporaryDirectory() as empty:
        before, os.environ["TRITON_CACHE_DIR"] = os.environ.get("TRITON_CACHE_DIR"), empty
        start = time.perf_counter()
        run(tuned)
        torch.cuda.synchronize()
        spent = time.perf_counter() - start
        if before is None:
            del os.environ["TRITON_CACHE_DIR"]
        else:
            os.environ["TRITON_CACHE_DIR"] = before
    return {"top_k": top_k, "seconds": spent, "chosen": str(tuned.best_config)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=0.08, help="of launches before a configuration is timed")
    parser.add_argument("--processes", type=int, default=14, help="that compile")
    asked = parser.parse_args()
    begin = time.time()
    sys.path.insert(0, str(PEERS))
    import compile as peers

    tiles = {"attention": list(peers.tiles(peers.ATTENTION)), "matmul": list(peers.tiles({**peers.MATMUL, "b": [64]}))}
    questions = questions_of(*configs_of(tiles))
    with open(asked.out, "w", encoding="utf-8") as file:
        def say(row, **more):
            file.write(json.dumps({**row, **more}) + "\n")
            file.flush()

        say({"row": "start", "napkin": napkin.__version__, "revision": napkin._core.revision,
             "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")})
        found = []
        for question in questions:
            rows, spent = predicted(question)
            found.append((question, rows, spent))
            for row in rows:
                say(row)
        print(f"{time.time() - begin:.0f} s: predicted {sum(len(rows) for _, rows, _ in found)} configurations", flush=True)

        jobs = {(q.kind, q.causal, q.shape.get("d"), json.dumps(c)): (q, c) for q in questions for c in q.configs}
        with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
            compiled = dict(zip(jobs, pool.map(compile_one, jobs.values(), chunksize=1)))
        print(f"{time.time() - begin:.0f} s: compiled {len(compiled)} variants", flush=True)

        where = facts()
        for question, rows, spent in found:
            for row in rows:
                row |= measured(question, row["config"], asked.seconds)
                row["compile_s"] = compiled[question.kind, question.causal, question.shape.get("d"), json.dumps(row["config"])] or 0
                say({**row, "row": "measurement"}, **where)
            regret = regret_of(rows, spent)
            say({"row": "regret", **question.head(), **(regret or {"ran": 0})}, **where)
            print(f"{time.time() - begin:.0f} s: {question.kernel} {question.shape} causal={question.causal}: {json.dumps(regret)}", flush=True)
        for question in (questions[1], questions[len(ATTENTION)]):
            try:
                tuned = autotuned(question, 3)
            except Exception as problem:
                tuned = {"failed": f"{type(problem).__name__}: {problem}"[:300]}
            say({"row": "autotune", **question.head(), **tuned}, **where)
            print(f"{time.time() - begin:.0f} s: Triton's autotuner with the hook, {question.kernel}: {json.dumps(tuned)}", flush=True)
        say({"row": "end", "seconds": time.time() - begin}, **where)


if __name__ == "__main__":
    main()
