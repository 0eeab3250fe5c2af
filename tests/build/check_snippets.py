#!/usr/bin/env python3
"""Compiles the C++ that README.md and docs/cpp.md show: a snippet with main() as it stands, the others of a page one
after the other in a function that has the arrays which they use.

usage: check_snippets.py ROOT INCLUDE COMPILER
       check_snippets.py --selftest COMPILER
"""
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.M | re.S)
#: What the snippets have of their reader's program: arrays and scales on the device, a stream, an allocator.
READERS = """#include <napkin/napkin.hpp>
void* q; void* k; void* v; void* o; void* d_o; void* dq; void* dk; void* dv; void* a; void* b; void* c;
float* l; float* k_scales; float* a_scale; std::int32_t* counts; std::int32_t* table; void* stream;
void* allocate(std::int64_t bytes);
"""


def programs(page):
    """Yields the whole programs of a page."""
    apart = []
    for snippet in BLOCK.findall(page):
        if "int main" in snippet:
            yield snippet
        else:
            apart.append(snippet)
    if apart:
        asked = "" if any("napkin::Ask ask;" in snippet for snippet in apart) else "napkin::Ask ask;\n"
        yield READERS + "void shown() {\n" + asked + "\n".join(apart) + "}\n"


def refusal(compiler, include, program):
    """Returns the compiler's errors; "" if there are none."""
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wno-unused", "-Werror", *include, "-x", "c++", "-"]
    return subprocess.run(command, input=program, text=True, capture_output=True, check=False).stderr


def check(root, include, compiler):
    faults = []
    for name in ("README.md", "docs/cpp.md"):
        for program in programs((root / name).read_text()):
            said = refusal(compiler, [f"-I{include}", f"-I{root}"], program)
            if said:
                faults.append(f"{name}:\n{said}")
    return faults


def selftest(compiler):
    page = "```cpp\nint main() { return 0; }\n```\n\n```cpp\nint x = 1;\n```\n\n```cpp\nreturn f(x);\n```\n"
    whole, joined = programs(page)
    assert not refusal(compiler, [], whole), "a whole program is refused"
    joined = joined[joined.index("void shown"):].replace("napkin::Ask ask;", "")
    assert refusal(compiler, [], joined), "f is nowhere, and nobody minds"
    assert not refusal(compiler, [], "void f(int);\n" + joined), "snippets do not see each other's names"
    print("found a name that is nowhere")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--selftest"] and len(sys.argv) == 3:
        selftest(sys.argv[2])
    elif len(sys.argv) != 4:
        sys.exit(__doc__)
    else:
        found = check(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3])
        print("\n".join(found) if found else "every snippet compiles")
        sys.exit(bool(found))
