"""The PyTorch operator as far as no GPU reaches: schemas, fake tensors, autograd, compilation, refusals.

On the CPU the operator has no kernel: here it gets one that computes in float32, in the place of the GPU's.
"""

import math

import pytest

torch = pytest.importorskip("torch", reason="SKIP: no PyTorch in this environment")
import napkin  # noqa: E402
import napkin.torch as nt  # noqa: E402

F = torch.nn.functional


def visible(rows, keys, left, right):
    i, j = torch.arange(rows)[:, None], torch.arange(keys)[None, :]
    mask = torch.ones(rows, keys, dtype=torch.bool)
    if left >= 0:
        mask &= j >= i + keys - rows - left
    if right >= 0:
        mask &= j <= i + keys - rows + right
    return mask


def reference(q, k, v, left, right, scale):
    """In float64, with the natural log-sum-exp."""
    group = q.shape[1] // k.shape[1]
    k, v = (t.double().repeat_interleave(group, dim=1) for t in (k, v))
    s = q.double() @ k.transpose(-1, -2) * (scale if scale is not None else q.shape[-1] ** -0.5)
    s = s.masked_fill(~visible(q.shape[2], k.shape[2], left, right), -math.inf)
    lse = torch.logsumexp(s, -1)
    p = torch.exp(s - torch.where(lse.isneginf(), 0.0, lse)[..., None])
    return (p @ v), lse


def on_cpu(q, k, v, left, right, scale, want_lse):
    o, lse = nt._outputs(q, k, v, want_lse)
    found = reference(q, k, v, left, right, scale)
    o.copy_(found[0])
    return o, lse.copy_(found[1]) if want_lse else lse


def out_on_cpu(q, k, v, out, lse, left, right, scale):
    nt._check_out(q, k, v, out, lse)
    found = reference(q, k, v, left, right, scale)
    out.copy_(found[0])
    if lse is not None:
        lse.copy_(found[1])


@pytest.fixture(scope="module", autouse=True)
def cpu_kernels():
    library = torch.library.Library("napkin", "IMPL")
    library.impl("attention", on_cpu, "CPU", allow_override=True)
    library.impl("attention_out", out_on_cpu, "CPU", allow_override=True)
    yield
    library._destroy()


def tensors(b=2, heads=4, keys_heads=2, rows=8, keys=16, d=16, dv=None, dtype=torch.bfloat16, flash=False, grad=False):
    torch.manual_seed(0)
    def one(h, n, size):
        t = torch.randn((b, n, h, size) if flash else (b, h, n, size), dtype=torch.float32).to(dtype)
        return (t.transpose(1, 2) if flash else t).requires_grad_(grad)
    return one(heads, rows, d), one(keys_heads, keys, d), one(keys_heads, keys, dv or d)


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
        return nt.attention(q * 2, k, v, causal=True).relu() + nt.flash_attn_func(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)

    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    assert torch.equal(compiled(q, k, v), model(q, k, v))
    assert compiled(*tensors(rows=9, keys=17)).shape == (2, 4, 9, 16)


def test_the_graph_of_a_gradient_is_pytorchs_backward():
    """On fakes of the GPU's: the kernels of the backward are not run."""
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
    q, k, v = tensors(grad=True)
    flash = [t.transpose(1, 2) for t in (q, k, v)]
    for call, words in (
        (lambda: nt.flash_attn_func(*flash, dropout_p=0.1), "dropout_p"),
        (lambda: nt.flash_attn_func(*flash, softcap=1.0), "softcap"),
        (lambda: nt.flash_attn_func(*flash, alibi_slopes=torch.ones(4)), "alibi_slopes"),
        (lambda: nt.attention(q, k, v, out=torch.empty_like(q)), "gradient"),
        (lambda: nt.attention(*tensors(dv=32, grad=True)), "one head dimension"),
        (lambda: nt.attention(q, k, v, window=3), "window"),
        (lambda: nt.attention(q, k, v, window=(-2, 0)), "window"),
        (lambda: nt.attention(q.detach(), k.detach(), v.detach(), out=torch.empty(3)), "out"),
        (lambda: nt.attention(q, k, v, return_lse=True)[1].sum().backward(), "lse"),
    ):
        with pytest.raises(napkin.InputError, match=words):
            call()


def test_strides_that_the_kernels_take():
    t = torch.zeros(4, 8, 64, dtype=torch.bfloat16)
    assert nt._strides(t, "q", (0, 1)) == (512, 64)
    assert nt._strides(t[:1], "q", (0,)) == (64,), "an axis of size 1 has no stride that matters"
    for bad, words in ((t.transpose(1, 2), "last axis"), (t[:, :1].expand(4, 8, 64), "expanded"),
                       (torch.zeros(4, 8, 65, dtype=torch.bfloat16)[..., :64], "stride 65")):
        with pytest.raises(napkin.InputError, match=words):
            nt._strides(bad, "q", (0, 1))


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


def test_transformers():
    transformers = pytest.importorskip("transformers", reason="SKIP: no transformers in this environment")
    nt.register_transformers()
    config = transformers.LlamaConfig(hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, vocab_size=50)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    ids = torch.randint(0, 50, (2, 12))
    with torch.no_grad():
        model.set_attn_implementation("sdpa")
        right = model(ids).logits
        model.set_attn_implementation("napkin")
        assert torch.allclose(model(ids).logits.float(), right.float(), atol=0.05)
        assert torch.equal(model.generate(ids, max_new_tokens=3, do_sample=False)[:, :12], ids)
        padded = torch.ones_like(ids)
        padded[0, :4] = 0
        with pytest.raises(napkin.InputError, match="attention_mask"):
            model(ids, attention_mask=padded)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="SKIP: no GPU: tests/python/run_torch.py measures on one")
def test_on_the_gpu():
    q, k, v = (t.cuda() for t in tensors(rows=256, keys=256, d=128))
    right = reference(q.cpu(), k.cpu(), v.cpu(), -1, 0, None)[0]
    assert torch.allclose(nt.attention(q, k, v, causal=True).cpu().double(), right, atol=2e-2)
