"""Draws answers in a notebook: a table and the busy pipes, without scripts or external files."""

from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def _bytes(number: float | None) -> str:
    if number is None:
        return ""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.4g} {unit}"
    return f"{number} B"


def _memory(number: float | None) -> str:
    """Returns the bytes of a level's memory in units of 2^10, as the command shows them."""
    if not number:
        return ""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} B"


def _knobs(values: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _predicted(predicted: Any) -> str:
    """Returns the time and the speed as the command words them: a bound is no prediction."""
    least, most = ("at least ", "at most ") if predicted.at_least else ("", "")
    return f"{least}{_time(predicted.time)}, {most}{predicted.tflops:.4g} TFLOP/s, bound by {predicted.bound}"


def _mask(mask: Any) -> str:
    if mask == "none":
        return ""
    if isinstance(mask, str):
        return f", {mask}"
    return f", prefix {mask['prefix']}" if "prefix" in mask else ", window " + ",".join(map(str, mask["window"]))


def part_repr_of(part: Any) -> str:
    """Returns the text of a part of an answer: its plain values, without those that are computed when asked for."""
    names = [name for name, member in vars(type(part)).items() if not name.startswith("_") and not callable(member)]
    values = ((name, getattr(part, name)) for name in names if name != "standing")
    plain = (str, int, float, dict, tuple, type(None))
    return f"{type(part).__name__}({', '.join(f'{name}={value!r}' for name, value in values if isinstance(value, plain))})"


def repr_of(answer: Any) -> str:
    said = f"{type(answer).__name__}({answer.algorithm} on {answer.gpu or 'the abstract machine'}"
    if answer.tile:
        said += f": {_knobs(answer.tile)}"
    if answer.predicted is not None:
        said += f": {_predicted(answer.predicted)}"
    return said + ")"


def html_of(answer: Any) -> str:
    def values(number: float | None) -> str:
        return "" if number is None else f"{number:,}"

    moved, held = (_bytes, _memory) if answer.gpu is not None else (values, values)
    rows = [("shape", _knobs(answer.shape)), ("kernel", answer.kernel or "none: the ideal mapping"),
            ("tile", _knobs(answer.tile) or "nothing fits")]
    if answer.predicted is not None:
        rows.append(("predicted", _predicted(answer.predicted)))
        if answer.predicted.standing is not None:
            rows.append(("how sure", "; ".join(answer.predicted.standing.lines)))
    if getattr(answer, "because", ""):
        rows.append(("why", answer.because))
    for broken in getattr(answer, "violations", ()):
        rows.append(("not legal", f"{broken.constraint}: {broken.needed:g} of {broken.available:g}"))
    head = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left' colspan=6>"
                   f"{escape(text)}</td></tr>" for name, text in rows)
    names = ("level", "groups", "H", "M live", "M allocated", "of", "time")
    table = "<tr>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"
    for level in answer.levels:
        cells = (level.name, f"{level.groups:,}", moved(level.transfer), held(level.memory_live), held(level.memory),
                 held(level.memory_limit) if level.memory else "", _time(level.time))
        table += "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    title = escape(f"{answer.algorithm} on {answer.gpu or 'the abstract machine'}, {answer.dtype}{_mask(answer.mask)}")
    return f"<div><b>{title}</b><table>{head}{table}</table>{svg_of(answer)}</div>"


def svg_of(answer: Any) -> str:
    """Draws the busy fraction of each pipe as bars."""
    pipes = answer.predicted.pipes if answer.predicted is not None else {}
    busy = sorted(((name, part) for name, part in pipes.items() if part >= 0.005), key=lambda one: -one[1])
    height = 20 * len(busy) + 6
    lines = [f"<svg xmlns='http://www.w3.org/2000/svg' role='img' width='420' height='{height}' "
             f"viewBox='0 0 420 {height}' font-family='sans-serif' font-size='12' fill='currentColor'>",
             f"<title>busy pipes of {escape(answer.algorithm)}</title>"]
    for row, (name, part) in enumerate(busy):
        y = 20 * row + 4
        lines.append(f"<text x='110' y='{y + 12}' text-anchor='end'>{escape(name)}</text>"
                     f"<rect x='116' y='{y + 1}' width='{240 * min(part, 1):.1f}' height='14' fill='#4477aa'/>"
                     f"<text x='{122 + 240 * min(part, 1):.1f}' y='{y + 12}'>{part:.0%}</text>")
    return "".join(lines) + "</svg>"
