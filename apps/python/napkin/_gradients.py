"""Gradients of attention on PyTorch's tensors: by the bundled backward pass where it takes such heads on that GPU, else by
PyTorch's FlashAttention-2 backward from our output and log-sum-exp."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Iterator, Optional

import torch
from torch import Tensor

from . import _core
from ._errors import InputError
from ._layout import widened
from ._tensors import _ALL, _DTYPES, _on_stream, _row_strides


class Call:
    """A checked call with the functions that launch it and its gradients, shared by all calls of its shape, layout and
    mask."""

    __slots__ = ("forward", "gradients", "refused")

    def __init__(self, forward: Any) -> None:
        self.forward = forward  # AttentionShapes; None: there is nothing to compute
        self.refused: Optional[str] = None  # refusal() of the gradients, once it was asked for
        self.gradients: dict[Any, Optional[_Prepared]] = {}  # by dO's strides and whether equal bits are asked for


class _Prepared:
    __slots__ = ("shapes", "bytes", "elements")

    def __init__(self, shapes: Any) -> None:
        self.shapes = shapes
        self.bytes = self.elements = -1  # of workspace, not asked for yet


@functools.cache
def _gpu(device: torch.device) -> str:
    """Returns the profile of the tensors' GPU, or "" if they are on none."""
    return str(_core.profile_of_device(device.index)) if device.type == "cuda" else ""


@functools.cache
def _refusal_on(gpu: str, dtype: str, d: int, dv: int) -> str:
    return str(_core.backward_refusal(gpu, dtype, d, dv)) if gpu else "the tensors are on no CUDA GPU"


def refusal(q: Tensor, v: Tensor) -> str:
    """Returns the reason why the bundled backward pass does not take such heads, or "" if it does."""
    return _refusal_on(_gpu(q.device), _DTYPES[q.dtype], int(q.shape[-1]), int(v.shape[-1]))


@contextlib.contextmanager
def _as_deterministic(wanted: bool) -> Iterator[None]:
    """Makes PyTorch's kernels add up in a fixed order inside the block. Raises InputError in a program that is being compiled."""
    if not wanted or torch.are_deterministic_algorithms_enabled():
        yield
        return
    if torch._C._len_torch_dispatch_stack() > 0 or torch.compiler.is_compiling():
        raise InputError("deterministic", "is asked of PyTorch's backward in a program that is compiled", "torch.use_deterministic_algorithms(True)")
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False, warn_only=warn_only)


def no_dropout(t: Tensor) -> tuple[Tensor, Tensor]:
    """Returns a state of random numbers, which PyTorch's backward takes and does not read without dropout."""
    return (torch.empty(2, dtype=torch.uint64, device=t.device), torch.empty((), dtype=torch.uint64, device=t.device))


def of_pytorch(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, left: int, right: int,
               scale: Optional[float], deterministic: bool = False, starts: tuple[Any, Any] = (None, None),
               longest: Optional[tuple[int, int]] = None) -> tuple[Tensor, Tensor, Tensor]:
    """Computes gradients by PyTorch's FlashAttention-2 backward of [b, heads, rows, d], or of [rows, heads, d] packed.

    It takes the natural logarithm of the sum of exponentials, as our forward writes it, but +infinity for a row that sees
    nothing, so that exp(s - lse) is 0. Its heads have one width: the narrower ones get zeros.
    """
    d, dv = q.shape[-1], v.shape[-1]
    if d != dv:
        scale = d**-0.5 if scale is None else scale
        grad, q, k, v, o = (widened(t, max(d, dv)) for t in (grad, q, k, v, o))
    packed = longest is not None
    longest = longest or (q.shape[2], k.shape[2])
    if not packed:
        grad, q, k, v, o = (t.transpose(1, 2) for t in (grad, q, k, v, o))
    causal = left == _ALL and right == 0
    limits = {} if causal or (left == _ALL and right == _ALL) else {
        "window_size_left": None if left == _ALL else left, "window_size_right": None if right == _ALL else right}
    if left != _ALL or right != _ALL:
        lse = torch.where(torch.isneginf(lse), torch.inf, lse)
    with _as_deterministic(deterministic):
        found = torch.ops.aten._flash_attention_backward(grad.contiguous(), q, k, v, o, lse, *starts, *longest, 0.0, causal,
                                                         *no_dropout(q), scale=scale, **limits)
    dq, dk, dv_rows = (t if packed else t.transpose(1, 2) for t in found)
    return dq[..., :d], dk[..., :d], dv_rows[..., :dv]


def check_gradient(grad: Tensor, o: Tensor) -> None:
    if grad.shape != o.shape or grad.dtype != o.dtype or grad.device != o.device:
        raise InputError("grad", f"is {tuple(grad.shape)} of {grad.dtype} on {grad.device}",
                         f"{tuple(o.shape)} of {o.dtype} on {o.device}, like the output")


def like(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Allocates the gradients, laid out as q, k and v are."""
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def _prepare(call: Call, grad: Tensor, q: Tensor, k: Tensor, v: Tensor, deterministic: bool) -> Optional[_Prepared]:
    """Returns the function that launches gradients from a dO of these strides, or None if dO has to be made contiguous
    first."""
    check_gradient(grad, grad.new_empty((*q.shape[:-1], v.shape[-1])))
    try:
        first = _row_strides(grad, "grad")
    except InputError:
        return None
    strides = (first, *(_row_strides(t, name) for t, name in zip(like(q, k, v), ("dq", "dk", "dv"))))
    return _Prepared(_core.AttentionBackwardShapes(call.forward, strides, deterministic))


def launch(call: Call, grad: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, deterministic: bool,
           starts: tuple[int, int] = (0, 0)) -> tuple[Tensor, Tensor, Tensor]:
    """Computes dQ, dK and dV by the bundled backward pass."""
    key = grad.stride(), deterministic
    try:
        found = call.gradients[key]
    except KeyError:
        found = call.gradients[key] = _prepare(call, grad, q, k, v, deterministic) if call.forward is not None else None
    if call.forward is None:
        return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    if found is None or grad.data_ptr() % 16 != 0:
        return launch(call, grad.clone(memory_format=torch.contiguous_format), q, k, v, o, lse, deterministic, starts)
    dq, dk, dv = like(q, k, v)
    arrays = (q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(), grad.data_ptr(), dq.data_ptr(), dk.data_ptr(), dv.data_ptr(),
              lse.data_ptr())
    device = q.get_device()
    if found.bytes < 0:
        found.bytes = found.shapes.workspace((*arrays, 0), starts, device)
        found.elements = -(-found.bytes // q.element_size())
    workspace = q.new_empty(found.elements)
    _on_stream(device, found.shapes.launch, (*arrays, workspace.data_ptr()), starts, found.bytes)
    return dq, dk, dv
