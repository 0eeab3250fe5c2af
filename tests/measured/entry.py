#!/usr/bin/env python3
"""Prints the manifest's entry for a recorded file, as far as it follows from the rows; `what` and `written_by` are left
to people.

  entry.py FILE.jsonl...
"""
import os
import re
import sys

from rows import read_rows


def words(values):
    return "[" + ", ".join(str(value) for value in values) + "]"


def entry(name):
    rows = list(read_rows(name))
    found = lambda key: sorted({row[key] for row in rows if row.get(key)})
    dates, sweeps = found("date"), found("sweep")
    seeds = sorted({int(seed) for sweep in sweeps for seed in re.findall(r"seed=(\d+)$", sweep)})
    print(f"  {os.path.basename(name)}:\n    what: ...\n    rows: {len(rows)}\n    written_by: ...")
    print("    when: " + ("..." if not dates else dates[0] if len(set(dates)) == 1 else words([dates[0], dates[-1]])))
    for key, values in (("revision", found("revision")), ("seed", seeds), ("split", found("split"))):
        if values:
            print(f"    {key}: {words(values)}")
    sources = {}
    for row in rows:
        if "kernel" in row and "compiler" not in row:
            one = sources.setdefault(row["kernel"], (set(), set()))
            one[0].update({row.get("source_hash")} - {None})
            one[1].update({row.get("revision")} - {None})
    if sources:
        print("    sources:")
    for kernel, (hashes, revisions) in sorted(sources.items()):
        print(f"      {kernel}:\n        hash: {words(sorted(hashes) or ['...'])}")
        print(f"        revision: \"{', '.join(sorted(revisions)) or '...'}\"\n        fresh: true")


for argument in sys.argv[1:]:
    entry(argument)
