#!/usr/bin/env python3
"""Prepares recorded rows for this folder: removes fields that `napkin validate --replay` computes again (`levels`, and
`predicted` unless told to keep it), and writes fields that neighbouring rows share only once (rows.py).

  strip.py [--keep-predicted] FILE.jsonl...

All other bytes of a row's members stay as the program that measured wrote them."""
import argparse
import json

import rows


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--keep-predicted", action="store_true")
    options.add_argument("files", nargs="+")
    given = options.parse_args()
    keys = {"levels"} if given.keep_predicted else {"levels", "predicted"}
    for name in given.files:
        before = [{key: value for key, value in row.items() if key not in keys | {"date"}} for row in rows.read_rows(name)]
        with open(name) as file:
            lines = [line for line in file if line.strip()]
        if any(json.loads(line).keys() == {"shared"} for line in lines):
            raise SystemExit(f"{name}: has lines of shared members already")
        kept = ["{" + ",".join(text for key, text in rows.members(line) if key not in keys) + "}" for line in lines]
        with open(name, "w") as file:
            file.writelines(rows.shared_once(kept))
        after = [{key: value for key, value in row.items() if key != "date"} for row in rows.read_rows(name)]
        if before != after:
            raise SystemExit(f"{name}: a row lost more than {sorted(keys)}")


if __name__ == "__main__":
    main()
