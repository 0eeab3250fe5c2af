#!/usr/bin/env python3
"""Checks that each file of this project includes the headers whose names it uses: of the standard, of libraries and of
this project.

usage: check_includes.py ROOT
       check_includes.py --selftest

A compiler does not find that out: one of its headers happens to include another, a precompiled header (preset fuzz) or
a neighbour compiled in the same go (preset default) brings what is missing. A header counts as included where the file
or one of our headers that it includes, directly or not, names it. Of our headers the check knows types, functions and
constants of namespaces; a use of one is blamed where the word stands in no header that the file includes, directly or
not, or for a source there only as `class Word;`. What words do not show (an overload, a class's member of the name)
shows in preset debug of script/test --long, which compiles every source by itself: of 58 includes that were taken away
at random, one a source, and that the compiler missed, the check finds 55.
"""
import functools
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from check_layers import INCLUDE, SPACE, path_of, without_comments  # noqa: E402

# header: names that it has; a name that stands with several may come from any of them
STANDARD = {
    "algorithm": "adjacent_find all_of any_of binary_search clamp copy copy_if copy_n count count_if equal fill fill_n find find_if "
                 "find_if_not for_each generate includes is_sorted lexicographical_compare lower_bound make_heap max max_element "
                 "merge min min_element minmax minmax_element next_permutation none_of nth_element partial_sort partition pop_heap "
                 "push_heap remove_if replace replace_if reverse rotate set_difference set_intersection set_union shuffle sort "
                 "stable_partition stable_sort transform unique upper_bound",
    "array": "array to_array",
    "atomic": "atomic memory_order_acquire memory_order_release memory_order_relaxed",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero has_single_bit popcount rotl rotr",
    "cctype": "isalnum isalpha isdigit islower isspace isupper tolower toupper",
    "charconv": "chars_format from_chars to_chars",
    "chrono": "chrono",
    "cmath": "abs cbrt ceil copysign erf exp exp2 fabs floor fma fmod frexp hypot ilogb isfinite isinf isnan ldexp llround log log10 log1p "
             "log2 lround nearbyint pow rint round signbit sqrt tanh trunc",
    "compare": "partial_ordering strong_ordering weak_ordering",
    "concepts": "convertible_to floating_point integral invocable same_as signed_integral unsigned_integral",
    "condition_variable": "condition_variable",
    "cstddef": "byte",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    "cstdio": "fclose fflush fopen fprintf fread fwrite printf rename rewind snprintf tmpfile",
    "cstdlib": "abort abs exit getenv system",
    "cstring": "memcmp memcpy memset strcmp strerror strlen",
    "ctime": "strftime time time_t tm",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception terminate",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream",
    "functional": "function greater hash invoke less plus ref reference_wrapper",
    "iosfwd": "ifstream istream ofstream ostream",
    "iostream": "cerr cin cout",
    "istream": "istream",
    "limits": "numeric_limits",
    "list": "list",
    "map": "less map multimap",
    "memory": "enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag scoped_lock unique_lock",
    "new": "bad_alloc",
    "numbers": "numbers",
    "numeric": "accumulate gcd inner_product iota lcm midpoint partial_sum reduce transform_reduce",
    "optional": "make_optional nullopt optional",
    "ostream": "endl ostream",
    "random": "mt19937 mt19937_64 normal_distribution random_device uniform_int_distribution uniform_real_distribution",
    "regex": "regex regex_match regex_replace regex_search smatch sregex_iterator",
    "set": "less multiset set",
    "span": "dynamic_extent span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "invalid_argument logic_error out_of_range runtime_error",
    "string": "getline stod stof stoi stol stoll stoull string to_string",
    "string_view": "string_view",
    "system_error": "errc error_code",
    "thread": "jthread this_thread thread",
    "tuple": "apply make_tuple tie tuple",
    "type_traits": "conditional_t decay_t enable_if_t is_same_v remove_cvref_t",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange move pair swap",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}
# What the standard itself, or every implementation, lets a header bring with it.
BRINGS = {
    "charconv": ["system_error"],
    "filesystem": ["chrono", "string", "string_view", "system_error"],
    "fstream": ["istream", "ostream", "string"],
    "iostream": ["istream", "ostream"],
    "map": ["utility"],
    "mutex": ["system_error"],
    "sstream": ["istream", "ostream", "string"],
    "stdexcept": ["exception", "string"],
    "string": ["string_view"],
    "thread": ["chrono", "compare"],
    "tuple": ["utility"],
}
for container in ("algorithm", "array", "deque", "functional", "list", "memory", "optional", "set", "span", "string", "unordered_map",
                  "unordered_set", "variant", "vector"):
    BRINGS.setdefault(container, []).append("utility")  # move, swap and pair

LIBRARIES = {  # namespace: how the names of its headers begin
    "CLI": "CLI/",
    "Eigen": "Eigen/",
    "YAML": "yaml-cpp/",
    "boost": "boost/",
    "fmt": "fmt/",
    "nlohmann": "nlohmann/",
}
HEADERS_OF = {}
for header, names in STANDARD.items():
    for name in names.split():
        HEADERS_OF.setdefault(name, []).append(header)
USE = re.compile(r"\bstd::(\w+)")
LIBRARY_USE = re.compile(r"(?<![\w:])(" + "|".join(LIBRARIES) + r")::")
WORD = re.compile(r"\w+")
NAMESPACE = re.compile(r"(?:inline )?namespace[\w\s:]*$")
PREPROCESSOR = re.compile(r"^\s*#.*$", re.MULTILINE)
TEMPLATE = re.compile(r"template\s*<[^{};]*?>\s*(?=struct|class|using|\[\[|inline|constexpr|auto|[\w:]+[ <&])")
TYPE = re.compile(r"(?:struct|class|enum class|enum)\s+(\w+)")
FORWARD = re.compile(r"^(?:class|struct)\s+(\w+);", re.MULTILINE)
OTHER_NAME = re.compile(r"using\s+(\w+)\s*=|(?:inline\s+)?constexpr\s+[\w:<>,\s]+?\s(\w+)\s*=")
FUNCTION = re.compile(r"[\w:<>,&*\[\]\s]+?[\s&*>](\w+)\s*\(")
# A word before a name that is not a type: the name is used, not declared.
NO_TYPE = r"(?<!\breturn)(?<!\bcase)(?<!\belse)(?<!\bthrow)(?<!\bnot)(?<!\band)(?<!\bor)"
STRINGS = re.compile(r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def declared_in(code):
    """Returns the types and constants, and the functions, in a header's namespaces."""
    names, functions, spaces, start = set(), set(), [], 0
    for mark in re.finditer("[{};]", code):
        statement = code[start : mark.start()]
        if all(spaces):
            said = TEMPLATE.sub("", PREPROCESSOR.sub("", statement).strip(), count=1)
            if found := OTHER_NAME.match(said) or (mark.group() == "{" and TYPE.match(said)):
                names.add(found.group(found.lastindex))
            elif not TYPE.match(said) and (found := FUNCTION.match(said)) and "=" not in found.group():
                functions.add(found.group(1))
        if mark.group() == "{":
            spaces.append(all(spaces) and bool(NAMESPACE.search(statement.rstrip())))
        elif mark.group() == "}" and spaces:
            spaces.pop()
        start = mark.end()
    return names, functions


def line_of_use(code, word, is_function, spaces):
    """Returns the first line that uses a word of one of this project's namespaces; None if another namespace has it, or
    the file declares it."""
    call = r"\(" if is_function else r"\b"
    uses = [found for found in re.finditer(rf"(?<![\w.])(?<!->)(?:(\w+)::)?{word}{call}", code)
            if found.group(1) is None or found.group(1) in spaces]
    type_here = rf"\b(struct|class|enum|using|typename)\s+{word}\b"
    name_here = rf"[\w>&*\]]{NO_TYPE}[\s&*]+{word}\b" if is_function else rf"[\w>&*]{NO_TYPE}[\s&*]+{word}\s*[=;,){{(\[]"
    captured = rf"[\[,]\s*{word}\s*=[^=]"
    if not uses or any(re.search(declared, code) for declared in (type_here, name_here, captured)):
        return None
    return code.count("\n", 0, uses[0].start()) + 1


def check(root):
    @functools.cache
    def code_of(name):
        """Returns the code without comments, strings and includes."""
        return STRINGS.sub(lambda found: "\n" * found.group(0).count("\n"), "\n".join(
            "" if INCLUDE.match(line) else line for line in lines_of(name)))

    @functools.cache
    def words_of(name):
        return frozenset(WORD.findall(code_of(name)))

    @functools.cache
    def ours():
        """Returns this project's headers by the names in them, the names of functions, and the namespaces."""
        headers, functions, spaces = {}, set(), set()
        for name in (name for name in files if name.endswith(".hpp")):
            names, called = declared_in(code_of(name))
            functions |= called - names
            spaces |= {space for found in SPACE.finditer(code_of(name)) for space in found.group(1).split("::")}
            for one in names | called:
                headers.setdefault(one, []).append(name)
        return headers, functions, spaces

    @functools.cache
    def lines_of(name):
        text = without_comments((root / name).read_text(encoding="utf-8", errors="replace"))
        return text.splitlines()

    @functools.cache
    def included(name):
        """Returns all headers that a file includes, directly or through headers of this project."""
        found, waiting, seen = set(), [name], set()
        while waiting:
            file = waiting.pop()
            if file in seen:
                continue
            seen.add(file)
            for match in filter(None, map(INCLUDE.match, lines_of(file))):
                header = path_of(match.group(2))
                found |= {header, *BRINGS.get(header, [])}
                if (root / header).is_file():
                    waiting.append(header)
        return found

    def missing(name):
        has, told = included(name), set()
        for number, line in enumerate(code_of(name).splitlines(), 1):
            for used in USE.findall(line):
                headers = HEADERS_OF.get(used, [])
                if headers and used not in told and has.isdisjoint(headers):
                    told.add(used)
                    yield f"{name}:{number}: uses std::{used} without <{'> or <'.join(headers)}>"
            for used in LIBRARY_USE.findall(line):
                if used not in told and not any(header.startswith(LIBRARIES[used]) for header in has):
                    told.add(used)
                    yield f"{name}:{number}: uses {used}:: without a header of <{LIBRARIES[used]}...>"

    def missing_of_ours(name):
        code, (headers, functions, spaces) = code_of(name), ours()
        named = frozenset().union(*(words_of(header) for header in included(name) if (root / header).is_file()))
        promised = {found.group(1) for header in sorted(included(name)) if (root / header).is_file()
                    for found in FORWARD.finditer(code_of(header))} if name.endswith(".cpp") else set()
        for word in sorted(words_of(name) & headers.keys() - (named - promised)):
            if name in headers[word] or not included(name).isdisjoint(headers[word]):
                continue
            if line := line_of_use(code, word, word in functions, spaces):
                yield f"{name}:{line}: uses {word} without {' or '.join(headers[word])}"

    paths = [path for top in ("model", "solver", "kernels", "apps") for path in sorted((root / top).rglob("*.?pp"))]
    files = [path.relative_to(root).as_posix() for path in paths]
    return [problem for name in files for problem in [*missing(name), *missing_of_ours(name)]]


def selftest():
    """Plants faults, and returns those not found; clean files must have none."""
    common = {"model/base/a.hpp": "#pragma once\n#include <string>\nstd::string f();\nclass Later;\n",
              "model/base/c.hpp": "#pragma once\nnamespace napkin {\nstruct Own { int n; };\nclass Later {};\nint count_all(int n);\n}\n"}
    good = [
        '#include "model/base/a.hpp"\nstd::string g() { return std::move(f()); }\n',
        "#include <cstdint>\nstd::int64_t x = 0;  // std::vector\nconst char* y = \"std::map fmt::\";\n",
        "#include <fmt/format.h>\nauto x() { return fmt::format(\"\"); }\n",
        'const char* x = R"(\nstd::vector\n)";\n',
        "namespace own::fmt { int x(); }\nint y() { return own::fmt::x(); }\n",
        '#include "model/base/c.hpp"\nint y(Own own) { return count_all(own.n); }\n',
        "int count_all(int n);\nint y() { return count_all(1) + other.Own + std::Own; }\n",
    ]
    bad = [
        ('#include "model/base/a.hpp"\nstd::vector<int> g();\n', 2),
        ("#include <vector>\nstd::vector<std::int64_t> g();\n", 2),
        ("#include <string>\n\nauto x() { return fmt::format(\"\"); }\n", 3),
        ('const char* x = R"(\n\n)";\nstd::vector<int> g();\n', 4),
        ("// #include <vector>\nstd::vector<int> g();\n", 2),
        ("\nint y(Own own);\n", 2),
        ("int y() { return count_all(1); }\n", 1),
        ("int y() { return napkin::count_all(1); }\n", 1),
        ('#include "model/base/a.hpp"\nLater later;\n', 2),
    ]

    def problems_of(text):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {**common, "apps/b.cpp": text}.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
            return check(pathlib.Path(folder))

    for text in good:
        assert not problems_of(text), f"blamed: {text!r}: {problems_of(text)}"
    for text, line in bad:
        found = problems_of(text)
        assert len(found) == 1 and found[0].startswith(f"apps/b.cpp:{line}: "), f"{text!r} gives {found}"
    print(f"{len(bad)} planted faults found")


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        selftest()
    elif len(sys.argv) != 2:
        sys.exit(__doc__)
    else:
        faults = check(pathlib.Path(sys.argv[1]))
        print("\n".join(faults) if faults else "every file includes what it uses")
        sys.exit(bool(faults))
