"""A release: a single version, a configuration that cibuildwheel reads, a complete wheel."""

import importlib.util
import pathlib
import re
import subprocess
import sys
import zipfile

import napkin
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="SKIP: the package is tested apart from its sources")


def test_one_version():
    built = re.search(r"project\(napkin VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert napkin.__version__ == built
    assert not re.search(r"^version\s*=", (ROOT / "pyproject.toml").read_text(), re.M), "a second place to forget"
    assert "version" not in (ROOT / "CITATION.cff").read_text().replace("cff-version", ""), "a second place to forget"


@pytest.mark.skipif(importlib.util.find_spec("cibuildwheel") is None, reason="SKIP: no cibuildwheel in this environment")
def test_cibuildwheel_reads_the_configuration():
    done = subprocess.run([sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", "linux", "--archs", "x86_64", str(ROOT)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"cp{version}-manylinux_x86_64" for version in ("310", "311", "312")]


def test_the_wheel_has_all():
    wheels = sorted((ROOT / "dist").glob("napkin_gpu-*.whl"))
    if not wheels:
        pytest.skip("SKIP: no wheel in dist/ (script/wheel makes it, and tries it in a bare environment)")
    names = zipfile.ZipFile(wheels[-1]).namelist()
    assert "manylinux" in wheels[-1].name
    for wanted in (r"napkin/_core\..*so", r"napkin/_core\.pyi", r"napkin/py\.typed", r"napkin/torch\.py",
                   r".*/entry_points\.txt"):
        assert any(re.fullmatch(wanted, name) for name in names), wanted
    assert not any("yaml-cpp" in name and "share" in name for name in names) and wheels[-1].stat().st_size < 6 * 2**20
