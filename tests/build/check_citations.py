#!/usr/bin/env python3
"""Checks that everything that sources and documents cite exists.

usage: check_citations.py ROOT
       check_citations.py --selftest

- model/README.md numbers each equation once, in order, in the section whose number it begins with.
- A citation names what exists: "eq. 6.3" an equation, 'model/README.md, "Several levels"' a title, "erratum P13" an erratum.
  A section of model/README.md is cited by its title, whole or as it begins: its number changes when a section is added.
- No comment cites a section of a document that is not in the repository ("theory section 2", "design section 5").
- A file that a comment names ("clock/graph/needs.hpp", "README.md") is in the repository, or behind the repository that
  has it ("triton-lang/triton, python/tutorials/06-fused-attention.py"). A name in quotes is an example.
- A document's links and the paths that it names (`model/README.md`) exist; README.md has at most 150 lines.
"""
import pathlib
import re
import sys
import tempfile

from listing import files_of

BOOK = "model/README.md"
ENDINGS = {".cpp", ".hpp", ".cuh", ".cu", ".h", ".py", ".yaml", ".md", ".cmake", ".txt"}
EQUATION = re.compile(r"^ +\((\d+)\.(\d+)\)  ", re.M)
SECTION = re.compile(r"^## (\d+)\. ", re.M)
ERRATUM = re.compile(r"^\| ([PLS]\d+(?:\.\d+)?) \|", re.M)
CITED_EQUATION = re.compile(r"\beq\.\s+(\d+\.\d+)")
CITED_SECTION = re.compile(r"model/README\.md,?\s+sections?\s+\d+")
CITED_TITLES = re.compile(r'((?:[\w.-]+/)*[\w.-]+\.md),?\s+((?:"[^"]+"(?:,\s+|\s+and\s+|\s+to\s+)?)+)')
TITLE = re.compile(r"^#+ (?:\d+\. |\d{4}-\d\d-\d\d: )?(.+?) *$", re.M)
CITED_ERRATUM = re.compile(r"\berrat(?:um|a)\s+((?:[PLS]\d+(?:\.\d+)?(?:,\s*|\s+and\s+)?)+)")
ELSEWHERE = re.compile(r"\b(?:(?:design|theory)(?:\.md)?[:,]?\s+(?:sections?\s+)?\d|issue \")", re.I)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:md|hpp|cpp|cuh|yaml|py))`")
COMMENT = {**dict.fromkeys((".cpp", ".hpp", ".cuh"), re.compile(r"(?:^|\s)//[/!]?<?(.*)")),
           **dict.fromkeys((".py", ".yaml", ".cmake", ".txt"), re.compile(r"(?:^|\s)#(.*)"))}
FILE = re.compile(r"(?<![\w/.*<=\"`-])((?:[\w.-]+/)*[\w-]+\.(?:md|hpp|cpp|cuh|yaml|py|jsonl))\b(?![\w(/])")
ITS_REPOSITORY = re.compile(r"[\w-]+/[\w.-]+(?: \(revision \w+\))?[,:] $")
README_LINES = 150
# Folders whose comments still cite other numbers and documents that are not here. Empty is the goal.
UNREAD = ()


def wrong_in_book(book):
    """Returns the faults in the numbers of equations."""
    found = []
    sections = [int(n) for n in SECTION.findall(book)]
    if sections != list(range(1, len(sections) + 1)):
        found.append(f"{BOOK}: sections {sections}: number them 1, 2, 3, ...")
    last = (0, 0)
    for match in EQUATION.finditer(book):
        number = (int(match[1]), int(match[2]))
        section = max((int(s[1]) for s in SECTION.finditer(book) if s.start() < match.start()), default=0)
        line = book.count("\n", 0, match.start()) + 1
        right = (section, last[1] + 1 if last[0] == section else 1)
        if number != right:
            found.append(f"{BOOK}:{line}: equation {number[0]}.{number[1]}: should be {right[0]}.{right[1]}")
        last = number
    return found


def joined(text):
    """Joins a comment that continues in the next line."""
    return re.sub(r"\n[ \t]*(?://[/!]?<?|#)?[ \t]*", " ", text)


def wrong_in(name, text, book, titles_of=lambda page: None):
    """Returns the citations of a file that do not exist. `titles_of` gives a page's titles, None if there is no such
    page."""
    equations = {f"{a}.{b}" for a, b in EQUATION.findall(book)}
    errata = set(ERRATUM.findall(book))
    text = joined(text)
    found = [f"{name}: eq. {n}: no such equation in {BOOK}" for n in CITED_EQUATION.findall(text) if n not in equations]
    found += [f"{name}: '{cited}': cite the section's title" for cited in CITED_SECTION.findall(text)]
    for page, cited in CITED_TITLES.findall(text):
        titles = titles_of(page)
        found += [f'{name}: {page}: no title "{title}" there' for title in re.findall(r'"([^"]+)"', cited)
                  if titles is not None and not any(known.startswith(title) for known in titles)]
    for several in CITED_ERRATUM.findall(text):
        ids = re.findall(r"[PLS]\d+(?:\.\d+)?", several)
        found += [f"{name}: erratum {n}: no such erratum in {BOOK}" for n in ids if n not in errata]
    return found + [f"{name}: '{m[0].strip()}': cites a document that is not here" for m in ELSEWHERE.finditer(text)]


def comments_of(suffix, text):
    """Yields the file's comments, one of several lines as a single line."""
    pattern, block = COMMENT.get(suffix), ""
    for line in text.split("\n") if pattern else ():
        match = pattern.search(line)
        alone = match and not line[:match.start()].strip()
        if not alone and block:
            yield block
            block = ""
        if match:
            block += match[1] if not block else " " + match[1].strip()
    if block:
        yield block


def endings_of(names):
    """Returns the names under which a file can be cited: "needs.hpp", "graph/needs.hpp", "clock/graph/needs.hpp",
    ..."""
    return {"/".join(parts[i:]) for parts in (n.split("/") for n in names) for i in range(len(parts))}


def wrong_files(name, text, known, folders):
    """Returns the files that comments name and that do not exist. FILE and NAME stand for any word. A file in a profile
    or a mapping is a peer's, unless its first folder is one of this project."""
    suffix = pathlib.Path(name).suffix
    return [f"{name}: {m[1]}: no such file" for comment in comments_of(suffix, text) for m in FILE.finditer(comment)
            if m[1] not in known and (suffix != ".yaml" or m[1].split("/")[0] in folders)
            and not re.search(r"[A-Z]{3}", m[1].replace("README", ""))
            and not ITS_REPOSITORY.search(comment[:m.start()])]


def wrong_paths(root, name, text):
    """Returns the paths that do not exist. Links are relative to the document, paths in code to the root or to the
    document."""
    here = (pathlib.Path(root) / name).parent
    found = [f"{name}: {link}: a link to nothing" for link in LINK.findall(text) if not (here / link).exists()]
    found += [f"{name}: {path}: no such file" for path in PATH.findall(text)
              if not (here / path).exists() and not (pathlib.Path(root) / path).exists()]
    if name == "README.md" and text.count("\n") > README_LINES:
        found.append(f"README.md: {text.count(chr(10))} lines: at most {README_LINES}")
    return found


def check(root):
    names = files_of(root)
    book = (pathlib.Path(root) / BOOK).read_text()

    def titles_of(page):
        path = pathlib.Path(root) / page
        return set(TITLE.findall(path.read_text())) if page in names and path.is_file() else None
    found, known, folders = wrong_in_book(book), endings_of(names), {n.split("/")[0] for n in names}
    for name in names:
        path = pathlib.Path(root) / name
        if path.suffix not in ENDINGS or not path.is_file() or path.resolve() == pathlib.Path(__file__).resolve():
            continue
        if name.startswith(("docs/lab/", *UNREAD)):  # notebooks keep the numbers of their day
            continue
        text = path.read_text(errors="replace")
        found += wrong_in(name, text, book, titles_of) + wrong_files(name, text, known, folders)
        if path.suffix == ".md":
            found += wrong_paths(root, name, text)
    return found


def selftest():
    book = "## 1. A\n\n    (1.1)  x\n    (1.2)  y\n\n## 2. B\n\n    (2.1)  z\n\n| P1 | a | b |\n"
    assert wrong_in_book(book) == []
    assert wrong_in_book(book.replace("(1.2)", "(1.1)"))
    assert wrong_in_book(book.replace("(2.1)", "(2.2)"))
    assert wrong_in_book(book.replace("## 2.", "## 3."))
    titles = {"model/README.md": set(TITLE.findall(book)), "docs/own-gpu.md": {"Keys", "Numbers"}}
    for good in ("eq. 1.2", 'model/README.md, "B"', "erratum P1", 'model/README.md, "A" and "B"', 'docs/own-gpu.md, "Keys"',
                 'x.md, "anything"', 'model/README.md,\n// "A" and\n// "B"'):
        assert wrong_in("model/a.hpp", f"// ({good})", book, titles.get) == [], good
    for bad in ('model/README.md, "C"', 'model/README.md, "A" and\n/// "C"', 'docs/own-gpu.md, "Units"', 'model/README.md, "1. A"'):
        assert wrong_in("model/a.hpp", f"// ({bad})", book, titles.get), bad
    for bad in ("eq. 1.3", "eq.\n// 3.1", "model/README.md section 1", "model/README.md,\n// sections 1 and 2", "errata P1, P2",
                "theory section 1", "design section 5", "theory 4.1", "design.md,\n// section 3", 'issue "the clock"'):
        assert wrong_in("model/a.hpp", f"// ({bad})", book), bad
    known = endings_of(["model/clock/graph/needs.hpp", "model/README.md"])
    for good in ("// see graph/needs.hpp", "x; ///< (needs.hpp)", "// a/b (revision 1f), c/d.py: y", '// "mine.yaml"',
                 "// test_NAME.cpp", '#include "model/gone.hpp"', "// <napkin/napkin.hpp>", "// model/README.md"):
        assert wrong_files("model/a.hpp", good + "\n", known, {"model"}) == [], good
    for bad in ("// see clock/needs.hpp", "x; ///< (gone.hpp)", "// gone\n// (c/d.py)", "// clock/README.md"):
        assert wrong_files("model/a.hpp", bad + "\n", known, {"model"}), bad
    assert wrong_files("a.py", "# gone.py", known, {"model"}) and not wrong_files("a.py", "gone.py", known, {"model"})
    assert wrong_files("a.yaml", "# model/gone.yaml", known, {"model"})
    assert not wrong_files("a.yaml", "# b/c.py", known, {"model"})
    with tempfile.TemporaryDirectory() as root:
        (pathlib.Path(root) / "docs").mkdir()
        (pathlib.Path(root) / "docs/a.md").touch()
        assert wrong_paths(root, "docs/b.md", "[a](a.md), `docs/a.md`, [a](../docs/a.md#x), [web](https://a.b/c)") == []
        assert len(wrong_paths(root, "docs/b.md", "[a](c.md) and `docs/c.md`")) == 2
        assert wrong_paths(root, "README.md", "\n" * (README_LINES + 1))


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        selftest()
    elif len(sys.argv) == 2:
        problems = check(sys.argv[1])
        print("\n".join(problems))
        sys.exit(1 if problems else 0)
    else:
        sys.exit(__doc__)
