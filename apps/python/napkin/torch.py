"""Attention on the GPU as an operator of PyTorch: napkin's kernels, tile selected for the GPU and the shape.

>>> import napkin.torch
>>> out = napkin.torch.attention(q, k, v, causal=True)          # [b, heads, rows, d], bf16 or f16, strides as they are
>>> out = napkin.torch.flash_attn_func(q, k, v, causal=True)    # [b, rows, heads, d], the signature of flash_attn
>>> napkin.torch.activate()                                     # F.scaled_dot_product_attention uses it from now on
>>> napkin.torch.restore()

Masks are aligned at the bottom right: row i sees keys j <= i + x - q. A row that sees nothing has output 0 and
log-sum-exp -infinity. Fewer key heads than query heads (grouped queries) are given as they are, not expanded. The first
call of a shape selects a tile and compiles it (seconds); plan and machine code stay on disk. Calls run on the current
stream, and can be captured into CUDA graphs after one call outside. Gradients are computed on Hopper by attention_backward_sm90
and attention_backward_wide_sm90, elsewhere by PyTorch's flash backward from our output and log-sum-exp. Heads of any width
up to 256 are taken (on Hopper up to 576, of values 512, without gradients), as if zeros followed them. What no kernel computes
raises napkin.InputError with the reason.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling

from . import _core, _gradients, _layout
from ._errors import InputError
from ._tensors import _ALL, _DTYPES, _check, _check_tensors, _empty_strided, _load_compiler, _mask, _on_stream, _row_strides, _scale, _window

__all__ = ["activate", "attention", "flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache", "register_transformers",
           "restore", "transformers_attention", "varlen"]

_PLAIN = (Tensor, torch.nn.Parameter)
#: Functions that return something true if each operator has to be seen: by a mode (of fake tensors, say) or a tracer.
_WATCHERS = (torch._C._len_torch_dispatch_stack, torch._C._is_tracing)


def _known_calls(functions: Any, allocate: Any) -> Any:
    """Makes an empty store of calls."""
    return _core.AttentionCalls(functions, _PLAIN, allocate, torch.is_grad_enabled, getattr(torch._C, "_cuda_getDevice", int), _WATCHERS)


#: Earlier forward calls, which C++ finds. PyTorch before 2.10 does not show tensors to C: there _calls has them all.
_launches = _known_calls(getattr(Tensor, "__dlpack_c_exchange_api__", None), _empty_strided)
_calls: dict[Any, _gradients.Call] = {}  # by what a call is but for its memory
_CALLS_KEPT = 4096


def _launch(call: _gradients.Call, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Optional[Tensor], starts: tuple[int, int] = (0, 0)) -> None:
    _on_stream(q.get_device(), call.forward.launch, (q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr()),
               0 if lse is None else lse.data_ptr(), *starts)


def _shapes(q: Tensor, k: Tensor, v: Tensor, o: Tensor, left: int, right: int, scale: Optional[float], flash: bool) -> _gradients.Call:
    """Returns the call, which is checked once for all of these shapes, strides, types and devices. flash: [b, rows, heads, d]."""
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
        strides = tuple(_row_strides(t, name) for t, name in ((q, "q"), (k, "k"), (v, "v"), (o, "out")))
        made = _core.AttentionShapes((b, kv, heads // kv, rows, keys, d, dv), _DTYPES[q.dtype], strides,
                                     _window(left, right, rows, keys), scale, (0, 0))
    if len(_calls) >= _CALLS_KEPT:
        _calls.clear()
    call = _calls[key] = _gradients.Call(made)
    return call


def _into(q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Optional[Tensor], left: int, right: int, scale: Optional[float],
          flash: bool = False, made: bool = False) -> None:
    """Computes into o and lse. flash: q, k, v and o are [b, rows, heads, d]. made: o and lse are new."""
    index = q.get_device()
    if torch._C._cuda_getDevice() != index:
        with torch.cuda.device(index):
            return _into(q, k, v, o, lse, left, right, scale, flash, made)
    tensors = (q, k, v, o, lse)
    if not made and _launches.launch(tensors, left, right, scale, flash):
        return
    _check_out(*(t.transpose(1, 2) for t in tensors[:4]) if flash else tensors[:4], lse)
    call = _shapes(q, k, v, o, left, right, scale, flash)
    if call.forward is not None:
        _launches.keep(call.forward, tensors, left, right, scale, flash, made)
        _launch(call, q, k, v, o, lse)
    else:  # no keys, or no rows: PyTorch's kernels fill what there is
        o.zero_()
        if lse is not None:
            lse.fill_(-torch.inf)


def _empty_like_rows(q: Tensor, dv: int) -> Tensor:
    """Allocates [b, heads, rows, dv], laid out as q is: rows of all heads side by side, or head by head."""
    if q.shape[-1] == dv:
        return torch.empty_like(q)
    b, heads, rows, _ = q.shape
    if q.stride(2) > q.stride(1):
        return q.new_empty((b, rows, heads, dv)).transpose(1, 2)
    return q.new_empty((b, heads, rows, dv))


def _outputs(q: Tensor, k: Tensor, v: Tensor, want_lse: bool) -> tuple[Tensor, Tensor]:
    _check(q, k, v, 4)
    b, heads, rows, _ = q.shape
    return _empty_like_rows(q, v.shape[3]), q.new_empty((b, heads, rows) if want_lse else (0,), dtype=torch.float32)


def _forward(q: Tensor, k: Tensor, v: Tensor, left: int, right: int, scale: Optional[float], want_lse: bool,
             flash: bool = False) -> Any:
    """Computes the output, and the log-sum-exp or None. flash: q, k, v and the output are [b, rows, heads, d]."""
    found = _launches.launch_new((q, k, v), want_lse, left, right, scale, flash)
    if found is not None:
        return found
    index = q.get_device()
    if torch._C._cuda_getDevice() != index:
        with torch.cuda.device(index):
            return _forward(q, k, v, left, right, scale, want_lse, flash)
    return _first(q, k, v, left, right, scale, want_lse, flash)


def _first(q: Tensor, k: Tensor, v: Tensor, left: int, right: int, scale: Optional[float], want_lse: bool,
           flash: bool) -> tuple[Tensor, Optional[Tensor]]:
    """Computes _forward() for the first call of its shapes."""
    if q.dim() != 4 or v.dim() != 4:
        _check(q, k, v, 4)
    if flash:
        b, rows, heads, d = q.shape
        o = torch.empty_like(q) if d == v.shape[3] else q.new_empty((b, rows, heads, v.shape[3]))
    else:
        b, heads, rows, _ = q.shape
        o = _empty_like_rows(q, v.shape[3])
    lse = q.new_empty((b, heads, rows), dtype=torch.float32) if want_lse else None
    _into(q, k, v, o, lse, left, right, scale, flash, made=True)
    return o, lse


def _forward_operator(q: Tensor, k: Tensor, v: Tensor, left: int, right: int, scale: Optional[float], want_lse: bool,
                      deterministic: bool = False) -> tuple[Tensor, Tensor]:
    """Computes _forward() with as many results as the operator has. deterministic is of the gradients; the forward always is."""
    o, lse = _forward(q, k, v, left, right, scale, want_lse)
    return o, q.new_empty((0,), dtype=torch.float32) if lse is None else lse


def _check_out(q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Optional[Tensor]) -> None:
    _check(q, k, v, 4)
    wanted = (*q.shape[:3], v.shape[3])
    if tuple(out.shape) != wanted or out.dtype != q.dtype or out.device != q.device:
        raise InputError("out", f"is {tuple(out.shape)} of {out.dtype} on {out.device}", f"{wanted} of {q.dtype} on {q.device}")
    if lse is not None and (tuple(lse.shape) != wanted[:3] or lse.dtype != torch.float32 or not lse.is_contiguous()):
        raise InputError("lse", f"is {tuple(lse.shape)} of {lse.dtype}", f"{wanted[:3]} of torch.float32, contiguous")


def _forward_out(q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Optional[Tensor], left: int, right: int,
                 scale: Optional[float]) -> None:
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


def _packed_call(q: Tensor, k: Tensor, v: Tensor, o: Tensor, sequences: int, longest: tuple[int, int], left: int, right: int,
                 scale: Optional[float]) -> _gradients.Call:
    _load_compiler()
    heads, keys = q.shape[1], k.shape[1]
    strides = tuple(_row_strides(t, name) for t, name in ((q, "q"), (k, "k"), (v, "v"), (o, "out")))
    return _gradients.Call(_core.AttentionShapes((sequences, keys, heads // keys, *longest, q.shape[2], v.shape[2]), _DTYPES[q.dtype],
                                                 strides, _window(left, right, *longest), scale, (q.shape[0], k.shape[0])))


def _forward_packed(q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, x_starts: Tensor, q_max: int, x_max: int, left: int,
                    right: int, scale: Optional[float], deterministic: bool = False) -> tuple[Tensor, Tensor]:
    o, lse = _packed_outputs(q, k, v, q_starts, x_starts)
    sequences = q_starts.shape[0] - 1
    if o.numel() == 0 or sequences < 1:
        return o, lse
    if k.numel() == 0 or q_max < 1 or x_max < 1:
        return o.zero_(), lse.fill_(-torch.inf)
    for name, starts in (("q_starts", q_starts), ("x_starts", x_starts)):
        if not starts.is_contiguous():
            raise InputError(name, "is not contiguous", ".contiguous()")
    call = _packed_call(q, k, v, o, sequences, (q_max, x_max), left, right, scale)
    _launch(call, q, k, v, o, lse, (q_starts.data_ptr(), x_starts.data_ptr()))
    return o, lse


def _need_own_backward(q: Tensor, v: Tensor) -> None:
    why = _gradients.refusal(q, v)
    if why:
        raise InputError("q", f"has gradients of no bundled kernel: {why}", "other heads or another GPU")


def _gradient(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, left: int, right: int, scale: Optional[float],
              deterministic: bool) -> tuple[Tensor, Tensor, Tensor]:
    _gradients.check_gradient(grad, o)
    _need_own_backward(q, v)
    return _gradients.launch(_shapes(q, k, v, o, left, right, scale, False), grad, q, k, v, o, lse, deterministic)


def _gradient_packed(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, q_starts: Tensor, x_starts: Tensor,
                     q_max: int, x_max: int, left: int, right: int, scale: Optional[float],
                     deterministic: bool) -> tuple[Tensor, Tensor, Tensor]:
    _gradients.check_gradient(grad, o)
    _need_own_backward(q, v)
    sequences = q_starts.shape[0] - 1
    nothing = o.numel() == 0 or k.numel() == 0 or sequences < 1 or q_max < 1 or x_max < 1
    call = _gradients.Call(None) if nothing else _packed_call(q, k, v, o, sequences, (q_max, x_max), left, right, scale)
    return _gradients.launch(call, grad, q, k, v, o, lse, deterministic, (q_starts.data_ptr(), x_starts.data_ptr()))


def _refuse(q: Tensor, *rest: Any) -> Any:
    raise InputError("q", f"is on {q.device}", "tensors on a CUDA GPU")


_library = torch.library.Library("napkin", "DEF")
_ROWS, _STARTS = "Tensor q, Tensor k, Tensor v", "Tensor q_starts, Tensor x_starts, SymInt q_max, SymInt x_max"
_MASK = "int left, int right, float? scale"
for _name, _takes, _gives, _implementation in (
        ("attention", f"{_ROWS}, {_MASK}, bool want_lse, bool deterministic=False", "(Tensor, Tensor)", _forward_operator),
        ("attention_out", f"{_ROWS}, Tensor(a!) out, Tensor(b!)? lse, {_MASK}", "()", _forward_out),
        ("attention_packed", f"{_ROWS}, {_STARTS}, {_MASK}, bool deterministic=False", "(Tensor, Tensor)", _forward_packed),
        ("attention_backward", f"Tensor grad, {_ROWS}, Tensor o, Tensor lse, {_MASK}, bool deterministic", "(Tensor, Tensor, Tensor)",
         _gradient),
        ("attention_packed_backward", f"Tensor grad, {_ROWS}, Tensor o, Tensor lse, {_STARTS}, {_MASK}, bool deterministic",
         "(Tensor, Tensor, Tensor)", _gradient_packed)):
    _library.define(f"{_name}({_takes}) -> {_gives}", tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(_name, _implementation, "CUDA")
    _library.impl(_name, _refuse, "CPU")


@torch.library.register_fake("napkin::attention", lib=_library)
def _(q, k, v, left, right, scale, want_lse, deterministic=False):  # type: ignore[no-untyped-def]
    return _outputs(q, k, v, want_lse)


@torch.library.register_fake("napkin::attention_out", lib=_library)
def _(q, k, v, out, lse, left, right, scale):  # type: ignore[no-untyped-def]
    _check_out(q, k, v, out, lse)


@torch.library.register_fake("napkin::attention_packed", lib=_library)
def _(q, k, v, q_starts, x_starts, q_max, x_max, left, right, scale, deterministic=False):  # type: ignore[no-untyped-def]
    return _packed_outputs(q, k, v, q_starts, x_starts)


@torch.library.register_fake("napkin::attention_backward", lib=_library)
@torch.library.register_fake("napkin::attention_packed_backward", lib=_library)
def _(grad, q, k, v, o, *rest):  # type: ignore[no-untyped-def]
    _gradients.check_gradient(grad, o)
    return _gradients.like(q, k, v)


def _check_kept(grad_lse: Optional[Tensor], lse: Tensor) -> None:
    if grad_lse is not None:
        raise InputError("lse", "is part of what is differentiated", "the output alone: its gradient knows none of lse")
    if lse.numel() == 0:
        raise InputError("q", "requires a gradient, and no log-sum-exp was kept", "napkin.torch.attention")


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, ctx.left, ctx.right, ctx.scale, _, ctx.deterministic = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(q, k, v, *output)


def _backward(ctx: Any, grad: Optional[Tensor], grad_lse: Optional[Tensor]) -> Any:
    q, k, v, o, lse = ctx.saved_tensors
    _check_kept(grad_lse, lse)
    if grad is None:
        return (None,) * 8
    if _gradients.refusal(q, v):
        grads = _gradients.of_pytorch(grad, q, k, v, o, lse, ctx.left, ctx.right, ctx.scale, ctx.deterministic)
    else:
        grads = torch.ops.napkin.attention_backward(grad, q, k, v, o, lse, ctx.left, ctx.right, ctx.scale, ctx.deterministic)
    return (*grads, *(None,) * 5)


def _keep_packed(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, q_starts, x_starts, ctx.q_max, ctx.x_max, ctx.left, ctx.right, ctx.scale, ctx.deterministic = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(q, k, v, q_starts, x_starts, *output)


def _backward_packed(ctx: Any, grad: Optional[Tensor], grad_lse: Optional[Tensor]) -> Any:
    q, k, v, q_starts, x_starts, o, lse = ctx.saved_tensors
    _check_kept(grad_lse, lse)
    if grad is None:
        return (None,) * 11
    longest = ctx.q_max, ctx.x_max
    if _gradients.refusal(q, v):
        grads = _gradients.of_pytorch(grad, q, k, v, o, lse, ctx.left, ctx.right, ctx.scale, ctx.deterministic, (q_starts, x_starts), longest)
    else:
        grads = torch.ops.napkin.attention_packed_backward(grad, q, k, v, o, lse, q_starts, x_starts, *longest, ctx.left, ctx.right,
                                                           ctx.scale, ctx.deterministic)
    return (*grads, *(None,) * 8)


torch.library.register_autograd("napkin::attention", _backward, setup_context=_keep, lib=_library)
torch.library.register_autograd("napkin::attention_packed", _backward_packed, setup_context=_keep_packed, lib=_library)


class _Attention(torch.autograd.Function):
    """The registered operator for plain tensors of an eager program, called in a third of the time."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, left: int, right: int, scale: Optional[float],
                deterministic: bool) -> tuple[Tensor, Tensor]:
        output: tuple[Tensor, Tensor] = _forward(q, k, v, left, right, scale, True)
        _keep(ctx, (q, k, v, left, right, scale, True, deterministic), output)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor], grad_lse: Optional[Tensor]) -> Any:
        if torch.is_grad_enabled():
            raise InputError("grad", "is to be differentiated itself", "one derivative: no create_graph")
        q, k, v, o, lse = ctx.saved_tensors
        call = _shapes(q, k, v, o, ctx.left, ctx.right, ctx.scale, False)
        if call.refused is None:
            call.refused = _gradients.refusal(q, v)
        if call.refused or grad is None or grad_lse is not None:
            return _backward(ctx, grad, grad_lse)[:7]
        return (*_gradients.launch(call, grad, q, k, v, o, lse, ctx.deterministic), None, None, None, None)


def _is_plain(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Returns True for tensors on a GPU without compiler, mode, transform, tangent or subclass."""
    return (q.is_cuda and type(q) in _PLAIN and type(k) in _PLAIN and type(v) in _PLAIN and not torch.compiler.is_compiling()
            and torch._C._functorch.peek_interpreter_stack() is None and forward_ad._current_level < 0
            and not any(watches() for watches in _WATCHERS))


def _equal_bits(deterministic: Optional[bool]) -> bool:
    return torch.are_deterministic_algorithms_enabled() if deterministic is None else deterministic


def attention(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, window: Any = None, scale: Optional[float] = None,
              return_lse: bool = False, out: Optional[Tensor] = None, deterministic: Optional[bool] = None) -> Any:
    """Computes softmax(scale q k^T) v.

    q: [b, heads, rows, d]; k: [b, key heads, keys, d]; v: [b, key heads, keys, dv]. bf16 or f16; strides as they are, or those
    of a copy if they are no multiples of 8 or the last axis is not dense. window = (left, right): row i sees keys from
    i + keys - rows - left to i + keys - rows + right, -1 without limit. scale: d^-1/2 by default. With return_lse also the
    natural log-sum-exp of the scaled scores, [b, heads, rows] in float32. out: the tensor that takes the result; then there is
    no gradient. deterministic: dQ has equal bits in every run, which takes longer; None: as
    torch.use_deterministic_algorithms says. All other results always have.
    """
    if not is_dynamo_compiling() and forward_ad._current_level < 0:
        found = _launches.attend((q, k, v, out), causal, window, scale, return_lse, False)
        if found is not None:
            return found
    _check_tensors(q=q, k=k, v=v, **({} if out is None else {"out": out}))
    left, right = _mask(causal, window)
    scale = _scale(scale)
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
    dv = v.shape[-1] if v.dim() > 0 else 0
    q, k, v, scale = _layout.prepared(q, k, v, scale)
    if not _is_plain(q, k, v):
        o, lse = torch.ops.napkin.attention(q, k, v, left, right, scale, return_lse or needs, _equal_bits(deterministic))
    elif needs:
        o, lse = _Attention.apply(q, k, v, left, right, scale, _equal_bits(deterministic))
    else:
        o, lse = _forward(q, k, v, left, right, scale, return_lse)
    o = _layout.narrowed(o, dv)
    return (o, lse) if return_lse else o


def varlen(q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, x_starts: Tensor, q_max: int, x_max: int, *,
           causal: bool = False, window: Any = None, scale: Optional[float] = None, return_lse: bool = False,
           deterministic: Optional[bool] = None) -> Any:
    """Computes attention() of packed sequences of different lengths.

    q: [all rows, heads, d]; k, v: [all keys, key heads, d or dv]. q_starts, x_starts: the first row of each sequence
    and, last, how many rows there are: [sequences + 1], int32 on the GPU. q_max, x_max: the longest. The log-sum-exp is
    [heads, all rows]. The mask applies to each sequence by itself.
    """
    _check_tensors(q=q, k=k, v=v, q_starts=q_starts, x_starts=x_starts)
    left, right = _mask(causal, window)
    dv = v.shape[-1] if v.dim() > 0 else 0
    q, k, v, scale = _layout.prepared(q, k, v, _scale(scale))
    o, lse = torch.ops.napkin.attention_packed(q, k, v, q_starts, x_starts, q_max, x_max, left, right, scale, _equal_bits(deterministic))
    o = _layout.narrowed(o, dv)
    return (o, lse) if return_lse else o


from ._flash import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache  # noqa: E402
from ._registry import activate, restore  # noqa: E402
from ._transformers import register_transformers, transformers_attention  # noqa: E402
