"""The questions that the library answers as the command line does: each returns what the command prints with --json."""

from __future__ import annotations

import os
from ._parts import shown
from ._records import Comparison, Derivation, Island, Record, Replay, Report, Sensitivity, Timeline, _drawn, _output

TYPE_CHECKING = False  # typing's own is a third of the package's time to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ._types import Algorithm


def _json(words: Sequence[str]) -> Any:
    import json

    return json.loads(_output([*words, "--json"]))


def _pairs(value: Any, name: str) -> str:
    from ._errors import InputError

    if isinstance(value, str):
        return value
    if not hasattr(value, "items"):
        raise InputError(name, f"is {shown(value)}", 'a dict or a text such as "q=128,x=128"')
    return ",".join(f"{key}={_value(item)}" for key, item in value.items())


def _value(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _part(value: Any, name: str) -> str:
    from ._parts import path_of

    return value if isinstance(value, str) and "\n" not in value else path_of(value, name)


def _list_of(word: Callable[[Any, str], str], right: str) -> Callable[[Any, str], str]:
    """Returns the function that makes an option of a list, word by word, and leaves a text as it is."""

    def words(value: Any, name: str) -> str:
        from ._errors import InputError

        if isinstance(value, str):
            return value
        try:
            return ",".join(word(one, name) for one in value)
        except TypeError:
            raise InputError(name, f"is {shown(value)}", right) from None

    return words


def _length(value: Any, name: str) -> str:
    return "x".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _type(value: Any, name: str) -> str:
    from ._parts import dtype_name

    return value if isinstance(value, str) else dtype_name(value)


def _text(value: Any, name: str) -> str:
    return str(value)


_parts_list = _list_of(_part, "a list of names, paths or dicts")
_lengths = _list_of(_length, "a list of lengths, or of pairs (queries, keys)")
_types = _list_of(_type, "a list of types")
_names = _list_of(_text, "a list of names")
_two = _list_of(_text, "two numbers: rows to the left and to the right")

_OPTIONS: dict[str, tuple[str, Any]] = {
    "gpu": ("--gpu", _part), "gpus": ("--gpus", _parts_list), "memory": ("--memory", _text),
    "dtype": ("--dtype", _type), "dtypes": ("--dtype", _types), "window": ("--window", _two), "prefix": ("--prefix", _text),
    "lengths": ("--lengths", _lengths), "kernel": ("--kernel", _part), "kernels": ("--kernels", _parts_list),
    "tile": ("--tile", _pairs), "top": ("--top", _text), "iterations": ("--iterations", _text),
    "overhead": ("--overhead", _pairs), "split": ("--split", _text), "load": ("--load", _text), "clock": ("--clock", _text),
    "l2": ("--l2", _text),
    "time": ("--time", _text), "tflops": ("--tflops", _text), "joules": ("--joules", _text),
    "of": ("--of", _names), "line": ("--line", _names), "power": ("--power", _text), "issue": ("--issue", _text),
}


def _words(command: str, algorithm: Any, options: dict[str, Any]) -> list[str]:
    """Returns the command line of a question. A keyword that is no option is an axis."""
    from ._errors import InputError

    words = [command, _part(algorithm, "algorithm")]
    shape = _pairs(options.pop("shape"), "shape") if options.get("shape") is not None else ""
    if options.pop("causal", None):
        words.append("--causal")
    for name, value in options.items():
        if value is None:
            continue
        if name in _OPTIONS:
            option, text = _OPTIONS[name]
            words += [option, text(value, name)]
        elif isinstance(value, bool) or not hasattr(value, "__index__"):
            raise InputError("shape", f"{name} is {shown(value)}", "a whole number from 1")
        else:
            shape += ("," if shape else "") + f"{name}={value.__index__()}"
    return words + (["--shape", shape] if shape else [])


def compare(algorithm: Algorithm, **question: Any) -> Comparison:
    """Compares an algorithm on several `gpus` and in several `dtypes`. Takes what select() takes.

    >>> napkin.compare("attention", gpus=["a100-sxm-80", "h200-sxm"], h=16, q=8192, x=8192, d=128).machines
    """
    words = _words("compare", algorithm, question)
    return Comparison(_json(words), words)


def derive(algorithm: Algorithm, **question: Any) -> Derivation:
    """Derives the fused, streamed algorithm from the text of the unfused one. With gpu and sizes: for its tile."""
    words = _words("derive", algorithm, question)
    return Derivation(_json(words), words)


def deps(algorithm: Algorithm) -> Record:
    """Returns the dependences of the loop nest: edges, strongly connected components, parallel loops, legal orders."""
    words = ["deps", _part(algorithm, "algorithm")]
    return Record(_json(words), words)


def sensitivity(algorithm: Algorithm, **question: Any) -> Sensitivity:
    """Returns the changes of a prediction for one percent more of each of the machine's numbers, and the next limit."""
    words = _words("sensitivity", algorithm, question)
    return Sensitivity(_json(words), words)


def island(algorithm: Algorithm, **question: Any) -> Island:
    """Returns the ways in which several GPUs can divide an algorithm, the best first. Takes what select() takes, and
    `split`, such as "ring_attention".

    >>> napkin.island("attention", gpu="hgx-h100-8", h=8, g=4, q=65536, x=65536, d=128, causal=True).ways[0].split
    """
    words = _words("select", algorithm, question)
    return Island(_json(words), words)


def need(algorithm: Algorithm, **question: Any) -> Record:
    """Returns the values that a machine's numbers need for a target: `time` ("600us"), `tflops` or `joules`. `of` and
    `line` name its numbers.

    >>> napkin.need("attention", gpu="h100-sxm", h=16, q=8192, x=8192, d=128, time="700us").needs[0].needed
    """
    words = _words("need", algorithm, question)
    return Record(_json(words), words)


def step(model: str, **question: Any) -> Record:
    """Returns the time of one pass through a model, all its launches at one clock. `model`: a bundled step's name or a
    file's path.

    `power` (watts) and `issue` ("stream" or "graph") are its conditions; a keyword that is no option is a step's symbol.

    >>> napkin.step("llama3-8b", gpu="h100-sxm", b=64, q=1, x=4096).predicted.tokens_per_second
    """
    words = _words("step", model, question)
    return Record(_json(words), words)


def timeline(algorithm: Algorithm, *, iterations: int = 6, **question: Any) -> Timeline:
    """Simulates the first iterations of a block: when each agent and pipe works, in clocks, and the waits of an
    iteration."""
    words = _words("timeline", algorithm, {**question, "iterations": iterations})
    return Timeline(_json(words), words)


def emit(algorithm: Algorithm, form: str = "json", **question: Any) -> str:
    """Returns the selected configuration as another program reads it: json, cpp, triton, fa3 or fa4; for several GPUs nccl.

    Returns "" if nothing fits.
    """
    return _output([*_words("select", algorithm, question), "--emit", form])


def validate_replay(*files: str | os.PathLike[str]) -> Replay:
    """Predicts recorded rows (JSONL of `napkin validate`) again: errors by kernel and split, regret by sweep."""
    from ._errors import InputError

    if not files:
        raise InputError("files", "are missing", "one or more files of recorded rows, .jsonl")
    words = ["validate"]
    for file in files:
        words += ["--replay", os.fspath(file)]
    return Replay(_json(words), words)


def report(algorithm: Algorithm | None = None, *, out: str | os.PathLike[str] | None = None,
           replay: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None, **question: Any) -> Report:
    """Makes a self-contained HTML page: question, answer, levels, roofline, timeline, landscape of tiles, sensitivities.

    Takes what select() takes. With `replay` in place of a question: predicted against measured for files of recorded
    rows. `out` also writes the page there.

    >>> napkin.report("attention", gpu="h200-sxm", h=16, q=8192, x=8192, d=128, out="report.html")
    >>> napkin.report(replay=["rows.jsonl"]).save("replay.html")
    """
    from ._errors import InputError

    if (algorithm is None) == (replay is None):
        raise InputError("algorithm", "is missing" if algorithm is None else "stands beside replay",
                         "an algorithm with its question, or replay=[files]")
    if replay is None:
        words = _words("report", algorithm, question)
    else:
        words = ["report"]
        for file in [replay] if isinstance(replay, (str, os.PathLike)) else replay:
            words += ["--replay", os.fspath(file)]
        for name in question:
            raise InputError(name, "stands beside replay", "leave it out: the rows say what was measured")
    page = Report(_drawn(words, "--out"))
    if out is not None:
        page.save(out)
    return page


def _list(kind: str) -> tuple[Record, ...]:
    rows = _json(["list", kind])[kind]
    return tuple(Record(row) for row in rows)


def gpus() -> tuple[Record, ...]:
    """Returns the built-in profiles: name, about, architecture, cores, memory (bytes), bandwidth, peak (FLOP/s), basis, band."""
    return _list("gpus")


def kernels() -> tuple[Record, ...]:
    """Returns the built-in mappings: name, about, algorithm, runs_on, dtypes, source, knobs."""
    return _list("kernels")


def algorithms() -> tuple[Record, ...]:
    """Returns the built-in diagrams: name, about, axes."""
    return _list("algorithms")


def steps() -> tuple[Record, ...]:
    """Returns the built-in steps of models: name, about, symbols."""
    return _list("steps")
