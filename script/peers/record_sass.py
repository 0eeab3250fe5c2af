#!/usr/bin/env python3
"""Reduces a disassembly to the parts that kernels/sass reads, for a test that has no compiler and no disassembler.

    nvdisasm -c KERNEL.cubin | script/peers/record_sass.py --resources "REG:108 STACK:0 SHARED:1024 THREADS:128 BARRIERS:1" \\
        --of "Triton 3.6.0, ..." > tests/unit/sass/recorded/NAME.sass

Of instructions that are no products, jumps, waits or copies, operands behind the first are left out, and so are encodings.
"""

import argparse
import re
import sys

WHOLE = re.compile(r"^(\w*MMA|BRA|BAR|SYNCS|DEPBAR|WARPGROUP|USETMAXREG|UTMALDG|LDGSTS)\b")
LINE = re.compile(r"^\s+/\*([0-9a-f]{4,6})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);")


def thinned(line):
    found = LINE.match(line)
    if not found:
        keep = re.match(r"^(\.L\w+:|\.text\.\w+:|\s*\.headerflags.*|\s*\.target.*)$", line)
        return line.strip() if keep else None
    address, predicate, name, operands = found[1], (found[2] or "").strip(), found[3], found[4].strip()
    if not WHOLE.match(name):
        operands = operands.split(",")[0]
    return " ".join(part for part in (f"/*{address}*/", predicate, name, operands) if part) + ";"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resources", required=True)
    parser.add_argument("--of", required=True, help="which kernel, compiled by what")
    asked = parser.parse_args()
    print(f"# {asked.of}; thinned by script/peers/record_sass.py")
    print(asked.resources)
    for line in sys.stdin:
        kept = thinned(line.rstrip())
        if kept:
            print(kept)


if __name__ == "__main__":
    main()
