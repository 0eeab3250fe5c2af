#!/usr/bin/env python3
"""Takes out of recorded rows what `napkin validate --replay` computes anew: `levels`, and `predicted` unless told to keep it.

  strip.py [--keep-predicted] FILE.jsonl...

All other bytes of a row stay as the program that measured wrote them."""
import argparse
import json


def members(line):
    """(key, begin, end) of every member of the line's object, in characters."""
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
        at = behind_spaces(at)
        if line[at] == ",":
            at = behind_spaces(at + 1)
        yield key, begin, at


def stripped(line, keys):
    """The line without those members, none of which is its last."""
    for key, begin, end in reversed(list(members(line))):
        if key in keys:
            line = line[:begin] + line[end:]
    return line


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--keep-predicted", action="store_true")
    options.add_argument("files", nargs="+")
    given = options.parse_args()
    keys = {"levels"} if given.keep_predicted else {"levels", "predicted"}
    for name in given.files:
        with open(name) as file:
            rows = file.readlines()
        with open(name, "w") as file:
            for row in rows:
                left = stripped(row, keys) if row.strip() else row
                whole = json.loads(row) if row.strip() else {}
                if row.strip() and json.loads(left) != {k: v for k, v in whole.items() if k not in keys}:
                    raise SystemExit(f"{name}: a row lost more than {sorted(keys)}")
                file.write(left)


if __name__ == "__main__":
    main()
