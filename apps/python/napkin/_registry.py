"""PyTorch's registry of implementations of its flash attention: activate() puts napkin's kernels there, restore() takes them out."""

from __future__ import annotations

from typing import Any, Optional

import torch as _pytorch
from torch import Tensor

from . import _gradients, _layout
from . import torch as _torch
from ._errors import InputError
from ._tensors import _mask, _refuse

_RESTORED = "napkin.torch.restore(), or leave it out"


def _sdpa(query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0, is_causal: bool = False,
          return_debug_mask: bool = False, *, scale: Optional[float] = None) -> Any:
    _refuse(query, _RESTORED, dropout_p=dropout_p, return_debug_mask=return_debug_mask)
    query, key, value = (_layout.dense(t) for t in (query, key, value))
    o, lse = _torch._forward(query, key, value, *_mask(is_causal, None), scale, True)
    return o, lse, None, None, query.shape[2], key.shape[2], *_gradients.no_dropout(query), query.new_empty(0)


def _flash(query: Tensor, key: Tensor, value: Tensor, cum_seq_q: Optional[Tensor], cum_seq_k: Optional[Tensor], max_q: int,
           max_k: int, dropout_p: float, is_causal: bool, return_debug_mask: bool, *, scale: Optional[float] = None,
           window_size_left: Optional[int] = None, window_size_right: Optional[int] = None,
           seqused_k: Optional[Tensor] = None, alibi_slopes: Optional[Tensor] = None, **other: Any) -> Any:
    _refuse(query, _RESTORED, dropout_p=dropout_p, return_debug_mask=return_debug_mask, seqused_k=seqused_k, alibi_slopes=alibi_slopes,
            **other)
    sides = (-1 if side is None else side for side in (window_size_left, window_size_right))
    left, right = _mask(is_causal, tuple(sides))
    query, key, value = (_layout.dense(t) for t in (query, key, value))
    if cum_seq_q is not None and cum_seq_k is not None:
        o, lse = _torch._forward_packed(query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, left, right, scale)
    else:
        o, lse = _torch._forward(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), left, right, scale, True)
        o = o.transpose(1, 2)
    return o, lse, *_gradients.no_dropout(query), query.new_empty(0)


def _sdpa_backward(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, cum_seq_q: Any,
                   cum_seq_k: Any, max_q: int, max_k: int, dropout_p: float, is_causal: bool, *rest: Any,
                   scale: Optional[float] = None) -> tuple[Tensor, Tensor, Tensor]:
    left, right = _mask(is_causal, None)
    equal_bits = _torch._equal_bits(None)
    query, key, value = (_layout.dense(t) for t in (query, key, value))
    if _gradients.refusal(query, value):
        return _gradients.of_pytorch(grad, query, key, value, out, logsumexp, left, right, scale, equal_bits)
    call = _torch._shapes(query, key, value, out, left, right, scale, False)
    return _gradients.launch(call, grad, query, key, value, out, logsumexp, equal_bits)


class _Handle:
    """A library of PyTorch's whose operators replace its own until it is removed."""

    def __init__(self) -> None:
        self.library: Any = _pytorch.library.Library("aten", "IMPL", "CUDA")
        self.library.impl("_scaled_dot_product_flash_attention", _sdpa, "CUDA", allow_override=True)
        self.library.impl("_scaled_dot_product_flash_attention_backward", _sdpa_backward, "CUDA", allow_override=True)
        self.library.impl("_flash_attention_forward", _flash, "CUDA", allow_override=True)

    def remove(self) -> None:
        if self.library is not None:
            self.library._destroy()
        self.library = None


def activate() -> None:
    """Makes F.scaled_dot_product_attention compute with napkin where PyTorch would take its flash attention.

    Its backward does so too, if a bundled kernel has the gradients. Arguments that no kernel here has (dropout) raise
    InputError. restore() ends it.
    """
    try:
        from torch.nn.attention import activate_flash_attention_impl, register_flash_attention_impl
    except ImportError:
        raise InputError("torch", f"is {_pytorch.__version__}, which has no registry of attention implementations",
                         "PyTorch 2.10 or later, or napkin.torch.attention") from None
    register_flash_attention_impl("NAPKIN", register_fn=_Handle)
    activate_flash_attention_impl("NAPKIN")


def restore() -> None:
    """Gives F.scaled_dot_product_attention PyTorch's own flash attention back. Does nothing if napkin is not active."""
    try:
        from torch.nn.attention import current_flash_attention_impl, restore_flash_attention_impl
    except ImportError:
        return
    if current_flash_attention_impl() == "NAPKIN":
        restore_flash_attention_impl()
