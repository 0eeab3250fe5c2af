"""The attention of transformers: model.set_attn_implementation("napkin")."""

from __future__ import annotations

from typing import Any, Optional

import torch as _pytorch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from . import torch as _torch
from ._errors import InputError
from ._tensors import _refuse


class _Packing:
    """The rows of a padded batch that are tokens, and the first of each sequence among them."""

    def __init__(self, mask: Tensor) -> None:
        self.index = mask.flatten().nonzero().flatten()
        lengths = mask.sum(1, dtype=_pytorch.int32)
        self.starts = _pytorch.nn.functional.pad(lengths.cumsum(0, dtype=_pytorch.int32), (1, 0))
        self.longest = int(lengths.max())

    def packed(self, t: Tensor) -> Tensor:
        """Returns [b, heads, rows, d] as [tokens, heads, d]."""
        return t.transpose(1, 2).flatten(0, 1)[self.index]

    def unpacked(self, o: Tensor, b: int, rows: int) -> Tensor:
        """Returns [tokens, heads, d] as [b, rows, heads, d], with zeros where there is no token."""
        return o.new_zeros((b * rows, *o.shape[1:])).index_copy(0, self.index, o).unflatten(0, (b, rows))


_packings: Any = WeakIdKeyDictionary()  # by mask, which all layers of a model share: of the keys, and by rows of the queries


def _packings_of(mask: Tensor, rows: int) -> tuple[_Packing, _Packing]:
    """Returns the packing of the queries, which are the last rows, and that of the keys."""
    known = _packings.setdefault(mask, {})
    for n in (rows, mask.shape[1]):
        if n not in known:
            known[n] = _Packing(mask[:, mask.shape[1] - n:])
    return known[rows], known[mask.shape[1]]


def transformers_attention(module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Optional[Tensor] = None,
                           dropout: float = 0.0, scaling: Optional[float] = None, is_causal: Optional[bool] = None,
                           **other: Any) -> tuple[Tensor, None]:
    """Computes attention by the interface of transformers: query [b, heads, rows, d]; the result is [b, rows, heads, d].

    attention_mask: None for causal attention or none; for a padded batch [b, keys], true where a key is a token:
    tokens are packed, and rows of padding get zeros. Any other, of packed sequences or of a window, is refused.
    """
    if attention_mask is not None and attention_mask.shape != (key.shape[0], key.shape[2]):
        raise InputError("attention_mask", f"is {tuple(attention_mask.shape)}, of more than padding, and no kernel here has it",
                         f"padding of {(key.shape[0], key.shape[2])}, or varlen")
    _refuse(query, dropout=dropout, softcap=other.get("softcap"), s_aux=other.get("s_aux"))
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    rows = query.shape[2]
    causal = bool(causal) and rows > 1
    if attention_mask is None:
        return _torch.attention(query, key, value, causal=causal, scale=scaling).transpose(1, 2).contiguous(), None
    queries, keys = _packings_of(attention_mask.bool(), rows)
    o = _torch.varlen(queries.packed(query), keys.packed(key), keys.packed(value), queries.starts, keys.starts, queries.longest,
                      keys.longest, causal=causal, scale=scaling)
    return queries.unpacked(o, query.shape[0], rows), None


def _mask(*args: Any, **given: Any) -> Optional[Tensor]:
    """Returns the mask that transformers makes once for all layers: [b, keys] for padding alone, else the one that its sdpa gets."""
    from transformers.masking_utils import bidirectional_mask_function, causal_mask_function, sdpa_mask

    names = ("q_length", "kv_length", "q_offset", "kv_offset")
    rows, keys, q_first, x_first = (given.get(name, 0) for name in names)
    padding = given.get("attention_mask")
    simple = not args and all(type(n) is int for n in (rows, keys, q_first, x_first)) and rows > 0 and padding is not None and \
        padding.dim() == 2 and q_first + rows == x_first + keys == padding.shape[1]
    if not simple:
        return sdpa_mask(*args, **given)
    own: Tensor = padding[:, x_first:].bool()
    if given.get("local_size") is None and given.get("mask_function", causal_mask_function) in (causal_mask_function, bidirectional_mask_function):
        return None if bool(own.all()) else own
    found = sdpa_mask(*args, **given)
    return own if found is not None and _is_padding_alone(found, own, rows) else found


def _is_padding_alone(mask: Tensor, padding: Tensor, rows: int) -> bool:
    """Returns True if a mask [b, 1, rows, keys] hides the later tokens and padding from every token, and nothing else,
    like the mask of a window longer than every text."""
    keys = padding.shape[1]
    if mask.shape != (padding.shape[0], 1, rows, keys) or mask.dtype != _pytorch.bool:
        return False
    right = _pytorch.ones(rows, keys, dtype=_pytorch.bool, device=mask.device).tril(keys - rows) & padding[:, None]
    return bool((mask[:, 0] == right)[padding[:, keys - rows:]].all())


def register_transformers(name: str = "napkin") -> None:
    """Makes the attention known to transformers: model.set_attn_implementation("napkin")."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, transformers_attention)
    AttentionMaskInterface.register(name, _mask)
