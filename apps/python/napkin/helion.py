"""Seeds for Helion's autotuner from napkin's selection.

>>> @helion.kernel(autotune_seed_configs=napkin.helion.seeds("attention", gpu="h200-sxm", h=16, q=8192, x=8192, d=128,
...                                                          block_sizes=["b", "q", "x"]))
... def attention(q, k, v): ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _session
from ._errors import InputError

__all__ = ["seeds"]


def seeds(algorithm: Any = "attention", top_k: int = 4, *, block_sizes: Sequence[str], kernel: Any = "triton",
          **question: Any) -> list[Any]:
    """Returns the best tiles of a Triton mapping as helion.Config. block_sizes: the axis of each of the kernel's tiled loops, in
    order; an axis without a knob has blocks of 1."""
    import helion

    answer = _session.select(algorithm, kernel=kernel, top=top_k, detail=False, **question)
    if not answer.found:
        raise InputError("shape", "fits no tile", answer.because)
    made = []
    for tile in [answer.tile, *(other.tile for other in answer.alternatives)]:
        made.append(helion.Config(block_sizes=[int(tile.get(axis, 1)) for axis in block_sizes],
                                  num_warps=int(tile.get("warps", tile.get("num_warps", 4))),
                                  num_stages=int(tile.get("stages", tile.get("num_stages", 1)))))
    return made
