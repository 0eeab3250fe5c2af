"""Predicts the time of attention and matmul kernels on a GPU, and selects their configurations. No GPU is needed.

>>> import napkin
>>> answer = napkin.select("attention", gpu="h200-sxm", h=16, q=8192, x=8192, d=128)
>>> answer.tile["q"], answer.predicted.bound
(128, 'tensor')

Axes are the paper's: attention has b (batch), h (key heads), g (query heads a key head), q (queries), x (keys), d and
dv (head dimensions); matmul C[a, c] = A[a, b] B[b, c]. Numbers are in bytes, seconds, hertz and FLOP. Bad input raises
InputError. `napkin.torch` computes attention on the GPU; `napkin.triton` prunes the configurations of an autotuner.
"""

from ._commands import algorithms, compare, deps, derive, emit, gpus, island, kernels, need, report, sensitivity, step, steps, timeline, validate_replay
from ._core import LevelAnswer, PredictedAnswer, QueryAnswer, RankedConfig, SelectAnswer, Session, __version__
from ._core import session as _session
from ._errors import CudaError, InputError
from ._records import Comparison, Derivation, Island, Record, Replay, Report, Sensitivity, Timeline

query = _session.query
rank_configs = _session.rank_configs
select = _session.select
select_many = _session.select_many

__all__ = [
    "Comparison", "CudaError", "Derivation", "InputError", "Island", "LevelAnswer", "PredictedAnswer", "QueryAnswer", "RankedConfig", "Record",
    "Replay", "Report", "SelectAnswer", "Sensitivity", "Session", "Timeline", "__version__", "algorithms", "compare",
    "deps", "derive", "emit", "gpus", "island", "kernels", "need", "query", "rank_configs", "report", "select", "select_many", "sensitivity", "step", "steps", "timeline",
    "validate_replay",
]
