"""The answers to the questions of _commands.py: Record and its kinds, which show a command's JSON as attributes."""

from __future__ import annotations

import os
from . import _core

TYPE_CHECKING = False  # typing's own is a third of the package's time to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value


class Record:
    """An answer, or a part of one: its keys are attributes, and nothing in it can be changed."""

    __slots__ = ("_data", "_words")

    def __init__(self, data: dict[str, Any], words: Sequence[str] = ()) -> None:
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "_words", tuple(words))

    def __getattr__(self, name: str) -> Any:
        try:
            return _frozen(object.__getattribute__(self, "_data")[name])
        except (KeyError, AttributeError):
            raise AttributeError(f"no {name!r} here: {', '.join(self.__dir__())}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("an answer cannot be changed")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __getitem__(self, name: str) -> Any:
        return _frozen(self._data[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def keys(self) -> Any:
        return self._data.keys()

    def items(self) -> list[tuple[str, Any]]:
        return [(name, _frozen(value)) for name, value in self._data.items()]

    def __dir__(self) -> list[str]:
        return [*self._data, "to_dict", "keys", "items"]

    def __eq__(self, other: object) -> bool:
        return bool(self._data == (other._data if isinstance(other, Record) else other))

    def __hash__(self) -> int:
        import json

        return hash(json.dumps(self._data))

    def __reduce__(self) -> Any:
        return (type(self), (self._data, self._words))

    def to_dict(self) -> dict[str, Any]:
        """Returns what the command prints with --json."""
        import copy

        return copy.deepcopy(self._data)

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self._data.items()
                           if not isinstance(value, (dict, list)) and not (isinstance(value, str) and "\n" in value))
        return f"{type(self).__name__}({inside})"

    def __str__(self) -> str:
        return _output([word for word in self._words if word != "--json"]) if self._words else repr(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


class Comparison(Record):
    """An algorithm on several GPUs and in several element types, with the laws that explain the differences."""

    __slots__ = ()


class Sensitivity(Record):
    """The effect of one percent more of each of the machine's numbers: d ln time / d ln number."""

    __slots__ = ()


class Replay(Record):
    """The predictions of recorded rows: errors by kernel and split, regret by sweep."""

    __slots__ = ()


class Island(Record):
    """The ways in which several GPUs divide an algorithm, the fastest first, with their bytes and times."""

    __slots__ = ()


class _Drawn(Record):
    __slots__ = ()

    def _repr_svg_(self) -> str:
        return _drawn(self._words, "--svg")

    def _repr_html_(self) -> str:
        return self._repr_svg_()


class Derivation(_Drawn):
    """The derivation of the fused, streamed algorithm from the text of the unfused one."""

    __slots__ = ()


class Timeline(_Drawn):
    """The first iterations of a block: when each agent and pipe works, and the waits of an iteration."""

    __slots__ = ()

    def perfetto(self) -> str:
        """Returns a trace for ui.perfetto.dev, in which a clock is a microsecond."""
        return _drawn(self._words, "--perfetto")


class Report:
    """A self-contained HTML page: `html` is its text, save() writes it, and a notebook shows it."""

    __slots__ = ("html",)
    html: str

    def __init__(self, html: str) -> None:
        object.__setattr__(self, "html", html)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("an answer cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        return Report, (self.html,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self.html == other.html

    def __hash__(self) -> int:
        return hash(self.html)

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} characters of HTML)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file, which then needs nothing else."""
        from ._errors import InputError

        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.html)
        except (OSError, TypeError, ValueError) as error:
            raise InputError("out", f"cannot be written: {error}", "a path in a folder that is there") from None

    def to_dict(self) -> dict[str, Any]:
        return {"html": self.html}

    def _repr_html_(self) -> str:
        from html import escape

        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:40em;border:0"></iframe>'


def _output(words: Sequence[str]) -> str:
    out: bytes = _core.run(list(words))[1]
    return out.decode("utf-8", "replace")


def _drawn(words: Sequence[str], option: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="napkin-") as folder:
        path = os.path.join(folder, "drawn")
        _core.run([*words, option, path])
        with open(path, encoding="utf-8") as file:
            return file.read()
