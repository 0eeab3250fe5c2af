#!/usr/bin/env python3
"""Checks that comments and documents have sentences that a stranger can read.

usage: check_prose.py ROOT
       check_prose.py --selftest

- A header begins with a comment, and the comment with a sentence: no "What ..." or "How ...".
- The comment of a function (/// before it, ///< after it) begins with a verb in the third person: "Returns the ...".
- The comment of a type or of a field begins with the noun that it is, and with no preposition, pronoun or question
  word: "bytes of a block", "true if ...", not "of a block", "whether ...". A bool's says when it is true, or false.
- Both take at most three lines, and use no metaphor for a mechanism ("waits in line").
- A comment that stands directly before a function's definition, or before a declaration of a namespace, is such a
  comment and begins with ///, not with //.
- A note (//) after a field or a statement of a header begins with the noun, too, and a bool's says when it is true.
- A docstring of the Python package follows the rule of functions and types.
- A note (#) of a mapping or a profile begins with no preposition or question word.
- The glossary has some fifteen house terms, each with a meaning and an example.
- A noun stands where "the same", "alike" or "of these" would stand for one: "the clocks of a multicast box", not "the
  same by multicast".
"""
import ast
import pathlib
import re
import sys

from listing import files_of

HEADERS, SOURCES, PAGES, DATA = {".hpp", ".cuh"}, {".hpp", ".cuh", ".cpp"}, {".md"}, {".yaml"}
PRODUCT = ("apps/", "kernels/", "model/", "solver/")
NOTEBOOKS, GLOSSARY = "docs/lab/", "model/README.md"
NOTES = set("at behind how in its of one so those what whether which who whose".split())  # of YAML files
HEADS = set("by for from how of what when where whether which who whose why with without".split())
# Words that no comment of a type or a field begins with.
FIRST = set("""
above across after against along among and as at because before behind below beside between beyond by else everything
for from how if in into it its like never nobody nor not nothing of on one only or over per so some somebody something
such than that their they this those through to towards under until what when where whether which who whoever whose why
with within without
""".split())
# Plural nouns that look like verbs at the begin of a function's comment: "Bytes of a block".
PLURALS = set("""
addresses agents arguments axes blocks bytes clocks columns cycles elements indices iterations joules kernels keys
knobs lengths lines nodes operands outputs parts products rows seconds sizes tables threads tiles values variables
warpgroups warps zeros
""".split())
STATEMENT = re.compile(r"(?:[})#]|(?:case|do|else|for|if|namespace|return|switch|while)\b)")  # not a declaration
BOOL = re.compile(r"(?:constexpr |mutable |static )*bool \w+(?: =|,|;)")  # a field, not a function
TRUTH, WHEN_TRUE = re.compile(r"\b(?:true|false)\b", re.I), "a bool's comment says when it is true"
METAPHOR = re.compile(r"\bin line\b|\bgo(?:es)? round\b|\bnotice[sd]?\b|\bact(?:s|ed)? out\b|\bturn(?:s|ed)? over\b"
                      r"|\blives? (?:at|in|on)\b")
QUOTED = re.compile(r'"[^"]*"|`[^`]*`')
PRONOUN = re.compile(
    r"(?:^|[.;:(] )the same (?:of|where|with|without|by|into|from|for|as|in|to|on)\b"  # "; the same of who measures"
    r"|(?:^|[.;:,(] )the same(?:[.,;:)]|$)|\bdo the same[.,;:)]"
    r"|\balike\b|\b(?:of|than|beside|by|in|for) (?:these|those)(?:[.,;:)]|$| (?:is|are|has|have|was|were|and|or)\b)", re.I)


def head_of(text):
    """Returns the comment at the beginning of a header, as one line."""
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
    if first_word(sentence) in HEADS or len(sentence.split()) < 3:
        return f"'{sentence}': no sentence: a subject and a verb"
    return ""


def first_word(text):
    return (text.split() or [""])[0].strip("`,.:;()\"'").lower()


def is_function(declaration):
    """Returns True if a declaration, up to its ; or {, is a function's: a name before a parenthesis, outside of <> and
    =."""
    text = re.sub(r"\[\[[^\]]*\]\]", "", declaration)
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>()]*(?:\([^<>()]*\))?[^<>()]*>", "", text)
    text = re.sub(r"^template\s*", "", text.strip())
    if re.match(r"(?:enum|struct|class|union|using|typedef|concept|friend)\b", text):
        return False
    named = r"(?:#\s*define )?[\w~:\s&*,\[\]]*\b~?[A-Za-z_]\w*\s*\("
    return "operator" in text or bool(re.match(named, text.split("=")[0]))


def doc_comments(text):
    """Yields (line number, lines, declaration) of each comment /// and ///<."""
    lines, i = text.split("\n"), 0
    while i < len(lines):
        before, mark, _ = re.match(r"(.*?)(///<|///(?!/)|$)", lines[i]).groups() + (None,)
        if not mark or (mark == "///" and before.strip()):
            i += 1
            continue
        start, words = i, [lines[i][len(before) + len(mark):].strip()]
        i += 1
        while i < len(lines) and re.match(r"\s*" + mark + ("" if mark == "///<" else "(?!<)"), lines[i]):
            words.append(lines[i].strip()[len(mark):].strip())
            i += 1
        declaration = before.strip()
        at = i
        while mark == "///" and at < len(lines) and lines[at].strip() and at < i + 4:
            declaration += " " + re.sub(r"\s*//.*", "", lines[at]).strip()
            at += 1
            if re.search(r"[;{},]$", declaration) and declaration.count("(") <= declaration.count(")"):
                break
        yield start + 1, words, declaration.strip()


def plain_comments(text):
    """Yields the line numbers of comments // directly before a function's definition or at the level of a namespace."""
    lines = text.split("\n")
    for at, line in enumerate(lines[1:], 1):
        if not re.match(r"\s*//(?!/)", lines[at - 1]) or re.match(r"\s*//|\s*$", line) or STATEMENT.match(line.strip()):
            continue
        first = at - 1
        while first > 0 and re.match(r"\s*//(?!/)", lines[first - 1]):
            first -= 1
        declaration = " ".join(one.strip() for one in lines[at:at + 4])
        begin = re.match(r"[^;{]*\{", declaration)  # a definition's head
        behind = first > 0 and re.search(r"\S.*//", lines[first - 1])  # continues a note behind a declaration
        begin = begin and not re.search(r"\]\s*\(", begin[0]) and is_function(begin[0])  # "](" is a lambda's
        if not behind and (begin or not line.startswith(" ")):
            yield first + 1


def wrong_comment(words, declaration):
    """Returns the reason why a doc comment breaks the rule; "" if it does not."""
    text, word = " ".join(words), first_word(" ".join(words))
    if len(words) > 3:
        return "more than three lines"
    if METAPHOR.search(QUOTED.sub('""', text)):
        return "a metaphor: say what happens"
    if is_function(declaration):
        second = first_word(" ".join(text.split()[1:2]))
        verb = re.fullmatch(r"[A-Za-z][a-z]+s", text.split()[0].rstrip(".,")) and not word.endswith("ss")
        verb = verb and word not in FIRST | PLURALS
        if not verb or second == "of":
            return "a function's comment begins with a verb in the third person"
        if word == "throws" and "[[nodiscard]]" in declaration:
            return "a function's comment says what it returns, then what it throws"
    elif word in FIRST:
        return "begin with the noun that it is"
    elif BOOL.match(declaration) and not TRUTH.search(text):
        return WHEN_TRUE
    return ""


def wrong_note(note, declaration):
    if first_word(note) in FIRST:
        return "begin with the noun that it is"
    return WHEN_TRUE if BOOL.match(declaration) and not TRUTH.search(note) else ""


def docstrings(text):
    """Yields (line number, lines up to the first empty one, declaration) of each docstring of a function or a class of
    Python."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and (doc := ast.get_docstring(node)):
            kind = "f()" if isinstance(node, ast.FunctionDef) else "class"
            yield node.lineno, doc.split("\n\n")[0].split("\n"), kind


def field_notes(text):
    """Yields (line number, note, declaration) of each note // after a declaration or a statement."""
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.match(r"\s*([^/\s].*;)\s+//(?!/) ?(.*)", line):
            yield number, match[2], match[1]


def notes(text):
    """Yields (line number, first line) of each comment # of a YAML file."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        own = re.match(r"\s*#\s?(.*)", line)
        if own and number > 1 and re.match(r"\s*#\s*\S", lines[number - 2]):
            continue
        if match := own or re.search(r"\s#\s(.*)", line):
            yield number, match[1]


def prose_of(suffix, text):
    """Yields (line number, text) of a document's lines outside of code, or of a source's comments."""
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
    if suffix == ".py":
        return [f"{name}:{line}: '{' '.join(words)[:60]}': {problem}" for line, words, declaration in docstrings(text)
                if (problem := wrong_comment(words, declaration))]
    if suffix in DATA:
        return [f"{name}:{line}: '{note[:60]}': begin with the noun that it is"
                for line, note in notes(text) if first_word(note) in NOTES]
    found = [f"{name}:{line}: '{match[0].strip()}' stands for a noun: say it"
             for line, prose in prose_of(suffix, text) for match in PRONOUN.finditer(QUOTED.sub('""', prose))]
    if suffix in HEADERS and (problem := wrong_head(text)):
        found.append(f"{name}:1: {problem}")
    if suffix in HEADERS and name.startswith(PRODUCT):
        found += [f"{name}:{line}: '{note[:60]}': {problem}" for line, note, declaration in field_notes(text)
                  if (problem := wrong_note(note, declaration))]
    if suffix in SOURCES and name.startswith(PRODUCT):
        found += [f"{name}:{line}: a comment before a declaration: ///" for line in plain_comments(text)]
        for line, words, declaration in doc_comments(text):
            if problem := wrong_comment(words, declaration):
                found.append(f"{name}:{line}: '{' '.join(words)[:60]}': {problem}")
    return found


def wrong_glossary(text):
    """Returns the faults of the glossary's table of house terms: rows without a meaning or an example, and more rows
    than allowed."""
    table = text.split("| term | meaning | example |\n")[1].split("\n\n")[0].splitlines()[1:]
    found = [f"{GLOSSARY}: '{row}': term, meaning, example" for row in table if len(row.strip("|").split(" | ")) != 3]
    return found + ([] if 10 <= len(table) <= 20 else [f"{GLOSSARY}: {len(table)} house terms: about fifteen"])


def check(root):
    found = wrong_glossary((pathlib.Path(root) / GLOSSARY).read_text())
    for name in files_of(root):
        path = pathlib.Path(root) / name
        product = path.suffix in DATA and name.startswith((*PRODUCT, "hardware_profiles/"))
        product |= path.suffix == ".py" and name.startswith(PRODUCT)
        if (path.suffix in SOURCES | PAGES or product) and path.is_file() and not name.startswith(NOTEBOOKS):
            found += wrong_in(name, path.read_text(errors="replace"))
    return found


def selftest():
    assert not wrong_head("#pragma once\n// A Count is a whole number: 7.\n\nstruct Count;\n")
    for bad in ("struct Count;\n", "// What is counted.\n// It is.\n", "// Integers. They are.\n"):
        assert wrong_head("#pragma once\n" + bad), bad
    for good in ("// of one name and the same types", "int f() {\n  // 16 bytes\n  g(1);\n  // twice\n  if (a) {\n",
                 "int a = 1;  // seconds, of\n            // a block\nint b;",
                 "int f() {\n  // one\n  const auto g = [](int a) {\n",
                 "int f() {\n  // sorted\n  g(a, [&](int b) {\n",
                 "// A table.\n\nint f(int a) {", "// A list.\n#define A(x) x",
                 "x;  ///< the same tile", "// the results are the same",
                 "y = 1;  // seconds", '// not "alike"', "/// Returns the bytes of a block.\nint f(int a);",
                 "/// Lists a.\n[[nodiscard]] std::vector<int> f(\n    int a);",
                 "/// A block's bytes.\nstruct Bytes {",
                 "int a = f(1);  ///< bytes of a block", "bool b;  ///< true if it fits",
                 "std::function<int(int)> f;  ///< a call",
                 "int f() const;  ///< returns -1 if there is none", "/// Calls.\ntemplate <class T>\nvoid f(T a) {",
                 "enum A {\n  a,  ///< row after row\n};"):
        assert not wrong_in("model/a.cpp", good + "\n"), good
    for bad in ("// Returns 1.\nint f(int a) {", "struct A {\n  // Returns 1.\n  int f(\n      int a) const {",
                "int b;\n// Tiles.\nstruct A {", "/// dS = P dP.\nint f(int a);",
                "/// Throws Error.\n[[nodiscard]] int f(int a);", "/// Spans: by SM.\nint f(int a);",
                "// The same by multicast", "x;  ///< seconds; the same", "// A prediction is taken alike.",
                "// none of these has knobs", "/// The longest of those.", '// "x" and "y" alike',
                "/// The bytes of a block.\nint f(int a);", "/// Bytes of a block.\nint f(int a);",
                "int f();  ///< of a block",
                "/// Whether it fits.\nbool f(int a);", '/// "128x64": a tile.\nstd::string f(int a);',
                "int a;  ///< of a block", "bool b = false;  ///< legal tile",
                "bool b;  ///< whether it fits", "/// What a block holds.\nstruct A {",
                "/// Rows that wait.\nint f(int a);",
                "/// Times a row.\n/// a\n/// b\n/// c\nint a;", "/// A tile that waits in line.\nstruct A {",
                "/// Of every block.\nusing A = int;"):
        assert wrong_in("model/a.cpp", bad + "\n"), bad
    assert wrong_in("a.py", 'def f():\n    """The mask."""\n') and wrong_in("a.py", 'class A:\n    """What a call is."""\n')
    assert not wrong_in("a.py", 'def f():\n    """Returns the mask."""\n\n\nclass A:\n    """A call."""\n')
    assert wrong_in("a.yaml", "a: 1  # of a block\n") and not wrong_in("a.yaml", "# bytes of one\n# of these\n")
    head = "// A Count is a whole number: 7.\n\n"
    for bad in ("int a;  // by row", "bool a;  // legal tile", "int a;  ///< place where it lives in memory"):
        assert wrong_in("model/a.hpp", head + bad + "\n"), bad
    for good in ("int a;  // rows", "bool a;  // true for a legal tile", "f(a);  // legal tile"):
        assert not wrong_in("model/a.hpp", head + good + "\n"), good
    assert not wrong_in("tests/a.cpp", "/// Of every block.\nusing A = int;\n")
    table = "| term | meaning | example |\n|---|---|---|\n"
    assert not wrong_glossary(table + "| a | b | c |\n" * 15 + "\n\n")
    assert wrong_glossary(table + "| a | b |\n" * 15 + "\n\n")
    assert wrong_glossary(table + "| a | b | c |\n" * 30 + "\n\n")
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
