"""Random questions: the package gives the numbers of the command, and arguments of any kind never crash it.

Other questions in every run: NAPKIN_SEED=S, which the end of a run names, asks those of an earlier one again, NAPKIN_QUESTIONS=N
so many of each kind."""

import os

from conftest import SEED

import napkin
import pytest

hypothesis = pytest.importorskip("hypothesis", reason="SKIP: no hypothesis (pip install hypothesis)")
from hypothesis import HealthCheck, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402



def asked(usual):
    questions = int(os.environ.get("NAPKIN_QUESTIONS", usual))
    return lambda test: seed(SEED)(settings(max_examples=questions, deadline=None, database=None, suppress_health_check=list(HealthCheck))(test))


sizes = st.sampled_from([1, 7, 64, 65, 1000, 4096, 8192, 100000])
masks = st.sampled_from([{}, {"causal": True}, {"window": (128, 0)}, {"window": (0, 64)}])


@st.composite
def questions(draw):
    if draw(st.integers(0, 4)) == 0:
        shape = {"a": draw(sizes), "b": draw(sizes) * 8, "c": draw(sizes)}
        return "matmul", {"gpu": "h200-sxm", **shape}
    shape = {"h": draw(st.sampled_from([1, 3, 16])), "g": draw(st.sampled_from([1, 4])), "q": draw(sizes), "x": draw(sizes),
             "d": draw(st.sampled_from([64, 128]))}
    gpu = draw(st.sampled_from(["h200-sxm", "a100-sxm-80"]))
    return "attention", {"gpu": gpu, **shape, **draw(masks), "dtype": draw(st.sampled_from(["bf16", "f16"]))}


def words(algorithm, question):
    question = dict(question)
    found = [algorithm, "--gpu", question.pop("gpu")]
    if question.pop("causal", False):
        found.append("--causal")
    if "window" in question:
        found += ["--window", ",".join(map(str, question.pop("window")))]
    if "dtype" in question:
        found += ["--dtype", question.pop("dtype")]
    return found + ["--shape", ",".join(f"{name}={size}" for name, size in question.items())]


@asked(12)
@given(questions())
def test_same_numbers(command, drawn):
    algorithm, question = drawn
    assert napkin.select(algorithm, **question).to_dict() == command("select", *words(algorithm, question))
    assert napkin.query(algorithm, **question).to_dict() == command("query", *words(algorithm, question))


anything = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=8),
                        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5)
names = st.sampled_from(["gpu", "shape", "dtype", "causal", "window", "lengths", "kernel", "tile", "top", "q", "h", "d"]) | st.text(max_size=6)


@asked(200)
@given(st.dictionaries(names, anything, max_size=3), anything)
def test_anything_is_an_answer_or_an_input_error(arguments, algorithm):
    for function in (napkin.select, napkin.timeline):
        try:
            function(algorithm, **{"gpu": "h200-sxm", "h": 1, "q": 64, "x": 64, "d": 64, "kernel": "nonsense", **arguments})
        except napkin.InputError:
            pass
