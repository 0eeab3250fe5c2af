"""The simulation of warps on a scheduler (script/peers/issue.py): by hand, and beside an H200's readings (tests/measured/mma_sync)."""

import json
import pathlib
import statistics
import sys

import pytest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "script/peers"
LOOPS = pathlib.Path(__file__).resolve().parent / "../measured/mma_sync/loops.jsonl"
pytestmark = pytest.mark.skipif(not LOOPS.exists(), reason="SKIP: the package is tested apart from its sources")


@pytest.fixture(scope="module")
def ports():
    sys.path.insert(0, str(PEERS))
    import ports

    return ports


@pytest.fixture(scope="module")
def simulated(ports):
    """Clocks of a product by architecture, and there by mixes, loads and warps."""
    out = {"sm_90": {}, "sm_80": {}}
    for line in LOOPS.read_text().splitlines():
        row = json.loads(line)
        for warps in ports.WARPS:
            out[row["architecture"]][row["mixes"], row["loads"], warps] = ports.product(ports.read(row["loop"]), row["architecture"], warps)
    return out


def test_chains_and_pipes_by_hand(ports):
    """A warp alone takes its stall counts; two warps fill each other's; products their pipe or their schedulers; a barrier its result."""
    import issue

    chain = ports.read("FFMA:4:7:7:0 " * 8)
    assert issue.clocks(chain, "sm_90", 1) == pytest.approx(32)
    assert issue.clocks(chain, "sm_90", 4, apart=0) == pytest.approx(8, rel=0.05)
    assert issue.clocks(ports.read("FFMA:1:7:7:0 " * 8), "sm_80", 1) == pytest.approx(16)  # half the lanes
    assert issue.clocks(ports.read("HMMA:1:7:7:0 " * 8), "sm_80", 1) == pytest.approx(64)
    mixed = ports.read("HMMA:1:7:7:0 FADD:1:7:7:0 FADD:1:7:7:0 FADD:1:7:7:0 FADD:1:7:7:0 " * 8)
    assert issue.clocks(mixed, "sm_90", 1) == pytest.approx(8 * (issue.HOLD + 4))
    waits = ports.read("SHFL:1:0:7:0 FADD:1:7:7:1 ")
    assert issue.clocks(waits, "sm_90", 1) > issue.LATENCY["shuffle"]


def test_an_h200s_readings_within_four_percent(ports, simulated):
    """HOLD was chosen by these 27 readings; nothing else of the simulation was."""
    measured = ports.measured()
    errors = [simulated["sm_90"][key] / clocks - 1 for key, clocks in measured.items()]
    assert len(errors) == 27
    assert statistics.mean(map(abs, errors)) < 0.04 and abs(statistics.mean(errors)) < 0.01
    for of_h200, at_h200 in zip(ports.ports(measured), ports.ports(simulated["sm_90"])):
        assert at_h200 == pytest.approx(of_h200, rel=0.03)


def test_what_one_warp_takes_beyond_several_is_its_stall_counts(ports):
    """mma_sync_ports_one less mma_sync_ports is what the compiler's stall counts say of a product in that measurement's code."""
    import sass

    loops = [json.loads(line) for line in LOOPS.read_text().splitlines()]
    of = [ports.read(row["loop"]) for row in loops if row["architecture"] == "sm_90" and row["mixes"] and row["loads"]]
    stalls = statistics.mean(sass.stalls(loop) / sum(i.unit == "tensor" for i in loop) for loop in of)
    several, one = ports.ports(ports.measured())
    assert one - several == pytest.approx(stalls, abs=0.35)


def test_an_a100s_ports_are_derived_in_that_way(ports, simulated):
    profile = (PEERS.parents[1] / "hardware_profiles/architectures/sm_80.yaml").read_text()
    derived = [h200 * a100 / at for h200, at, a100 in zip(ports.ports(ports.measured()), ports.ports(simulated["sm_90"]), ports.ports(simulated["sm_80"]))]
    for name, value in zip(("mma_sync_ports", "mma_sync_ports_one"), derived):
        written = float(profile.split(f"{name}: {{value: ")[1].split(",")[0])
        assert written == pytest.approx(value, abs=0.06), name
