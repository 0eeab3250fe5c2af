#!/usr/bin/env python3
"""Holds that table_digest() covers what tables depend on, and no more.

usage: check_digest.py ROOT CMAKE

- The folders that cmake/NapkinRevision.cmake hashes for it include no header of another folder.
- A change of any file there, of a profile or a mapping changes it; one of an app, a kernel's code or a page does not.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def folders_of(script):
    """The folders of sources in the call digest(TABLE_DIGEST ...)."""
    call = re.search(r"digest\(TABLE_DIGEST([^)]*)\)", script).group(1)
    return [pattern[:-2] for pattern in call.split() if pattern.endswith("/*")]


def foreign_includes(root, folders):
    for folder in folders:
        for file in sorted((root / folder).rglob("*.[ch]pp")):
            for header in INCLUDE.findall(file.read_text()):
                if not any(header.startswith(f + "/") for f in folders):
                    yield f"{file.relative_to(root)} includes {header}, which table_digest() does not cover"


def digest_of(root, cmake):
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([cmake, "-D", f"SOURCE={root}", "-D", f"OUT={out}/revision.cpp", "-D", "REVISION=x", "-P",
                        root / "cmake/NapkinRevision.cmake"], check=True)
        return (pathlib.Path(out) / "table_digest").read_text()


def wrong_changes(root, cmake, folders):
    """On a copy with one file of each kind, changed in turn."""
    first = [min((root / folder).rglob("*.cpp")).relative_to(root) for folder in folders]
    inside = first + [pathlib.Path(name) for name in (
        "hardware_profiles/h200-sxm.yaml", "hardware_profiles/architectures/sm_90.yaml",
        "kernels/attention/sm90/attention_sm90.yaml", "kernels/attention/sm90/attention_sm90.registers.csv",
        "model/diagram/algorithms/attention.yaml")]
    outside = [pathlib.Path(name) for name in (
        "apps/library/answer/select.cpp", "kernels/attention/sm90/attention_sm90.cuh", "model/README.md", "model/island/split.cpp",
        "solver/emit/" + min((root / "solver/emit").glob("*.cpp")).name)]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for name in inside + outside + [pathlib.Path("cmake/NapkinRevision.cmake")]:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, copy / name)
        before = digest_of(copy, cmake)
        for name in inside + outside:
            text = (copy / name).read_bytes()
            (copy / name).write_bytes(text + b" ")
            if (digest_of(copy, cmake) != before) != (name in inside):
                yield f"{name}: a change {'leaves' if name in inside else 'changes'} table_digest()"
            (copy / name).write_bytes(text)


def main(root, cmake):
    root = pathlib.Path(root)
    folders = folders_of((root / "cmake/NapkinRevision.cmake").read_text())
    wrong = list(foreign_includes(root, folders)) + list(wrong_changes(root, cmake, folders))
    for line in wrong:
        print(line)
    return 1 if wrong or len(folders) < 5 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
