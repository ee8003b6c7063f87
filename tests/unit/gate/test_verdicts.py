"""Verdicts are left for the gate whole, by their owner, of what is certain; what it answered is counted."""

import os
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.gate import ask_gate, gates_tally, leave_verdicts
from seatrial.cli.site_file import site_gate
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.gate import GatePolicy, Outcome, Step, parse_answers, verdict_line
from seatrial.model.monitoring import Fault, NodeStanding, OpenFault
from seatrial.model.verdict import Verdict
from tests.support.gate_cluster import GateCluster
from tests.support.second_user import OTHER, needs_root

JUDGED, JUDGED_S = "2026-11-01T02:00:00+00:00", 1793498400


def standing(verdict: Verdict = Verdict.PASS, *faults: Fault, node: str = "n1", judged: str = JUDGED) -> NodeStanding:
    opened = tuple(OpenFault(fault=fault, run="r0", since=JUDGED) for fault in faults)
    return NodeStanding(node=node, verdict=verdict, run="r1", judged=judged, faults=opened)


SLOW = Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 % of its limit")
EITHER = msgspec.structs.replace(SLOW, shared=True)


def policy(folder: Path) -> GatePolicy:
    folder.mkdir(exist_ok=True)
    return GatePolicy(folder=folder, age_s=3600, share=0.1, per_hour=2)


def test_a_node_is_bad_only_if_no_other_part_can_be_at_fault() -> None:
    assert verdict_line(standing()) == f"good {JUDGED_S} r1\n"
    assert verdict_line(standing(Verdict.SLOW, SLOW)) == f"bad {JUDGED_S} r0 link at 60 % of its limit\n"
    assert verdict_line(standing(Verdict.SLOW, EITHER)).startswith(f"unknown {JUDGED_S} r0 perhaps link")
    assert verdict_line(standing(Verdict.SLOW, EITHER, SLOW)).startswith("bad ")
    for verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.MEASURED):
        assert verdict_line(standing(verdict)) == f"unknown {JUDGED_S} r1 {verdict}\n"


def test_no_text_of_a_finding_ends_the_line_or_means_anything_to_a_shell() -> None:
    hostile = msgspec.structs.replace(SLOW, text="x\n`id` $(id) |;&'\"\\ \x1b[31m ü" + "y" * 500)
    line = verdict_line(standing(Verdict.SLOW, hostile))
    assert line.count("\n") == 1
    assert len(line) < 200
    assert not set(line) & set("`$|;&'\"\\\x1b()")


def test_what_is_left_is_what_the_gate_reads(tmp_path: Path) -> None:
    cluster = GateCluster(tmp_path)
    given = GatePolicy(folder=cluster.folder, age_s=1e8, share=0.5, per_hour=9)
    nodes = [standing(node="n01"), standing(Verdict.SLOW, SLOW, node="n02"), standing(node="uplink:leaf1")]
    leave_verdicts(given, [*nodes, standing(node="../n03")])
    assert sorted(place.name for place in (cluster.folder / "nodes").iterdir()) == ["n01", "n02"]
    assert cluster.ask("n01", "report") == "good n01: run r1"
    assert ask_gate(given, "n02", Step.REPORT).text == "link at 60 % of its limit, run r0"
    assert ask_gate(given, "n03", Step.REPORT).outcome is Outcome.UNKNOWN
    assert ask_gate(given, "x y", Step.REPORT).outcome is Outcome.ERROR
    gates = gates_tally(given, now_s=cluster.folder.stat().st_mtime + 60)
    assert gates.answers == {"good": 1, "bad": 1, "unknown": 1, "error": 0}
    assert gates.nodes == {"good": 1, "bad": 1, "unknown": 1, "error": 0, "silent": 0}
    later = gates_tally(given, now_s=cluster.folder.stat().st_mtime + 7200)
    assert (later.nodes["silent"], later.nodes["good"]) == (3, 0)


def test_a_verdict_without_any_answer_is_silent(tmp_path: Path) -> None:
    leave_verdicts(policy(tmp_path), [standing()])
    assert gates_tally(policy(tmp_path), now_s=JUDGED_S).nodes["silent"] == 1
    assert gates_tally(policy(tmp_path / "empty"), now_s=JUDGED_S).nodes["silent"] == 0


def test_a_later_verdict_of_another_process_stays(tmp_path: Path) -> None:
    leave_verdicts(policy(tmp_path), [standing(judged="2026-11-02T02:00:00+00:00")])
    leave_verdicts(policy(tmp_path), [standing(Verdict.SLOW, SLOW)])
    assert (tmp_path / "nodes" / "n1").read_text().startswith("good ")


@pytest.mark.parametrize("damage", ["", " ", "bad ", " x", "bad 99999999999 r1 of the future\n", "\xff \n"])
def test_what_is_damaged_or_of_the_future_is_replaced(tmp_path: Path, damage: str) -> None:
    leave_verdicts(policy(tmp_path), [standing()])
    (tmp_path / "nodes" / "n1").write_text(damage)
    leave_verdicts(policy(tmp_path), [standing()])
    assert (tmp_path / "nodes" / "n1").read_text() == f"good {JUDGED_S} r1\n"


def test_a_verdict_that_cannot_be_left_holds_up_no_other(tmp_path: Path) -> None:
    leave_verdicts(policy(tmp_path), [])
    (tmp_path / "nodes" / "n1").mkdir()
    with pytest.raises(SeatrialError, match="No verdict was left"):
        leave_verdicts(policy(tmp_path), [standing(node=name) for name in ("n1", "n2")])
    assert (tmp_path / "nodes" / "n2").is_file()


def test_the_share_is_what_the_site_wrote() -> None:
    for thousandths in range(1, 1000):
        share = float(f"{thousandths / 10:.1f}") / 100
        line = GatePolicy(folder=Path("/gate"), age_s=1, share=share, per_hour=2).line
        assert line == f"1 {thousandths} 2\n"


def test_a_folder_that_is_missing_or_a_link_is_one_sentence(tmp_path: Path) -> None:
    given = policy(tmp_path / "gate")
    given.folder.rename(tmp_path / "real")
    with pytest.raises(SeatrialError, match="No verdict was left"):
        leave_verdicts(given, [standing()])
    given.folder.symlink_to("real")
    with pytest.raises(SeatrialError, match="a link"):
        leave_verdicts(given, [standing()])
    assert not list((tmp_path / "real").iterdir())


@needs_root
def test_nothing_is_written_into_the_folder_of_another_user(tmp_path: Path) -> None:
    given = policy(tmp_path / "gate")
    os.chown(given.folder, OTHER, OTHER)
    leave_verdicts(given, [standing()])
    assert not list(given.folder.iterdir())


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    given = policy(tmp_path)
    (tmp_path / "nodes").write_text("a file")
    with pytest.raises(SeatrialError, match="No verdict was left"):
        leave_verdicts(given, [standing()])


@pytest.mark.parametrize(
    "text",
    ["", "good 1 2 3 4", "better 1 1 0 0 0 none 1 2 x", "good x 1 0 0 0 none 1 2 x", "good -1 1 0 0 0 none 1 2 x"],
)
def test_what_the_gate_did_not_write_is_not_counted(text: str) -> None:
    assert parse_answers(text) is None


def test_the_table_of_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "site.toml"
    monkeypatch.setenv("SEATRIAL_SITE", str(file))
    file.write_text('account = "ops"\n')
    assert site_gate() is None
    file.write_text('[gate]\nfolder = "/shared/gate"\nshare = "5%"\nage = "24h"\nper-hour = 3\n')
    assert site_gate() == GatePolicy(folder=Path("/shared/gate"), age_s=86400, share=0.05, per_hour=3)
    for wrong in ('folder = "gate"', 'folder = "/g"\nshare = "200%"', 'folder = "/g"\nage = "soon"', 'share = "5%"',
                  'folder = "/g"\nper-hour = -1', 'folder = "/g"\nfolders = "/h"'):  # fmt: skip
        file.write_text(f"[gate]\n{wrong}\n")
        with pytest.raises(UsageError, match=r"site\.toml"):
            site_gate()
    file.write_text('[gate]\nfolder = "/shared/gate"\n')
    file.chmod(0o666)
    with pytest.raises(UsageError, match="others can have written it"):
        site_gate()
