#!/usr/bin/env python3
"""Holds comments and documents to sentences that a stranger can read.

usage: check_prose.py ROOT
       check_prose.py --selftest

- A header begins with a comment, and the comment with a sentence: a subject and a verb, no "What ..." or "How ...".
- A noun stands where "the same", "alike" or "of these" would stand for one: "the clocks of a multicast box", not "the
  same by multicast".
"""
import pathlib
import re
import sys

from listing import files_of

HEADERS, SOURCES, PAGES = {".hpp", ".cuh"}, {".hpp", ".cuh", ".cpp"}, {".md"}
NOTEBOOKS = "docs/lab/"
FRAGMENT = re.compile(r"(?:What|Which|How|Where|Who|Whose|When|Why|Whether|For|Of|From)\b")
# Finite verbs that first sentences have. A sentence with another verb adds it here.
VERBS = set("""
acts add adds aligns are asks begins bounds breaks builds cannot checks compiles compute computes copies decides
define defines divides does draws ends exchange executes feeds fills finds follows forgets gather gathers get gets
gives go goes had hand has have hold holds is issues joins keep keeps lay lays leaves lends let lets lie lies list
lists load loads looks make makes may measure measures move moves multiplies multiply must names need needs open opens
orders picks predicts print prints put puts ranks read reads returns round run runs say says see sees serve serves set
sets settles share shows stand stands starts states store stores take takes tell tells time times turn turns use uses
visit visits wait waits walks works would write writes
""".split())
QUOTED = re.compile(r'"[^"]*"|`[^`]*`')
PRONOUN = re.compile(
    r"(?:^|[.;:(] )the same (?:of|where|with|without|by|into|from|for|as|in|to|on)\b"  # "; the same of who measures"
    r"|(?:^|[.;:,(] )the same(?:[.,;:)]|$)|\bdo the same[.,;:)]"
    r"|\balike\b|\b(?:of|than|beside|by|in|for) (?:these|those)(?:[.,;:)]|$| (?:is|are|has|have|was|were|and|or)\b)", re.I)


def head_of(text):
    """The comment that a header begins with, as one line."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("//"):
            lines.append(line.lstrip("/ ").strip())
        elif lines or line.strip() not in ("", "#pragma once"):
            break
    return " ".join(lines)


def wrong_head(text):
    head = head_of(text)
    if not head:
        return "begins with no comment: say in one sentence what it does, with an example"
    sentence = re.split(r"[.:](?= |$)", head)[0]
    if FRAGMENT.match(sentence):
        return f"'{sentence}': no sentence: a subject and a verb"
    if not VERBS & set(re.findall(r"[a-z]+", sentence)):
        return f"'{sentence}': no verb that tests/build/check_prose.py knows"
    return ""


def prose_of(suffix, text):
    """Lines of a document outside of its code, comments of a source; (line number, text)."""
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if suffix in PAGES:
            code ^= line.lstrip().startswith("```")
            if not code and not line.startswith(("    ", "|")):
                yield number, line.strip()
        elif match := re.search(r"(?:^|\s)//[/!]?<?\s*(.*)", line):
            yield number, match[1]


def wrong_in(name, text):
    suffix = pathlib.Path(name).suffix
    found = [f"{name}:{line}: '{match[0].strip()}' stands for a noun: say it"
             for line, prose in prose_of(suffix, text) for match in PRONOUN.finditer(QUOTED.sub('""', prose))]
    if suffix in HEADERS and (problem := wrong_head(text)):
        found.append(f"{name}:1: {problem}")
    return found


def check(root):
    found = []
    for name in files_of(root):
        path = pathlib.Path(root) / name
        if path.suffix in SOURCES | PAGES and path.is_file() and not name.startswith(NOTEBOOKS):
            found += wrong_in(name, path.read_text(errors="replace"))
    return found


def selftest():
    assert not wrong_head("#pragma once\n// A Count is a whole number: 7.\n\nstruct Count;\n")
    for bad in ("struct Count;\n", "#pragma once\n\n// Whole numbers that never wrap.\n",
                "// What is counted.\n// It is.\n", "// Integers. They are.\n"):
        assert wrong_head("#pragma once\n" + bad), bad
    for good in ("// of one name and the same types", "x;  ///< the same tile", "// the results are the same",
                 "y = 1;  // seconds", '// not "alike"'):
        assert not wrong_in("a.cpp", good + "\n"), good
    for bad in ("// The same by multicast", "x;  ///< seconds; the same", "// A prediction is taken alike.",
                "// none of these has knobs", "/// The longest of those.", '// "x" and "y" alike'):
        assert wrong_in("a.cpp", bad + "\n"), bad
    assert wrong_in("a.md", "The same of rows.\n") and not wrong_in("a.md", "```\nThe same of rows.\n```\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        selftest()
    elif len(sys.argv) == 2:
        problems = check(sys.argv[1])
        print("\n".join(problems))
        sys.exit(1 if problems else 0)
    else:
        sys.exit(__doc__)
