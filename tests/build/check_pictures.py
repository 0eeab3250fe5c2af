#!/usr/bin/env python3
"""Checks that pictures are readable: draws every kind of picture of the program, checks the drawing, and renders it.

Judged: one colour a stage, and no two stages of colours that look alike; text on a bar stands out from it (WCAG
contrast of 4.5); what is outlined is the critical cycle, copies too, and no bar lies over an outline; no wire of a
diagram runs through a box that it does not belong to, no line between arrays through a name; every colour is there without
a page around the picture; LaTeX compiles the same diagram; text of at least 8 points at a
width of 1,600 pixels. Rendered by rsvg-convert, where it is installed: the picture is neither empty nor cut off.
"""
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

program = sys.argv[1]
space = "{http://www.w3.org/2000/svg}"
asked = ["--gpu", "h200-sxm", "--shape", "h=16,q=2048,x=2048,d=128", "--tile",
         "warpgroups=2,g=1,q=128,x=128,p_in=registers,overlap=on,stages=2,q_stages=2,pingpong=on,cluster=1,"
         "order=persistent,rescale=rarely"]
pictures = {
    "timeline": ["timeline", "attention", *asked],
    "timeline-copies": ["timeline", "matmul", "--gpu", "h200-sxm", "--shape", "a=8192,b=8192,c=8192", "--tile",
                        "a=128,c=256,b=64,warpgroups=2,stages=3,cluster=2,split=1,order=grouped"],
    "timeline-one-agent": ["timeline", "attention", "--gpu", "mi300x", "--shape", "h=16,q=2048,x=2048,d=128"],
    "timeline-backward": ["timeline", "attention_backward", "--gpu", "h200-sxm", "--shape", "h=16,q=2048,x=2048,d=128",
                          "--tile", "warpgroups=2,x=128,q=64,stages=2,o_stages=2,s_stages=2,overlap=on,dq=atomic"],
    "sensitivity": ["sensitivity", "attention", *asked],
    "derive-attention": ["derive", "attention"],
    "derive-backward": ["derive", "attention_backward"],
    "derive-mlp": ["derive", "mlp"],
    "derive-pages": ["derive", "paged_attention"],
    "derive-placed": ["derive", "attention", *asked],
    "derive-hierarchy": ["derive", "attention", "--gpu", "b200", "--shape", "q=8192,x=8192,d=128", "--picture",
                         "hierarchy"],
    "derive-tiling": ["derive", "matmul", "--gpu", "h200-sxm", "--shape", "a=8192,b=8192,c=8192", "--picture", "tiling"],
    "derive-placed-matmul": ["derive", "matmul", "--gpu", "h200-sxm", "--shape", "a=8192,b=8192,c=8192"],
    "deps": ["deps", "attention"],
}
least_difference = 6  # of two colours of one timeline
failures = []


def fail(name, what):
    failures.append(f"{name}: {what}")


def number(element, key, default=0.0):
    return float(re.match(r"[-0-9.]+", element.get(key, str(default))).group())


def linear(colour):
    digits = colour.lstrip("#")
    if len(digits) == 3:
        digits = "".join(2 * d for d in digits)
    values = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    return [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def luminance(colour):
    r, g, b = linear(colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def difference(one, other):
    """Returns the visible difference of two colours, CIE 1976 (L*, a*, b*). A difference of 2.3 is just noticed."""
    def lab(colour):
        r, g, b = linear(colour)
        x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
        y = luminance(colour)
        z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
        x, y, z = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in (x, y, z))
        return 116 * y - 16, 500 * (x - y), 200 * (y - z)
    return sum((a - b) ** 2 for a, b in zip(lab(one), lab(other))) ** 0.5


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def judge_cycle(name, bars, cycle):
    """Checks that the bars of the critical cycle's nodes are outlined, above everything that touches them."""
    def node(bar):
        title = re.match(r"(.*) \d+( \[\d+\])?: ", bar.find(space + "title").text)
        return title.group(1) + (title.group(2) or "").strip()
    def is_outlined(bar):
        return "stroke:var(--ink,#000)" in (bar.get("style") or "")
    outlined = {node(bar) for bar in bars if is_outlined(bar)}
    expected = set(cycle) & {node(bar) for bar in bars}
    if not expected or outlined != expected:
        fail(name, f"outlined are {sorted(outlined)}, the critical cycle is {sorted(expected)}")
    lanes = {}
    for bar in bars:
        if not is_outlined(bar) and lanes.get(bar.get("y")):
            fail(name, f"'{node(bar)}' is drawn over an outline")
        lanes[bar.get("y")] = lanes.get(bar.get("y")) or is_outlined(bar)


def stage(node):
    """Returns the stage that decides a bar's colour: "P" of "P.exp"; copies are one stage."""
    return "copies" if re.match("load|store", node) else node.split(".")[0]


def judge_timeline(name, root, answer):
    bars, texts, legend = [], [], []
    cycle = answer["period"]["critical_cycle"]["nodes"]
    for element in root.iter():
        hatched = (element.get("fill") or "").startswith("url(")  # room beside bars
        if element.tag == space + "rect" and element.find(space + "title") is not None and not hatched:
            bars.append(element)
            node = re.sub(r"( \d+)?( \[\d+\])?: .*", "", element.find(space + "title").text, flags=re.S)
            if (node, element.get("fill")) not in legend:
                legend.append((node, element.get("fill")))
        elif element.tag == space + "text" and element.get("fill") in ("#111", "#fff"):
            texts.append(element)
    if not bars:
        fail(name, "has no bars")
    for (a, one), (b, other) in itertools.combinations(legend, 2):
        if stage(a) == stage(b):
            if one != other:
                fail(name, f"{a} and {b} are of one stage and differ: {one} and {other}")
        elif difference(one, other) < least_difference:
            fail(name, f"{a} and {b} look alike: {one} and {other}, {difference(one, other):.1f}")
    judge_cycle(name, bars, cycle)
    if not any("clocks" in (t.text or "") for t in root.iter(space + "text")):
        fail(name, "the axis has no unit")
    for text in texts:
        x, y = number(text, "x"), number(text, "y")
        under = [b for b in bars if number(b, "x") <= x <= number(b, "x") + number(b, "width")
                 and number(b, "y") <= y <= number(b, "y") + number(b, "height")]
        if not under:
            fail(name, f"'{text.text}' stands on no bar")
        elif contrast(under[-1].get("fill"), text.get("fill")) < 4.5:
            fail(name, f"'{text.text}' does not stand out from {under[-1].get('fill')}")
        elif x + 6.3 * len(text.text) > max(number(b, "x") + number(b, "width") for b in under) + 1:
            fail(name, f"'{text.text}' is wider than its bar")


def ways(root, role):
    """Yields the ends of straight lines, or the corners of boxes, of that class."""
    for path in root.iter(space + "path"):
        if path.get("class") in role:
            yield [tuple(map(float, point)) for point in re.findall(r"[MLC ]([-0-9.]+) ([-0-9.]+)(?=[MLCZ]|$)", path.get("d"))]


def judge_derive(name, root):
    boxes = [(min(x for x, _ in way), min(y for _, y in way), max(x for x, _ in way), max(y for _, y in way))
             for way in ways(root, ("box", "item-box"))]
    if not boxes and name != "derive-tiling":
        fail(name, "has no boxes")
    for (x1, y1), (x2, _) in ways(root, ("wire",)):
        for left, top, right, bottom in boxes:
            if top + 1 < y1 < bottom - 1 and x1 < left - 1 and x2 > right + 1:
                fail(name, f"a wire at y = {y1} runs through a box")
    if name == "derive-pages" and not any(t.text == "rows of K, V" for t in root.iter(space + "text")):
        fail(name, "the table's wires lead nowhere and nothing says what for")


def judge_separators(name, root):
    """Checks that a line between two arrays does not touch the name below it."""
    names = [t for t in root.iter(space + "text") if t.get("class") == "name"]
    for (x1, y), (x2, _) in ways(root, ("tuple",)):
        for text in names:
            x, base = number(text, "x"), number(text, "y")
            if x1 < x + number(text, "font-size") and x < x2 and base - 0.75 * number(text, "font-size") - 3 < y < base:
                fail(name, f"a line between arrays strikes '{''.join(text.itertext())}' at y = {base}")


def judge_colours(name, root):
    """Checks that a colour from the page's variables is also an attribute, as many programs ignore variables and draw
    black."""
    for element in root.iter():
        for role in re.findall(r"(\w+):var\(--", element.get("style") or ""):
            if not re.match(r"#[0-9a-f]{3,6}$", element.get(role) or ""):
                fail(name, f"<{element.tag.removeprefix(space)}> has a {role} for pages alone")


def judge_size(name, root):
    """Checks that text has at least 8 points if the picture is 1,600 pixels wide."""
    width = number(root, "width")
    sizes = [number(t, "font-size", 13) for t in root.iter(space + "text")]
    if not sizes:
        fail(name, "has no text")
    smallest = min(sizes) * min(1.0, 1600 / (width * (4 / 3 if root.get("width").endswith("pt") else 1)))
    if smallest < 6.8:
        fail(name, f"the smallest text is {smallest:.1f} points at 1,600 pixels, {width} wide")


def render(name, path):
    tool = shutil.which("rsvg-convert")
    if tool is None:
        return False
    png = path.with_suffix(".png")
    subprocess.run([tool, "-w", "1600", str(path), "-o", str(png)], check=True)
    if png.stat().st_size < 8000:
        fail(name, f"the rendered picture has only {png.stat().st_size} bytes")
    return True


def compile_tikz(name, path):
    """Compiles the picture for LaTeX. Without pdflatex it checks braces, and the beginning and end of the picture."""
    text = path.read_text()
    if text.count("{") != text.count("}") or not text.rstrip().endswith("\\end{document}") or "?" in text.split("\\draw")[-1]:
        fail(name, "the TikZ has open braces, or no end")
    tool = shutil.which("pdflatex")
    if tool is None or subprocess.run(["kpsewhich", "tikz.sty"], capture_output=True, check=False).returncode != 0:
        return False
    done = subprocess.run([tool, "-interaction=nonstopmode", "-halt-on-error", path.name], cwd=path.parent,
                          capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0 or "Undefined control sequence" in done.stdout:
        fail(name, "pdflatex refuses the TikZ: " + " ".join(re.findall(r"^!.*", done.stdout, re.M)))
    return True


def main():
    rendered = compiled = False
    with tempfile.TemporaryDirectory() as folder:
        for name, words in pictures.items():
            if name == "deps" and shutil.which("dot") is None:
                print("SKIP deps: graphviz is not installed")
                continue
            path = Path(folder) / f"{name}.svg"
            tikz = path.with_suffix(".tex")
            also = ["--tikz", str(tikz)] if name.startswith("derive") else []
            run = subprocess.run([program, *words, "--svg", str(path), *also], capture_output=True, text=True)
            if run.returncode != 0:
                fail(name, run.stderr.strip())
                continue
            root = ET.parse(path).getroot()
            judge_size(name, root)
            judge_colours(name, root)
            if name.startswith("timeline"):
                answer = subprocess.run([program, *words, "--json"], capture_output=True, text=True, check=True)
                judge_timeline(name, root, json.loads(answer.stdout))
            elif name.startswith("derive"):
                judge_derive(name, root)
                judge_separators(name, root)
                compiled = compile_tikz(name, tikz) or compiled
            rendered = render(name, path) or rendered
    if not rendered:
        print("SKIP rendering: rsvg-convert is not installed")
    if not compiled:
        print("SKIP LaTeX: pdflatex or TikZ is not installed")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
