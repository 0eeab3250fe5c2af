"""The parts of the PyTorch operators that need no GPU: schemas, fake tensors, autograd, compilation, refusals.

On the CPU the operators have no kernel: torch_on_cpu.py gives them ones that compute in float64.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="SKIP: no PyTorch in this environment")
import napkin  # noqa: E402
import napkin.torch as nt  # noqa: E402
from napkin import _gradients, _tensors  # noqa: E402
from torch_on_cpu import cpu_kernels, gradients, hopper, on_cpu, reference, tensors  # noqa: E402, F401

F = torch.nn.functional


def test_importing_napkin_activates_nothing():
    assert torch.nn.attention.current_flash_attention_impl() is None if hasattr(torch.nn.attention, "current_flash_attention_impl") else True


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize("want_lse", [False, True])
def test_opcheck(flash, want_lse):
    q, k, v = tensors(flash=flash)
    torch.library.opcheck(torch.ops.napkin.attention, (q, k, v, -1, 0, None, want_lse),
                          test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))
    out = torch.empty_like(q)
    torch.library.opcheck(torch.ops.napkin.attention_out, (q, k, v, out, None, -1, -1, 0.5),
                          test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))


def test_fakes_have_the_outputs_layout():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        for flash in (False, True):
            q, k, v = (mode.from_tensor(t) for t in tensors(flash=flash, dv=32))
            o, lse = torch.ops.napkin.attention(q, k, v, -1, -1, None, True)
            assert o.shape == (2, 4, 8, 32) and lse.shape == (2, 4, 8) and lse.dtype == torch.float32
            assert (o.stride(2) > o.stride(1)) == flash
        packed = torch.empty(24, 4, 64, dtype=torch.float16), *(torch.empty(30, 2, 64, dtype=torch.float16) for _ in "kv")
        starts = torch.empty(4, dtype=torch.int32)
        o, lse = torch.ops.napkin.attention_packed(*packed, starts, starts, 8, 10, -1, 0, None)
        assert o.shape == (24, 4, 64) and lse.shape == (4, 24)


@pytest.mark.parametrize("causal, window", [(False, None), (True, None), (False, (3, 2)), (True, (3, -1)), (True, (-1, -1))])
def test_masks_and_layouts_agree(causal, window):
    q, k, v = tensors()
    o, lse = nt.attention(q, k, v, causal=causal, window=window, return_lse=True)
    right, right_lse = reference(q, k, v, *nt._mask(causal, window), None)
    assert torch.allclose(o.double(), right, atol=2e-2) and torch.allclose(lse.double(), right_lse, atol=1e-4)
    turned = nt.flash_attn_func(*(t.transpose(1, 2) for t in (q, k, v)), causal=causal, window_size=window or (-1, -1))
    assert torch.equal(turned.transpose(1, 2), o)
    out = torch.empty_like(o)
    assert nt.attention(q, k, v, causal=causal, window=window, out=out) is out and torch.equal(out, o)


def test_compiles_without_graph_breaks():
    q, k, v = tensors()

    def model(q, k, v):
        return nt.attention(q * 2, k, v, causal=True, window=(9, 4), scale=0.5).relu() + nt.flash_attn_func(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)

    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    assert torch.equal(compiled(q, k, v), model(q, k, v))
    assert compiled(*tensors(rows=9, keys=17)).shape == (2, 4, 9, 16)


MASKS = [{}, {"causal": True}, {"window": (4, 0)}, {"window": (3, 5)}]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("flash", [False, True])
def test_gradients_agree(hopper, mask, flash):
    q, k, v = tensors(d=64, flash=flash)
    q, k, v = (t.detach().requires_grad_() for t in (q, k, v))
    o = nt.attention(q, k, v, **mask)
    grad = torch.randn_like(o)
    found = torch.autograd.grad(o, (q, k, v), grad)
    leaves = [t.detach().double().requires_grad_() for t in (q, k, v)]  # PyTorch's own derivative, in float64
    left_right = nt._mask(mask.get("causal", False), mask.get("window"))
    exact = torch.autograd.grad(reference(*leaves, *left_right, None)[0], leaves, grad.double())
    for one, right, of in zip(found, exact, (q, k, v)):
        assert one.stride() == of.stride() and torch.allclose(one.double(), right, atol=3e-2)


def test_opcheck_of_the_backward():
    for flash in (False, True):
        q, k, v = tensors(d=64, dv=128, flash=flash)
        o, lse = torch.ops.napkin.attention(q, k, v, -1, 0, None, True)
        for deterministic in (False, True):
            torch.library.opcheck(torch.ops.napkin.attention_backward, (torch.randn_like(o), q, k, v, o, lse, -1, 0, None, deterministic),
                                  test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))


@pytest.mark.parametrize("deterministic", [False, True])
def test_opcheck_of_the_forward_with_its_gradient(hopper, deterministic):
    q, k, v = tensors(d=64, grad=True)
    torch.library.opcheck(torch.ops.napkin.attention, (q, k, v, -1, 0, None, True, deterministic),
                          test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))


def test_a_gradient_compiles_without_graph_breaks(hopper):
    def loss(q, k, v):
        return (nt.attention(q * 2, k, v, causal=True).float() ** 2).sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    found = []
    for call in (loss, compiled):
        leaves = [t.detach().requires_grad_() for t in tensors(d=64)]
        call(*leaves).backward()
        found.append([t.grad for t in leaves])
    assert all(torch.equal(a, b) for a, b in zip(*found))


def watched(call):
    """Calls `call`, and returns the operators that run meanwhile, with their arguments."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func, args))
            return func(*args, **(kwargs or {}))

    with Watch():
        call()
    return seen


def test_the_backward_is_ours_where_a_kernel_takes_the_heads(hopper, monkeypatch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    ours, theirs = torch.ops.napkin.attention_backward.default, torch.ops.aten._flash_attention_backward.default
    for gpu, d, expected in (("h200-sxm", 64, ours), ("h200-sxm", 128, ours), ("h200-sxm", 256, ours), ("a100-sxm-80", 64, theirs)):
        monkeypatch.setattr(_gradients, "_gpu", lambda device, gpu=gpu: gpu)
        with FakeTensorMode() as mode:
            q, k, v = (mode.from_tensor(t.detach()).requires_grad_() for t in tensors(d=d))
            seen = watched(lambda: nt.attention(q, k, v, causal=True).sum().backward())
            assert q.grad.shape == q.shape and k.grad.shape == k.shape and v.grad.shape == v.shape
        assert [func for func, _ in seen if func in (ours, theirs)] == [expected], (gpu, d)


def test_deterministic_reaches_the_backward(hopper):
    from torch._subclasses.fake_tensor import FakeTensorMode

    def flag(**more):
        with FakeTensorMode() as mode:
            q, k, v = (mode.from_tensor(t.detach()).requires_grad_() for t in tensors(d=64))
            seen = watched(lambda: nt.attention(q, k, v, **more).sum().backward())
        return next(args[-1] for func, args in seen if func is torch.ops.napkin.attention_backward.default)

    assert [flag(), flag(deterministic=False), flag(deterministic=True)] == [False, False, True]
    torch.use_deterministic_algorithms(True)
    try:
        assert flag() and not flag(deterministic=False)
    finally:
        torch.use_deterministic_algorithms(False)


def test_gradients_that_nobody_computes(hopper):
    q, k, v = tensors(d=64, dv=128, grad=True)
    assert nt.attention(q, k, v).shape[-1] == 128, "two head dimensions that a kernel takes"
    q, k, v = tensors(d=64)
    o, lse = torch.ops.napkin.attention(q, k, v, -1, -1, None, True)
    with pytest.raises(napkin.InputError, match="like the output"):
        torch.ops.napkin.attention_backward(o[:, :1], q, k, v, o, lse, -1, -1, None, False)


def test_the_graph_of_a_gradient_is_pytorchs_backward():
    """On fakes of a GPU that no bundled backward pass runs on: the kernels are not run."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    for mask, expected in (({"causal": True}, True), ({"window": (4, 0)}, False), ({}, False)):
        with FakeTensorMode() as mode:
            q, k, v = (mode.from_tensor(t.detach()).requires_grad_() for t in tensors(d=64))
            with Watch():
                nt.attention(q, k, v, **mask).sum().backward()
            assert q.grad.shape == q.shape and k.grad.shape == k.shape and v.grad.shape == v.shape
        found = [(args, more) for func, args, more in seen if func is torch.ops.aten._flash_attention_backward.default]
        args, more = found[-1]
        assert args[11] is expected and args[1].shape == (2, 8, 4, 64) and args[5].shape == (2, 4, 8)
        assert more.get("window_size_left") == (4 if "window" in mask else None)


@pytest.mark.parametrize("change, words", [
    (lambda q, k, v: (q.float(), k, v), "bfloat16"),
    (lambda q, k, v: (q, k.half(), v), "one element type"),
    (lambda q, k, v: (q[0], k, v), "3 axes"),
    (lambda q, k, v: (q, k[..., :8], v), "one head dimension"),
    (lambda q, k, v: (q, k, v[:, :1]), "equal but for the last axis"),
    (lambda q, k, v: (q[:, :3], k, v), "multiple of the key heads"),
    (lambda q, k, v: (q[:1], k, v), "one batch"),
])
def test_refusals(change, words):
    with pytest.raises(napkin.InputError, match=words):
        nt.attention(*change(*tensors()))


def test_more_refusals():
    q, k, v = tensors(grad=True)  # on no GPU: gradients are PyTorch's
    flash = [t.transpose(1, 2) for t in (q, k, v)]
    for call, words in (
        (lambda: nt.flash_attn_func(*flash, dropout_p=0.1), "dropout_p"),
        (lambda: nt.flash_attn_func(*flash, softcap=1.0), "softcap"),
        (lambda: nt.flash_attn_func(*flash, alibi_slopes=torch.ones(4)), "alibi_slopes"),
        (lambda: nt.attention(q, k, v, out=torch.empty_like(q)), "gradient"),
        (lambda: nt.attention(q, k, v, window=3), "window"),
        (lambda: nt.attention(q, k, v, window=(-2, 0)), "window"),
        (lambda: nt.attention(q, k, v, window=(1.5, 0)), "window"),
        (lambda: nt.attention(q, k, v, window=(0, 2**70)), "window"),
        (lambda: nt.attention(q, k, v, scale="small"), "scale"),
        (lambda: nt.flash_attn_func(*flash, softmax_scale=[1.0]), "scale"),
        (lambda: nt.attention(q.detach(), k.detach(), v.detach(), out=torch.empty(3)), "out"),
        (lambda: nt.attention(q, k, v, return_lse=True)[1].sum().backward(), "lse"),
        (lambda: nt.attention(5, k, v), "q: is 5: a tensor"),
        (lambda: nt.attention(q, [1.0], v), "k: is "),
        (lambda: nt.attention(q.detach(), k.detach(), v.detach(), out="here"), "out: is "),
        (lambda: nt.flash_attn_func(q, k, None), "v: is None"),
        (lambda: nt.varlen(q[0], k[0], v[0], [0, 1], [0, 1], 1, 1), "q_starts: is "),
    ):
        with pytest.raises(napkin.InputError, match=words):
            call()


def test_strides_that_the_kernels_take():
    t = torch.zeros(4, 8, 64, dtype=torch.bfloat16)
    assert _tensors._strides(t, "q", (0, 1)) == (512, 64)
    assert _tensors._strides(t[:1], "q", (0,)) == (64,), "an axis of size 1 has no stride that matters"
    for bad, words in ((t.transpose(1, 2), "last axis"), (t[:, :1].expand(4, 8, 64), "expanded"),
                       (torch.zeros(4, 8, 65, dtype=torch.bfloat16)[..., :64], "stride 65")):
        with pytest.raises(napkin.InputError, match=words):
            _tensors._strides(bad, "q", (0, 1))


@pytest.mark.parametrize("d, dv", [(12, 12), (16, 20), (59, 40), (8, 3)])
def test_heads_of_any_width(hopper, d, dv):
    q, k, v = (t.detach().requires_grad_() for t in tensors(d=d, dv=dv))
    o, lse = nt.attention(q, k, v, causal=True, return_lse=True)
    leaves = [t.detach().double().requires_grad_() for t in (q, k, v)]
    right, right_lse = reference(*leaves, -1, 0, None)
    assert o.shape[-1] == dv and torch.allclose(o.double(), right, atol=2e-2) and torch.allclose(lse.double(), right_lse, atol=1e-4)
    grad = torch.randn_like(o)
    found, exact = torch.autograd.grad(o, (q, k, v), grad), torch.autograd.grad(right, leaves, grad.double())
    assert all(a.shape == b.shape and torch.allclose(a.double(), b, atol=6e-2) for a, b in zip(found, exact))
    starts = torch.tensor([0, 3, 8], dtype=torch.int32)
    rows = [t.detach()[0].transpose(0, 1)[:8] for t in (q, k, v)]
    packed = nt.varlen(*rows, starts, starts, 5, 5)
    assert torch.allclose(packed[:3].transpose(0, 1)[None].double(), reference(*(t[:3].transpose(0, 1)[None] for t in rows), -1, -1, None)[0], atol=2e-2)


def test_tensors_that_the_copy_engine_cannot_take_are_copied(hopper):
    q, k, v = tensors()
    right = nt.attention(q, k, v)
    wide = torch.zeros(2, 4, 8, 17, dtype=q.dtype)
    wide[..., 1:] = q
    strange = (wide[..., 1:], k.transpose(2, 3).contiguous().transpose(2, 3), v[:1].expand(2, -1, -1, -1))
    assert wide[..., 1:].stride(2) == 17 and torch.equal(nt.attention(strange[0], strange[1], v), right)
    assert torch.equal(nt.attention(q, k, strange[2])[0], right[0])
    leaf = strange[1].detach().requires_grad_()
    nt.attention(q, leaf, v).sum().backward()
    assert leaf.grad.shape == k.shape


def test_pytorchs_backward_of_two_widths_and_in_order(monkeypatch):
    """On fakes of a GPU that no bundled backward pass runs on."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    monkeypatch.setattr(_gradients, "_gpu", lambda device: "a100-sxm-80")
    with FakeTensorMode() as mode:
        q, k, v = (mode.from_tensor(t.detach()).requires_grad_() for t in tensors(d=64, dv=32))
        seen = watched(lambda: nt.attention(q, k, v).sum().backward())
        assert q.grad.shape == q.shape and k.grad.shape == k.shape and v.grad.shape == v.shape
    assert all(t.shape[-1] == 64 for func, args in seen if func is torch.ops.aten._flash_attention_backward.default for t in args[:5])
    with _gradients._as_deterministic(True):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()


def test_no_gpu_is_said():
    library = torch.library.Library("napkin", "IMPL")
    library.impl("attention", nt._refuse, "CPU", allow_override=True)
    try:
        with pytest.raises(napkin.InputError, match="CUDA GPU"):
            nt.attention(*tensors())
    finally:
        library._destroy()
        again = torch.library.Library("napkin", "IMPL")
        again.impl("attention", on_cpu, "CPU", allow_override=True)
        test_no_gpu_is_said.kept = again
    if not torch.cuda.is_available():
        shapes = napkin._core.AttentionShapes((1, 1, 1, 64, 64, 64, 64), "bf16", ((64, 64, 64),) * 4, (False, None), None, (0, 0))
        with pytest.raises(napkin.CudaError):
            shapes.launch((4096,) * 4, 0, 0, 0, 0, 0)


def test_launches_around_a_driver_that_computes_nothing(tmp_path):
    here = pathlib.Path(__file__).parent
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("SKIP: no C++ compiler for the driver that computes nothing")
    (tmp_path / "lib64").mkdir()
    driver = tmp_path / "lib64" / "libcuda.so.1"
    subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", driver,
                    here.parent / "golden" / "fake_cuda" / "fake_cuda.cpp"], check=True)
    shutil.copy(driver, tmp_path / "lib64" / "libnvrtc.so.13")
    done = subprocess.run([sys.executable, "-W", "ignore", here / "fake_launches.py", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    def backward(order):
        return ["attention_backward_delta", f"attention_backward_sm90 {order}", "attention_backward_convert"]
    usual = found["backward"][1].split()[1]
    assert found["forward"] == ["attention_sm90"] and usual in ("bulk", "atomic")
    assert found["backward"] == found["expanded"] == found["packed"] == backward(usual) and found["deterministic"] == backward("ordered")
    assert found["strides"] == [[64 * 2 * 128, 128, 2 * 128, 1]] * 3, "rows of all heads side by side, as q's are"
    assert found["microseconds"]["step"] < 100, "keys that grow by one: 20 us on a machine that does nothing else"
    print(found["microseconds"])


def test_sdpa_registry():
    registry = pytest.importorskip("torch.nn.attention")
    if not hasattr(registry, "register_flash_attention_impl"):
        pytest.skip(f"SKIP: PyTorch {torch.__version__} has no registry of attention implementations")
    nt.activate()
    try:
        assert registry.current_flash_attention_impl() == "NAPKIN"
    finally:
        nt.restore()
    assert registry.current_flash_attention_impl() is None
    nt.restore()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="SKIP: no GPU: tests/python/run_torch.py measures on one")
def test_on_the_gpu():
    q, k, v = (t.cuda() for t in tensors(rows=256, keys=256, d=128))
    right = reference(q.cpu(), k.cpu(), v.cpu(), -1, 0, None)[0]
    assert torch.allclose(nt.attention(q, k, v, causal=True).cpu().double(), right, atol=2e-2)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="SKIP: no GPU: tests/python/run_torch.py measures on one")
@pytest.mark.parametrize("d", [64, 96, 128, 256])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("deterministic", [False, True])
def test_gradients_on_the_gpu(d, mask, deterministic):
    q, k, v = (t.detach().cuda().requires_grad_() for t in tensors(rows=200, keys=300, d=d))
    if deterministic and _gradients.refusal(q, v):
        pytest.skip(f"SKIP: {_gradients.refusal(q, v)}")
    o = nt.attention(q, k, v, deterministic=deterministic, **mask)
    grad = torch.randn_like(o)
    found = torch.autograd.grad(o, (q, k, v), grad, retain_graph=deterministic)
    exact = gradients(*(t.detach().cpu() for t in (grad, q, k, v)), *nt._mask(mask.get("causal", False), mask.get("window")), None)
    for one, right in zip(found, exact):
        assert torch.allclose(one.cpu().double(), right, atol=5e-2)
    if deterministic:
        again = torch.autograd.grad(o, (q, k, v), grad)
        assert all(torch.equal(a, b) for a, b in zip(found, again))
