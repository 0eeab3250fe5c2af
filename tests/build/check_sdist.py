#!/usr/bin/env python3
"""Checks that a program built from an sdist is complete: the sdist has all files that the program embeds, and `napkin
report`, which reads most of them, answers.

usage: check_sdist.py ROOT EMBED EMBEDDED PROGRAM      EMBED: cmake/embed.cpp's program; EMBEDDED: what it wrote here
       check_sdist.py --selftest

- What napkin_embed of CMakeLists.txt names is in the sdist by the rules of pyproject.toml, and none of it below tests/.
- Each path of a data file that the product's sources spell out is embedded.
- From the sdist's files alone EMBED writes the very table that is in PROGRAM.
"""
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

from listing import files_of

CALL = re.compile(r"^napkin_embed\(([^)]*)\)", re.M)
DATA = re.compile(r'"((?:model|solver|kernels|apps|hardware_profiles|tests)/[\w./-]+\.(?:json|yaml|csv))"')
PRODUCT = ("model/", "solver/", "kernels/", "apps/")


def sdist_of(names, pyproject):
    """Returns the files that scikit-build-core takes: those that git tracks, without excluded ones, and those that are
    explicitly included."""
    rules = tomllib.loads(pyproject)["tool"]["scikit-build"].get("sdist", {})
    include, exclude = rules.get("include", []), rules.get("exclude", [])

    def within(name, patterns):
        return any(name == p or name.startswith(p.rstrip("/") + "/") or fnmatch.fnmatch(name, p) for p in patterns)
    return {n for n in names if within(n, include) or not within(n, exclude)}


def embedded_of(names, lists):
    """Returns the files that napkin_embed takes: those that match a pattern's last part at any depth below its
    folder."""
    patterns = [p for p in CALL.search(lists)[1].split() if p]
    return sorted({n for n in names for p in patterns
                   if n.startswith(p.rpartition("/")[0] + "/") and fnmatch.fnmatch(n.rpartition("/")[2], p.rpartition("/")[2])})


def wrong(names, sources, pyproject, lists):
    """Returns the missing files. `sources`: the product's C++ files by name."""
    embedded = embedded_of(names, lists)
    there = sdist_of(names, pyproject)
    found = [f"{n}: embedded, and not in the sdist: name it in sdist.include of pyproject.toml" for n in embedded if n not in there]
    found += [f"{n}: the product reads it: move it out of tests/" for n in embedded if n.startswith("tests/")]
    return found + [f"{name}: {path}: not in the program: name it in napkin_embed of CMakeLists.txt"
                    for name, text in sources.items() for path in DATA.findall(text) if path not in embedded]


def check(root, embed, table, program):
    names = [n for n in files_of(root) if (root / n).is_file()]
    sources = {n: (root / n).read_text() for n in names if n.startswith(PRODUCT) and n.endswith((".cpp", ".hpp"))}
    lists, pyproject = (root / "CMakeLists.txt").read_text(), (root / "pyproject.toml").read_text()
    found = wrong(names, sources, pyproject, lists)
    if found:
        return found
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        there = sorted(sdist_of(names, pyproject) & set(embedded_of(names, lists)))
        for name in there:
            (out / "sdist" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, out / "sdist" / name)
        (out / "files.txt").write_text("".join(f"{out}/sdist/{n}\n" for n in there))
        subprocess.run([embed, out / "sdist", out / "files.txt", out / "embedded.cpp"], check=True)
        if (out / "embedded.cpp").read_bytes() != table.read_bytes():
            return ["what the sdist's files embed is not what this program has"]
        page = out / "report.html"
        run = subprocess.run([program, "report", "attention", "--gpu", "h200-sxm", "--shape", "h=16,q=4096,x=4096,d=128", "--out", page],
                             capture_output=True, text=True, check=False, cwd=folder)
        if run.returncode != 0 or not page.exists():
            return [f"napkin report ends with {run.returncode}: {run.stderr}"]
    return []


def selftest():
    names = ["CMakeLists.txt", "apps/library/judge/data/a.json", "kernels/x/deep/k.yaml", "kernels/x/k.cuh", "tests/measured/b.json"]
    lists = "napkin_embed(\n  kernels/*.yaml\n  apps/library/judge/data/*)\n"
    project = '[tool.scikit-build]\nsdist.include = ["apps"]\nsdist.exclude = ["tests/measured"]\n'
    assert embedded_of(names, lists) == ["apps/library/judge/data/a.json", "kernels/x/deep/k.yaml"]
    assert "tests/measured/b.json" not in sdist_of(names, project) and "kernels/x/k.cuh" in sdist_of(names, project)
    source = {"apps/b.cpp": 'embedded_file("apps/library/judge/data/a.json")'}
    assert wrong(names, source, project, lists) == []
    assert wrong(names, source, project.replace('"apps"', '"model"').replace('"tests/measured"', '"apps/library"'), lists)
    assert wrong(names, {}, project, lists.replace("kernels/*.yaml", "tests/measured/*.json"))
    assert wrong(names, {"apps/b.cpp": 'embedded_file("apps/library/judge/data/gone.json")'}, project, lists)


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        selftest()
    elif len(sys.argv) == 5:
        problems = check(*(pathlib.Path(path).resolve() for path in sys.argv[1:]))
        print("\n".join(problems))
        sys.exit(bool(problems))
    else:
        sys.exit(__doc__)
