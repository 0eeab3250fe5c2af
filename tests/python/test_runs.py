"""The parts of measuring programs that run without a GPU: predictions, regrets, training, curves."""

import json
import pathlib

import pytest

from conftest import read_rows

RECORDED = pathlib.Path(__file__).resolve().parents[1] / "measured/peers/triton.jsonl"


@pytest.mark.skipif(not RECORDED.exists(), reason="SKIP: the package is tested apart from its sources")
def test_the_regret_of_recorded_sweeps():
    """Predicted before it was measured, by the program's own rules: the times are those of a recorded sweep."""
    import run_triton_prune as run

    recorded = read_rows(RECORDED)
    shapes = {json.dumps([row["shape"], row["mask"]]) for row in recorded if row["shape"]["d"] == 128 and row["shape"]["q"] == 8192}
    assert len(shapes) == 2
    for shape, mask in map(json.loads, shapes):
        rows = [row for row in recorded if row["shape"] == shape and row["mask"] == mask]
        attention, _ = run.configs_of({"attention": [row["tile"] for row in rows], "matmul": []})
        question = run.Question("attention", shape, mask == "causal", attention)
        predicted, spent = run.predicted(question)
        assert len(predicted) == len(rows) and {row["place"] for row in predicted} == set(range(len(rows)))
        for row in predicted:
            found = next(one for one in rows if one["tile"] == run.tile_of(question, row["config"]))
            row["time"], row["compile_s"], row["measure_s"] = found.get("measured", {}).get("time"), 2.0, 0.5
        regret = run.regret_of(predicted, spent)
        assert 0 <= regret["regret_top3"] <= regret["regret_top1"] < 0.1
        assert regret["top3_s"] == 7.5 and regret["sweep_s"] == 2.5 * len(rows) and regret["prune_ms"] > 0


def test_no_regret_without_a_time():
    import run_triton_prune as run

    assert run.regret_of([{"legal": True, "predicted": {"time": 1.0}}], 0.0) is None
    rows = [{"legal": True, "predicted": {"time": 1.0}, "time": 2.0}, {"legal": True, "predicted": {"time": 2.0}, "time": 1.0},
            {"legal": False, "predicted": {"time": None}, "time": 0.5}, {"legal": True, "predicted": {"time": 3.0}, "refused": "registers"}]
    found = run.regret_of(rows, 0.001)
    assert found["regret_top1"] == 3 and found["regret_top3"] == 1 and found["place_of_best"] == 2
    assert found["legal_that_failed"] == 1 and found["ran"] == 3 and found["legal"] == 3


def test_what_is_tried():
    pytest.importorskip("triton", reason="SKIP: no Triton in this environment")
    import sys

    import run_triton_prune as run
    sys.path.insert(0, str(run.PEERS))
    import compile as peers

    attention, matmul = run.configs_of({"attention": list(peers.tiles(peers.ATTENTION)), "matmul": list(peers.tiles(peers.MATMUL))})
    assert len(attention) == 36 and len(matmul) == 60
    for question in run.questions_of(attention, matmul):
        rows, _ = run.predicted(question)
        assert len(rows) == len(question.configs) and rows[0]["legal"]


def test_training_is_one_curve():
    torch = pytest.importorskip("torch", reason="SKIP: no PyTorch in this environment")
    import run_end_to_end as run

    torch.set_num_threads(1)
    small = dict(device="cpu", rows=64, batch=2, period=8, width=32, heads=2, layers=1)

    def by_hand(q, k, v):
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
        scores = (q.float() @ k.float().transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf)
        return (scores.softmax(-1) @ v.float()).to(v.dtype)

    right, times = run.curve(run.Training(run.sdpa, **small), 4)
    again, _ = run.curve(run.Training(run.sdpa, **small), 4)
    ours, _ = run.curve(run.Training(by_hand, **small), 4)
    other, _ = run.curve(run.Training(lambda q, k, v: by_hand(q, k, v) * 0.5, **small), 4)
    assert right == again and len(times) == 4 and min(times) > 0
    found = run.compared({("eager", "flash"): right, ("eager", "napkin"): ours})
    assert run.is_one_curve(found), found
    assert not run.is_one_curve(run.compared({("eager", "flash"): right, ("eager", "napkin"): other}))
    assert set(run.WAYS) == {"eager", "compiled", "graphed"} and set(run.backends()) >= {name for names in run.WAYS.values() for name in names}
