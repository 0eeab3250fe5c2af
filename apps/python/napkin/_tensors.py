"""The common part of the operators on PyTorch's tensors: checks of every call, strides and masks for the kernels, and
the launch on the tensors' device and stream."""

from __future__ import annotations

import functools
import operator
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from ._errors import InputError
from ._parts import shown

_DTYPES = {torch.bfloat16: "bf16", torch.float16: "f16"}
_ALL = -1  # of a window: to the end, as flash_attn has it
_LONGEST = 2**31


def _empty(size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Allocates on PyTorch's current GPU."""
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


try:  # what compiled programs allocate with: past the dispatcher, in half the time
    from torch._C._dynamo.guards import _empty_strided_cuda as _empty_strided
except ImportError:
    _empty_strided = _empty


def _mask(causal: bool, window: Any) -> tuple[int, int]:
    """Returns the limits (left, right) of a mask, -1 where it has none."""
    if window is None or (type(window) is tuple and window == (_ALL, _ALL)):
        return _ALL, 0 if causal else _ALL
    try:
        left, right = (operator.index(side) for side in window)
    except (TypeError, ValueError):
        raise InputError("window", f"is {window!r}", "two whole numbers (left, right); -1: no limit") from None
    if not (-1 <= left < _LONGEST and -1 <= right < _LONGEST):
        raise InputError("window", f"is {window!r}", "whole numbers from -1 (no limit) to 2^31 - 1")
    return left, 0 if causal and (right == _ALL or right > 0) else right


def _scale(scale: Any) -> Optional[float]:
    """Returns the scale as a float, or None, which stands for d^-1/2."""
    if scale is None:
        return None
    try:
        return float(scale)
    except (TypeError, ValueError, OverflowError):
        raise InputError("scale", f"is {scale!r}", "a positive number") from None


def _predicted(algorithm: str) -> str:
    return f'; napkin.select("{algorithm}", ...) says what a kernel that has it takes'


#: What calls may ask for and no kernel here has: what the nearest kernel does, and what would be right.
_REFUSED = {
    "dropout_p": ("drops no score", "0, or another attention"),
    "softcap": ("takes scores as they are", "0, or another attention" + _predicted("soft_capped_attention")),
    "alibi_slopes": ("adds nothing to scores", "None, or another attention" + _predicted("alibi_attention")),
    "s_aux": ("has no sink beside the keys", "None, or another attention" + _predicted("sink_attention")),
    "rotary_cos": ("takes q and k as they are", "q and k rotated before the call"),
    "block_table": ("reads keys that lie one after another", "flash_attn_with_kvcache, which has pages"),
}
_REFUSED["dropout"] = _REFUSED["dropout_p"]
_REFUSED["rotary_sin"] = _REFUSED["rotary_cos"]


def _refuse(q: Tensor, otherwise: str = "None, or another attention", **given: Any) -> None:
    """Raises InputError for the first argument that is given: neither None, nor 0, nor False. otherwise: what would be right
    for an argument that is not in _REFUSED."""
    for name, value in given.items():
        if value is None or (isinstance(value, (bool, int, float)) and value == 0):
            continue
        ampere = q.is_cuda and torch.cuda.get_device_capability(q.device)[0] == 8
        does, right = _REFUSED.get(name, ("has no such argument", otherwise))
        raise InputError(name, f"is given, and no kernel here has it: attention_sm{80 if ampere else 90}, the nearest, {does}", right)


def _check_tensors(**given: Any) -> None:
    for name, t in given.items():
        if not isinstance(t, Tensor):
            raise InputError(name, f"is {shown(t)}", "a tensor of PyTorch")


def _check(q: Tensor, k: Tensor, v: Tensor, dims: int) -> None:
    """Checks the conditions of every call; heads are the second axis."""
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
    """Returns the strides of these axes. The stride of an axis of size 1 is not checked."""
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


def _row_strides(t: Tensor, name: str) -> tuple[int, ...]:
    """Returns the strides of batch, head and row of [b, heads, rows, d], or of [rows, heads, d] packed."""
    if t.dim() == 4:
        return _strides(t, name, (0, 1, 2))
    head, row = _strides(t, name, (1, 0))
    return row * t.shape[0], head, row


def _window(left: int, right: int, q: int, x: int) -> tuple[bool, Optional[tuple[int, int]]]:
    if left == _ALL and right == _ALL:
        return False, None
    if left == _ALL and right == 0:
        return True, None
    return False, (q + x if left == _ALL else left, q + x if right == _ALL else right)


@functools.cache
def _load_compiler() -> None:
    """Loads PyTorch's own NVRTC, for machines without a CUDA toolkit: the library then finds it by name."""
    import ctypes
    import pathlib

    for path in sorted(pathlib.Path(torch.__file__).parents[1].glob("nvidia/*/lib/libnvrtc.so.1?")):
        try:
            ctypes.CDLL(str(path))
        except OSError:
            continue


def _on_stream(device: int, launch: Callable[..., None], *arguments: Any) -> None:
    """Calls launch(*arguments, device, its current stream). Afterwards restores PyTorch's current device."""
    stream = torch._C._cuda_getCurrentRawStream(device)
    if torch._C._cuda_getDevice() == device:
        launch(*arguments, device, stream)
    else:
        with torch.cuda.device(device):
            launch(*arguments, device, stream)
