"""The common part of the Python package's tests. Run them with the package on PYTHONPATH (build/python), or
installed."""

import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

import napkin

#: Of what tests draw at random: another in every run.
SEED = int(os.environ.get("NAPKIN_SEED", random.SystemRandom().randrange(2**32)))


def read_rows(path):
    """Returns the rows of a recorded file, by the reader of tests/measured/rows.py."""
    sys.path.insert(0, str(pathlib.Path(path).parent.parent))
    import rows

    return list(rows.read_rows(path))


@pytest.fixture(scope="session")
def command():
    """Returns the command's answer to words as JSON: from the C++ program if a build has one, else from the package.

    The ranking of all kernels goes: the command's `select` adds it where no kernel is named, Python asks `compare` for it."""
    program = os.environ.get("NAPKIN_PROGRAM")
    start = [program] if program else [sys.executable, "-m", "napkin"]

    def ask(*words):
        done = subprocess.run([*start, *words, "--json"], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        answer = json.loads(done.stdout)
        answer.pop("kernels", None)
        return answer

    return ask


@pytest.fixture
def shape():
    return {"h": 16, "q": 8192, "x": 8192, "d": 128}


@pytest.fixture
def session():
    return napkin.Session()


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"random questions: NAPKIN_SEED={SEED}")
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(f"  {report.nodeid}: {report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr}")
