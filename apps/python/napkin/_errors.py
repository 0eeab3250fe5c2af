"""The exceptions for bad input and for a missing GPU."""

from __future__ import annotations


def _plain(text: str) -> str:
    """Returns a message with the names of options as arguments: `--gpu` becomes `gpu`."""
    import re

    return re.sub(r"(?<![\w-])--(?=[a-z])", "", text)


class InputError(ValueError):
    """Bad input, with its place, the problem and a correction.

    >>> import napkin
    >>> napkin.select("attention", gpu="h200-sxm", h=16, q=0, x=8192, d=128)
    Traceback (most recent call last):
    napkin.InputError: shape: q is 0: a whole number from 1

    For a file (a diagram, a profile, a mapping) `file`, `line` and `column` are set, both numbers from 1, and `field` is
    the path of the key; for an argument `field` is its name.
    """

    where: str
    problem: str
    right: str
    file: str | None
    line: int | None
    column: int | None
    field: str | None

    def __init__(self, where: str, problem: str = "", right: str = "") -> None:
        import re

        from . import _parts

        self.file = self.line = self.column = None
        self.field = None
        place = re.match(r"(.*?):(\d+):(\d+)(?:: (.*))?$", where, re.DOTALL)
        if place:
            self.file, self.field = place[1], place[4]
            self.line, self.column = int(place[2]), int(place[3])
        elif "/" in where or where.endswith(".yaml") or ".yaml: " in where:
            self.file, _, field = where.partition(": ")
            self.field = field or None
        else:
            self.field = _plain(where).partition(": ")[0] or None
        if self.file is not None:
            made = _parts.made_from(self.file)
            if made is not None:  # the file is ours: the user gave a dict or a text
                where = where.replace(self.file, made, 1)
                self.file = made
        self.where, self.problem, self.right = _plain(where), _plain(problem), _plain(right)
        super().__init__(": ".join(part for part in (self.where, self.problem, self.right) if part))

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (_made, (self.args, {key: value for key, value in self.__dict__.items()}))


def _made(args, members):  # type: ignore[no-untyped-def]
    error = InputError.__new__(InputError, *args)
    error.args = args
    error.__dict__.update(members)
    return error


class CudaError(RuntimeError):
    """A failure of CUDA: no GPU, no NVRTC, an unknown GPU, a refused launch. Nothing is wrong with the input."""

    def __init__(self, message: str = "") -> None:
        super().__init__(_plain(message))


InputError.__module__ = CudaError.__module__ = "napkin"
