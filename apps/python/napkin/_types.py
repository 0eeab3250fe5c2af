"""The types of a question's arguments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

#: A built-in name, the path of a diagram's YAML, its text, or the same as a dict.
Algorithm = Union[str, "os.PathLike[str]", Mapping[str, Any]]
#: A profile's name, path, text or dict; "here": the GPU in this machine.
Machine = Union[str, "os.PathLike[str]", Mapping[str, Any]]
#: A mapping's name, path, text or dict.
Kernel = Union[str, "os.PathLike[str]", Mapping[str, Any]]
#: Sizes by axis, {"h": 16, "q": 8192}, or "h=16,q=8192".
Shape = Union[str, Mapping[str, int]]
#: Knobs that are fixed, {"q": 128, "overlap": True}, or "q=128,overlap=on".
Tile = Union[str, Mapping[str, Union[int, str, bool]]]
#: (left, right), or "left,right".
Window = Union[str, Sequence[int]]
#: The sequences of a packed batch: a length of queries and keys, or a pair (queries, keys).
Lengths = Union[str, Iterable[Union[int, Sequence[int]]]]
