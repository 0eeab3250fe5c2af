"""A type checker understands the package."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import napkin
import pytest

USE = """\
import napkin

answer = napkin.select("attention", gpu="h200-sxm", h=16, q=8192, x=8192, d=128, causal=True, tile={"q": 128})
time: float = answer.predicted.time if answer.predicted is not None else 0.0
knob: int | str = answer.tile["q"]
names: list[str] = [level.name for level in answer.levels]
many: list[napkin.SelectAnswer] = napkin.select_many("attention", [{"q": 1}], gpu="h200-sxm")
reveal_type(napkin.query("matmul", gpu="h200-sxm", a=1, b=8, c=1).optimum)
page: str = napkin.report("attention", gpu="h200-sxm").html
napkin.report(replay=["rows.jsonl"]).save("page.html")
"""


def test_stubs_are_there():
    folder = pathlib.Path(napkin.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_core.pyi").read_text()
    for name in ("class SelectAnswer", "class Session", "def select(self, algorithm: Algorithm", "tuple[LevelAnswer, ...]"):
        assert name in stub


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="SKIP: no mypy in this environment")
def test_mypy(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    folder = pathlib.Path(napkin.__file__).parent
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "use.py"],
                          capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(folder.parent)}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OptimumAnswer | None" in done.stdout
