"""Napkin's configurations for the templates of torch.compile: products (max-autotune) and FlexAttention.

>>> napkin.inductor.activate("h200-sxm", rows=8192)     # until napkin.inductor.restore(), in this thread
>>> napkin.inductor.kernel_options("h200-sxm", h=16, q=8192, x=8192, d=128)   # or for one call of flex_attention
"""

from __future__ import annotations

from typing import Any

from . import _session
from ._errors import InputError

__all__ = ["activate", "kernel_options", "restore"]

_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")


def _flex(answer: Any, top_k: int) -> list[dict[str, int]]:
    if not answer.found:
        raise InputError("shape", "fits no tile of FlexAttention's kernel", answer.because)
    tiles = [answer.tile, *(other.tile for other in answer.alternatives)]

    def number(tile: dict[str, Any], *names: str) -> int:
        return next(int(tile[name]) for name in names if name in tile)

    return [{"BLOCK_M": number(tile, "q", "BLOCK_M"), "BLOCK_N": number(tile, "x", "BLOCK_N"),
             "num_warps": number(tile, "warps", "num_warps"), "num_stages": number(tile, "stages", "num_stages")}
            for tile in tiles[:top_k]]


def kernel_options(gpu: Any, *, kernel: Any = "triton", **question: Any) -> dict[str, int]:
    """Returns the tile of this shape for flex_attention(..., kernel_options=...)."""
    return _flex(_session.select("attention", gpu=gpu, kernel=kernel, top=1, detail=False, **question), 1)[0]


def _best_products(choices: list[Any], sizes: tuple[int, int, int], dtype: Any, gpu: Any, kernel: Any, top_k: int) -> list[Any]:
    """Returns the best `top_k` of the choices that are tiles of a Triton template, and all others."""
    tiles = {}
    for at, choice in enumerate(choices):
        knobs = choice.params.to_kwargs()
        if {"BLOCK_M", "BLOCK_N", "BLOCK_K"} <= set(knobs):
            tiles[at] = {name: int(value) for name, value in knobs.items() if name.startswith("BLOCK_") or name in ("num_warps", "num_stages")}
    if len(tiles) <= top_k:
        return choices
    m, n, k = sizes
    ranked = _session.rank_configs("matmul", list(tiles.values()), gpu=gpu, kernel=kernel, dtype=dtype, a=m, b=k, c=n)
    places = list(tiles)
    kept = {places[one.index] for one in [one for one in ranked if one.legal][:top_k]} or set(places)
    return [choice for at, choice in enumerate(choices) if at not in tiles or at in kept]


def _choices(gpu: Any, rows: int, top_k: int, attention: Any, matmul: Any) -> Any:
    import torch
    from torch._inductor.choices import InductorChoices
    from torch._inductor.template_heuristics.triton import FlexConfig

    halves = (torch.bfloat16, torch.float16)

    class Choices(InductorChoices):
        def get_flex_attention_fwd_configs(self, head_dim: int, dtype: Any, device_type: Any = "cuda") -> list[Any]:
            if device_type != "cuda" or dtype not in halves:
                return super().get_flex_attention_fwd_configs(head_dim, dtype, device_type)
            answer = _session.select("attention", gpu=gpu, kernel=attention, dtype=dtype, top=1, detail=False, h=16, q=rows, x=rows, d=int(head_dim))
            return [FlexConfig(c["BLOCK_M"], c["BLOCK_N"], c["num_stages"], c["num_warps"]) for c in _flex(answer, 1)]

        def _finalize_template_configs(self, template_choices: Any, kernel_inputs: Any, templates: Any, op_name: str, *more: Any, **named: Any) -> Any:
            found = super()._finalize_template_configs(template_choices, kernel_inputs, templates, op_name, *more, **named)
            if op_name not in _PRODUCTS or kernel_inputs.device_type != "cuda" or kernel_inputs.dtype() not in halves:
                return found
            return _best_products(found, tuple(kernel_inputs.mnk_hinted()), kernel_inputs.dtype(), gpu, matmul, top_k)

    return Choices()


_active: list[Any] = []


def activate(gpu: Any = "here", *, rows: int = 8192, top_k: int = 4, attention: Any = "triton", matmul: Any = "triton_matmul") -> None:
    """Makes torch.compile, in this thread, time only the `top_k` tiles of a product that are best by prediction (max-autotune), and
    take for FlexAttention's forward the tile for that many `rows` (its own choice sees the head dimension alone).

    attention, matmul: the mappings of Inductor's templates. Only bf16 and f16 on a GPU; all else stays PyTorch's.
    """
    from torch._inductor.virtualized import V

    restore()
    handler = V.set_choices_handler(_choices(gpu, rows, top_k, attention, matmul))
    handler.__enter__()
    _active.append(handler)


def restore() -> None:
    """Gives torch.compile PyTorch's own choices back."""
    while _active:
        _active.pop().__exit__(None, None, None)
