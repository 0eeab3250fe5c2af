"""Attention on the GPU as an operator of PyTorch: napkin's kernels, tile selected for the GPU and the shape.

>>> import napkin.torch
>>> out = napkin.torch.attention(q, k, v, causal=True)          # [b, heads, rows, d], bf16 or f16, strides as they are
>>> out = napkin.torch.flash_attn_func(q, k, v, causal=True)    # [b, rows, heads, d], the signature of flash_attn
>>> napkin.torch.activate()                                     # F.scaled_dot_product_attention uses it from now on
>>> napkin.torch.restore()

Masks are aligned at the bottom right: row i sees keys j <= i + x - q. A row that sees nothing has output 0 and
log-sum-exp -infinity. Fewer key heads than query heads (grouped queries) are given as they are, not expanded. The first
call of a shape selects a tile and compiles it (seconds); plan and machine code stay on disk. Calls run on the current
stream, can be captured into CUDA graphs after one call outside, and have gradients by PyTorch's flash backward from our
output and log-sum-exp. What no kernel computes raises napkin.InputError with the reason: nothing falls back in silence.
"""

from __future__ import annotations

import functools
from typing import Any, Optional

import torch
from torch import Tensor

from . import _core
from ._errors import InputError

__all__ = ["activate", "attention", "flash_attn_func", "flash_attn_varlen_func", "register_transformers", "restore",
           "transformers_attention", "varlen"]

_DTYPES = {torch.bfloat16: "bf16", torch.float16: "f16"}
_ALL = -1  # of a window: to the end, as flash_attn has it


def _mask(causal: bool, window: Any) -> tuple[int, int]:
    """(left, right), -1 without limit."""
    if window is None:
        return _ALL, 0 if causal else _ALL
    try:
        left, right = (int(side) for side in window)
    except (TypeError, ValueError):
        raise InputError("window", f"is {window!r}", "two whole numbers (left, right); -1: no limit") from None
    if left < -1 or right < -1:
        raise InputError("window", f"is {window!r}", "whole numbers from -1 (no limit)")
    return left, 0 if causal and (right == _ALL or right > 0) else right


def _check(q: Tensor, k: Tensor, v: Tensor, dims: int) -> None:
    """What holds of every call; heads are the second axis."""
    for name, t in (("q", q), ("k", k), ("v", v)):
        if t.dim() != dims:
            raise InputError(name, f"has {t.dim()} axes", f"{dims} axes")
        if t.dtype not in _DTYPES:
            raise InputError(name, f"is of {t.dtype}", "torch.bfloat16 or torch.float16")
        if t.dtype != q.dtype:
            raise InputError(name, f"is of {t.dtype}, and q of {q.dtype}", "one element type")
        if t.device != q.device:
            raise InputError(name, f"is on {t.device}, and q on {q.device}", "one device")
    if k.shape[:-1] != v.shape[:-1]:
        raise InputError("v", f"has the shape {tuple(v.shape)} beside k's {tuple(k.shape)}", "equal but for the last axis")
    if q.shape[-1] != k.shape[-1]:
        raise InputError("k", f"has heads of {k.shape[-1]}, and q of {q.shape[-1]}", "one head dimension d")
    if dims == 4 and q.shape[0] != k.shape[0]:
        raise InputError("k", f"has a batch of {k.shape[0]}, and q of {q.shape[0]}", "one batch")
    if k.shape[1] == 0 or q.shape[1] % k.shape[1] != 0:
        raise InputError("q", f"has {q.shape[1]} heads for {k.shape[1]} of k", "a multiple of the key heads")


def _strides(t: Tensor, name: str, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of these axes; an axis of size 1 has none that matters."""
    if t.stride(-1) != 1:
        raise InputError(name, f"has the stride {t.stride(-1)} along its last axis", "a dense last axis: .contiguous()")
    found = []
    for axis in axes:
        stride = t.stride(axis) if t.size(axis) > 1 else t.size(-1)
        if stride <= 0 or stride % 8 != 0:
            why = "an expanded axis" if stride == 0 else f"the stride {stride} along axis {axis}"
            raise InputError(name, f"has {why}", "strides that are multiples of 8: .contiguous(), or key heads unexpanded")
        found.append(stride)
    return tuple(found)


def _window(left: int, right: int, q: int, x: int) -> tuple[bool, Optional[tuple[int, int]]]:
    if left == _ALL and right == _ALL:
        return False, None
    if left == _ALL and right == 0:
        return True, None
    return False, (q + x if left == _ALL else left, q + x if right == _ALL else right)


@functools.cache
def _load_compiler() -> None:
    """PyTorch's own NVRTC, for machines without a CUDA toolkit: the library opens what is loaded by its name."""
    import ctypes
    import pathlib

    for path in sorted(pathlib.Path(torch.__file__).parents[1].glob("nvidia/*/lib/libnvrtc.so.1?")):
        try:
            ctypes.CDLL(str(path))
        except OSError:
            continue


def _launch(shapes: Any, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Optional[Tensor], starts: tuple[int, int] = (0, 0)) -> None:
    """On the tensors' device and its current stream. PyTorch's current device stays what it is."""
    index = q.get_device()
    tensors = (q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr())
    kept = 0 if lse is None else lse.data_ptr()
    stream = torch._C._cuda_getCurrentRawStream(index)
    if torch._C._cuda_getDevice() == index:
        shapes.launch(tensors, kept, *starts, index, stream)
    else:
        with torch.cuda.device(index):
            shapes.launch(tensors, kept, *starts, index, stream)


_calls: dict[Any, Any] = {}  # AttentionShapes by what a call is but for its memory; None: there is nothing to compute
_CALLS_KEPT = 4096


def _shapes(q: Tensor, k: Tensor, v: Tensor, o: Tensor, left: int, right: int, scale: Optional[float], flash: bool) -> Any:
    """Checked once for all calls of these shapes, strides, types and devices. flash: [b, rows, heads, d]."""
    key = (q.shape, q.stride(), k.shape, k.stride(), v.shape, v.stride(), o.stride(), q.dtype, k.dtype, v.dtype, q.get_device(),
           k.get_device(), v.get_device(), left, right, scale, flash)
    try:
        return _calls[key]
    except KeyError:
        pass
    if flash:
        q, k, v, o = (t.transpose(1, 2) for t in (q, k, v, o))
    _check(q, k, v, 4)
    _load_compiler()
    b, heads, rows, d = q.shape
    keys, dv, kv = k.shape[2], v.shape[3], k.shape[1]
    made = None
    if o.numel() > 0 and keys > 0:
        strides = tuple(_strides(t, name, (0, 1, 2)) for t, name in ((q, "q"), (k, "k"), (v, "v"), (o, "out")))
        made = _core.AttentionShapes((b, kv, heads // kv, rows, keys, d, dv), _DTYPES[q.dtype], strides,
                                     _window(left, right, rows, keys), scale, (0, 0))
    if len(_calls) >= _CALLS_KEPT:
        _calls.clear()
    _calls[key] = made
    return made


def _into(q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Optional[Tensor], left: int, right: int, scale: Optional[float],
          flash: bool = False) -> None:
    shapes = _shapes(q, k, v, o, left, right, scale, flash)
    if shapes is not None:
        _launch(shapes, q, k, v, o, lse)
    else:  # no keys, or no rows: PyTorch's kernels fill what there is
        o.zero_()
        if lse is not None:
            lse.fill_(-torch.inf)


def _empty_like_rows(q: Tensor, dv: int) -> Tensor:
    """[b, heads, rows, dv] laid out as q is: rows of all heads side by side, or head by head."""
    b, heads, rows, _ = q.shape
    if q.stride(2) > q.stride(1):
        return q.new_empty((b, rows, heads, dv)).transpose(1, 2)
    return q.new_empty((b, heads, rows, dv))


def _outputs(q: Tensor, k: Tensor, v: Tensor, want_lse: bool) -> tuple[Tensor, Tensor]:
    _check(q, k, v, 4)
    b, heads, rows, _ = q.shape
    return _empty_like_rows(q, v.shape[3]), q.new_empty((b, heads, rows) if want_lse else (0,), dtype=torch.float32)


def _forward(q: Tensor, k: Tensor, v: Tensor, left: int, right: int, scale: Optional[float],
             want_lse: bool) -> tuple[Tensor, Tensor]:
    if q.dim() != 4 or v.dim() != 4:
        _check(q, k, v, 4)
    o = _empty_like_rows(q, v.shape[3])
    lse = q.new_empty(q.shape[:3] if want_lse else (0,), dtype=torch.float32)
    _into(q, k, v, o, lse if want_lse else None, left, right, scale)
    return o, lse


def _forward_flash(q: Tensor, k: Tensor, v: Tensor, left: int, right: int, scale: Optional[float],
                   want_lse: bool) -> tuple[Tensor, Tensor]:
    """_forward() of rows of all heads side by side, [b, rows, heads, d], which nobody has to turn."""
    b, rows, heads, _ = q.shape
    o = q.new_empty((b, rows, heads, v.shape[3]))
    lse = q.new_empty((b, heads, rows) if want_lse else (0,), dtype=torch.float32)
    _into(q, k, v, o, lse if want_lse else None, left, right, scale, True)
    return o, lse


def _check_out(q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Optional[Tensor]) -> None:
    _check(q, k, v, 4)
    wanted = (*q.shape[:3], v.shape[3])
    if tuple(out.shape) != wanted or out.dtype != q.dtype or out.device != q.device:
        raise InputError("out", f"is {tuple(out.shape)} of {out.dtype} on {out.device}", f"{wanted} of {q.dtype} on {q.device}")
    if lse is not None and (tuple(lse.shape) != wanted[:3] or lse.dtype != torch.float32 or not lse.is_contiguous()):
        raise InputError("lse", f"is {tuple(lse.shape)} of {lse.dtype}", f"{wanted[:3]} of torch.float32, contiguous")


def _forward_out(q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Optional[Tensor], left: int, right: int,
                 scale: Optional[float]) -> None:
    _check_out(q, k, v, out, lse)
    _into(q, k, v, out, lse, left, right, scale)


def _packed_outputs(q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, x_starts: Tensor) -> tuple[Tensor, Tensor]:
    _check(q, k, v, 3)
    for name, starts in (("q_starts", q_starts), ("x_starts", x_starts)):
        if starts.dim() != 1 or starts.dtype != torch.int32 or starts.device != q.device:
            raise InputError(name, f"is {tuple(starts.shape)} of {starts.dtype} on {starts.device}",
                             f"[sequences + 1] first rows, torch.int32 on {q.device}")
    if q_starts.shape != x_starts.shape:
        raise InputError("x_starts", f"has {x_starts.shape[0]} entries beside {q_starts.shape[0]}", "one a sequence and one more")
    rows, heads, _ = q.shape
    return q.new_empty((rows, heads, v.shape[2])), q.new_empty((heads, rows), dtype=torch.float32)


def _forward_packed(q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, x_starts: Tensor, q_max: int, x_max: int,
                    left: int, right: int, scale: Optional[float]) -> tuple[Tensor, Tensor]:
    o, lse = _packed_outputs(q, k, v, q_starts, x_starts)
    sequences = q_starts.shape[0] - 1
    if o.numel() == 0 or sequences < 1:
        return o, lse
    if k.numel() == 0 or q_max < 1 or x_max < 1:
        return o.zero_(), lse.fill_(-torch.inf)
    for name, starts in (("q_starts", q_starts), ("x_starts", x_starts)):
        if not starts.is_contiguous():
            raise InputError(name, "is not contiguous", ".contiguous()")
    _load_compiler()

    def strides(t: Tensor, name: str) -> tuple[int, ...]:
        head, row = _strides(t, name, (1, 0))
        return row * t.shape[0], head, row

    heads, keys = q.shape[1], k.shape[1]
    shapes = _core.AttentionShapes((sequences, keys, heads // keys, q_max, x_max, q.shape[2], v.shape[2]), _DTYPES[q.dtype],
                                   tuple(strides(t, name) for t, name in ((q, "q"), (k, "k"), (v, "v"), (o, "out"))),
                                   _window(left, right, q_max, x_max), scale, (q.shape[0], k.shape[0]))
    _launch(shapes, q, k, v, o, lse, (q_starts.data_ptr(), x_starts.data_ptr()))
    return o, lse


def _refuse(q: Tensor, *rest: Any) -> Any:
    raise InputError("q", f"is on {q.device}", "tensors on a CUDA GPU")


_library = torch.library.Library("napkin", "DEF")
_library.define("attention(Tensor q, Tensor k, Tensor v, int left, int right, float? scale, bool want_lse) -> (Tensor, Tensor)",
                tags=(torch.Tag.pt2_compliant_tag,))
_library.define("attention_out(Tensor q, Tensor k, Tensor v, Tensor(a!) out, Tensor(b!)? lse, int left, int right, "
                "float? scale) -> ()", tags=(torch.Tag.pt2_compliant_tag,))
_library.define("attention_packed(Tensor q, Tensor k, Tensor v, Tensor q_starts, Tensor x_starts, SymInt q_max, "
                "SymInt x_max, int left, int right, float? scale) -> (Tensor, Tensor)", tags=(torch.Tag.pt2_compliant_tag,))
for _name, _implementation in (("attention", _forward), ("attention_out", _forward_out), ("attention_packed", _forward_packed)):
    _library.impl(_name, _implementation, "CUDA")
    _library.impl(_name, _refuse, "CPU")


@torch.library.register_fake("napkin::attention", lib=_library)
def _(q, k, v, left, right, scale, want_lse):  # type: ignore[no-untyped-def]
    return _outputs(q, k, v, want_lse)


@torch.library.register_fake("napkin::attention_out", lib=_library)
def _(q, k, v, out, lse, left, right, scale):  # type: ignore[no-untyped-def]
    _check_out(q, k, v, out, lse)


@torch.library.register_fake("napkin::attention_packed", lib=_library)
def _(q, k, v, q_starts, x_starts, q_max, x_max, left, right, scale):  # type: ignore[no-untyped-def]
    return _packed_outputs(q, k, v, q_starts, x_starts)


def _no_dropout(t: Tensor) -> tuple[Tensor, Tensor]:
    """The state of a dropout's random numbers, where there is none: nobody looks at the values."""
    return (torch.empty(2, dtype=torch.uint64, device=t.device), torch.empty((), dtype=torch.uint64, device=t.device))


def _flash_backward(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, starts: tuple[Any, Any],
                    longest: tuple[int, int], left: int, right: int, scale: Optional[float]) -> tuple[Tensor, Tensor, Tensor]:
    """PyTorch's FlashAttention-2 backward; [b, rows, heads, d], or [rows, heads, d] packed.

    It wants the natural logarithm of the sum of exponentials, as we write it. Of a row that sees nothing it has
    +infinity, so that exp(s - lse) is 0.
    """
    causal = left == _ALL and right == 0
    limits = {} if causal or (left == _ALL and right == _ALL) else {
        "window_size_left": None if left == _ALL else left, "window_size_right": None if right == _ALL else right}
    if left != _ALL or right != _ALL:
        lse = torch.where(torch.isneginf(lse), torch.inf, lse)
    return torch.ops.aten._flash_attention_backward(grad.contiguous(), q, k, v, o, lse, starts[0], starts[1], longest[0],
                                                    longest[1], 0.0, causal, *_no_dropout(q), scale=scale, **limits)


def _check_gradient(grad_lse: Optional[Tensor], lse: Tensor) -> None:
    if grad_lse is not None:
        raise InputError("lse", "is part of what is differentiated", "the output alone: its gradient knows none of lse")
    if lse.numel() == 0:
        raise InputError("q", "requires a gradient, and no log-sum-exp was kept", "napkin.torch.attention")


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, ctx.left, ctx.right, ctx.scale, _ = inputs
    ctx.set_materialize_grads(False)
    if q.shape[-1] != v.shape[-1]:
        raise InputError("v", f"has heads of {v.shape[-1]}, and q of {q.shape[-1]}: PyTorch's backward has one head "
                              "dimension", "equal ones, or torch.no_grad()")
    ctx.save_for_backward(q, k, v, *output)


def _backward(ctx: Any, grad: Optional[Tensor], grad_lse: Optional[Tensor]) -> Any:
    q, k, v, o, lse = ctx.saved_tensors
    _check_gradient(grad_lse, lse)
    if grad is None:
        return (None,) * 7
    turned = [t.transpose(1, 2) for t in (grad, q, k, v, o)]
    grads = _flash_backward(*turned, lse, (None, None), (q.shape[2], k.shape[2]), ctx.left, ctx.right, ctx.scale)
    return (*(g.transpose(1, 2) for g in grads), None, None, None, None)


def _keep_packed(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, q_starts, x_starts, ctx.q_max, ctx.x_max, ctx.left, ctx.right, ctx.scale = inputs
    ctx.set_materialize_grads(False)
    if q.shape[-1] != v.shape[-1]:
        raise InputError("v", f"has heads of {v.shape[-1]}, and q of {q.shape[-1]}: PyTorch's backward has one head "
                              "dimension", "equal ones, or torch.no_grad()")
    ctx.save_for_backward(q, k, v, q_starts, x_starts, *output)


def _backward_packed(ctx: Any, grad: Optional[Tensor], grad_lse: Optional[Tensor]) -> Any:
    q, k, v, q_starts, x_starts, o, lse = ctx.saved_tensors
    _check_gradient(grad_lse, lse)
    if grad is None:
        return (None,) * 10
    grads = _flash_backward(grad, q, k, v, o, lse, (q_starts, x_starts), (ctx.q_max, ctx.x_max), ctx.left, ctx.right, ctx.scale)
    return (*grads, *(None,) * 7)


torch.library.register_autograd("napkin::attention", _backward, setup_context=_keep, lib=_library)
torch.library.register_autograd("napkin::attention_packed", _backward_packed, setup_context=_keep_packed, lib=_library)


class _Attention(torch.autograd.Function):
    """What the registered operator does, for plain tensors of an eager program, in a third of the time of a call."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, left: int, right: int, scale: Optional[float]) -> tuple[Tensor, Tensor]:
        output = _forward(q, k, v, left, right, scale, True)
        _keep(ctx, (q, k, v, left, right, scale, True), output)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Optional[Tensor], grad_lse: Optional[Tensor]) -> Any:
        return _backward(ctx, grad, grad_lse)[:6]


def _is_plain(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Tensors on a GPU that nobody watches: no compiler, no mode, no transform, no subclass."""
    return (q.is_cuda and type(q) in _PLAIN and type(k) in _PLAIN and type(v) in _PLAIN and not torch.compiler.is_compiling()
            and torch._C._len_torch_dispatch_stack() == 0 and torch._C._functorch.peek_interpreter_stack() is None
            and not torch.jit.is_tracing())


_PLAIN = (Tensor, torch.nn.Parameter)


def attention(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, window: Any = None, scale: Optional[float] = None,
              return_lse: bool = False, out: Optional[Tensor] = None) -> Any:
    """softmax(scale q k^T) v.

    q: [b, heads, rows, d]; k: [b, key heads, keys, d]; v: [b, key heads, keys, dv]. bf16 or f16; strides as they are
    (multiples of 8, the last axis dense). window = (left, right): row i sees keys from i + keys - rows - left to
    i + keys - rows + right, -1 without limit. scale: d^-1/2. With return_lse also the natural log-sum-exp of the scaled
    scores, [b, heads, rows] in float32. out: where the result goes; then there is no gradient.
    """
    left, right = _mask(causal, window)
    needs = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    if out is not None:
        if needs:
            raise InputError("out", "is given where a gradient is wanted", "torch.no_grad(), or no out")
        lse = q.new_empty(q.shape[:3], dtype=torch.float32) if return_lse else None
        if _is_plain(q, k, v):
            _forward_out(q, k, v, out, lse, left, right, scale)
        else:
            torch.ops.napkin.attention_out(q, k, v, out, lse, left, right, scale)
        return (out, lse) if return_lse else out
    if not _is_plain(q, k, v):
        o, lse = torch.ops.napkin.attention(q, k, v, left, right, scale, return_lse or needs)
    elif needs:
        o, lse = _Attention.apply(q, k, v, left, right, scale)
    else:
        o, lse = _forward(q, k, v, left, right, scale, return_lse)
    return (o, lse) if return_lse else o


def varlen(q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, x_starts: Tensor, q_max: int, x_max: int, *,
           causal: bool = False, window: Any = None, scale: Optional[float] = None, return_lse: bool = False) -> Any:
    """attention() of packed sequences of different lengths.

    q: [all rows, heads, d]; k, v: [all keys, key heads, d or dv]. q_starts, x_starts: the first row of each sequence
    and, last, how many rows there are: [sequences + 1], int32 on the GPU. q_max, x_max: the longest. The log-sum-exp is
    [heads, all rows]. The mask applies to each sequence by itself.
    """
    left, right = _mask(causal, window)
    o, lse = torch.ops.napkin.attention_packed(q, k, v, q_starts, x_starts, q_max, x_max, left, right, scale)
    return (o, lse) if return_lse else o


def _refuse_options(dropout_p: float, softcap: float, alibi_slopes: Any, return_attn_probs: bool, block_table: Any = None) -> None:
    for name, given in (("dropout_p", dropout_p != 0), ("softcap", softcap != 0), ("alibi_slopes", alibi_slopes is not None),
                        ("return_attn_probs", return_attn_probs), ("block_table", block_table is not None)):
        if given:
            raise InputError(name, "is given, and no kernel here has it", "leave it out, or call flash_attn")


def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, softmax_scale: Optional[float] = None,
                    causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                    alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False, *,
                    return_lse: bool = False) -> Any:
    """attention() with the signature of flash_attn: q, k, v and the result are [b, rows, heads, d].

    deterministic: the forward always is; for the backward see torch.use_deterministic_algorithms.
    """
    _refuse_options(dropout_p, softcap, alibi_slopes, return_attn_probs)
    needs = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    if not needs and _is_plain(q, k, v) and q.dim() == k.dim() == v.dim() == 4 and q.stride(1) >= q.stride(2):
        output = _forward_flash(q, k, v, *_mask(causal, window_size), softmax_scale, return_lse)
        return output if return_lse else output[0]
    found = attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), causal=causal, window=window_size,
                      scale=softmax_scale, return_lse=return_lse)
    if return_lse:
        return found[0].transpose(1, 2), found[1]
    return found.transpose(1, 2)


def flash_attn_varlen_func(q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
                           max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: Optional[float] = None,
                           causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                           alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
                           block_table: Any = None, *, return_lse: bool = False) -> Any:
    """varlen() with the signature of flash_attn."""
    _refuse_options(dropout_p, softcap, alibi_slopes, return_attn_probs, block_table)
    return varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, causal=causal, window=window_size,
                  scale=softmax_scale, return_lse=return_lse)


# PyTorch's registry of implementations of its flash attention.


def _refuse_sdpa(dropout_p: float, return_debug_mask: bool) -> None:
    if dropout_p != 0 or return_debug_mask:
        name = "dropout_p" if dropout_p != 0 else "return_debug_mask"
        raise InputError(name, "is given, and no kernel here has it", "napkin.torch.restore(), or leave it out")


def _sdpa(query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0, is_causal: bool = False,
          return_debug_mask: bool = False, *, scale: Optional[float] = None) -> Any:
    _refuse_sdpa(dropout_p, return_debug_mask)
    o, lse = _forward(query, key, value, *_mask(is_causal, None), scale, True)
    return o, lse, None, None, query.shape[2], key.shape[2], *_no_dropout(query), query.new_empty(0)


def _flash(query: Tensor, key: Tensor, value: Tensor, cum_seq_q: Optional[Tensor], cum_seq_k: Optional[Tensor], max_q: int,
           max_k: int, dropout_p: float, is_causal: bool, return_debug_mask: bool, *, scale: Optional[float] = None,
           window_size_left: Optional[int] = None, window_size_right: Optional[int] = None,
           seqused_k: Optional[Tensor] = None, alibi_slopes: Optional[Tensor] = None, **other: Any) -> Any:
    _refuse_sdpa(dropout_p, return_debug_mask)
    for name, given in (("seqused_k", seqused_k), ("alibi_slopes", alibi_slopes), *other.items()):
        if given is not None:
            raise InputError(name, "is given, and no kernel here has it", "napkin.torch.restore(), or leave it out")
    sides = (-1 if side is None else side for side in (window_size_left, window_size_right))
    left, right = _mask(is_causal, tuple(sides))
    if cum_seq_q is not None and cum_seq_k is not None:
        o, lse = _forward_packed(query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, left, right, scale)
    else:
        o, lse = _forward(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), left, right, scale, True)
        o = o.transpose(1, 2)
    return o, lse, *_no_dropout(query), query.new_empty(0)


class _Handle:
    """What keeps the override alive."""

    def __init__(self) -> None:
        self.library: Any = torch.library.Library("aten", "IMPL", "CUDA")
        self.library.impl("_scaled_dot_product_flash_attention", _sdpa, "CUDA", allow_override=True)
        self.library.impl("_flash_attention_forward", _flash, "CUDA", allow_override=True)

    def remove(self) -> None:
        if self.library is not None:
            self.library._destroy()
        self.library = None


def activate() -> None:
    """F.scaled_dot_product_attention computes with napkin where PyTorch would take its flash attention.

    The backward stays PyTorch's. Arguments that no kernel here has (dropout) raise InputError. restore() ends it.
    """
    try:
        from torch.nn.attention import activate_flash_attention_impl, register_flash_attention_impl
    except ImportError:
        raise InputError("torch", f"is {torch.__version__}, which has no registry of attention implementations",
                         "PyTorch 2.10 or later, or napkin.torch.attention") from None
    register_flash_attention_impl("NAPKIN", register_fn=_Handle)
    activate_flash_attention_impl("NAPKIN")


def restore() -> None:
    """PyTorch's own flash attention again. Does nothing where napkin is not active."""
    try:
        from torch.nn.attention import current_flash_attention_impl, restore_flash_attention_impl
    except ImportError:
        return
    if current_flash_attention_impl() == "NAPKIN":
        restore_flash_attention_impl()


def transformers_attention(module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Optional[Tensor] = None,
                           dropout: float = 0.0, scaling: Optional[float] = None, is_causal: Optional[bool] = None,
                           **other: Any) -> tuple[Tensor, None]:
    """The attention interface of transformers: query [b, heads, rows, d]; the result is [b, rows, heads, d].

    Masks are those of transformers' sdpa: none where plain causal attention (or none) is meant. Any other, of padding,
    of packed sequences or of a window, is refused.
    """
    if attention_mask is not None:
        raise InputError("attention_mask", "is given, and no kernel here has it", "batches without padding, or varlen")
    if dropout != 0 or other.get("softcap") is not None:
        raise InputError("dropout" if dropout != 0 else "softcap", "is given, and no kernel here has it", "another attention")
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    causal = bool(causal) and query.shape[2] > 1
    return attention(query, key, value, causal=causal, scale=scaling).transpose(1, 2).contiguous(), None


def register_transformers(name: str = "napkin") -> None:
    """Makes the attention known to transformers: model.set_attn_implementation("napkin")."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(name, transformers_attention)
    AttentionMaskInterface.register(name, sdpa_mask)
