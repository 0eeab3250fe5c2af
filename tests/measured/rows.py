"""Reads recorded rows, and writes fields that neighbouring rows share only once.

  for row in read_rows("sweeps/matmul_sm90.jsonl"): ...

A line {"shared": {"device": "NVIDIA H200", "driver": "580.159.04"}} says what each row behind it has besides its own members; a
later such line adds to it, and takes out what it calls null. `date` is then the first row's."""
import json

PROVENANCE = ("device", "driver", "cuda", "compiler", "date", "revision", "source_hash")
SHARED = ("command", "algorithm", "gpu", "kernel", "dtype", "mask", "shape", "lengths", "split", "sweep", *PROVENANCE)


def read_rows(path):
    """Yields each row of a file, whole."""
    shared = {}
    with open(path) as file:
        for line in filter(str.strip, file):
            row = json.loads(line)
            if row.keys() == {"shared"}:
                shared = {key: value for key, value in {**shared, **row["shared"]}.items() if value is not None}
            else:
                yield {**shared, **row}


def members(line):
    """Yields (key, text) of each member of the line's object, as it is written."""
    decoder = json.JSONDecoder()

    def behind_spaces(i):
        while line[i] in " \t":
            i += 1
        return i

    at = behind_spaces(line.index("{") + 1)
    while line[at] != "}":
        begin = at
        key, at = decoder.raw_decode(line, at)
        at = behind_spaces(at)
        if line[at] != ":":
            raise ValueError(f"no ':' behind {key!r}")
        _, at = decoder.raw_decode(line, behind_spaces(at + 1))
        yield key, line[begin:at]
        at = behind_spaces(at)
        if line[at] == ",":
            at = behind_spaces(at + 1)


def shared_once(lines):
    """Yields the lines of a file in which fields that neighbouring rows share have their own lines. A row's other
    members keep their text."""
    shared = {}
    for line in lines:
        here = dict(members(line))
        of = {key: text for key, text in here.items() if key in SHARED and json.loads("{" + text + "}")[key] is not None}
        patch = {key: text for key, text in of.items() if key != "date" and shared.get(key) != text}
        patch |= {key: f'"{key}":null' for key in shared if key not in here}
        if "date" in of and (patch or "date" not in shared):
            patch["date"] = of["date"]
        if patch:
            yield '{"shared":{' + ",".join(patch.values()) + "}}\n"
            shared = {key: text for key, text in {**shared, **patch}.items() if not text.endswith(":null")}
        yield "{" + ",".join(text for key, text in here.items() if key not in of) + "}\n"
