"""Cables worse than they should be: maps made up, maps recorded, and a simulated fabric asked live."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.cli.main import run
from seatrial.fabric.counters import parse_counters, rising
from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.map_check import check_map
from seatrial.model.fabric_map import FabricMap
from seatrial.model.hca import data_bits_per_s
from seatrial.model.verdict import FindingKind
from tests.support import fabrics
from tests.support.paths import SHARED, needs_shared

FABRICS = SHARED / "fabrics"
recorded = needs_shared(FABRICS)


def fabric(rates: dict[tuple[str, int], str], cables: int = 4) -> str:
    """One leaf with adapters and two cables to each of four spines; `rates` replaces "4xEDR" of (end, port)."""
    lines = []
    for here in ("leaf", "spine1", "spine2", "spine3", "spine4"):
        lines.append(f'Switch\t36 "S-{here}"\t\t# "{here}" enhanced port 0 lid 1 lmc 0')
        for number in range(1, 5):
            for twin in (0, 1):
                ends = ("leaf", 10 * number + twin), (f"spine{number}", 1 + twin)
                one, other = ends if here == "leaf" else ends[::-1]
                if one[0] == here:
                    rate = rates.get(one, "4xEDR")
                    if rate:
                        lines.append(f'[{one[1]}]\t"S-{other[0]}"[{other[1]}]\t\t# "{other[0]}" lid 2 {rate}')
        if here == "leaf":
            lines += [
                f'[{port}]\t"H-n{port}"[1](b{port})\t\t# "n{port} mlx5_0" lid 9 4xEDR' for port in range(1, cables)
            ]
    return "\n".join(lines) + "\n"


def kinds(text: str) -> list[tuple[FindingKind, str]]:
    return [(one.kind, one.subject.name) for one in check_map(parse_fabric(text))]


def test_a_healthy_fabric_has_no_problem() -> None:
    assert kinds(fabric({})) == []
    assert check_map(FabricMap()) == ()


def test_a_cable_that_trained_lower_than_the_one_beside_it() -> None:
    slow = {("leaf", 20): "1xEDR", ("spine2", 1): "1xEDR"}
    assert kinds(fabric(slow)) == [(FindingKind.LINK_BELOW_PEERS, "leaf[20] - spine2[1]")]
    (problem,) = check_map(parse_fabric(fabric(slow)))
    assert "1x EDR" in problem.statement
    assert "4x EDR" in problem.statement


def test_both_cables_of_a_pair_are_below_their_sisters() -> None:
    slow = {("leaf", 20): "4xFDR", ("spine2", 1): "4xFDR", ("leaf", 21): "4xFDR", ("spine2", 2): "4xFDR"}
    assert [kind for kind, _ in kinds(fabric(slow))] == [FindingKind.LINK_BELOW_PEERS] * 2


def test_ends_that_disagree() -> None:
    assert (FindingKind.LINK_ENDS_DISAGREE, "leaf[20] - spine2[1]") in kinds(fabric({("leaf", 20): "2xEDR"}))


def test_a_missing_cable_needs_sisters_at_both_ends() -> None:
    assert kinds(fabric({("leaf", 20): "", ("spine2", 1): ""})) == []


def test_a_missing_cable_of_a_fat_tree() -> None:
    whole = fabrics.fabric_text("12 leaves x 4 hosts, 4 spines, 2 cables, 4xNDR, engines")
    assert kinds(whole) == []
    (problem,) = check_map(parse_fabric(fabrics.without_cable(whole, "leaf3", "spine2")))
    assert problem.kind is FindingKind.CABLES_MISSING
    assert "one cable" in problem.statement and "each has 2" in problem.statement
    assert {"leaf3", "spine2"} <= set(problem.subject.name.replace("-", " ").split())


def test_counters_of_two_readings() -> None:
    first = {(7, 1): {"SymbolErrorCounter": 3, "PortXmitData": 10}, (9, 2): {"LinkDownedCounter": 0}}
    before = parse_counters(fabrics.counters(first))
    assert {port: {name: found[name] for name in first[port]} for port, found in before.items()} == first
    second = {(7, 1): {"SymbolErrorCounter": 8, "PortXmitData": 900}, (9, 2): {"LinkDownedCounter": 0}}
    (problem,) = rising(before, parse_counters(fabrics.counters(second)), {(7, 1): "leaf[1]"})
    assert "leaf[1]: SymbolErrorCounter +5" in problem.statement
    assert rising(before, before) == ()


@recorded
def test_the_ndr_fabric_lacks_six_cables() -> None:
    problems = check_map(parse_fabric((FABRICS / "ndr-582-cas.ibnetdiscover").read_text()))
    assert [problem.kind for problem in problems] == [FindingKind.CABLES_MISSING] * 6
    assert all("one cable" in problem.statement and "each has 2" in problem.statement for problem in problems)


@recorded
def test_counters_of_a_site() -> None:
    text = "".join(path.read_text() for path in sorted(FABRICS.glob("osc-0x*.out")))
    counters = parse_counters(text)
    assert set(counters) >= {(1719, 1), (1719, 2), (133, 1)}
    assert counters[1719, 1]["PortXmitData"] == 36298026860928
    later = {port: dict(values) for port, values in counters.items()}
    assert rising(counters, later) == ()
    later[1719, 2]["SymbolErrorCounter"] += 5
    later[133, 1]["PortXmitData"] += 5
    later[134, 1]["LinkDownedCounter"] = 0
    (problem,) = rising(counters, later, {(1719, 2): "leaf[2]"})
    assert "leaf[2]: SymbolErrorCounter +5" in problem.statement


@pytest.mark.parametrize(("width", "speed", "rate"), [(4, "QDR", 32e9), (4, "EDR", 100e9), (2, "NDR", 200e9)])
def test_data_rates(width: int, speed: str, rate: float) -> None:
    assert data_bits_per_s(width, speed) == rate
    assert data_bits_per_s(4, "FDR") == pytest.approx(54.545e9, rel=1e-4)
    assert data_bits_per_s(None, speed) is data_bits_per_s(4, "???") is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fabric.txt"
    file.write_text(fabric({("leaf", 20): "1xEDR", ("spine2", 1): "1xEDR"}))
    assert run(["fabric", "show", str(file)]) == 0
    assert "5 switches, 3 adapters, 11 cables" in capsys.readouterr().out
    assert run(["fabric", "check", str(file)]) == 1
    assert "to do" in capsys.readouterr().out
    assert run(["fabric", "check", str(file), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["problems"][0]["kind"] == "link-below-sisters"
    for wrong in (["fabric", "check"], ["fabric", "check", str(file), "--live"], ["fabric", "show", "/nowhere"]):
        assert run(wrong) == 64
    assert run(["fabric", "check", str(file), "--watch", "1s"]) == 64
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text("# Port counters: Lid 1 port 3\nSymbolErrorCounter:....1\n")
    after.write_text("# Port counters: Lid 1 port 3\nSymbolErrorCounter:....4\n")
    assert run(["fabric", "check", str(file), "--counters", str(before), str(after)]) == 1
    assert "SymbolErrorCounter +3" in capsys.readouterr().out
    after.write_text("")
    assert run(["fabric", "check", str(file), "--counters", str(before), str(after)]) == 64


TOPOLOGY = """\
Switch 8 "S1"
[1] "H1"[1]
[7] "S2"[7] w=1
[8] "S2"[8]

Switch 8 "S2"
[1] "H2"[1]
[7] "S1"[7] w=1
[8] "S1"[8]

Hca 1 "H1"
[1] "S1"[1]

Hca 1 "H2"
[1] "S2"[1]
"""


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Iterator[subprocess.Popen[str]]":
    """ibsim with one cable of two at 1x; its console is the process's standard input."""
    monkeypatch.setenv("IBSIM_SOCKNAME", f"sim{os.getpid()}")  # tests that run beside this one have one, too
    (tmp_path / "net").write_text(TOPOLOGY)
    process = subprocess.Popen(
        ["ibsim", "-s", "net"],  # noqa: S607
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield process
    process.kill()
    process.wait(10)


@pytest.mark.skipif(
    not shutil.which("ibsim") or not shutil.which("ibnetdiscover"), reason="no ibsim, no infiniband-diags"
)
def test_a_simulated_fabric_is_asked_live(simulated: "subprocess.Popen[str]", tmp_path: Path) -> None:
    environment = {**os.environ, "SIM_HOST": "H1"}

    def ask(*words: str) -> "subprocess.CompletedProcess[str]":
        argv = ["ibsim-run", sys.executable, "-m", "seatrial", "fabric", *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=environment)

    deadline = time.monotonic() + 60
    done = ask("check", "--live", "--json")
    while done.returncode == 2 and time.monotonic() < deadline:
        time.sleep(0.3)
        done = ask("check", "--live", "--json")
    assert done.returncode == 1, done.stderr
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["kind"] == "link-below-sisters"
    assert problem["subject"] in ("S1[7] - S2[7]", "S2[7] - S1[7]")
    assert simulated.poll() is None
