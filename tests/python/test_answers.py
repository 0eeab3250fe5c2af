"""Answers have types, cannot be changed, and equal the command's output."""

import copy
import json
import pathlib
import pickle
import subprocess
import sys

import napkin
import pytest

SHAPE = "h=16,q=8192,x=8192,d=128"
GPU = "h200-sxm"


def test_select_is_the_commands(command, shape):
    answer = napkin.select("attention", gpu=GPU, **shape)
    assert answer.to_dict() == command("select", "attention", "--gpu", GPU, "--shape", SHAPE)
    assert answer.found and answer.kernel == "attention_sm90" and answer.gpu == GPU
    assert answer.shape["q"] == 8192 and answer.tile["q"] == answer.to_dict()["tile"]["q"]
    assert 0 < answer.predicted.time < 1 and answer.predicted.pipes[answer.predicted.bound] > 0.5
    assert [level.name for level in answer.levels] == ["l2", "cluster", "shared", "registers"]
    assert len(answer.alternatives) == 4 and answer.alternatives[0].predicted.time >= answer.predicted.time


def test_query_is_the_commands(command, shape):
    answer = napkin.query("attention", gpu=GPU, **shape, tile={"q": 128, "x": 176}, causal=True)
    assert answer.to_dict() == command("query", "attention", "--gpu", GPU, "--shape", SHAPE, "--tile", "q=128,x=176", "--causal")
    assert answer.mask == "causal" and answer.work.flops > 0 and "q" in answer.formula.transfer
    illegal = napkin.query("attention", gpu=GPU, **shape, tile="q=128,x=256,stages=4", kernel="attention_sm90")
    assert not illegal.legal and illegal.violations[0].needed > illegal.violations[0].available


def test_how_sure(shape):
    standing = napkin.query("attention", gpu=GPU, **shape).predicted.standing
    assert standing.by_graph and standing.missing == () and standing.band.recorded and 0 < standing.band.error < 0.05
    bound = napkin.query("matmul", gpu="ascend-910b2", a=4096, b=4096, c=4096).predicted
    assert bound.at_least and not bound.standing.by_graph and bound.standing.why and bound.standing.band is None


def test_abstract_machine_and_check(command):
    steps = []
    answer = napkin.query("attention", memory=4096, q=1000, x=1000, d=64, check=True,
                          progress=lambda done, total: steps.append((done, total)))
    assert answer.check.equal and answer.check.counted.load == answer.check.predicted.load
    assert steps and steps[-1][0] == steps[-1][1]
    assert answer.gpu is None and answer.predicted is None and answer.optimum.integer.transfer > 0
    assert answer.to_dict() == command("query", "attention", "--memory", "4096", "--shape", "q=1000,x=1000,d=64", "--check")


def test_shapes_and_tiles_in_every_form(shape):
    first = napkin.select("attention", gpu=GPU, **shape)
    assert napkin.select("attention", gpu=GPU, shape=shape) is first, "a repeated question has one answer"
    assert napkin.select("attention", gpu=GPU, shape=SHAPE) == first
    assert napkin.select(algorithm="attention", gpu=GPU, shape={"h": 16, "d": 128}, q=8192, x=8192) == first
    assert napkin.select("attention", gpu=GPU, **shape, dtype=None, tile=None, causal=False, window=None) == first
    window = napkin.select("attention", gpu=GPU, **shape, window=(128, 0))
    assert window == napkin.select("attention", gpu=GPU, **shape, window="128,0") != first
    assert napkin.select("attention", gpu=GPU, **shape, window=(-1, -1)) == first
    causal = napkin.select("attention", gpu=GPU, **shape, causal=True)
    assert causal == napkin.select("attention", gpu=GPU, **shape, window=(-1, 0)) != first
    assert hash(window) == hash(napkin.select("attention", gpu=GPU, **shape, window=[128, 0]))
    fixed = napkin.query("attention", gpu=GPU, **shape, tile={"overlap": False, "q": 128})
    assert fixed.tile["overlap"] == "off"

    class Index:
        def __index__(self):
            return 8192

    assert napkin.select("attention", gpu=GPU, h=16, q=Index(), x=8192, d=128) == first


def test_packed_lengths(command):
    answer = napkin.select("attention", gpu=GPU, h=16, d=128, lengths=[512, (4096, 4096), (1, 0)], causal=True)
    assert answer.to_dict() == command("select", "attention", "--gpu", GPU, "--shape", "h=16,d=128", "--lengths", "512,4096,1x0", "--causal")


def test_select_many(shape):
    shapes = [{"q": 64 * n, "x": 64 * n} for n in (64, 65, 66, 128)] * 4
    many = napkin.select_many("attention", shapes, gpu=GPU, h=16, d=128, top=2)
    assert [a.shape["q"] for a in many] == [s["q"] for s in shapes]
    assert many[3] == napkin.select("attention", gpu=GPU, **shape, top=2, detail=False)
    assert napkin.select_many("attention", [], gpu=GPU, h=16, d=128) == []
    with pytest.raises(napkin.InputError, match="q is 0"):
        napkin.select_many("attention", [{"q": 0, "x": 1}], gpu=GPU, h=16, d=128)


def test_rank_configs(shape):
    configs = [{"BLOCK_M": 128, "BLOCK_N": n, "num_warps": 8, "num_stages": s, "OTHER": 1} for n in (64, 128, 256) for s in (2, 7)]
    ranked = napkin.rank_configs("attention", configs, kernel="triton", gpu=GPU, **shape)
    assert sorted(one.index for one in ranked) == list(range(len(configs)))
    legal = [one for one in ranked if one.legal]
    assert 0 < len(legal) < len(configs) and ranked[:len(legal)] == legal
    assert [one.time for one in legal] == sorted(one.time for one in legal)
    assert all(one.time is None and one.why for one in ranked[len(legal):])


def test_answers_cannot_be_changed(shape):
    answer = napkin.select("attention", gpu=GPU, **shape)
    for change in (lambda: setattr(answer, "found", False), lambda: setattr(answer.predicted, "time", 0.0),
                   lambda: setattr(answer, "anything", 1), lambda: setattr(napkin.gpus()[0], "name", "mine")):
        with pytest.raises(AttributeError):
            change()
    answer.tile["q"] = 1
    answer.to_dict()["tile"]["q"] = 1
    assert answer.tile["q"] == 128


def test_commands(command, shape, tmp_path):
    both = napkin.compare("attention", gpus=["a100-sxm-80", GPU], **shape)
    assert both.to_dict() == command("compare", "attention", "--gpus", f"a100-sxm-80,{GPU}", "--shape", SHAPE)
    assert both["command"] == "compare" and "attention" in str(both)
    derived = napkin.derive("attention")
    assert derived.axes[0].name == "b" and "<svg" in derived._repr_svg_() and derived.pseudocode.count("load") == 3
    line = napkin.timeline("attention", gpu=GPU, **shape, iterations=3)
    assert line.to_dict() == command("timeline", "attention", "--gpu", GPU, "--shape", SHAPE, "--iterations", "3")
    assert line._repr_svg_().startswith("<svg") and json.loads(line.perfetto())
    page = napkin.report("attention", gpu=GPU, **shape)
    for one in (line, page):
        assert pickle.loads(pickle.dumps(one)) == one and copy.deepcopy(one) == one
    for answer in (napkin.select("attention", gpu=GPU, **shape), napkin.query("attention", gpu=GPU, **shape)):
        assert copy.copy(answer) is answer and copy.deepcopy([answer])[0] is answer, "nothing in it can be changed"
        there = pickle.loads(pickle.dumps(answer))
        assert there.to_dict() == answer.to_dict() and there.predicted.time == answer.predicted.time and there.tile["q"] == answer.tile["q"]
    assert napkin.emit("attention", "triton", gpu=GPU, **shape).count("triton.Config") == 5
    assert napkin.deps("matmul").loops
    several = dict(gpu="hgx-h100-8", split="tensor_parallel_reduce_scatter", a=4096, b=8192, c=2048)
    assert napkin.island("matmul", **several).ways[0].received == 2 * 4096 * 2048 * 7 // 8
    assert "ncclReduceScatter" in napkin.emit("matmul", "nccl", **several)
    assert {gpu.name for gpu in napkin.gpus()} >= {GPU, "a100-sxm-80"}
    assert "attention_sm90" in {kernel.name for kernel in napkin.kernels()}
    assert "attention" in {algorithm.name for algorithm in napkin.algorithms()}


@pytest.mark.parametrize("name", ["sensitivity", "report"])
def test_commands_of_other_rooms(name, shape):
    try:
        found = getattr(napkin, name)("attention", gpu=GPU, **shape)
    except napkin.InputError as error:
        if "is no command" in str(error):
            pytest.skip(f"SKIP: the program has no command {name}")
        raise
    assert found.to_dict()


def test_report(shape, tmp_path):
    page = napkin.report("attention", gpu=GPU, out=tmp_path / "page.html", **shape)
    assert page.html.startswith("<!DOCTYPE html>") and page.html.endswith("</html>\n")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert "attention_sm90" in page.html and "<script" not in page.html and "Report(" in repr(page)
    assert page._repr_html_().startswith("<iframe srcdoc=")
    rows = pathlib.Path(__file__).resolve().parents[1] / "measured/small/few_blocks.jsonl"
    again = napkin.report(replay=rows)
    again.save(tmp_path / "replay.html")
    assert "Predicted against measured" in (tmp_path / "replay.html").read_text(encoding="utf-8")
    for wrong in ({}, {"algorithm": "attention", "replay": [rows]}, {"replay": [rows], "gpu": GPU}, {"replay": "no.jsonl"},
                  {"algorithm": "attention", "gpu": GPU}):
        with pytest.raises(napkin.InputError):
            napkin.report(**wrong)


def test_notebook(shape):
    for answer in (napkin.select("attention", gpu=GPU, **shape), napkin.query("matmul", gpu=GPU, a=4096, b=4096, c=4096),
                   napkin.query("attention", memory=4096, q=100, x=100, d=16)):
        page = answer._repr_html_()
        assert page.startswith("<div>") and page.endswith("</div>") and "<script" not in page and "http://" not in page.replace("http://www.w3.org", "")
        assert answer._repr_svg_().startswith("<svg") and repr(answer).startswith(type(answer).__name__)


def test_a_notebook_says_what_the_command_says(shape):
    sure = napkin.select("attention", gpu=GPU, **shape, causal=True)
    assert ", causal</b>" in sure._repr_html_() and "at least" not in sure._repr_html_() + repr(sure)
    assert "such predictions were " in sure.predicted.standing.lines[0] and "such predictions were " in sure._repr_html_()
    window = napkin.query("attention", gpu=GPU, **shape, window=(128, 0))
    assert ", window 128,0</b>" in window._repr_html_()
    bound = napkin.query("matmul", gpu="ascend-910b2", a=4096, b=4096, c=4096)
    assert "at least " in bound._repr_html_() and "at most " in bound._repr_html_() and "at least " in repr(bound)


def test_parts_show_what_they_have(shape):
    answer = napkin.query("attention", gpu=GPU, **shape, check=True)
    assert repr(answer.levels[0]).startswith("LevelAnswer(name='l2', groups=1, load=")
    assert "time=" in repr(answer.predicted) and "flops=" in repr(answer.work) and "StandingAnswer(by_graph=True" in repr(answer.predicted.standing)
    assert "CheckAnswer(" in repr(answer.check) and "OptimumTerm(alpha=" in repr(answer.optimum.terms)
    ranked = napkin.rank_configs("attention", [{"q": 1000}], kernel="triton", gpu=GPU, **shape)
    assert repr(ranked).startswith("[RankedConfig(index=0, legal=False, ") and not any(" object at " in repr(one) for one in (answer.levels, answer.optimum))


def test_parts_of_ones_own(tmp_path):
    text = """\
algorithm: linear_attention
axes: {q: , x: , d: , e: }
inputs: ["Q[q,d]", "K[x,d]", "V[x,e]"]
operations:
  - S[q,x] = contract over d (Q, K)
  - R[q,x] = map relu (S)
  - O[q,e] = contract over x (R, V)
outputs: [O]
"""
    path = tmp_path / "linear.yaml"
    path.write_text(text)
    sizes = {"q": 4096, "x": 4096, "d": 64, "e": 64}
    as_dict = {"algorithm": "linear_attention", "axes": dict.fromkeys("qxde"), "inputs": ["Q[q,d]", "K[x,d]", "V[x,e]"],
               "operations": ["S[q,x] = contract over d (Q, K)", "R[q,x] = map relu (S)", "O[q,e] = contract over x (R, V)"],
               "outputs": ["O"]}
    answers = [napkin.query(one, gpu="b200", **sizes).to_dict() for one in (str(path), path, text, as_dict)]
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert napkin.derive(as_dict).to_dict() == napkin.derive(path).to_dict()


def test_import_is_light():
    code = ("import sys, time; start = time.process_time(); import napkin; print(time.process_time() - start); "
            "assert not {'torch', 'numpy', 'triton', 'transformers'} & set(sys.modules)")
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(3)]
    assert min(times) < 0.05, times


def test_version():
    said = subprocess.run([sys.executable, "-m", "napkin", "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"napkin {napkin.__version__}\n"


def test_detail_is_asked_for_and_a_given_tile_says_what_it_loses(shape):
    bare = napkin.select("attention", gpu=GPU, **shape, detail=False)
    whole = napkin.select("attention", gpu=GPU, **shape)
    assert bare.tile == whole.tile and bare.predicted.time == whole.predicted.time
    assert bare.because == "" and bare.legal is None and bare.predicted.standing is None and bare.levels[0].delivered is None
    assert whole.because and whole.legal > 0 and whole.predicted.standing.basis and whole.levels[0].delivered > 0
    assert napkin.query("attention", gpu=GPU, **shape, kernel=whole.kernel, tile=whole.tile).best.loss == 0
    given = napkin.query("attention", gpu=GPU, **shape, kernel=whole.kernel, tile={"x": 64})
    assert given.best.tile == whole.tile and given.best.loss == given.predicted.time / whole.predicted.time - 1 > 0
    assert napkin.query("attention", gpu=GPU, **shape, tile={"x": 64}, detail=False).best is None
    with pytest.raises(napkin.InputError, match="detail"):
        napkin.select("attention", gpu=GPU, **shape, detail=1)
