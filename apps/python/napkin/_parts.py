"""Writes parts of a question (algorithm, GPU, kernel) that are dicts or texts rather than names to files that the
library reads."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_folder: tuple[int, str] | None = None  # of which process
_made: dict[str, str] = {}


def shown(value: Any) -> str:
    """Returns a value as messages show it."""
    try:
        text = ascii(value)
    except Exception:  # the user's own object may do as it likes
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def path_of(value: Any, where: str) -> str:
    """Returns the path of a path object, or of a file with the dict or the YAML text."""
    from ._errors import InputError

    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        path = os.fsdecode(path)
        return path if "/" in path or path.endswith(".yaml") else os.path.join(".", path)
    if isinstance(value, str):
        return _file(value, where, "text")
    if hasattr(value, "items"):
        import json

        try:
            text = json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(where, f"is a dict that is no YAML: {error}", "dicts, lists, texts and numbers") from None
        return _file(text, where, "dict")
    raise InputError(where, f"is {shown(value)}", "a name, a path, a dict, or a text in YAML")


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _file(text: str, where: str, kind: str) -> str:
    """Writes a file and returns its path. Equal content has one path, so that it is read once."""
    import hashlib
    import re

    data = text.encode("utf-8", "surrogateescape")
    path = os.path.join(_own_folder(), f"{where}-{hashlib.sha256(data).hexdigest()[:24]}")
    # A mapping's file has its name.
    named = re.search(rb'^\s*"?mapping"?\s*:\s*"?(\w+)', data, re.MULTILINE) if where == "kernel" else None
    path = os.path.join(path, named[1].decode()) + ".yaml" if named else path + ".yaml"
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{os.getpid()}.{id(data)}"
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    _made[path] = f"<{where}: {kind}>"
    return path


def _own_folder() -> str:
    global _folder
    if _folder is None or _folder[0] != os.getpid():
        import atexit
        import shutil
        import tempfile

        _folder = (os.getpid(), tempfile.mkdtemp(prefix="napkin-"))

        def remove(mine: tuple[int, str] = _folder) -> None:  # a child that was forked off leaves its parent's alone
            if mine[0] == os.getpid():
                shutil.rmtree(mine[1], ignore_errors=True)

        atexit.register(remove)
    return _folder[1]


def made_from(path: str) -> str | None:
    """Returns the dict or text from which a file of this module was made, or None."""
    return _made.get(path)


_TYPES = {"bfloat16": "bf16", "float16": "f16", "half": "f16", "float32": "f32", "float": "f32",
          "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "int8": "i8"}


def dtype_name(value: Any) -> str:
    """Returns the name of an element type of PyTorch, NumPy or ml_dtypes."""
    from ._errors import InputError

    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    name = name if isinstance(name, str) else shown(value).removeprefix("torch.")
    if name not in _TYPES:
        raise InputError("dtype", f"is {shown(value)}", "a name such as bf16, or torch.bfloat16")
    return _TYPES[name]
