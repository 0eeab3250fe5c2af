"""Prepares tensors for the kernels: copies those that the copy engine cannot read in place, and widens heads to a
multiple of 8 with zeros, which change no product."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

_STEP = 8  # elements of 16 bytes


def _is_taken(t: Tensor) -> bool:
    """Returns True if the last axis is dense and rows, heads and batches begin at multiples of 16 bytes."""
    if t.stride(-1) != 1 or (not is_dynamo_compiling() and t.storage_offset() % _STEP != 0):
        return False
    return all(t.size(axis) == 1 or (t.stride(axis) > 0 and t.stride(axis) % _STEP == 0) for axis in range(t.dim() - 1))


def dense(t: Tensor) -> Tensor:
    """Returns t, or a copy that the kernels take."""
    return t if t.numel() == 0 or _is_taken(t) else t.clone(memory_format=torch.contiguous_format)


def widened(t: Tensor, width: int) -> Tensor:
    """Returns t with zeros at the end of its last axis."""
    return t if t.shape[-1] == width else torch.nn.functional.pad(t, (0, width - t.shape[-1]))


def prepared(q: Tensor, k: Tensor, v: Tensor, scale: Optional[float]) -> tuple[Tensor, Tensor, Tensor, Optional[float]]:
    """Returns q, k and v as the kernels take them, and the scale of the heads' own width. The output's columns after v's are zeros."""
    if min(q.dim(), k.dim(), v.dim()) == 0:
        return q, k, v, scale
    d, dv = q.shape[-1], v.shape[-1]
    if d % _STEP != 0 and d == k.shape[-1]:
        scale = d**-0.5 if scale is None else scale
        q, k = (widened(t, -(-d // _STEP) * _STEP) for t in (q, k))
    v = widened(v, -(-dv // _STEP) * _STEP)
    return dense(q), dense(k), dense(v), scale


def narrowed(o: Any, dv: int) -> Any:
    """Returns the output, or the output and the log-sum-exp, with as many columns as v had."""
    if isinstance(o, tuple):
        return (narrowed(o[0], dv), *o[1:])
    return o if o.shape[-1] == dv else o[..., :dv]
