#!/usr/bin/env python3
"""Checks that sources include only lower layers.

usage: check_layers.py ROOT LAYER...        the layers from the base up, as CMakeLists.txt declares them
       check_layers.py --selftest

- A file of model/ or solver/ includes only its own folder and folders above it in the list (interpret: only base,
  diagram, fusion), nothing of kernels/ or apps/, and nothing of CUDA.
- kernels/ includes model/ and itself, never solver/ or apps/.
- apps/ follows the list too, and may include kernels/.
- Folders in folders have an order of their own (STEPS): apps/library/rank includes question, never answer. What lies in
  no folder of them comes last, or first where STEPS says so; in apps/library nothing does. <napkin/NAME.hpp> is
  apps/library/include/napkin/NAME.hpp.
- NAME.cpp includes NAME.hpp before anything else, and each header says #pragma once: build.headers compiles those headers
  alone that have no source of their name.
- A class of a namespace that has a name is defined in one file: two of one name are one class to the linker, which takes
  one's destructor for the other's objects. Device code (.cuh) is a program of its own.
- What is not installed is declared in napkin::internal: in a header that is neither in apps/library/include nor written
  into its types.hpp, namespace napkin has forward declarations and members of public classes alone.
- A library is included only where it is allowed; model/ does not print and does not read the environment.
"""
import pathlib
import re
import sys
import tempfile

SUFFIXES = {".hpp", ".cpp", ".h", ".cuh", ".cu"}
CUDA = re.compile(r"^(cuda|nv|cu(pti|blas|dnn|tensor|fft|rand)|cub/|thrust/|cute/|cutlass|cooperative_groups|"
                  r"device_launch|vector_types|driver_types|sm_\d|mma\.h|crt/)")
ONLY = {"model/interpret": ["model/base", "model/diagram", "model/fusion"]}
# library: folders that may include it
LIBRARIES = {
    "yaml-cpp/": ["model/base"],
    "Eigen/": ["model/interpret", "model/machine", "solver/optimum"],
    "nlohmann/": ["solver/emit", "apps/library", "apps/report", "apps/napkin"],
    "CLI/": ["apps/napkin"],
    "nanobind/": ["apps/python"],
}
# folder: its folders, each of which includes itself and those before it; "": what lies in the folder itself, else that is last
STEPS = {
    "model/machine/": ["", "calibrate"],
    "model/mapping/": ["", "read", "compile", "place"],
    "model/clock/": ["roofline", "graph", "run", "launch", "power"],
    "kernels/": ["device", "attention", "matmul", "jit", "runtime", "plans", "reference", "sass", "micro"],
    "kernels/attention/": ["common", "sm90", "sm80", "decode", "fp8", "backward", "napkin", "mappings"],
    "apps/library/": ["include", "ask", "question", "rank", "answer", "judge", "call", "draft"],
    "apps/report/": ["", "json", "diagram", "text", "html", "record"],
}
NOTHING_LOOSE = ("kernels/attention/", "apps/library/")
FORBIDDEN_IN_MODEL = [
    (re.compile(r"^\s*#\s*include\s*<(iostream|cstdio|stdio\.h|fmt/(ostream|color|os|printf)\.h)>"), "model/ does not print"),
    (re.compile(r"\b(std::cout|std::cerr|fmt::print|std::printf|std::puts)\b"), "model/ does not print"),
    (re.compile(r"\b(secure_)?getenv\s*\("), "model/ does not read the environment"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
PUBLIC = "apps/library/include/"
OURS = ("model/", "solver/", "kernels/", "apps/")


SPACE = re.compile(r"namespace\s*([\w:]*)\s*\{")
SPACE_END = re.compile(r"\}\s*// (anonymous )?namespace")
CLASS = re.compile(r"(?:struct|class|enum(?: class)?)\s+(\w+)(?: final)?\s*(?::[^:;].*)?\{")

MEMBER = re.compile(r"(?:struct|class)\s+(?:\w+;|\w+::\w+\s*\{)")


def path_of(header):
    """Returns the path of the header that is included by this name."""
    return PUBLIC + header if header.startswith("napkin/") else header


def without_comments(text):
    """Returns the text with blanks for comments, and with its line numbers and string literals."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

    def blank(match):
        found = match.group(0)
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found

    return pattern.sub(blank, text)


def folder_of(path, layers):
    """Returns the layer of a path from the root: model/base/x.hpp -> model/base. None if it is in no layer."""
    for layer in layers:
        if path.startswith(layer + "/"):
            return layer
    return None


def check_include(folder, top, quote, name, layers):
    """Returns the reason why this include is wrong, or None."""
    if CUDA.match(name) and top in ("model", "solver"):
        return "nothing of CUDA in model/ or solver/"
    for library, folders in LIBRARIES.items():
        if name.startswith(library) and top != "kernels" and folder not in folders:
            return f"{library.rstrip('/')} is for {', '.join(folders)}"
    if not name.startswith(OURS):
        if quote == '"' and top in ("model", "solver"):
            return "write our own headers from the root of the repository, others in <>"
        return None
    if name.startswith("kernels/"):
        return None if top in ("kernels", "apps") else f"{top}/ does not know kernels/"
    if top == "kernels":
        return None if name.startswith("model/") else "kernels/ stands on model/ alone"
    target = folder_of(name, layers)
    if target is None:
        return "no such layer"
    allowed = ONLY.get(folder, layers[: layers.index(folder)])
    if target != folder and target not in allowed:
        return f"{folder} may include only {', '.join([*allowed, folder])}"
    return None


def room_of(path, folder):
    """Returns the subfolder of a path in a folder: apps/library/rank/cut.cpp in apps/library/ -> rank; "" if it is in
    none."""
    return path[len(folder):].rpartition("/")[0].split("/")[0]


def check_place(path):
    """Returns the reason why a file may not be in its folder, or None."""
    for folder, steps in STEPS.items():
        room = room_of(path, folder) if path.startswith(folder) else ""
        if room and room not in steps:
            return f"{folder} has no folder {room}: one of {', '.join(filter(None, steps))}"
        if path.startswith(folder) and not room and folder in NOTHING_LOOSE:
            return f"lies in none of {folder}'s folders: one of {', '.join(steps)}"
    return None


def check_step(path, name):
    """Returns the reason why a folder of STEPS may not include this, or None."""
    for folder, steps in STEPS.items():
        if not (path.startswith(folder) and name.startswith(folder)):
            continue
        own, other = room_of(path, folder), room_of(name, folder)
        above = steps[: steps.index(own) + 1] if own in steps else [*steps, ""]
        if other not in above:
            return f"{folder}{own} may include only {', '.join(filter(None, above))} of {folder}"
    return None


def check_own_header(root, path, lines):
    """Returns the fault of a header without #pragma once, or of a source that does not include its own header first,
    which would prove that the header compiles alone; or None."""
    includes = [found.group(2) for found in map(INCLUDE.match, lines) if found]
    if path.suffix == ".hpp" and "#pragma once" not in lines:
        return "a header says #pragma once"
    own = path.with_suffix(".hpp")
    if path.suffix == ".cpp" and own.exists() and includes[:1] != [own.relative_to(root).as_posix()]:
        return "a source includes its own header first"
    return None


def classes_of(text):
    """Yields each class that is defined in a named namespace, and its line."""
    spaces = []
    for number, line in enumerate(text.splitlines(), 1):
        opened, found = SPACE.match(line), CLASS.match(line)
        if opened:
            spaces.append(opened.group(1))
        elif SPACE_END.match(line) and spaces:
            spaces.pop()
        elif found and "" not in spaces:
            yield "::".join([*spaces, found.group(1)]), number


def installed_headers(root):
    """Returns the headers of this project whose text goes into types.hpp: cmake/NapkinPublic.cmake."""
    known, left = set(), [PUBLIC + "napkin/types.hpp"]
    while left:
        path = root / left.pop()
        if path.exists():
            names = {found.group(2) for found in map(INCLUDE.match, path.read_text().splitlines()) if found}
            left += {name for name in names - known if name.startswith(OURS)}
            known |= names
    return known


def outer_names(text):
    """Yields the lines that declare names of namespace napkin itself."""
    outer = False
    for number, line in enumerate(text.splitlines(), 1):
        if SPACE.match(line):
            outer = line.startswith("namespace napkin {")
        elif outer and line[:1].isalpha() | line.startswith("[[") and not MEMBER.match(line):
            yield number


def check(root, layers):
    problems, classes, installed = [], {}, installed_headers(root)
    for top in ("model", "solver", "kernels", "apps"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            name = path.relative_to(root).as_posix()
            folder = folder_of(name, layers)
            if folder is None and top != "kernels":
                problems.append(f"{name}: in no layer; known: {', '.join(layers)}")
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            for one, number in classes_of(text) if path.suffix in (".hpp", ".cpp") else ():
                other = classes.setdefault(one, name)
                if other != name:
                    problems.append(f"{name}:{number}: {one} is defined in {other} too")
            lines = without_comments(text).splitlines()
            if path.suffix == ".hpp" and not name.startswith(PUBLIC) and name not in installed:
                problems += [f"{name}:{number}: is not installed, so its names are napkin::internal's"
                             for number in outer_names("\n".join(lines))]
            for why in filter(None, (check_own_header(root, path, lines), check_place(name))):
                problems.append(f"{name}: {why}")
            for number, line in enumerate(lines, 1):
                found = INCLUDE.match(line)
                if found:
                    header = path_of(found.group(2))
                    why = check_include(folder, top, found.group(1), header, layers)
                    why = why or check_step(name, header)
                    if why:
                        problems.append(f'{name}:{number}: includes {header}: {why}')
                if top == "model":
                    problems += [f"{name}:{number}: {why}" for rule, why in FORBIDDEN_IN_MODEL if rule.search(line)]
    return problems


def selftest():
    """Plants a fault of each kind, and returns those not found; a clean tree must have none."""
    layers = ["model/base", "model/diagram", "model/fusion", "model/dependence", "model/interpret", "model/machine",
              "model/mapping", "model/clock", "solver/space", "solver/optimum", "apps/library", "apps/napkin"]
    good = {
        "model/base/a.hpp": "#include <yaml-cpp/yaml.h>\n#include <vector>\n// std::cout << getenv(\n",
        "model/interpret/a.cpp": '#include "model/fusion/a.hpp"\n#include <Eigen/Core>\n',
        "model/machine/a.cpp": '#include "model/interpret/a.hpp"\n#include "model/machine/b.hpp"\n',
        "model/clock/graph/a.cpp": '#include "model/clock/roofline/a.hpp"\n#include "model/clock/graph/b.hpp"\n',
        "model/clock/a.cpp": '#include "model/clock/launch/a.hpp"\n',
        "model/mapping/place/a.cpp": '#include "model/mapping/compile/a.hpp"\n#include "model/mapping/a.hpp"\n',
        "kernels/jit/a.hpp": '#include "model/machine/a.hpp"\n#include <cuda.h>\n#include "kernels/device/b.hpp"\n',
        "apps/library/rank/a.cpp": '#include "apps/library/question/a.hpp"\n#include "napkin/a.hpp"\n#include "kernels/jit/a.hpp"\n',
        "apps/library/judge/a.cpp": '#include "apps/library/answer/a.hpp"\n#include "solver/space/a.hpp"\n',
        "apps/library/ask/d.cpp": "namespace napkin {\nnamespace {\nstruct Mine {\n};\n}  // namespace\nstruct A::Part {\n};\nclass A;\n}  // namespace napkin\n",
        "apps/library/ask/e.hpp": "namespace napkin {\nclass A;\nstruct A::Kept {\n};\n}  // namespace napkin\n"
                                  "namespace napkin::internal {\nstruct Mine {\n  struct Mine {\n  };\n};\nint f();\n}  // namespace napkin::internal\n",
        "apps/library/include/napkin/types.hpp": '#include "model/base/public.hpp"\n',
        "model/base/public.hpp": "namespace napkin {\nint f();\n}  // namespace napkin\n",
    }
    bad = {
        "model/base/a.hpp": '#include "model/diagram/a.hpp"\n',
        "model/diagram/a.cpp": "  #  include <cuda_runtime.h>\n",
        "model/fusion/a.cpp": "#include <yaml-cpp/yaml.h>\n",
        "model/interpret/a.cpp": '#include "model/dependence/a.hpp"\n',
        "model/machine/a.cpp": '#include "solver/space/a.hpp"\n',
        "model/machine/b.cpp": 'const char* x = "//"; auto y = std::getenv("HOME");\n',
        "model/machine/c.cpp": "#include <iostream>\n",
        "model/clock/graph/a.cpp": '#include "model/clock/run/a.hpp"\n',
        "model/clock/launch/a.cpp": '#include "model/clock/prediction.hpp"\n',
        "model/mapping/a.cpp": '#include "model/mapping/read/a.hpp"\n',
        "model/mapping/compile/a.cpp": '#include "model/mapping/place/a.hpp"\n',
        "kernels/runtime/a.cpp": '#include "kernels/plans/a.hpp"\n',
        "kernels/attention/sm90/a.cuh": '#include "kernels/attention/fp8/a.cuh"\n',
        "model/nowhere/a.hpp": "\n",
        "solver/space/a.cpp": '#include "solver/optimum/a.hpp"\n',
        "solver/space/b.cpp": '#include "kernels/a.hpp"\n',
        "solver/space/c.cpp": '#include "b.hpp"\n',
        "solver/optimum/a.cpp": "#include <nvrtc.h>\n",
        "kernels/device/a.cuh": '#include "solver/space/a.hpp"\n',
        "kernels/jit/b.hpp": '#include "napkin/a.hpp"\n',
        "kernels/nowhere/a.cuh": "\n",
        "apps/library/ask/a.cpp": '#include "apps/napkin/a.hpp"\n',
        "apps/library/ask/b.cpp": "#include <CLI/CLI.hpp>\n",
        "apps/library/ask/c.hpp": "// no guard\n",
        "apps/library/rank/b.cpp": '#include "apps/library/answer/a.hpp"\n',
        "apps/library/include/napkin/a.hpp": '#include "apps/library/ask/a.hpp"\n',
        "apps/library/loose.cpp": "\n",
        "apps/library/nowhere/a.cpp": "\n",
        "model/base/own.cpp": '#include <vector>\n#include "model/base/own.hpp"\n',
        "solver/space/twin.hpp": "namespace napkin::internal {\nclass Twin : public A {\n};\n}  // namespace napkin::internal\n",
        "solver/space/outer.hpp": "namespace napkin {\n[[nodiscard]] int f();\n}  // namespace napkin\n",
        "solver/space/outer_class.hpp": "namespace napkin {\nstruct A {\n};\n}  // namespace napkin\n",
    }

    def problems_of(files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text if path.suffix != ".hpp" or "no guard" in text else "#pragma once\n" + text)
                if path.stem == "twin":
                    path.with_name("first.hpp").write_text(path.read_text().replace("class Twin : public A", "struct Twin"))
                if path.stem == "own":
                    path.with_suffix(".hpp").write_text("#pragma once\n")
            return check(pathlib.Path(folder), layers)

    found = problems_of(good)
    assert not found, f"clean sources are blamed: {found}"
    for name, text in bad.items():
        found = problems_of({name: text})
        assert len(found) == 1 and found[0].startswith(name), f"{name}: {text!r} gives {found}"
    print(f"{len(bad)} planted faults found")


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        selftest()
    elif len(sys.argv) < 3:
        sys.exit(__doc__)
    else:
        faults = check(pathlib.Path(sys.argv[1]), sys.argv[2:])
        print("\n".join(faults) if faults else "every layer stands on those above it")
        sys.exit(bool(faults))
