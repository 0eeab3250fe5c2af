"""The launches of napkin.torch, with a driver that computes nothing (tests/golden/fake_cuda).

PyTorch has no GPU here: tensors of the CPU stand in for its own, and a process of its own finds the driver."""

import os
import pathlib
import shutil
import subprocess
import sys

import napkin
import pytest

DRIVER = pathlib.Path(__file__).resolve().parents[1] / "golden/fake_cuda/fake_cuda.cpp"

TRY = """\
import ctypes, os
driver = ctypes.CDLL(os.path.join(os.environ["CUDA_HOME"], "lib64/libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
driver.fakeEncoded.restype = ctypes.c_uint64
import torch
torch._C._cuda_getDevice = int
import napkin
import napkin.torch as nt

def make(b=2, heads=4, kv=2, rows=256, keys=512, d=64, dtype=torch.bfloat16):
    return torch.zeros(b, heads, rows, d, dtype=dtype), *(torch.zeros(b, kv, keys, d, dtype=dtype) for _ in "kv"), torch.zeros(b, heads, rows, d, dtype=dtype)

def kept(tensors, left=-1, right=-1, scale=None, turned=False):
    call = nt._shapes(*tensors, left, right, scale, turned)
    nt._launches.keep(call.forward, (*tensors, None), left, right, scale, turned)

def launched(tensors, lse=None, left=-1, right=-1, scale=None, turned=False):
    before = driver.fakeLaunches()
    done = nt._launches.launch((*tensors, lse), left, right, scale, turned)
    assert driver.fakeLaunches() == before + done
    return done

def addresses(since):
    return {driver.fakeEncoded(i) for i in range(since, driver.fakeEncodings())}

first = make()
assert not launched(first), "nothing is kept yet"
kept(first)
since = driver.fakeEncodings()
assert launched(first)
assert addresses(since) == {t.data_ptr() for t in first}
driver.fakeLaunched.restype = ctypes.c_char_p
assert "attention_sm90" in driver.fakeLaunched(0).decode()

# Memory alone may differ; a view has an address of its own.
wide = torch.zeros(2, 4, 256 + 8, 64, dtype=torch.bfloat16)
other = make()
since = driver.fakeEncodings()
assert launched(other) and addresses(since) == {t.data_ptr() for t in other}
view = (wide[:, :, 8:], *other[1:])
assert not launched(view), "other strides"
kept(view)
since = driver.fakeEncodings()
assert launched(view) and wide[:, :, 8:].data_ptr() in addresses(since) and wide.data_ptr() not in addresses(since)

# All else is another call.
for what, changed, more in [
    ("sizes", make(rows=128), {}), ("heads", make(heads=8), {}), ("batch", make(b=1), {}),
    ("type", make(dtype=torch.float16), {}), ("layout", tuple(t.transpose(1, 2).contiguous().transpose(1, 2) for t in first), {}),
    ("mask", first, dict(right=0)), ("window", first, dict(left=5)), ("scale", first, dict(scale=0.5)), ("a scale of 0", first, dict(scale=0.0)),
    ("log-sum-exp", first, dict(lse=torch.zeros(2, 4, 256))), ("rows first", first, dict(turned=True)),
]:
    assert not launched(changed, **more), what
# Keys may be more or fewer, as in a generation, and K and V lie as they do then: where the kernels take them.
longer = make(keys=304)
cache = torch.zeros(2, 2, 2, 1024, 64, dtype=torch.bfloat16)  # k and v
since = driver.fakeEncodings()
assert launched(longer) and addresses(since) == {t.data_ptr() for t in longer}
assert launched((first[0], *cache[:, :, :, :77], first[3])) and launched((first[0], *cache[:, :, :, :1], first[3]))
assert not launched((first[0], longer[1], first[2], first[3])), "more keys than values"
odd = torch.zeros(2, 2, 2, 90 * 68, dtype=torch.bfloat16).unflatten(3, (90, 68))[..., :64]
assert not launched((first[0], *odd, first[3])) and not launched((first[0], *cache[:, :, :1].expand(2, 2, 2, 1024, 64), first[3]))
kept(first, scale=0.5)
assert launched(first, scale=0.5) and not launched(first, scale=0.25)
rows_first = tuple(t.transpose(1, 2).contiguous() for t in first)
kept(rows_first, turned=True)
assert launched(rows_first, turned=True) and not launched(rows_first)

# What cannot be read is not launched; a parameter is a tensor.
class Mine(torch.Tensor):
    pass
assert not launched((first[0].as_subclass(Mine), *first[1:])) and not launched((*first[:3], 5)) and not launched((*first[:3], [1.0]))
assert not launched((first[0][None], *first[1:])), "five axes"
assert launched((torch.nn.Parameter(first[0], requires_grad=True), *first[1:]))
before_2_10 = nt._known_calls(None, torch.empty_strided)
assert not before_2_10.launch((*first, None), -1, -1, None, False) and before_2_10.launch_new(first[:3], False, -1, -1, None, False) is None
for wrong in (5, first[0]):
    try:
        nt._known_calls(wrong, torch.empty_strided)
    except (TypeError, ValueError):
        pass
    else:
        raise AssertionError("no capsule of functions")

# Results that are made: like those of the call that was kept, and theirs are the addresses that the kernel gets.
made = []
def allocate(size, stride, dtype):
    assert type(size) is tuple and type(stride) is tuple, "what compiled programs allocate with takes nothing else"
    made.append(torch.empty_strided(size, stride, dtype=dtype))
    return made[-1]
calls = nt._known_calls(torch.Tensor.__dlpack_c_exchange_api__, allocate)
inputs, out, lse = view[:3], view[3].transpose(1, 2).contiguous().transpose(1, 2), torch.zeros(2, 4, 256)
def new(want_lse, inputs=inputs, scale=None):
    return calls.launch_new(inputs, want_lse, -1, -1, scale, False)
shapes = nt._shapes(*inputs, out, -1, -1, None, False).forward
calls.keep(shapes, (*inputs, out, None), -1, -1, None, False)
assert new(False) is None and new(True) is None and not made, "a call with results of its own is none without"
calls.keep(shapes, (*inputs, out, None), -1, -1, None, False, made=True)
assert new(True) is None and new(False, scale=0.5) is None and new(False, first[:3]) is None and not made
before, since = driver.fakeLaunches(), driver.fakeEncodings()
o, none = new(False)
assert driver.fakeLaunches() == before + 1 and none is None and made == [o] and o.data_ptr() in addresses(since)
assert o.shape == out.shape and o.stride() == out.stride() and o.dtype == out.dtype
calls.keep(shapes, (*inputs, out, lse), -1, -1, None, False, made=True)
o, kept_lse = new(True)
assert kept_lse.shape == lse.shape and kept_lse.dtype == torch.float32 and made[-2:] == [o, kept_lse] and new(False)[1] is None
def no_memory(*like):
    raise MemoryError("none left")
calls = nt._known_calls(torch.Tensor.__dlpack_c_exchange_api__, no_memory)
calls.keep(shapes, (*inputs, out, None), -1, -1, None, False, made=True)
before = driver.fakeLaunches()
try:
    new(False)
except MemoryError:
    assert driver.fakeLaunches() == before
else:
    raise AssertionError("nothing was launched, and nothing said")

# A user's call, whole.
gpu, watching = 0, []
def attending(allocate=lambda size, stride, dtype: torch.empty_strided(size, stride, dtype=dtype)):
    return napkin._core.AttentionCalls(torch.Tensor.__dlpack_c_exchange_api__, nt._PLAIN, allocate, torch.is_grad_enabled, lambda: gpu,
                                       (lambda: 0, lambda: watching))
calls = attending()
def attend(q=first[0], out=None, causal=True, window=None, scale=None, return_lse=False, turned=False):
    before = driver.fakeLaunches()
    found = calls.attend((q, *first[1:3], out), causal, window, scale, return_lse, turned)
    assert driver.fakeLaunches() == before + (found is not None)
    return found
assert attend() is None, "nothing is kept yet"
for given in (None, lse):
    calls.keep(shapes, (*first, given), -1, 0, None, False, made=True)
calls.keep(shapes, (*first, None), -1, 0, None, False)
calls.keep(shapes, (*first, None), -1, 0, 0.5, True, made=True)
calls.keep(shapes, (*first, None), 7, 3, None, False, made=True)
o = attend()
assert type(o) is torch.Tensor and o.shape == first[3].shape and o.stride() == first[3].stride()
o, found_lse = attend(return_lse=True)
assert o.shape == first[3].shape and found_lse.shape == lse.shape and attend(out=first[3]) is first[3]
for same in (dict(window=(-1, -1)), dict(window=(-1, 0)), dict(window=(-1, 5)), dict(causal=False, window=(-1, 0)), dict(scale=0.5, turned=True),
             dict(causal=False, window=(7, 3))):
    assert attend(**same) is not None, same
for other in (dict(causal=False), dict(window=(5, 0)), dict(scale=0.5), dict(turned=True), dict(window=(7, 3)), dict(causal=1), dict(window=[-1, 0]),
              dict(window=(-1, 0, 0)), dict(window=(-2, 0)), dict(window=(-1, 2**31)), dict(window=(-1, 2**70)), dict(window=(True, 0)), dict(window=5),
              dict(scale=1), dict(scale="x"), dict(return_lse=1), dict(q=5), dict(q=first[0][:1]), dict(out=5), dict(out=first[3], return_lse=True)):
    assert attend(**other) is None, other
watching.append(1)
assert attend() is None, "somebody wants to see each operator"
watching.clear()
gpu = 1
assert attend() is None, "tensors of another GPU than the current one"
gpu = 0
wants = first[0].detach().requires_grad_()
assert attend(wants) is None
with torch.no_grad():
    assert attend(wants) is not None
calls = attending(no_memory)
calls.keep(shapes, (*first, None), -1, 0, None, False, made=True)
try:
    attend()
except MemoryError:
    pass
else:
    raise AssertionError("nothing was launched, and nothing said")
# Tensors without memory of their own are no known call, and no error.
torch.vmap(lambda t: (nt._launches.launch((t, t, t, t, None), -1, -1, None, False), t)[1])(first[0])
assert not nt._launches.launch((first[0].to_sparse(), *first[1:], None), -1, -1, None, False)
# The function of Python asks that first, and hands a tangent over to nobody.
asked = []
class Known:
    def attend(self, *question):
        asked.append(question)
        return "known"
nt._launches, was = Known(), nt._launches
assert nt.attention(*first[:3], causal=True) == "known" and asked.pop() == ((*first[:3], None), True, None, None, False, False)
assert nt.flash_attn_func(*first[:3], softmax_scale=0.5) == "known" and asked.pop() == ((*first[:3], None), False, (-1, -1), 0.5, False, True)
with torch.autograd.forward_ad.dual_level():
    try:
        nt.attention(torch.autograd.forward_ad.make_dual(first[0], first[0]), *first[1:3])
    except Exception:
        assert not asked
    else:
        raise AssertionError("a tangent was dropped")
nt._launches = was

# A call that is known takes the host less than a microsecond; three where others compute beside it.
import time
spent = []
for _ in range(5):
    start = time.process_time()
    for _ in range(2000):
        nt._launches.launch((*first, None), -1, -1, None, False)
    spent.append((time.process_time() - start) / 2000)
assert min(spent) < 3e-6, spent
print("all said")
"""


def test_calls_are_found_by_what_their_tensors_are(tmp_path):
    torch = pytest.importorskip("torch", reason="SKIP: no PyTorch in this environment")
    compiler = shutil.which("c++")
    if compiler is None or not DRIVER.exists():
        pytest.skip("SKIP: no compiler, or no sources, to build the driver that computes nothing")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip(f"SKIP: PyTorch {torch.__version__} shows C no tensors")
    library = tmp_path / "lib64/libcuda.so.1"
    library.parent.mkdir()
    subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, DRIVER], check=True)
    shutil.copy(library, library.with_name("libnvrtc.so.13"))
    package = pathlib.Path(napkin.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", TRY], capture_output=True, text=True, check=False,
                          env={**os.environ, "CUDA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(package)})
    assert done.returncode == 0 and done.stdout == "all said\n", done.stderr
