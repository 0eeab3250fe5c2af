"""Hundreds of wrong arguments: each gives an InputError with the place, the problem and a correction."""

import math
import pickle

import napkin
import pytest

SIZES = {"h": 16, "q": 8192, "x": 8192, "d": 128}
GOOD = {"gpu": "h200-sxm", **SIZES}


class Broken:
    def __index__(self):
        raise OverflowError("broken")

    def __repr__(self):
        raise RuntimeError("broken")


ODD = [0, -1, 2**63, 2**200, -(2**64), 1.5, math.nan, math.inf, True, None, "", "a", "8", b"8", "\x00", "\ud800", "é" * 100, [], [1], {},
       {"q": 1}, (), (1, 2), set(), object(), Broken(), lambda: 1, type, 1j, range(3), "x" * 10000, "q=1,q=2", "q=", "=", ","]

def cases():
    for name in ("algorithm", "gpu", "shape", "dtype", "causal", "window", "kernel", "tile", "lengths", "load", "l2", "clock", "top", "q", "h", "d", "nonsense"):
        for at, value in enumerate(ODD):
            yield pytest.param(name, value, id=f"{name}-{at}")


def refused(call):
    with pytest.raises(napkin.InputError) as caught:
        call()
    error = caught.value
    assert str(error) and "\n" not in str(error).replace("\\n", "") or error.file
    assert isinstance(error, ValueError) and error.problem
    assert "--" not in str(error).replace("----", ""), "options of the command line are arguments here"
    return error


@pytest.mark.parametrize("name, value", list(cases()))
def test_odd_arguments(name, value):
    arguments = {"algorithm": "attention", **GOOD, name: value}
    algorithm = arguments.pop("algorithm")
    try:
        answer = napkin.select(algorithm, **arguments)
    except napkin.InputError as error:
        assert error.problem
        return
    # What is taken is what was meant.
    assert answer.shape["d"] == 128 or name == "d", (name, value)
    assert value is None or value is True or value == {} or value == "" or value in (1, 2, (1, 2)) or isinstance(value, (dict, list, tuple, range)) or (name, value) == ("clock", 1.5), (name, value)


@pytest.mark.parametrize("wrong, field, words", [
    ({"q": 0}, "shape", "q is 0"),
    ({"q": -3}, "shape", "whole number from 1"),
    ({"q": 2**63}, "shape", "64 bits"),
    ({"q": 1.5}, "shape", "q is 1.5"),
    ({"q": True}, "shape", "q is True"),
    ({"cuasal": True}, "shape", "cuasal is True"),
    ({"qq": 1}, "shape", "qq"),
    ({"gpu": "h300"}, None, "h300"),
    ({"gpu": 5}, "gpu", "is 5"),
    ({"gpu": None}, "gpu", "is missing"),
    ({"dtype": "bf17"}, "dtype", "bf17"),
    ({"dtype": int}, "dtype", "int"),
    ({"causal": 1}, "causal", "True or False"),
    ({"causal": True, "window": (1, 1)}, "window", "stands beside"),
    ({"window": (1,)}, "window", "two whole numbers"),
    ({"window": (-2, 0)}, "window", "left is -2"),
    ({"tile": {"q": 1.5}}, "tile", "q is 1.5"),
    ({"tile": {"nonsense": 1}}, "tile", "nonsense"),
    ({"tile": 128}, "tile", "a dict"),
    ({"kernel": "nonsense"}, None, "nonsense"),
    ({"top": 0}, "top", "whole number from 1"),
    ({"top": 10**6}, "top", "100000"),
    ({"shape": {"q": 1}}, "shape", "q is given twice"),
    ({"shape": "q=1"}, "shape", "q is given twice"),
    ({"memory": 4096}, "memory", "no argument"),
    ({"check": True}, "check", "no argument"),
    ({"lengths": []}, "lengths", "is empty"),
    ({"lengths": [(1, 2, 3)]}, "lengths", "pairs"),
])
def test_wrong_arguments_name_themselves(wrong, field, words):
    error = refused(lambda: napkin.select("attention", **{**GOOD, **wrong}))
    assert words in str(error), str(error)
    if field is not None:
        assert error.field == field and error.file is None


def test_wrong_calls():
    refused(lambda: napkin.select())
    refused(lambda: napkin.select("attention", "h200-sxm"))
    refused(lambda: napkin.select("attention", algorithm="attention", **GOOD))
    refused(lambda: napkin.query("attention", **GOOD, memory=5))
    refused(lambda: napkin.query("attention", **GOOD, check=True, progress=5))
    refused(lambda: napkin.select_many("attention", 5, gpu="h200-sxm"))
    refused(lambda: napkin.select_many("attention", "q=1", gpu="h200-sxm"))
    refused(lambda: napkin.rank_configs("attention", [5], kernel="triton", **GOOD))
    refused(lambda: napkin.compare("attention", gpus=5, **SIZES))
    refused(lambda: napkin.compare("attention", gpus=["nonsense"], **SIZES))
    refused(lambda: napkin.timeline("attention", **GOOD, iterations=0))
    refused(lambda: napkin.emit("attention", "nonsense", **GOOD))
    refused(lambda: napkin.validate_replay("/nonsense.jsonl"))
    assert refused(lambda: napkin.validate_replay()).field == "files"
    assert refused(lambda: napkin.report("attention", **GOOD, out="/nonsense/page.html")).field == "out"


def test_places_in_files(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("algorithm: mine\naxes: {q: }\nnonsense: 3\n")
    error = refused(lambda: napkin.query(path, gpu="h200-sxm", q=1))
    assert (error.file, error.line, error.column) == (str(path), 3, 1)
    error = refused(lambda: napkin.query(path.read_text(), gpu="h200-sxm", q=1))
    assert (error.file, error.line) == ("<algorithm: text>", 3)
    assert "<gpu: dict>" in str(refused(lambda: napkin.query("attention", gpu={"nonsense": 1}, **SIZES)))
    refused(lambda: napkin.query("attention", gpu={"a": {1, 2}}, **SIZES))
    refused(lambda: napkin.query(tmp_path / "missing.yaml", gpu="h200-sxm", q=1))


def test_an_error_travels():
    error = refused(lambda: napkin.select("attention", **{**GOOD, "q": 0}))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.field == "shape" and again.right == error.right


def test_an_error_of_the_callback_is_the_users():
    def progress(done, total):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        napkin.query("attention", memory=4096, q=1000, x=1000, d=64, check=True, progress=progress)


def test_of_many_the_one_is_named_that_is_wrong():
    good = {"h": 1, "q": 64, "x": 64, "d": 64}
    error = refused(lambda: napkin.select_many("attention", [good, {**good, "q": 0}], gpu="h200-sxm"))
    assert str(error) == "shapes[1]: q is 0: a whole number from 1" and error.field == "shapes[1]"
    error = refused(lambda: napkin.select_many("attention", [good, good, {"h": 1, "q": 64, "x": 64}], gpu="h200-sxm"))
    assert str(error) == "shapes[2]: axis d of attention has no size: give d=N"
    assert napkin.rank_configs("attention", [{"q": "foo"}], kernel="triton", gpu="h200-sxm", **SIZES)[0].why.startswith("tile: q=foo: ")
