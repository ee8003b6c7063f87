"""Cables worse than they should be: maps made up, maps recorded, and a simulated fabric asked live."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.fabric.counters import parse_counters, rising
from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.map_check import check_map
from seatrial.model.fabric import FabricMap
from seatrial.model.hca import data_bits_per_s
from seatrial.model.verdict import FindingKind
from tests.support import fabrics
from tests.support.command_line import Seatrial, Text
from tests.support.fabrics import simulated_fabric
from tests.support.json_objects import parsed
from tests.support.paths import data


def fabric(rates: dict[tuple[str, int], str], cables: int = 4) -> str:
    """One leaf with adapters and two cables to each of four spines; `rates` replaces "4xEDR" of (end, port)."""
    lines = []
    switches = ("leaf", "spine1", "spine2", "spine3", "spine4")
    lids = {name: number for number, name in enumerate(switches, 1)}
    for here in switches:
        lines.append(f'Switch\t36 "S-{here}"\t\t# "{here}" enhanced port 0 lid {lids[here]} lmc 0')
        for number in range(1, 5):
            for twin in (0, 1):
                ends = ("leaf", 10 * number + twin), (f"spine{number}", 1 + twin)
                one, other = ends if here == "leaf" else ends[::-1]
                if one[0] == here:
                    rate = rates.get(one, "4xEDR")
                    far = f'"{other[0]}" lid {lids[other[0]]}'
                    if rate:
                        lines.append(f'[{one[1]}]\t"S-{other[0]}"[{other[1]}]\t\t# {far} {rate}')
        if here == "leaf":
            for port in range(1, cables):
                rate = rates.get((here, port), "4xEDR")
                lines.append(f'[{port}]\t"H-n{port}"[1](b{port})\t\t# "n{port} mlx5_0" lid {90 + port} {rate}')
    for port in range(1, cables):
        up = f'"leaf" lid 1 {rates.get(("leaf", port), "4xEDR")}'
        lines += [f'Ca\t1 "H-n{port}"\t\t# "n{port} mlx5_0"']
        lines += [f'[1](b{port}) \t"S-leaf"[{port}]\t\t# lid {90 + port} lmc 0 {up}']
    return "\n".join(lines) + "\n"


def kinds(text: str) -> list[tuple[FindingKind, str]]:
    return [(one.kind, one.subject.name) for one in check_map(parse_fabric(text))]


def test_a_healthy_fabric_has_no_problem() -> None:
    assert kinds(fabric({})) == []
    assert check_map(FabricMap()) == ()


def test_a_cable_that_trained_lower_than_the_one_beside_it() -> None:
    slow = {("leaf", 20): "4xQDR", ("spine2", 1): "4xQDR"}
    assert kinds(fabric(slow)) == [(FindingKind.LINK_BELOW_PEERS, "leaf[20] - spine2[1]")]
    (problem,) = check_map(parse_fabric(fabric(slow)))
    assert "4x QDR" in problem.statement
    assert "4x EDR" in problem.statement


@pytest.mark.parametrize(("rate", "narrow"), [("1xEDR", True), ("2xEDR", True), ("1xNDR", True), ("2xHDR", False)])
def test_a_narrow_port_is_a_problem_without_peers(rate: str, narrow: bool) -> None:
    """HDR and NDR ports can be split in two of 2X."""
    found = kinds(fabric(dict.fromkeys([("leaf", 20), ("spine2", 1)], rate)))
    assert ((FindingKind.LINK_NARROW, "leaf[20] - spine2[1]") in found) == narrow
    everywhere = fabric({}).replace("4xEDR", rate)
    assert [kind for kind, _ in kinds(everywhere)] == ([FindingKind.LINK_NARROW] if narrow else [])


@pytest.mark.parametrize("ends", [[("leaf", 20)], [("spine2", 1)], [("leaf", 20), ("spine2", 1)]])
@pytest.mark.parametrize("rate", ["4x???", "4xZDR"])
def test_an_unknown_rate_is_a_problem(ends: list[tuple[str, int]], rate: str) -> None:
    found = kinds(fabric(dict.fromkeys(ends, rate)))
    assert found == [(FindingKind.LINK_RATE_UNKNOWN, "leaf[20] - spine2[1]")]


def test_a_tool_that_knows_no_rate_is_one_problem() -> None:
    assert kinds(fabric({}).replace("4xEDR", "4x???")) == [(FindingKind.LINK_RATE_UNKNOWN, "all")]


def test_a_switch_is_named_when_all_its_uplinks_are_slow() -> None:
    text = fabrics.fabric_text("12 leaves x 4 hosts, 4 spines, 2 cables, 4xNDR")
    slow = fabrics.with_rate(text, lambda one, other: "leaf3" in (one, other) and "spine" in one + other, "4xHDR")
    (problem,) = check_map(parse_fabric(slow))
    assert (problem.kind, problem.subject.name, len(problem.pairs)) == (FindingKind.LINK_BELOW_PEERS, "leaf3", 8)
    assert (
        "All 8 cables of leaf3 to switches run at 4x HDR, where peers run at 4x NDR: ports 5-12." in problem.statement
    )
    narrow = fabrics.with_rate(text, lambda one, other: "spine2" in (one, other), "1xNDR")
    (problem,) = check_map(parse_fabric(narrow))
    assert (problem.kind, problem.subject.name) == (FindingKind.LINK_NARROW, "spine2")


def test_both_cables_of_a_pair_are_missing() -> None:
    text = fabrics.fabric_text("12 leaves x 4 hosts, 4 spines, 2 cables, 4xNDR, engines")
    once = fabrics.without_cable(text, "leaf3", "spine2")
    (problem,) = check_map(parse_fabric(fabrics.without_cable(once, "leaf3", "spine2")))
    assert (problem.kind, problem.subject.name) == (FindingKind.CABLES_MISSING, "leaf3 and spine2")
    assert "joined by no cable; such switches have 2 to each other" in problem.statement
    assert "Free ports: leaf3[7], leaf3[8], spine2[5], spine2[6]." in problem.statement


def test_cables_that_a_switch_lacks_to_several_others_are_one_problem() -> None:
    text = fabrics.fabric_text("12 leaves x 4 hosts, 4 spines, 2 cables, 4xNDR, engines")
    for leaf in ("leaf3", "leaf3", "leaf7"):
        text = fabrics.without_cable(text, leaf, "spine2")
    (problem,) = check_map(parse_fabric(text))
    assert problem.subject.name == "spine2"
    assert "lacks 3 cables at its ports 5-6,13 to 2 switches: leaf3 (0 of 2, ports 7-8), leaf7 (1 of 2, port 7)" in (
        problem.statement
    )


def test_a_map_that_was_cut_off_is_incomplete() -> None:
    text = fabrics.fabric_text("4 leaves x 4 hosts, 2 spines, 2 cables, 4xNDR, engines")
    (problem,) = check_map(parse_fabric(text[: len(text) // 2]))
    assert problem.kind is FindingKind.MAP_INCOMPLETE
    assert "the text ends within a line" in problem.statement
    (problem,) = check_map(parse_fabric(fabrics.port_list(text)[:2000]))
    assert problem.kind is FindingKind.MAP_INCOMPLETE


@pytest.mark.parametrize("form", ["ibnetdiscover", "ibnetdiscover -p"])
def test_duplicate_addresses_are_named(form: str) -> None:
    text = fabrics.fabric_text("4 leaves x 4 hosts, 2 spines, 2 cables, 4xNDR")
    text = text if form == "ibnetdiscover" else fabrics.port_list(text)
    first, other = ("0000000000001000", "0000000000001050")
    (problem,) = check_map(parse_fabric(text.replace(other, first)))
    assert (problem.kind, problem.subject.name) == (FindingKind.DUPLICATE_GUID, f"GUID 0x{first}")
    assert "n1" in problem.statement and "n6" in problem.statement
    for before, after in (("lid 1050 ", "lid 1000 "), ("CA  1050 ", "CA  1000 ")):
        if before in text:
            (problem,) = check_map(parse_fabric(text.replace(before, after)))
            assert (problem.kind, problem.subject.name) == (FindingKind.DUPLICATE_LID, "LID 1000")
            assert "n1" in problem.statement and "n6" in problem.statement


LIDS = [
    (("lid 1050 ", "lid 65535 "), ("CA  1050 ", "CA 65535 ")),
    (("lid 1050 ", "lid 0 "), ("CA  1050 ", "CA     0 ")),
    (("lid 1050 ", "lid 65535 ", "lid 1000 ", "lid 0 "), ("CA  1050 ", "CA 65535 ", "CA  1000 ", "CA     0 ")),
    (
        ("lid 1050 ", "lid 65535 ", "lid 1000 ", "lid 65535 ", "lid 1060 ", "lid 65535 "),
        ("CA  1050 ", "CA 65535 ", "CA  1000 ", "CA 65535 ", "CA  1060 ", "CA 65535 "),
    ),
]


@pytest.mark.parametrize("changes", LIDS)
@pytest.mark.parametrize("form", ["ibnetdiscover", "ibnetdiscover -p"])
def test_ports_without_a_lid_are_one_problem(form: str, changes: tuple[tuple[str, ...], ...]) -> None:
    text = fabrics.fabric_text("4 leaves x 4 hosts, 2 spines, 2 cables, 4xNDR")
    text = text if form == "ibnetdiscover" else fabrics.port_list(text)
    words = changes[form != "ibnetdiscover"]
    for before, after in zip(words[::2], words[1::2], strict=True):
        assert before in text
        text = text.replace(before, after)
    (problem,) = check_map(parse_fabric(text))
    ports = len(words) // 2
    assert problem.kind is FindingKind.NO_LID
    assert problem.subject.name == (f"{ports} ports" if ports > 1 else "n6 mlx5_0[1]")
    assert "n6 mlx5_0[1]" in problem.statement
    assert f"{ports} port" in problem.statement


def test_a_double_lid_beside_ports_without_one() -> None:
    text = fabrics.fabric_text("4 leaves x 4 hosts, 2 spines, 2 cables, 4xNDR")
    text = text.replace("lid 1050 ", "lid 1000 ").replace("lid 1060 ", "lid 65535 ").replace("lid 1010 ", "lid 65535 ")
    problems = check_map(parse_fabric(text))
    assert [one.kind for one in problems] == [FindingKind.DUPLICATE_LID, FindingKind.NO_LID]


def test_a_cable_that_one_end_lists() -> None:
    text = fabric({("spine2", 1): ""})
    assert kinds(text) == [(FindingKind.LINK_ENDS_DISAGREE, "leaf[20] - spine2[1]")]


def test_an_adapter_without_a_cable() -> None:
    text = fabric({})
    lines = [line for line in text.splitlines() if not line.startswith(('[2]\t"H-n2', "[1](b2)"))]
    assert kinds("\n".join(lines) + "\n") == [(FindingKind.CABLES_MISSING, "n2 mlx5_0")]


def test_a_map_without_cables_is_never_a_pass(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "map").write_text('Switch 36 "S-1" # "leaf" enhanced port 0 lid 1 lmc 0\n')
    assert seatrial("fabric", "check", tmp_path / "map", code=2).out.startswith("NOT_RUN  The map has no cables")
    ran = seatrial("fabric", "check", Text(fabric({})[:900], "map"), code=2)
    assert ran.out.startswith("INCONCLUSIVE  The map is incomplete")


def test_both_cables_of_a_pair_are_below_their_peers() -> None:
    slow = {("leaf", 20): "4xFDR", ("spine2", 1): "4xFDR", ("leaf", 21): "4xFDR", ("spine2", 2): "4xFDR"}
    assert [kind for kind, _ in kinds(fabric(slow))] == [FindingKind.LINK_BELOW_PEERS] * 2


def test_ends_that_disagree() -> None:
    assert (FindingKind.LINK_ENDS_DISAGREE, "leaf[20] - spine2[1]") in kinds(fabric({("leaf", 20): "4xHDR"}))


def test_a_missing_cable_needs_peers_at_both_ends() -> None:
    assert kinds(fabric({("leaf", 20): "", ("spine2", 1): ""})) == []


def test_a_missing_cable_of_a_fat_tree() -> None:
    whole = fabrics.fabric_text("12 leaves x 4 hosts, 4 spines, 2 cables, 4xNDR, engines")
    assert kinds(whole) == []
    (problem,) = check_map(parse_fabric(fabrics.without_cable(whole, "leaf3", "spine2")))
    assert problem.kind is FindingKind.CABLES_MISSING
    assert "one cable" in problem.statement and "such switches have 2" in problem.statement
    assert {"leaf3", "spine2"} <= set(problem.subject.name.replace("-", " ").split())


def test_counters_of_two_readings() -> None:
    first = {(7, 1): {"SymbolErrorCounter": 3, "PortXmitData": 10}, (9, 2): {"LinkDownedCounter": 0}}
    before = parse_counters(fabrics.counters(first))
    assert {port: {name: before[port][name] for name in names} for port, names in first.items()} == first
    assert len(before) == len(first)
    second = {(7, 1): {"SymbolErrorCounter": 8, "PortXmitData": 900}, (9, 2): {"LinkDownedCounter": 0}}
    (problem,) = rising(before, parse_counters(fabrics.counters(second)), {(7, 1): "leaf[1]"})
    assert "leaf[1]: SymbolErrorCounter +5" in problem.statement
    assert rising(before, before) == ()


DETAILS = data("fabric/perfquery-details.txt")


def test_details_of_errors_are_counters_too() -> None:
    before, after = (parse_counters(DETAILS.format(number, 5 * number)) for number in (2, 9))
    (problem,) = rising(before, after)
    assert problem.statement == (
        "Error counters rise at lid 7[1]: PortRcvErrors +7, PortRcvConstraintErrors +7, PortLocalPhysicalErrors +7."
    )


def test_former_names_of_counters() -> None:
    before, after = (parse_counters(f"# Port counters: Lid 7 port 1\nSymbolErrors:....{number}\n") for number in (1, 4))
    (problem,) = rising(before, after)
    assert "SymbolErrorCounter +3" in problem.statement


@pytest.mark.parametrize(("width", "speed", "rate"), [(4, "QDR", 32e9), (4, "EDR", 100e9), (2, "NDR", 200e9)])
def test_data_rates(width: int, speed: str, rate: float) -> None:
    assert data_bits_per_s(width, speed) == rate
    assert data_bits_per_s(4, "FDR") == pytest.approx(54.545e9, rel=1e-4)
    assert data_bits_per_s(None, speed) is data_bits_per_s(4, "???") is None


def test_the_command(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "fabric.txt"
    file.write_text(fabric({("leaf", 20): "1xEDR", ("spine2", 1): "1xEDR"}))
    assert "5 switches, 3 adapters, 11 cables" in seatrial("fabric", "show", str(file)).out
    assert "to do" in seatrial("fabric", "check", str(file), code=1).out
    assert seatrial("fabric", "check", str(file), "--json", code=1).data["findings"][0]["kind"] == "link-narrow"
    for wrong in (["fabric", "check"], ["fabric", "check", str(file), "--live"], ["fabric", "show", "/nowhere"]):
        seatrial(*wrong, code=64)
    seatrial("fabric", "check", str(file), "--watch", "1s", code=64)
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text("# Port counters: Lid 1 port 3\nSymbolErrorCounter:....1\n")
    after.write_text("# Port counters: Lid 1 port 3\nSymbolErrorCounter:....4\n")
    ran = seatrial("fabric", "check", str(file), "--counters", str(before), str(after), code=1)
    assert "SymbolErrorCounter +3" in ran.out
    after.write_text("")
    seatrial("fabric", "check", str(file), "--counters", str(before), str(after), code=64)


TOPOLOGY = data("fabric/narrow-cable.ibsim")


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Iterator[subprocess.Popen[str]]":
    """ibsim with one cable of two at 1x; its console is the process's standard input."""
    yield from simulated_fabric(TOPOLOGY, tmp_path, monkeypatch)


@pytest.mark.skipif(
    not shutil.which("ibsim") or not shutil.which("ibnetdiscover"), reason="no ibsim, no infiniband-diags"
)
def test_a_simulated_fabric_is_asked_live(simulated: "subprocess.Popen[str]") -> None:
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
    unmanaged, problem = parsed(done.stdout)["findings"]
    assert (unmanaged["kind"], problem["kind"]) == ("no-lid", "link-narrow")  # no subnet manager runs beside ibsim
    assert problem["subject"] in ("link:S1[7] - S2[7]", "link:S2[7] - S1[7]")
    assert simulated.poll() is None


def test_a_line_that_is_not_understood_withholds_the_pass(seatrial: Seatrial) -> None:
    """It may be about a cable; mad_rpc in the middle of a map says that a part of the fabric did not answer."""
    assert seatrial("fabric", "check", Text(fabric({}), "map"), code=0).out.startswith("PASS  ")
    warning = "ibwarn: [4711] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,35)\n"
    ran = seatrial("fabric", "check", Text(fabric({}) + warning, "map"), code=2)
    assert ran.out.startswith("INCONCLUSIVE  1 line of the map was not understood,\nthe first: 'ibwarn: [4711] ")
    assert "11 cables, each as fast as its peers, none missing" in ran.out
