#!/usr/bin/env python3
"""Writes apps/library/judge/data/fastest.json: for every question that was measured here, the fastest tile with a right
result.

  fastest.py [--check]

The program carries it, so that `napkin report` can show measurements beside predictions wherever it is installed. The
rows themselves stay in the folders beside this script; "file" names the one that a line comes from."""
import argparse
import json
import pathlib
import sys

from rows import read_rows

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "apps/library/judge/data/fastest.json"
# One tile, at shapes most of which lies beyond the array: what a row of zeros costs, and not how fast a question is.
PROBES = {"edges", "edges_h100"}


def is_right(measured):
    """Returns True for a right row by the rule of napkin::is_right (apps/library/judge/validation.hpp): its error is
    within twice the type's own and 1e-5, or was not compared."""
    error, own = measured["max_error"], measured["reference_error"]
    return own is None or (error is not None and error <= 2 * own + 1e-5)


def fastest_rows():
    best = {}
    for path in sorted(HERE.glob("*/*.jsonl")):
        if path.parent.name in PROBES:
            continue
        for row in read_rows(path):
            if not {"gpu", "measured", "split", "date"} <= row.keys() or row["kernel"] is None or not is_right(row["measured"]):
                continue
            if row.get("lengths") or row["measured"]["l2"] != "warm":
                continue
            key = json.dumps([row["gpu"], row["kernel"], row["dtype"], row["mask"], row["shape"]])
            if key in best and best[key]["time"] <= row["measured"]["time"]:
                continue
            best[key] = {"algorithm": row["algorithm"], "gpu": row["gpu"], "kernel": row["kernel"], "dtype": row["dtype"],
                         "mask": row["mask"], "shape": row["shape"], "tile": row["tile"], "time": row["measured"]["time"],
                         "split": row["split"], "date": row["date"][:10], "file": str(path.relative_to(ROOT))}
    return [best[key] for key in sorted(best)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the file is what the rows give")
    text = "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in fastest_rows()) + "\n]\n"
    if parser.parse_args().check:
        if not OUT.exists() or OUT.read_text() != text:
            sys.exit("apps/library/judge/data/fastest.json is out of date: run tests/measured/fastest.py")
        return
    OUT.write_text(text)


if __name__ == "__main__":
    main()
