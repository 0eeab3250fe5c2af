"""Runs napkin.torch on a GPU and prints the results, one JSON object a line: errors against float64 and those of
PyTorch, time of a call, CUDA graphs, compilation, the SDPA registry, and a training run compared with PyTorch's
attention.

    python tests/python/run_torch.py [--out FILE] [PART...]
"""

import json
import sys
import time
import traceback

import torch

import napkin
import napkin.torch as nt

F = torch.nn.functional
PARTS = {}
out_file = None


def part(function):
    PARTS[function.__name__] = function
    return function


def say(name, **found):
    line = json.dumps({"part": name, **found})
    print(line, flush=True)
    if out_file:
        out_file.write(line + "\n")
        out_file.flush()


def visible(rows, keys, left, right):
    i, j = torch.arange(rows, device="cuda")[:, None], torch.arange(keys, device="cuda")[None, :]
    mask = torch.ones(rows, keys, dtype=torch.bool, device="cuda")
    if left >= 0:
        mask &= j >= i + keys - rows - left
    if right >= 0:
        mask &= j <= i + keys - rows + right
    return mask


def exact(q, k, v, left=-1, right=-1, scale=None):
    group = q.shape[1] // k.shape[1]
    k, v = (t.double().repeat_interleave(group, dim=1) for t in (k, v))
    s = q.double() @ k.transpose(-1, -2) * (scale if scale is not None else q.shape[-1] ** -0.5)
    s = s.masked_fill(~visible(q.shape[2], k.shape[2], left, right), -torch.inf)
    lse = torch.logsumexp(s, -1)
    p = torch.exp(s - torch.where(lse.isneginf(), 0.0, lse)[..., None])
    return p @ v, lse


def make(b, heads, kv, rows, keys, d, dtype=torch.bfloat16, flash=False, grad=False):
    def one(h, n):
        t = torch.randn((b, n, h, d) if flash else (b, h, n, d), device="cuda").to(dtype)
        return (t.transpose(1, 2) if flash else t).requires_grad_(grad)
    return one(heads, rows), one(kv, keys), one(kv, keys)


def error(a, b):
    return float((a.detach().double() - b.detach()).abs().max())


@part
def correctness():
    """Checks the cases: b, heads, key heads, rows, keys, d; mask; layout; type."""
    torch.manual_seed(1)
    cases = [(2, 4, 4, 512, 512, 128, {}, False, torch.bfloat16), (2, 4, 2, 512, 512, 128, {"causal": True}, True, torch.bfloat16),
             (1, 8, 1, 333, 777, 64, {"causal": True}, False, torch.float16), (1, 2, 2, 777, 333, 64, {"causal": True}, True, torch.bfloat16),
             (3, 2, 2, 1000, 1000, 128, {"window": (100, 0)}, False, torch.bfloat16), (1, 2, 1, 65, 4097, 256, {}, True, torch.float16),
             (1, 4, 4, 1, 1000, 128, {}, False, torch.bfloat16), (2, 2, 2, 300, 300, 96, {"causal": True}, True, torch.bfloat16),
             (1, 2, 2, 512, 512, 128, {"scale": 0.5, "window": (7, 300)}, False, torch.float16)]
    for b, heads, kv, rows, keys, d, mask, flash, dtype in cases:
        q, k, v = make(b, heads, kv, rows, keys, d, dtype, flash)
        start = time.perf_counter()
        o, lse = nt.attention(q, k, v, return_lse=True, **mask)
        torch.cuda.synchronize()
        first = time.perf_counter() - start
        left, right = nt._mask(mask.get("causal", False), mask.get("window"))
        want, want_lse = exact(q, k, v, left, right, mask.get("scale"))
        attn_mask = None if left == right == -1 else visible(rows, keys, left, right)
        theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, scale=mask.get("scale"), enable_gqa=heads != kv)
        seen = ~want_lse.isneginf()
        say("correctness", case=[b, heads, kv, rows, keys, d, str(mask), "bshd" if flash else "bhsd", str(dtype)], first_call_s=first,
            error=error(o, want), sdpa_error=error(torch.where(seen[..., None], theirs, 0), want), lse_error=error(lse[seen], want_lse[seen]),
            empty_rows=int((~seen).sum()), empty_right=bool((o[~seen] == 0).all() and lse[~seen].isneginf().all()),
            layout_kept=bool(o.stride() == q.stride()))
        spare = torch.full_like(o, 7)
        nt.attention(q, k, v, out=spare, **mask)
        assert torch.equal(spare, o)
        turned = [t.transpose(1, 2) for t in (q, k, v)]
        flash, flash_lse = nt.flash_attn_func(*turned, causal=mask.get("causal", False), window_size=mask.get("window", (-1, -1)),
                                              softmax_scale=mask.get("scale"), return_lse=True)
        assert torch.equal(flash.transpose(1, 2), o) and torch.equal(flash_lse, lse)


@part
def packed():
    torch.manual_seed(2)
    lengths = [(128, 128), (1, 500), (700, 700), (0, 30), (333, 1000)]
    starts = [torch.tensor([0, *torch.tensor([l[i] for l in lengths]).cumsum(0).tolist()], dtype=torch.int32, device="cuda") for i in (0, 1)]
    q = torch.randn(int(starts[0][-1]), 8, 128, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    k, v = (torch.randn(int(starts[1][-1]), 2, 128, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in "kv")
    for causal in (False, True):
        o, lse = nt.varlen(q, k, v, *starts, 700, 1000, causal=causal, return_lse=True)
        grads = torch.autograd.grad(o, (q, k, v), torch.ones_like(o))
        worst = worst_lse = 0.0
        worst_grad = [0.0] * 3
        for n, (rows, keys) in enumerate(lengths):
            if rows == 0:
                continue
            a, c = (slice(int(s[n]), int(s[n + 1])) for s in starts)
            parts = [t.detach()[w].double().transpose(0, 1)[None].requires_grad_() for t, w in ((q, a), (k, c), (v, c))]
            want, want_lse = exact(*parts, -1, 0 if causal else -1)
            worst = max(worst, error(o[a], want[0].transpose(0, 1)))
            worst_lse = max(worst_lse, error(lse[:, a], want_lse[0]))
            for at, (g, w) in enumerate(zip(torch.autograd.grad(want.sum(), parts), (a, c, c))):
                worst_grad[at] = max(worst_grad[at], error(grads[at][w], g[0].transpose(0, 1)))
        say("packed", causal=causal, error=worst, lse_error=worst_lse, gradient_errors=worst_grad)


@part
def gradients():
    torch.manual_seed(3)
    for heads, kv, rows, keys, d, mask, flash in ((4, 4, 512, 512, 128, {}, False), (4, 4, 512, 512, 128, {"causal": True}, True), (4, 2, 300, 700, 64, {"causal": True}, True),
                                                  (2, 2, 700, 300, 64, {"causal": True}, False), (2, 2, 512, 512, 64, {"window": (50, 20)}, True),
                                                  (2, 2, 256, 256, 256, {"causal": True}, False)):
        q, k, v = make(2, heads, kv, rows, keys, d, flash=flash, grad=True)
        go = torch.randn(2, heads, rows, d, device="cuda")
        left, right = nt._mask(mask.get("causal", False), mask.get("window"))
        grads = torch.autograd.grad(nt.attention(q, k, v, **mask), (q, k, v), go.bfloat16())
        doubles = [t.detach().double().requires_grad_() for t in (q, k, v)]
        want = torch.autograd.grad(exact(*doubles, left, right)[0], doubles, go.bfloat16().double())
        attn_mask = None if left == right == -1 else visible(rows, keys, left, right)
        theirs = torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, enable_gqa=heads != kv), (q, k, v), go.bfloat16())
        say("gradients", case=[heads, kv, rows, keys, d, str(mask)], errors=[error(a, b) for a, b in zip(grads, want)],
            sdpa_errors=[error(a.nan_to_num(), b) for a, b in zip(theirs, want)], largest=[float(b.abs().max()) for b in want])


def host_time(call, n=300):
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(n):
            call()
        best = min(best, (time.perf_counter() - start) / n)
        torch.cuda.synchronize()
    return best * 1e6


@part
def overhead():
    """Measures the host's microseconds a call, without a wait for the GPU."""
    q, k, v = make(1, 1, 1, 64, 64, 64)
    o = torch.empty_like(q)
    with torch.no_grad():
        found = {"napkin": host_time(lambda: nt.attention(q, k, v)), "napkin_out": host_time(lambda: nt.attention(q, k, v, out=o)),
                 "flash_attn_func": host_time(lambda: nt.flash_attn_func(q, k, v)),
                 "sdpa": host_time(lambda: F.scaled_dot_product_attention(q, k, v)),
                 "kernel_alone": host_time(lambda: nt._into(q, k, v, o, None, -1, -1, None)), "operator": host_time(lambda: torch.ops.napkin.attention(q, k, v, -1, -1, None, False)), "empty_like": host_time(lambda: torch.empty_like(q))}
        many = [torch.empty_like(q) for _ in range(200)]
        at = iter(range(10**9))
        found["new_addresses"] = host_time(lambda: nt.attention(q, k, v, out=many[next(at) % 200]))
    q, k, v = (t.requires_grad_() for t in (q, k, v))
    found["with_gradient"] = host_time(lambda: nt.attention(q, k, v))
    found["sdpa_with_gradient"] = host_time(lambda: F.scaled_dot_product_attention(q, k, v))
    nt.activate()
    found["sdpa_activated"] = host_time(lambda: F.scaled_dot_product_attention(q, k, v))
    nt.restore()
    say("overhead", microseconds=found)


@part
def graphs():
    torch.manual_seed(4)
    q, k, v = make(2, 16, 16, 2048, 2048, 128)

    def work(mask):
        return nt.attention(nt.attention(q, k, v, **mask), k, v, **mask)

    for mask in ({}, {"causal": True}):
        work(mask)
        torch.cuda.synchronize()
        made = []
        for _ in range(2):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = work(mask)
            made.append((graph, result))
        equal = []
        for _ in range(5):
            for t in (q, k, v):
                t.copy_(torch.randn_like(t))
            torch.cuda.synchronize()
            streams = [torch.cuda.Stream() for _ in made]
            for stream, (graph, _) in zip(streams, made):
                with torch.cuda.stream(stream):
                    for _ in range(3):
                        graph.replay()
            torch.cuda.synchronize()
            want = work(mask)
            equal += [bool(torch.equal(result, want)) for _, result in made]
        say("graphs", mask=str(mask), equal=all(equal), replays=len(equal))
    beside = [torch.cuda.Stream() for _ in range(4)]
    want, wrong = work({"causal": True}), 0
    torch.cuda.synchronize()
    for _ in range(20):
        found = []
        for stream in beside:
            with torch.cuda.stream(stream):
                found.append(work({"causal": True}))
        torch.cuda.synchronize()
        wrong += sum(not torch.equal(one, want) for one in found)
    say("streams", launches=80, wrong=wrong)


@part
def compiled():
    torch.manual_seed(5)
    q, k, v = make(2, 8, 8, 512, 512, 64, grad=True)

    def model(q, k, v):
        return (nt.attention(q * 1.5, k, v, causal=True) * 2).relu()

    start = time.perf_counter()
    fast = torch.compile(model, fullgraph=True)
    o = fast(q, k, v)
    grads = torch.autograd.grad(o.sum(), (q, k, v))
    spent = time.perf_counter() - start
    want = model(q, k, v)
    want_grads = torch.autograd.grad(want.sum(), (q, k, v))
    breaks = torch._dynamo.explain(model)(q, k, v).graph_break_count
    say("compiled", seconds=spent, graph_breaks=breaks, error=error(o, want.double()), gradient_errors=[error(a, b.double()) for a, b in zip(grads, want_grads)])
    torch.library.opcheck(torch.ops.napkin.attention, (*(t.detach() for t in (q, k, v)), -1, 0, None, True))
    torch.library.opcheck(torch.ops.napkin.attention, (q, k, v, -1, 0, None, True),  # aot_dispatch differentiates the log-sum-exp
                          test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))
    reduced = torch.compile(lambda q, k, v: nt.attention(q, k, v), fullgraph=True, mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(4):
            last = reduced(q, k, v).clone()
        say("compiled_with_graphs", equal=bool(torch.equal(last, nt.attention(q, k, v))))


@part
def registry():
    torch.manual_seed(6)
    q, k, v = make(2, 8, 8, 512, 512, 64, grad=True)
    before = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    nt.activate()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        ours = nt.attention(q, k, v, causal=True)
        grads = torch.autograd.grad(o.sum(), (q, k, v))
        try:
            F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)
            refused = "not refused"
        except Exception as problem:
            refused = str(problem)[:100]
    nt.restore()
    after = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    want = torch.autograd.grad(after.sum(), (q, k, v))
    say("registry", is_ours=bool(torch.equal(o, ours)), restored=bool(torch.equal(before, after)), refused=refused,
        gradient_errors=[error(a, b.double()) for a, b in zip(grads, want)])


class Block(torch.nn.Module):
    def __init__(self, width, heads, attend):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.norm, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.wide, self.narrow = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        b, n, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(b, n, width))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, attend, words=64, width=512, heads=8, layers=4, rows=512):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(rows, width)
        self.blocks = torch.nn.Sequential(*[Block(width, heads, attend) for _ in range(layers)])
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, words)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.words(ids) + self.places.weight[: ids.shape[1]])))


def train(attend, steps=200, period=32, rows=512):
    torch.manual_seed(7)
    model = Model(attend).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    source = torch.Generator(device="cuda").manual_seed(8)
    losses = []
    for step in range(-3, steps):  # rows repeat themselves: only attention finds out how
        if step == 0:
            torch.cuda.synchronize()
            start = time.perf_counter()
        ids = torch.randint(0, 64, (16, period), device="cuda", generator=source).repeat(1, rows // period)
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(model(ids)[:, period:-1].flatten(0, 1).float(), ids[:, period + 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step >= 0:
            losses.append(loss.detach())
    torch.cuda.synchronize()
    return torch.stack(losses).tolist(), time.perf_counter() - start


@part
def training():
    backend = torch.nn.attention.SDPBackend

    def sdpa(which):
        def attend(q, k, v):
            with torch.nn.attention.sdpa_kernel(which):
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return attend

    runs = {"napkin": train(lambda q, k, v: nt.attention(q, k, v, causal=True)), "flash": train(sdpa(backend.FLASH_ATTENTION)),
            "cudnn": train(sdpa(backend.CUDNN_ATTENTION)), "efficient": train(sdpa(backend.EFFICIENT_ATTENTION))}
    flash = runs["flash"][0]
    say("training", seconds={name: run[1] for name, run in runs.items()}, first=flash[0],
        last={name: run[0][-1] for name, run in runs.items()},
        largest_difference_to_flash={name: max(abs(a - b) for a, b in zip(run[0], flash)) for name, run in runs.items()},
        mean_difference_to_flash={name: sum(abs(a - b) for a, b in zip(run[0], flash)) / len(flash) for name, run in runs.items()},
        curves={name: [round(x, 4) for x in run[0][::10]] for name, run in runs.items()})


@part
def speed():
    """Returns milliseconds on the GPU, the best of 5 times 10 queued calls."""
    backend = torch.nn.attention.SDPBackend

    def gpu_time(call):
        for _ in range(3):
            call()
        best = float("inf")
        for _ in range(5):
            events = [torch.cuda.Event(enable_timing=True) for _ in "ab"]
            events[0].record()
            for _ in range(10):
                call()
            events[1].record()
            torch.cuda.synchronize()
            best = min(best, events[0].elapsed_time(events[1]) / 10)
        return best

    for s, d, causal in ((4096, 128, False), (4096, 128, True), (16384, 128, True), (4096, 64, True)):
        q, k, v = make(max(1, 16384 // s), 2048 // d, 2048 // d, s, s, d)
        found = {"napkin": gpu_time(lambda: nt.attention(q, k, v, causal=causal))}
        for name, which in (("flash", backend.FLASH_ATTENTION), ("cudnn", backend.CUDNN_ATTENTION)):
            with torch.nn.attention.sdpa_kernel(which):
                found[name] = gpu_time(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
        flops = 4 * q.shape[0] * q.shape[1] * s * s * d / (2 if causal else 1)
        say("speed", s=s, d=d, causal=causal, ms=found, tflops={name: flops / ms / 1e9 for name, ms in found.items()})


@part
def transformer():
    import transformers

    nt.register_transformers()
    config = transformers.LlamaConfig(hidden_size=1024, intermediate_size=2048, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, vocab_size=1000)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    ids = torch.randint(0, 1000, (2, 300), device="cuda")
    with torch.no_grad():
        model.set_attn_implementation("sdpa")
        want = model(ids).logits
        model.set_attn_implementation("napkin")
        found = model(ids).logits
        made = model.generate(ids[:, :50], max_new_tokens=8, do_sample=False)
    say("transformers", error=error(found, want.double()), largest=float(want.abs().max()), generated=list(made.shape))


def main(words):
    global out_file
    if words[:1] == ["--out"]:
        out_file = open(words[1], "w")
        words = words[2:]
    say("machine", gpu=torch.cuda.get_device_name(), torch=torch.__version__, napkin=napkin.__version__, revision=napkin._core.revision)
    failed = 0
    for name in words or PARTS:
        start = time.perf_counter()
        try:
            PARTS[name]()
        except Exception:
            failed += 1
            say(name, failed=traceback.format_exc()[-1500:])
        say("time", of=name, seconds=round(time.perf_counter() - start, 2))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
