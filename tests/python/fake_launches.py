"""Checks the launches of napkin.torch with a driver that computes nothing; test_torch.py runs it as a separate process.

    python tests/python/fake_launches.py FOLDER       FOLDER/lib64 has the driver (tests/golden/fake_cuda) as libcuda.so.1 and
                                                      libnvrtc.so.13
Tensors lie on the CPU, and are taken to lie on an H200. Prints a JSON object: kernels by the name of what was called, and the
microseconds of the processor that calls take.
"""

import ctypes
import json
import os
import sys
import time

folder = sys.argv[1]
os.environ.update(CUDA_HOME=folder, XDG_CACHE_HOME=folder + "/cache")
driver = ctypes.CDLL(folder + "/lib64/libcuda.so.1")
driver.fakeLaunches.restype, driver.fakeLaunched.restype, driver.fakeBoxes.restype = ctypes.c_long, ctypes.c_char_p, ctypes.c_char_p

import torch  # noqa: E402

import napkin.torch as nt  # noqa: E402
from napkin import _flash, _gradients  # noqa: E402

nt._on_stream = _gradients._on_stream = lambda device, launch, *arguments: launch(*arguments, 0, 0)
nt._is_plain = lambda *tensors: True
torch._C._cuda_getDevice = int


def forget():
    """Forgets all earlier calls."""
    nt._calls.clear()
    nt._launches = nt._known_calls(getattr(torch.Tensor, "__dlpack_c_exchange_api__", None),
                                   lambda *like: torch.empty_strided(*like[:2], dtype=like[2]))


forget()
nt._load_compiler = _flash._load_compiler = lambda: None
_flash._on_stream = nt._on_stream
_gradients._gpu = lambda device: "h200-sxm"
torch.Tensor.get_device = lambda self: 0
torch.set_num_threads(1)


def launched(call):
    """Returns the names of the launched kernels in order, and the way in which dQ is added up."""
    before = driver.fakeLaunches()
    call()
    names = [driver.fakeLaunched(back).decode() for back in reversed(range(driver.fakeLaunches() - before))]
    return [name.split("::")[1].split("<")[0] + ("" if "SumOrder" not in name or "_sm90<" not in name else
                                                  " " + name.split("SumOrder::")[1].split(",")[0]) for name in names]


def rows(d=64, heads=2, length=64):
    """Returns q, k, v as views of one array, as a model has them."""
    qkv = torch.zeros(1, length, 3, heads, d, dtype=torch.bfloat16).permute(2, 0, 3, 1, 4)
    return [t.detach().requires_grad_() for t in qkv]


def microseconds(call, n=300):
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(n):
            call()
        best = min(best, (time.process_time() - start) / n * 1e6)
    return best


class Generation:
    """Steps of one query, with keys that grow by one: a cache's first rows, or separate arrays ([b, heads, keys, d],
    dense)."""

    def __init__(self, dense, **options):
        self.dense, self.options = dense, options
        self.cache = torch.zeros(2, 2, 4096, 2, 128, dtype=torch.bfloat16)  # k and v, [b, keys, heads, d]
        self.q = torch.zeros(2, 8, 1, 128, dtype=torch.bfloat16)

    def arrays(self, keys):
        k, v = (c[:, :keys].transpose(1, 2) for c in self.cache)
        return (self.q, k.contiguous(), v.contiguous()) if self.dense else (self.q, k, v)

    def step(self, arrays):
        before = driver.fakeLaunches()
        nt.attention(*arrays, **self.options)
        assert driver.fakeLaunches() == before + 1
        return driver.fakeLaunched(0), driver.fakeBoxes()

    def check(self, lengths):
        """Checks that each step launches the same kernels as without earlier calls."""
        forget()
        grown = [self.step(self.arrays(keys)) for keys in lengths]
        for keys, step in zip(lengths, grown):
            forget()
            assert self.step(self.arrays(keys)) == step, keys

    def microseconds(self, first, steps):
        """Returns the median microseconds of the steps."""
        took = []
        for keys in range(first, first + steps):
            arrays = self.arrays(keys)
            start = time.thread_time()
            nt.attention(*arrays, **self.options)
            took.append((time.thread_time() - start) * 1e6)
        return sorted(took)[steps // 2]


def paged():
    """Returns the launches of each step with pages and counted keys, and its microseconds."""
    q = torch.zeros(2, 1, 8, 128, dtype=torch.bfloat16)
    pages = torch.zeros(2, 300, 64, 2, 128, dtype=torch.bfloat16)
    table, counts = torch.arange(128, dtype=torch.int32).reshape(2, 64), torch.tensor([1000, 7], dtype=torch.int32)
    def step():
        return nt.flash_attn_with_kvcache(q, *pages, cache_seqlens=counts, block_table=table, causal=True)
    names = [launched(step) for _ in range(3)]
    assert names == [["attention_decode_sm90"]] * 3, names
    boxes = driver.fakeBoxes().decode().split("; ")
    assert boxes[2] == boxes[3] == "128 64 2 300, 512 256 32768", boxes  # columns, keys of a page, heads, pages
    odd = torch.zeros(2, 300, 20, 2, 128, dtype=torch.bfloat16)  # keys of a page that no box brings: gathered first
    assert launched(lambda: _flash._counted(q, *odd, counts, table, (-1, 0), None, False)) == []
    return microseconds(step)


def cache_microseconds(first, steps):
    """Returns the median microseconds of flash_attn_with_kvcache in steps without new keys, and in steps that append
    them."""
    q, new = torch.zeros(1, 1, 8, 128, dtype=torch.bfloat16), torch.zeros(1, 1, 2, 128, dtype=torch.bfloat16)
    caches = torch.zeros(2, 1, 4096, 2, 128, dtype=torch.bfloat16)
    found = []
    for k, v in ((None, None), (new, new)):
        took = []
        for keys in range(first, first + steps):
            start = time.thread_time()
            nt.flash_attn_with_kvcache(q, *caches, k, v, cache_seqlens=keys, causal=True)
            took.append((time.thread_time() - start) * 1e6)
        found.append(sorted(took)[steps // 2])
    return found


def main():
    found = {}
    q, k, v = rows()
    found["forward"] = launched(lambda: nt.attention(q.detach(), k.detach(), v.detach(), causal=True))
    for name, more in (("backward", {}), ("deterministic", {"deterministic": True})):
        o = nt.attention(q, k, v, causal=True, **more)
        grad = torch.zeros_like(o)
        found[name] = launched(lambda: torch.autograd.grad(o, (q, k, v), grad))
    o = nt.attention(q, k, v, causal=True)
    found["expanded"] = launched(lambda: torch.autograd.grad(o.sum(), (q, k, v)))  # a gradient without strides of its own
    wide = rows(d=128)
    o = nt.attention(*wide)
    gradients = torch.autograd.grad(o, wide, torch.zeros_like(o))
    found["strides"] = [list(t.stride()) for t in gradients]
    starts = torch.tensor([0, 20, 64], dtype=torch.int32)
    arrays = [torch.zeros(64, 2, 64, dtype=torch.bfloat16) for _ in "qkvg"]
    o, lse = nt._forward_packed(*arrays[:3], starts, starts, 44, 44, -1, 0, None)
    found["packed"] = launched(lambda: nt._gradient_packed(arrays[3], *arrays[:3], o, lse, starts, starts, 44, 44, -1, 0, None, False))
    grad = torch.zeros(1, 64, 2, 64, dtype=torch.bfloat16).transpose(1, 2)
    with torch.no_grad():
        forward = microseconds(lambda: nt.attention(q, k, v, causal=True))
    taped = microseconds(lambda: nt.attention(q, k, v, causal=True))
    o, lse = nt._forward(q, k, v, -1, 0, None, True)
    call = nt._shapes(q, k, v, o, -1, 0, None, False)
    alone = microseconds(lambda: _gradients.launch(call, grad, q, k, v, o, lse, False))
    both = microseconds(lambda: torch.autograd.grad(nt.attention(q, k, v, causal=True), (q, k, v), grad))
    generations = [Generation(dense, **options) for dense in (False, True) for options in ({}, {"causal": True}, {"window": (100, -1)})]
    with torch.no_grad():
        for one in generations:
            one.check([900, 901, 902, 1, 8, 1024])
        steps = [one.microseconds(1921, 127) for one in generations[:2]]
        cached = cache_microseconds(1921, 127)
        with_pages = paged()
    found["microseconds"] = {"step": max(steps), "cache": cached, "pages": with_pages, "forward": forward, "with_tape": taped, "gradients_alone": alone, "forward_and_backward": both}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
