"""Kernels of napkin's operators for the CPU, which compute in float64 in place of the GPU's; that of the backward pass stands in
for an H200's."""

import math

import pytest

torch = pytest.importorskip("torch", reason="SKIP: no PyTorch in this environment")
import napkin.torch as nt  # noqa: E402
from napkin import _gradients  # noqa: E402


def visible(rows, keys, left, right):
    i, j = torch.arange(rows)[:, None], torch.arange(keys)[None, :]
    mask = torch.ones(rows, keys, dtype=torch.bool)
    if left >= 0:
        mask &= j >= i + keys - rows - left
    if right >= 0:
        mask &= j <= i + keys - rows + right
    return mask


def reference(q, k, v, left, right, scale):
    """Computes attention in float64, with the natural log-sum-exp."""
    group = q.shape[1] // k.shape[1]
    k, v = (t.double().repeat_interleave(group, dim=1) for t in (k, v))
    s = q.double() @ k.transpose(-1, -2) * (scale if scale is not None else q.shape[-1] ** -0.5)
    s = s.masked_fill(~visible(q.shape[2], k.shape[2], left, right), -math.inf)
    lse = torch.logsumexp(s, -1)
    p = torch.exp(s - torch.where(lse.isneginf(), 0.0, lse)[..., None])
    return (p @ v), lse


def gradients(grad, q, k, v, left, right, scale):
    """Computes gradients in float64 by the formula, since kernels below PyTorch's autograd cannot differentiate."""
    o, lse = reference(q, k, v, left, right, scale)
    group, scale = q.shape[1] // k.shape[1], scale if scale is not None else q.shape[-1] ** -0.5
    grad, q = grad.double(), q.double()
    wide_k, wide_v = (t.double().repeat_interleave(group, dim=1) for t in (k, v))
    s = (q @ wide_k.transpose(-1, -2) * scale).masked_fill(~visible(q.shape[2], k.shape[2], left, right), -math.inf)
    p = torch.exp(s - torch.where(lse.isneginf(), 0.0, lse)[..., None])
    ds = p * (grad @ wide_v.transpose(-1, -2) - (grad * o).sum(-1, keepdim=True)) * scale
    return ds @ wide_k, *((part.transpose(-1, -2) @ rows).unflatten(1, (-1, group)).sum(2) for part, rows in ((ds, q), (p, grad)))


def on_cpu(q, k, v, left, right, scale, want_lse, deterministic=False):
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


def backward_on_cpu(grad, q, k, v, o, lse, left, right, scale, deterministic):
    _gradients.check_gradient(grad, o)
    out = _gradients.like(q, k, v)
    for to, found in zip(out, gradients(grad, q, k, v, left, right, scale)):
        to.copy_(found)
    return out


def packed_on_cpu(q, k, v, q_starts, x_starts, q_max, x_max, left, right, scale, deterministic=False):
    o, lse = nt._packed_outputs(q, k, v, q_starts, x_starts)
    for i in range(len(q_starts) - 1):
        rows, keys = slice(*q_starts[i:i + 2].tolist()), slice(*x_starts[i:i + 2].tolist())
        if rows.start == rows.stop:
            continue
        found = reference(*(t.transpose(0, 1)[None] for t in (q[rows], k[keys], v[keys])), left, right, scale)
        o[rows] = found[0][0].transpose(0, 1).to(o)
        lse[:, rows] = found[1][0].float()
    return o, lse


@pytest.fixture(scope="module", autouse=True)
def cpu_kernels():
    library = torch.library.Library("napkin", "IMPL")
    library.impl("attention_packed", packed_on_cpu, "CPU", allow_override=True)
    library.impl("attention", on_cpu, "CPU", allow_override=True)
    library.impl("attention_out", out_on_cpu, "CPU", allow_override=True)
    library.impl("attention_backward", backward_on_cpu, "CPU", allow_override=True)
    yield
    library._destroy()


@pytest.fixture
def hopper(monkeypatch):
    """Makes the package take tensors for tensors on an H200."""
    monkeypatch.setattr(_gradients, "_gpu", lambda device: "h200-sxm")


def tensors(b=2, heads=4, keys_heads=2, rows=8, keys=16, d=16, dv=None, dtype=torch.bfloat16, flash=False, grad=False):
    torch.manual_seed(0)
    def one(h, n, size):
        t = torch.randn((b, n, h, size) if flash else (b, h, n, size), dtype=torch.float32).to(dtype)
        return (t.transpose(1, 2) if flash else t).requires_grad_(grad)
    return one(heads, rows, d), one(keys_heads, keys, d), one(keys_heads, keys, dv or d)
