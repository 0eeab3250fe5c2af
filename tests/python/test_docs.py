"""The page's examples run; those that need a GPU or another package are at least valid Python."""

import ast
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs/python.md"


@pytest.mark.skipif(not PAGE.exists(), reason="SKIP: the package is tested apart from its sources")
def test_examples(capsys):
    text = PAGE.read_text()
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    for block in re.findall(r"```py\n(.*?)```", text, re.DOTALL):
        ast.parse(block)
    assert "q" in capsys.readouterr().out
