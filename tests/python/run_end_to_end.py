"""Trains a small transformer with napkin's attention and with PyTorch's, on this machine's GPU: eager, compiled and as
a CUDA graph of the whole step; and measures the time of a call beyond its kernel.

    python tests/python/run_end_to_end.py OUT.jsonl [--steps N] [PART...]

OUT.jsonl gets a row a run: losses of all steps, milliseconds of a step (the median of the second half, by the GPU's own
clock); a row that holds the curves against each other; a row of steps in turns; and a row a shape of calls: microseconds of
the kernel alone (a CUDA graph of it), of calls behind each other, and of the host, without and with gradients; beside them
the host's for the output's memory, and for PyTorch's shortest kernel. Steps of an eager program are the host's time, which is
not the same from minute to minute: in `turns` all kinds of attention take ten steps each in turn, so that one and the same
minute is measured. Parts: eager, compiled, graphed, turns, calls. Three minutes on an H200.
"""

import argparse
import contextlib
import datetime
import itertools
import json
import statistics
import subprocess
import time
import traceback

import napkin
import napkin.torch as nt
import torch

from run_torch import Model, host_time, make

F = torch.nn.functional
WARM = 3  # steps before the first that counts: of training too, equal in every run


def sdpa(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@contextlib.contextmanager
def activated(only):
    """Computes PyTorch's operator of flash attention by napkin; its autograd is in C++."""
    nt.activate()
    try:
        with only:
            yield
    finally:
        nt.restore()


def backends():
    """Returns, by name, the functions from q, k, v to the output, and the context that each needs."""
    backend, only = torch.nn.attention.SDPBackend, torch.nn.attention.sdpa_kernel
    return {"napkin": (lambda q, k, v: nt.attention(q, k, v, causal=True), contextlib.nullcontext),
            "napkin_sdpa": (sdpa, lambda: activated(only(backend.FLASH_ATTENTION))),
            "flash": (sdpa, lambda: only(backend.FLASH_ATTENTION)), "cudnn": (sdpa, lambda: only(backend.CUDNN_ATTENTION)),
            "efficient": (sdpa, lambda: only(backend.EFFICIENT_ATTENTION))}


class Training:
    """A model, an optimizer and rows whose repetitions only attention can predict."""

    def __init__(self, attend, compiled=False, device="cuda", rows=1024, batch=8, period=32, **sizes):
        torch.manual_seed(7)
        self.device, self.rows, self.batch, self.period = device, rows, batch, period
        self.model = Model(attend, rows=rows, **sizes).to(device)
        self.forward = torch.compile(self.model, fullgraph=True) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, capturable=device == "cuda")
        self.source = torch.Generator(device=device).manual_seed(8)
        self.ids = torch.empty(batch, rows, dtype=torch.int64, device=device)
        self.loss = None

    def draw(self):
        ids = torch.randint(0, 64, (self.batch, self.period), device=self.device, generator=self.source)
        self.ids.copy_(ids.repeat(1, self.rows // self.period))

    def step(self):
        period = self.period
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16, cache_enabled=False):
            found = self.forward(self.ids)
            loss = F.cross_entropy(found[:, period:-1].flatten(0, 1).float(), self.ids[:, period + 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.loss = loss.detach()


def captured(training):
    """Captures the whole step as a CUDA graph, after warm-up steps on a separate stream, as a capture requires."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM):
            training.draw()
            training.step()
    torch.cuda.current_stream().wait_stream(side)
    training.optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        training.step()
    return graph.replay


def curve(training, steps, graphed=False):
    """Returns the losses, and the milliseconds of each step."""
    cuda = training.device == "cuda"
    if graphed:
        step = captured(training)
    else:
        step = training.step
        for _ in range(WARM):
            training.draw()
            step()
    losses, marks, times = [], [], []
    for _ in range(steps):
        training.draw()
        start = time.perf_counter()
        marks.append([torch.cuda.Event(enable_timing=True) for _ in "ab"] if cuda else None)
        if cuda:
            marks[-1][0].record()
        step()
        if cuda:
            marks[-1][1].record()
        times.append(1e3 * (time.perf_counter() - start))
        losses.append(training.loss.clone())
    if cuda:
        torch.cuda.synchronize()
        times = [first.elapsed_time(last) for first, last in marks]
    return [float(loss) for loss in losses], times


def in_turns(attend, names, rounds=12, steps=10):
    """Returns the milliseconds of an eager step of each: the median of its rounds without the first two, those of each
    round, and the host's time to issue a step."""
    trainings = {name: Training(attend[name][0]) for name in names}
    times, host = {name: [] for name in names}, {name: [] for name in names}
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else reversed(names):
            with attend[name][1]():
                trainings[name].draw()
                trainings[name].step()
                torch.cuda.synchronize()
                first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start = time.perf_counter()
                first.record()
                for _ in range(steps):
                    trainings[name].step()
                last.record()
                host[name].append(1e3 * (time.perf_counter() - start) / steps)
                last.synchronize()
                times[name].append(first.elapsed_time(last) / steps)
    return {name: {"step_ms": statistics.median(times[name][2:]), "host_ms": statistics.median(host[name][2:]), "rounds_ms": times[name]}
            for name in names}


def compared(runs):
    """Compares each curve with that of eager flash: the largest and the mean difference, and the final losses."""
    right = runs["eager", "flash"]
    return {f"{how} {name}": {"largest_difference": max(abs(a - b) for a, b in zip(losses, right)),
                              "mean_difference": sum(abs(a - b) for a, b in zip(losses, right)) / len(right), "last": losses[-1]}
            for (how, name), losses in runs.items()}


def is_one_curve(found):
    """Returns True if napkin's curves differ from flash by at most twice the difference of PyTorch's other backends, in
    every mode."""
    others = max(one["largest_difference"] for name, one in found.items() if "napkin" not in name)
    return all(one["largest_difference"] <= 2 * max(others, 1e-3) for name, one in found.items() if "napkin" in name)


def calls(say):
    """Measures a call's time beyond its kernel in a row of calls: 0 if the host stays ahead of the GPU."""
    for b, heads, s, d, causal in ((1, 8, 512, 64, True), (1, 16, 2048, 64, True), (2, 16, 2048, 128, False), (1, 16, 8192, 128, True)):
        q, k, v = make(b, heads, heads, s, s, d)
        o = torch.empty_like(q)
        left, right = nt._mask(causal, None)
        found, one = {}, torch.zeros(1, device=q.device)
        with torch.no_grad():
            for name, call in (("napkin", lambda: nt.attention(q, k, v, causal=causal)), ("napkin_out", lambda: nt.attention(q, k, v, causal=causal, out=o)),
                               ("flash_attn_func", lambda: nt.flash_attn_func(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), causal=causal)),
                               ("sdpa", lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))):
                found[name] = {**queued(call), "host_us": host_time(call)}
            found["launch_alone"] = {"host_us": host_time(lambda: nt._into(q, k, v, o, None, left, right, None))}
            many = itertools.cycle([torch.empty_like(q) for _ in range(200)])  # more than are kept with their addresses
            found["new_addresses"] = {"host_us": host_time(lambda: nt.attention(q, k, v, causal=causal, out=next(many)))}
            found["memory_of_output"] = {"host_us": host_time(lambda: nt._empty_strided(tuple(q.shape), q.stride(), q.dtype))}
            found["zero_one_number"] = {"host_us": host_time(one.zero_)}
        leaves, grad = [t.detach().requires_grad_() for t in (q, k, v)], torch.randn_like(q)
        for name, (attend, chosen) in backends().items() if causal else ():  # they are all causal
            def call(attend=attend):
                torch.autograd.grad(attend(*leaves), leaves, grad)

            with chosen():
                found[name + " with gradients"] = {**queued(call), "host_us": host_time(call)}
        for one in found.values():
            if "call_us" in one:
                one["beyond_kernel_us"] = one["call_us"] - one["kernel_us"]
        say({"row": "calls", "shape": {"b": b, "h": heads, "q": s, "x": s, "d": d}, "mask": "causal" if causal else "none", "microseconds": found})


def once(call):
    """Returns the microseconds of the third of three calls."""
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - start)


def queued(call):
    """Returns the microseconds of a call among 200, or among as many as take 20 ms, and of its kernel among as many in
    a CUDA graph: medians of seven."""
    n = max(10, min(200, int(2e4 / max(1e-3, once(call)))))

    def timed(run):
        run()
        torch.cuda.synchronize()
        taken = []
        for _ in range(7):
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            run()
            last.record()
            last.synchronize()
            taken.append(1e3 * first.elapsed_time(last) / n)
        return statistics.median(taken)

    def eager():
        for _ in range(n):
            call()

    eager()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        eager()
    return {"call_us": timed(eager), "kernel_us": timed(graph.replay)}


def facts():
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    return {"device": torch.cuda.get_device_name(), "driver": driver.stdout.strip().split("\n")[0], "cuda": torch.version.cuda, "pytorch": torch.__version__,
            "napkin": napkin.__version__, "revision": napkin._core.revision,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}


WAYS = {"eager": ("napkin", "napkin_sdpa", "flash", "cudnn", "efficient"), "compiled": ("napkin", "flash"), "graphed": ("napkin", "flash", "cudnn")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("parts", nargs="*", default=[*WAYS, "turns", "calls"], metavar="PART")
    parser.add_argument("--steps", type=int, default=200)
    asked = parser.parse_args()
    begin, where, attend, runs = time.time(), facts(), backends(), {}
    with open(asked.out, "w", encoding="utf-8") as file:
        def say(row):
            file.write(json.dumps({**row, **where}) + "\n")
            file.flush()
            shown = {key: value for key, value in row.items() if key != "losses"}
            print(f"{time.time() - begin:.0f} s: {json.dumps(shown)}", flush=True)

        if "calls" in asked.parts:
            calls(say)
        if "turns" in asked.parts:
            say({"row": "turns", "how": "eager", "attention": in_turns(attend, list(attend))})
        for how, names in WAYS.items():
            for name in names if how in asked.parts else ():
                row = {"row": "training", "how": how, "attention": name}
                start = time.time()
                try:
                    call, chosen = attend[name]
                    with chosen():
                        losses, times = curve(Training(call, compiled=how == "compiled"), asked.steps, graphed=how == "graphed")
                    runs[how, name] = losses
                    say({**row, "step_ms": statistics.median(times[len(times) // 2:]), "first_loss": losses[0], "last_loss": losses[-1],
                         "seconds": time.time() - start, "losses": losses})
                except Exception:
                    say({**row, "failed": traceback.format_exc()[-1500:]})
                torch._dynamo.reset()
                torch.cuda.empty_cache()
        if ("eager", "flash") in runs:
            found = compared(runs)
            say({"row": "curves", "against": "eager flash", "runs": found, "is_one_curve": is_one_curve(found)})
        say({"row": "end", "seconds": time.time() - begin})


if __name__ == "__main__":
    main()
