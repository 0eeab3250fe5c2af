#!/usr/bin/env python3
"""Checks that pages of `napkin report` can be opened anywhere, on any screen.

usage: check_report.py PROGRAM               what a parser sees: every tag closed, ids unique, every link's target there,
                                             nothing from elsewhere, words for what is drawn, headings of tables; names
                                             with their lines, equal hues, drawn names that leave each other alone
       check_report.py PROGRAM --browser     in Chromium without a window, at 400 and 1,600 pixels, light and dark: no
                                             message on its console, nothing wider than the page or its cell, a picture of it
       check_report.py --selftest            planted mistakes are found

  --keep DIR   leaves pages and pictures there
"""
import colorsys
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from html.parser import HTMLParser

LARGEST = 1_000_000  # bytes
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
SQUARE = "h=16,q=8192,x=8192,d=128"
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {
    "backward": ["attention_backward", "--gpu", "ascend-950pr", "--shape", "h=1,q=4096,x=4096,d=128"],
    "selected": ["attention", "--gpu", "h200-sxm", "--shape", SQUARE],
    "causal": ["attention", "--gpu", "b200", "--shape", "h=8,q=4096,x=4096,d=128", "--causal"],
    "ones_own": ["attention", "--gpu", "h200-sxm", "--shape", SQUARE, "--tile", "q=192,warpgroups=3,x=80"],
    "product": ["matmul", "--gpu", "a100-sxm-80", "--shape", "a=4096,b=4096,c=4096"],
    "bound": ["mlp", "--gpu", "mi300x", "--shape", "m=4096,k=1024,h=4096,n=1024"],
    "replay": ["--replay", str(ROOT / "tests/measured/sweeps_sm80/attention_sm80.jsonl")],
}


def other_hues(style):
    """Returns the colours of the page whose hue differs in dark mode."""
    sets = [dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6});", part)) for part in re.findall(r":root \{([^}]*)\}", style)[:2]]
    wrong = []
    for name in sets[0].keys() & sets[-1].keys() if sets else ():
        (hue, _, strong), (other, _, strong_there) = (colour_of(one[name]) for one in sets)
        if min(strong, strong_there) > 0.2 and abs((hue - other + 0.5) % 1 - 0.5) > 15 / 360:
            wrong.append(f"colour --{name} has another hue in the dark")
    return sorted(wrong)


def colour_of(text):
    """Returns hue, lightness and saturation of "#abc" or "#aabbcc"."""
    digits = text[1:] if len(text) == 7 else "".join(2 * digit for digit in text[1:])
    return colorsys.rgb_to_hls(*(int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)))


def crossed(text):
    """Returns the names at the ends of a roofline's slopes that overlap, and names of any drawing beyond its edge."""
    wrong = []
    for drawing in re.findall(r"<svg.*?</svg>", text, re.S):
        box = re.search(r'viewBox="0 0 ([0-9.]+)', drawing)
        width = float(box.group(1)) if box else float("inf")
        ends = []
        for kind, x, y, words in re.findall(r'<text (class="end[^"]*"|)\s*x="([0-9.]+)" y="([0-9.]+)"[^>]*>([^<]*)<', drawing):
            words = re.sub(r"&[a-z]+;", "x", words)
            right = float(x) + 6.2 * len(words)
            if right > width:
                wrong.append(f"'{words}' is drawn beyond the edge")
            if kind:
                ends.append((float(x), right, float(y), words))
        for i, (left, right, y, words) in enumerate(ends):
            wrong += [f"'{words}' and '{w}' meet" for l, r, at, w in ends[:i] if abs(at - y) < 14 and l < right and left < r]
    return wrong


class Page(HTMLParser):
    """Reads a page and collects its faults."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.wrong, self.open, self.ids, self.targets = [], [], [], []
        self.headings, self.seen, self.tables, self.style, self.words = [], set(), [], "", []
        self.titles, self.defined, self.bare, self.code = [], set(), set(), ""
        self.feed(text)
        self.close()
        self.wrong += crossed(text)
        self.judge()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if len(given) != len(attrs):
            self.wrong.append(f"<{tag}> has an attribute twice")
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)
            self.titles.append("title" in given)
        self.look_at(tag, given)
        for name, value in given.items():
            if name.startswith("on"):
                self.wrong.append(f"<{tag}> has a script in {name}")
            if name != "xmlns" and re.search(r"(https?:)?//", value or "") and name in ("src", "href", "style", "action", "data"):
                self.wrong.append(f"<{tag} {name}> refers to {value[:60]}")
        if "id" in given:
            self.ids.append(given["id"])
        for name in ("aria-labelledby", "for"):
            if name in given:
                self.targets.append(given[name])
        if tag == "a" and given.get("href", "").startswith("#"):
            self.targets.append(given["href"][1:])

    def look_at(self, tag, given):
        if tag in ("script", "iframe", "object", "embed"):
            self.wrong.append(f"<{tag}> is there")
        if tag == "img" and not given.get("alt"):
            self.wrong.append("<img> without alt")
        if tag == "img" and not given.get("src", "").startswith("data:"):
            self.wrong.append("<img> from elsewhere")
        if tag == "svg" and not (given.get("role") == "img" and given.get("aria-label")):
            self.wrong.append("<svg> without words for it")
        if tag == "table":
            self.tables.append(set())
        if self.tables and tag in ("caption", "thead", "tbody"):
            self.tables[-1].add(tag)
        if tag == "th" and given.get("scope") not in ("row", "col"):
            self.wrong.append("<th> without scope")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if "scroll" in given.get("class", "").split() and (given.get("tabindex") != "0" or not given.get("aria-label")):
            self.wrong.append("a frame that scrolls and cannot be reached by keyboard")

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> at line {self.getpos()[0]} closes {self.open[-1] if self.open else 'nothing'}")
            return
        if tag == "code":
            if "dt" in self.open:
                self.defined.add(self.code)
            elif not any(self.titles):
                self.bare.add(self.code)
            self.code = ""
        self.open.pop()
        self.titles.pop()

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()
            self.titles.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.words.append(data)
        if self.open and self.open[-1] == "code":
            self.code += data

    def judge(self):
        if self.open:
            self.wrong.append(f"never closed: {', '.join(self.open)}")
        for one in {one for one in self.ids if self.ids.count(one) > 1}:
            self.wrong.append(f"id {one} is there twice")
        for target in self.targets:
            if target not in self.ids:
                self.wrong.append(f"no id {target}")
        for tag in ("header", "nav", "main", "footer", "title", "style"):
            if tag not in self.seen:
                self.wrong.append(f"no <{tag}>")
        if self.headings.count(1) != 1 or any(b > a + 1 for a, b in zip(self.headings, self.headings[1:])):
            self.wrong.append(f"headings in the order {self.headings}")
        for table in self.tables:
            if table != {"caption", "thead", "tbody"}:
                self.wrong.append(f"a table has only {sorted(table)}")
        for needed in ("prefers-color-scheme: dark", "@media print", ":focus-visible", "max-width: 40rem", "details::details-content"):
            if needed not in self.style:
                self.wrong.append(f"no {needed} in the style")
        self.wrong += other_hues(self.style)
        self.wrong += [f"{name} has a line among the names, and no title" for name in sorted(self.bare & self.defined) if "." in name]
        if re.search(r"url\(|@import", self.style):
            self.wrong.append("the style asks for files")
        for bad in re.findall(r"\b(nan|-?inf)\b", " ".join(self.words)):
            self.wrong.append(f"the page says {bad}")


def make(program, folder):
    """Makes every page. Returns the pages and the faults of making them."""
    made, wrong = {}, []
    for name, words in PAGES.items():
        path = folder / f"{name}.html"
        begin = time.monotonic()
        done = subprocess.run([program, "report", *words, "--out", str(path)], capture_output=True, text=True, check=False)
        print(f"{name}: {time.monotonic() - begin:.2f} s, {path.stat().st_size if path.exists() else 0:,} bytes")
        if done.returncode not in (0, 1) or not path.exists():
            wrong.append(f"{name}: exit {done.returncode}: {done.stderr}")
            continue
        made[name] = path
        if path.stat().st_size >= LARGEST:
            wrong.append(f"{name}: {path.stat().st_size:,} bytes")
    return made, wrong


def parse(made):
    wrong = []
    for name, path in made.items():
        text = path.read_text(encoding="utf-8")
        if not text.startswith("<!DOCTYPE html>\n"):
            wrong.append(f"{name}: no doctype")
        wrong += [f"{name}: {what}" for what in sorted(set(Page(text).wrong))]
    return wrong


HARNESS = """<!DOCTYPE html><meta charset="utf-8"><div id="frames"></div><pre id="found"></pre><script>
const said = [];
for (const width of [400, 1600]) {{
  const page = document.createElement("iframe");
  page.style = "height:900px;border:0;width:" + width + "px";
  page.onload = () => {{
    const inside = page.contentDocument;
    said.push({{width, wide: inside.documentElement.scrollWidth, sections: inside.querySelectorAll("section").length,
               over: [...inside.querySelectorAll("td, th")].filter(cell => cell.scrollWidth > cell.clientWidth + 1)
                       .map(cell => cell.textContent.slice(0, 60)),
               paper: page.contentWindow.getComputedStyle(inside.body).backgroundColor}});
    document.getElementById("found").textContent = "FOUND " + JSON.stringify(said);
  }};
  page.srcdoc = {text};
  document.getElementById("frames").append(page);
}}
</script>"""


def chromium(browser, *words):
    return subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
                           *words], capture_output=True, text=True, check=False, timeout=120)


def look(browser, name, path, folder, dark):
    """Returns the faults of a page in light or dark mode, and its background colour."""
    label = f"{name}, {'dark' if dark else 'light'}"
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    harness = folder / "harness.html"
    harness.write_text(HARNESS.format(text=json.dumps(path.read_text(encoding="utf-8")).replace("</", "<\\/")), encoding="utf-8")
    done = chromium(browser, scheme, "--window-size=1700,1900", "--dump-dom", harness.as_uri())
    width = 400 if dark else 1600
    picture = folder / f"{name}_{width}{'_dark' if dark else ''}.png"
    shot = chromium(browser, scheme, f"--window-size={width},2000", f"--screenshot={picture}", path.as_uri())
    wrong = [f"{label}: {line}" for line in re.findall(r".*CONSOLE.*", shot.stderr + done.stderr)]
    if not picture.exists() or picture.stat().st_size < 20_000:
        wrong.append(f"{label}: no picture, or an empty one")
    found = re.search(r"FOUND (\[.*?\])<", done.stdout)
    frames = json.loads(found.group(1).replace("&quot;", '"')) if found else []
    if len(frames) != 2:
        return [*wrong, f"{label}: not shown: {done.stderr[-300:]}"], None
    for frame in frames:
        if frame["wide"] > frame["width"]:
            wrong.append(f"{label}: {frame['wide']} pixels wide on a screen of {frame['width']}")
        wrong += [f"{label}: '{words}' runs out of its cell on a screen of {frame['width']}" for words in frame["over"]]
        if frame["sections"] < 2:
            wrong.append(f"{label}: {frame['sections']} sections")
    return wrong, frames[0]["paper"]


def browse(browser, made, folder):
    wrong = []
    for name, path in made.items():
        papers = set()
        for dark in (False, True):
            found, paper = look(browser, name, path, folder, dark)
            wrong += found
            papers.add(paper)
        if len(papers) != 2:
            wrong.append(f"{name}: light and dark are one: {papers}")
    return wrong


def selftest():
    good = ('<!DOCTYPE html>\n<html><head><title>a</title><style>@media (prefers-color-scheme: dark) {} @media print {} :focus-visible {} '
            '@media (max-width: 40rem) {} details::details-content {}</style></head><body><header><h1>a</h1></header><nav></nav><main>MIDDLE</main><footer></footer></body></html>')
    planted = {
        "<p>": "never closed", "</p>": "closes", '<i id="x"></i><i id="x"></i>': "twice", '<a href="#y">y</a>': "no id y",
        '<img alt="a" src="https://a.b/c.png">': "refers to", '<img src="data:,">': "without alt", "<script></script>": "is there",
        "<h2>a</h2><h4>b</h4>": "headings", "<table><tbody></tbody></table>": "a table", "<svg></svg>": "words",
        "<dl><dt><code>a.b</code></dt></dl><code>a.b</code>": "no title",
        "<style>:root { --a: #f00; } :root { --a: #0f0; }</style>": "another hue",
        '<svg viewBox="0 0 9 9"><text x="1" y="1">far too long</text></svg>': "beyond the edge",
        '<svg viewBox="0 0 99 9"><text class="end" x="1" y="1">abc</text><text class="end" x="9" y="2">abc</text></svg>': "meet",
        '<p onclick="a()">a</p>': "script in", "<p>nan</p>": "says nan", '<div class="scroll"></div>': "keyboard",
    }
    wrong = [f"good: {what}" for what in Page(good.replace("MIDDLE", "<p>1</p>")).wrong]
    for bad, said in planted.items():
        if not any(said in what for what in Page(good.replace("MIDDLE", bad)).wrong):
            wrong.append(f"{bad} is not found")
    return wrong


def main():
    words = sys.argv[1:]
    if words == ["--selftest"]:
        return selftest()
    keep = pathlib.Path(words[words.index("--keep") + 1]) if "--keep" in words else None
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if "--browser" in words and browser is None:
        print("SKIP report in a browser: no chromium, chromium-browser or google-chrome is installed")
        return []
    with tempfile.TemporaryDirectory(prefix="napkin-report-") as made_here:
        folder = (keep or pathlib.Path(made_here)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        made, wrong = make(words[0], folder)
        return wrong + (browse(browser, made, folder) if "--browser" in words else parse(made))


if __name__ == "__main__":
    found = main()
    print("\n".join(found))
    sys.exit(1 if found else 0)
