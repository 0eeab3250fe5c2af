"""FlashAttention's names and arguments over napkin.torch's: flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache."""

from __future__ import annotations

from typing import Any, Optional

import torch as _pytorch
from torch import Tensor
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling

from . import _core, _layout
from . import torch as _torch
from ._errors import InputError
from ._tensors import _DTYPES, _check_tensors, _load_compiler, _mask, _on_stream, _refuse, _row_strides, _scale, _window


def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, softmax_scale: Optional[float] = None,
                    causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                    alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False, *,
                    return_lse: bool = False) -> Any:
    """Computes attention() with the signature of flash_attn: q, k, v and the result are [b, rows, heads, d].

    deterministic: equal bits of the gradients in every run; the output always has them. return_attn_probs: returns (out,
    log-sum-exp, None), as flash_attn does without dropout; return_lse: the first two.
    """
    if dropout_p != 0 or softcap != 0 or alibi_slopes is not None:
        _refuse(q, dropout_p=dropout_p, softcap=softcap, alibi_slopes=alibi_slopes)
    if return_attn_probs:
        return (*flash_attn_func(q, k, v, 0.0, softmax_scale, causal, window_size, deterministic=deterministic, return_lse=True), None)
    if not is_dynamo_compiling() and forward_ad._current_level < 0:
        found = _torch._launches.attend((q, k, v, None), causal, window_size, softmax_scale, return_lse, True)
        if found is not None:
            return found
    _check_tensors(q=q, k=k, v=v)
    needs = _pytorch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    if not needs and _torch._is_plain(q, k, v) and q.dim() == k.dim() == v.dim() == 4:
        dv = v.shape[-1]
        q, k, v, scale = _layout.prepared(q, k, v, _scale(softmax_scale))
        output = _layout.narrowed(_torch._forward(q, k, v, *_mask(causal, window_size), scale, return_lse, True), dv)
        return output if return_lse else output[0]
    found = _torch.attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), causal=causal, window=window_size,
                             scale=softmax_scale, return_lse=return_lse, deterministic=deterministic or None)
    if return_lse:
        return found[0].transpose(1, 2), found[1]
    return found.transpose(1, 2)


def flash_attn_varlen_func(q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
                           max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: Optional[float] = None,
                           causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                           alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
                           block_table: Any = None, *, return_lse: bool = False) -> Any:
    """Computes varlen() with the signature of flash_attn. return_attn_probs: returns (out, log-sum-exp, None)."""
    _check_tensors(q=q)
    _refuse(q, dropout_p=dropout_p, softcap=softcap, alibi_slopes=alibi_slopes, block_table=block_table)
    found = _torch.varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, causal=causal, window=window_size,
                          scale=softmax_scale, return_lse=return_lse or return_attn_probs, deterministic=deterministic or None)
    return (*found, None) if return_attn_probs else found


# ---- keys and values that are kept from step to step --------------------------------------------------------------


def _lengths(cache_seqlens: Any, b: int, most: int, device: Any) -> Tensor:
    """Returns the number of keys that the cache has of each sequence, i32 [b]."""
    if cache_seqlens is None or isinstance(cache_seqlens, int):
        return _pytorch.full((b,), most if cache_seqlens is None else cache_seqlens, dtype=_pytorch.int32, device=device)
    if not isinstance(cache_seqlens, Tensor) or cache_seqlens.shape != (b,) or cache_seqlens.is_floating_point():
        raise InputError("cache_seqlens", "is no length for each sequence", f"an int, or {b} of torch.int32 on {device}")
    return cache_seqlens.to(device=device, dtype=_pytorch.int32)


class _Cache:
    """The places of a cache's rows: row p of sequence i is row `at(i, p)` of all sequences' or pages' rows in one array."""

    def __init__(self, cache: Tensor, batch_idx: Optional[Tensor], left: Optional[Tensor], table: Optional[Tensor], b: int) -> None:
        self.size = cache.shape[1]  # rows of a sequence, or of a page
        device = cache.device
        self.table = table
        self.rows = self.size if table is None else self.size * table.shape[1]
        self.first = (_pytorch.arange(b, device=device) if batch_idx is None else batch_idx.to(device=device)).long()[:, None]
        self.left = None if left is None else left.to(device=device).long()[:, None]

    def at(self, row: Tensor, skip: bool = True) -> Tensor:
        """Returns the places of rows [b, rows], which are counted from the first that is not padding."""
        if self.left is not None and skip:
            row = row + self.left
        row = row.clamp(0, self.rows - 1)
        if self.table is None:
            return self.first * self.size + row
        return self.table.long().gather(1, row // self.size) * self.size + row % self.size


def _check_new(cache: Tensor, new: Tensor) -> None:
    if new.shape[2:] != cache.shape[2:] or new.dtype != cache.dtype:
        raise InputError("k", f"has rows of {tuple(new.shape[2:])}, and the cache of {tuple(cache.shape[2:])}", "new rows like the cache's")


def _append(cache: Tensor, new: Tensor, place: Tensor) -> None:
    """Copies new rows [b, rows, heads, d] to their places in the cache's rows."""
    _check_new(cache, new)
    cache.view(-1, *cache.shape[2:])[place.flatten()] = new.flatten(0, 1)


def _gathered(caches: tuple[Tensor, Tensor], where: _Cache, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the rows of k and of v, one sequence after another, and the first row of each. The host does not wait for the GPU:
    it does not know the lengths, so unused rows follow the last one."""
    b = lengths.shape[0]
    starts = _pytorch.zeros(b + 1, dtype=_pytorch.int32, device=lengths.device)
    starts[1:] = lengths.cumsum(0)
    packed = _pytorch.arange(b * where.rows, dtype=_pytorch.int32, device=lengths.device)
    sequence = _pytorch.searchsorted(starts[1:], packed, right=True).clamp(max=b - 1)
    row = (packed - starts[sequence]).long()
    every = where.at(_pytorch.arange(where.rows, device=lengths.device).expand(b, -1))  # [b, rows]
    place = every[sequence, row.clamp(max=where.rows - 1)]
    k, v = (cache.reshape(-1, *cache.shape[2:])[place] for cache in caches)
    return k, v, starts


#: Calls of counted keys by what they are but for their memory; None: no kernel takes them as they lie.
_counted_calls: dict[Any, Any] = {}
_CALLS_KEPT = 4096


def _counted_shapes(q: Tensor, k: Tensor, v: Tensor, o: Tensor, keys: int, mask: tuple[int, int], scale: Optional[float]) -> Any:
    """Returns the call whose keys are counted on the GPU, or None if no kernel takes it. q and o are [b, rows, heads, d]; k and v [b
    or pages, rows, key heads, d]."""
    if not all(_layout._is_taken(t) for t in (q, k, v)) or q.dtype not in _DTYPES or not q.dtype == k.dtype == v.dtype:
        return None
    (b, rows, heads, d), kv = q.shape, k.shape[2]
    if min(b, rows, keys, kv) == 0 or heads % kv != 0 or k.shape[3] != d or k.shape[:3] != v.shape[:3]:
        return None
    strides = tuple(_row_strides(t.transpose(1, 2), "cache") for t in (q, k, v, o))
    return _core.AttentionShapes((b, kv, heads // kv, rows, keys, d, v.shape[3]), _DTYPES[q.dtype], strides, _window(*mask, rows, keys),
                                 scale, (0, 0))


def _counted(q: Tensor, k: Tensor, v: Tensor, counts: Tensor, table: Optional[Tensor], mask: tuple[int, int], scale: Optional[float],
             want_lse: bool) -> Any:
    """Computes attention to keys that are read in place and counted on the GPU: one launch, the same at each step of a
    generation. Returns None if no kernel takes such a call."""
    if not _torch._is_plain(q, k, v) or (table is not None and (table.dtype != _pytorch.int32 or table.stride(1) != 1)):
        return None
    o = q.new_empty((*q.shape[:3], v.shape[3]))
    pages = (0, 0, 0, 0) if table is None else (table.data_ptr(), table.stride(0), k.shape[1], k.shape[0])
    key = (q.shape, q.stride(), q.dtype, k.shape, k.stride(), k.dtype, v.shape, v.stride(), v.dtype, q.device, mask, scale, pages[1:])
    first = key not in _counted_calls
    if first:
        _load_compiler()
        if len(_counted_calls) >= _CALLS_KEPT:
            _counted_calls.clear()
        keys = k.shape[1] * (1 if table is None else table.shape[1])
        _counted_calls[key] = _counted_shapes(q, k, v, o, keys, mask, scale)
    shapes = _counted_calls[key]
    if shapes is None:
        return None
    lse = q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=_pytorch.float32) if want_lse else None
    try:
        _on_stream(q.get_device(), shapes.launch_cached, (q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr()),
                   0 if lse is None else lse.data_ptr(), counts.data_ptr(), pages)
    except InputError:
        if not first:
            raise
        _counted_calls[key] = None
        return None
    return (o, lse) if want_lse else o


@_pytorch.no_grad()
def flash_attn_with_kvcache(q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Optional[Tensor] = None, v: Optional[Tensor] = None,
                            rotary_cos: Any = None, rotary_sin: Any = None, cache_seqlens: Any = None, cache_batch_idx: Any = None,
                            cache_leftpad: Any = None, block_table: Optional[Tensor] = None, softmax_scale: Optional[float] = None,
                            causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                            rotary_interleaved: bool = True, alibi_slopes: Any = None, num_splits: int = 0,
                            return_softmax_lse: bool = False) -> Any:
    """Computes attention of [b, rows, heads, d] to cached keys and values, as flash_attn's function does.

    k_cache, v_cache: [b or more, keys, key heads, d], or with block_table pages of them: [pages, keys of a page, key heads, d].
    k, v: new rows, which are stored after the cache_seqlens rows that there are, and are seen. There are no gradients. Sequences of one length
    that is an int are read where they lie, as are others and pages for attention_decode_sm90 (Hopper, few queries); what it does
    not take is brought together first.
    """
    _check_tensors(q=q, k_cache=k_cache, v_cache=v_cache)
    _refuse(q, rotary_cos=rotary_cos, rotary_sin=rotary_sin, softcap=softcap, alibi_slopes=alibi_slopes)
    if q.dim() != 4 or k_cache.dim() != 4 or v_cache.dim() != 4:
        raise InputError("q", f"has {q.dim()} axes, and the caches {k_cache.dim()} and {v_cache.dim()}", "four each")
    if (k is None) != (v is None):
        raise InputError("v" if v is None else "k", "is missing", "new keys and new values, or neither")
    b, rows, heads, _ = q.shape
    new = 0 if k is None else k.shape[1]
    options = {"causal": causal, "window": window_size, "scale": softmax_scale, "return_lse": True}
    simple = block_table is None and cache_leftpad is None and cache_batch_idx is None and k_cache.shape[0] == b
    most = k_cache.shape[1] * (1 if block_table is None else block_table.shape[1]) - new
    if isinstance(cache_seqlens, int) and not 0 <= cache_seqlens <= most:
        raise InputError("cache_seqlens", f"is {cache_seqlens}", f"a length from 0 to {most}, with the new rows in the cache")
    if k is not None and cache_seqlens is None:
        raise InputError("cache_seqlens", "is missing", "how many keys there are before the new ones")
    if simple and (cache_seqlens is None or isinstance(cache_seqlens, int)):
        keys = most if cache_seqlens is None else cache_seqlens + new
        if k is not None and v is not None:
            for cache, rows_of in ((k_cache, k), (v_cache, v)):
                _check_new(cache, rows_of)
                cache.narrow(1, keys - new, new).copy_(rows_of)
        return flash_attn_func(q, k_cache.narrow(1, 0, keys), v_cache.narrow(1, 0, keys), 0.0, softmax_scale, causal, window_size,
                               return_lse=return_softmax_lse)
    lengths = _lengths(cache_seqlens, b, most, q.device)
    if k is not None and v is not None:
        where = _Cache(k_cache, cache_batch_idx, cache_leftpad, block_table, b)
        place = where.at(lengths.long()[:, None] + _pytorch.arange(new, device=q.device), skip=False)
        _append(k_cache, k, place)
        _append(v_cache, v, place)
        lengths = lengths + new
    if cache_leftpad is None and cache_batch_idx is None:
        found = _counted(q, k_cache, v_cache, lengths, block_table, _mask(causal, window_size), _scale(softmax_scale), return_softmax_lse)
        if found is not None:
            return found
    where = _Cache(k_cache, cache_batch_idx, cache_leftpad, block_table, b)
    if cache_leftpad is not None:
        lengths = (lengths - cache_leftpad.to(lengths)).clamp(min=0)
    packed_k, packed_v, starts = _gathered((k_cache, v_cache), where, lengths)
    q_starts = _pytorch.arange(0, b * rows + 1, max(rows, 1), dtype=_pytorch.int32, device=q.device)[: b + 1]
    o, lse = _torch.varlen(q.reshape(b * rows, heads, -1), packed_k, packed_v, q_starts, starts, rows, where.rows, **options)
    o, lse = o.unflatten(0, (b, rows)), lse.unflatten(1, (b, rows)).transpose(0, 1).contiguous()
    return (o, lse) if return_softmax_lse else o
