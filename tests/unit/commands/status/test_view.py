"""How the cluster is: the first line names what is open; nothing known is no PASS."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import listing
from seatrial.archive.listing import read_standings
from seatrial.archive.reader import read_info
from seatrial.archive.writer import RunWriter, ended
from seatrial.cli.operation import cluster
from seatrial.commands.status.view import status_report
from seatrial.frame.command_line import run
from seatrial.model.errors import ExitCode
from seatrial.model.monitoring import Fault, NodeStanding, OpenFault
from seatrial.model.run import Ending
from seatrial.model.verdict import Verdict
from seatrial.render.nagios import State, as_nagios
from seatrial.render.node_map import ago
from seatrial.render.text import as_text
from tests.support.builders import Cluster, abandoned, info_of, leaves, names, record, slow_part

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
FAULT = Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 % of its limit")


def standing(
    node: str, verdict: Verdict = Verdict.PASS, *faults: OpenFault, judged: str = "2026-11-27T11:00:00Z"
) -> NodeStanding:
    return NodeStanding(node=node, verdict=verdict, run="r", judged=judged, faults=faults)


def told(*nodes: NodeStanding, unread: int = 0) -> tuple[str, ExitCode]:
    report = status_report({one.node: one for one in nodes}, 1, unread, NOW)
    return as_text(report, width=80), report.exit_code


def test_an_open_finding_is_the_first_line_with_its_age_and_what_to_do() -> None:
    slow = standing("n3", Verdict.SLOW, OpenFault(fault=FAULT, run="night", since="2026-11-24T03:00:00Z"))
    text, code = told(standing("n1"), slow, standing("n2"))
    assert text.startswith("SLOW  1 of 3 nodes with open findings: n3: link at 60 % of its limit\n")
    assert code is ExitCode.FINDINGS
    assert "3 days" in text
    assert "`seatrial report night`" in text and "`seatrial check n3`" in text


def test_a_plugin_counts_what_is_open_and_a_dead_node_is_critical() -> None:
    slow = standing("n3", Verdict.SLOW, OpenFault(fault=FAULT, run="night", since="2026-11-24T03:00:00Z"))
    dead = msgspec.structs.replace(FAULT, kind="node-down", verdict=Verdict.DOWN, text="does not answer")
    down = standing("n4", Verdict.DOWN, OpenFault(fault=dead, run="night", since="2026-11-24T03:00:00Z"))
    states = {}
    for faulty in (slow, down):
        report = status_report({"n1": standing("n1"), faulty.node: faulty}, 1, 0, NOW)
        states[faulty.node], line = as_nagios(report)
        assert line.endswith("| nodes=2 findings=1")
    assert states == {"n3": State.WARNING, "n4": State.CRITICAL}


def test_a_cluster_without_findings_says_how_old_that_is() -> None:
    text, code = told(standing("n1"), standing("n2", judged="2026-11-20T11:00:00Z"))
    assert text.startswith("PASS  2 nodes good, nothing open; the oldest verdict is of 7 days ago\n")
    assert code is ExitCode.PASS


@pytest.mark.parametrize(
    ("nodes", "words", "code"),
    [
        ((), "NOT_RUN  no run has judged a node yet", ExitCode.INCOMPLETE),
        ((standing("n1", Verdict.MEASURED),), "MEASURED  1 of 1 node compared with nothing: n1", ExitCode.PASS),
        (
            (standing("n1"), standing("n2", Verdict.INCONCLUSIVE), standing("n3", Verdict.NOT_RUN)),
            "INCONCLUSIVE  2 of 3 nodes undecided: n[2-3]",
            ExitCode.INCOMPLETE,
        ),
    ],
)
def test_what_is_not_known_is_no_pass(nodes: tuple[NodeStanding, ...], words: str, code: ExitCode) -> None:
    text, found = told(*nodes)
    assert (text.splitlines()[0], found) == (words, code)


def test_a_slow_uplink_is_open_though_all_nodes_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = Cluster(nodes=names(24), leaf_of=leaves(24, 6), parts=slow_part("uplink", "leaf2", 0.5))
    record(slow, tmp_path, "a")
    assert run(["status", "--archive", str(tmp_path)]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("SLOW  1 part with open findings: uplink:leaf2: ")
    assert run(["status", "--archive", str(tmp_path), "--json"]) == 1


def test_a_run_that_cannot_be_read_may_have_found_something() -> None:
    text, code = told(standing("n1"), unread=1)
    assert (text.splitlines()[0], code) == (
        "INCONCLUSIVE  1 run cut off or unreadable, so that not all findings are known",
        ExitCode.INCOMPLETE,
    )


def test_ages_have_their_largest_unit() -> None:
    times = ("2026-11-27T11:59:50Z", "2026-11-27T11:57:00Z", "2026-11-27T10:30:00Z", "2026-11-28T00:00:00Z")
    assert [ago(time, NOW) for time in times] == ["less than a minute", "3 minutes", "1 hour", "less than a minute"]


def test_runs_of_the_archive_say_how_nodes_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = tmp_path / "archive"
    record(Cluster(nodes=names(4), parts=slow_part("node", "n3", 0.6)), archive, "a")
    assert run(["status", "--archive", str(archive)]) == 1
    assert capsys.readouterr().out.startswith("SLOW  1 of 4 nodes with open findings: n3: link at ")
    kept = read_standings(archive / "a")
    assert kept is not None and [one.verdict for one in kept if one.node == "n3"] == [Verdict.SLOW]
    record(Cluster(nodes=names(4)), archive, "b")
    assert {one.verdict for one in cluster(archive).nodes.values()} == {Verdict.PASS}


@pytest.mark.parametrize(
    ("job", "launcher", "ending", "counts"),
    [
        ("", "slurm", Ending.FAILED, False),
        ("7", "slurm", Ending.FAILED, True),
        ("", "ssh", Ending.FAILED, True),
        ("", "slurm", Ending.COMPLETE, True),
    ],
)
def test_a_run_that_slurm_granted_no_nodes_says_nothing_on_them(
    tmp_path: Path, job: str, launcher: str, ending: Ending, counts: bool
) -> None:
    """A timer that meets a full queue made all good nodes undecided."""
    record(Cluster(nodes=names(4)), tmp_path, "a")
    info = read_info(tmp_path / "a")
    info = msgspec.structs.replace(info, run="b", job=job, launcher=launcher)
    RunWriter(tmp_path, info).close(ended(info, ending, info.ended, "no nodes"))
    made = cluster(tmp_path)
    assert (made.runs, made.unread) == (2 if counts else 1, 0)
    assert ({one.verdict for one in made.nodes.values()} == {Verdict.PASS}) is not counts


@pytest.mark.parametrize("dead", [False, True])
def test_a_run_that_was_cut_off_may_have_found_something(tmp_path: Path, dead: bool) -> None:
    """Until it is recovered it is none of the runs that were read; one that is being written is not missed yet."""
    record(Cluster(nodes=names(4)), tmp_path, "a")
    writer = RunWriter(tmp_path, info_of(Cluster(nodes=names(4)), run="b", ending=Ending.RUNNING, ended=""))
    if dead:
        abandoned(writer)
    made = cluster(tmp_path)
    assert (made.runs, made.unread) == (1, int(dead))
    assert writer.folder.exists()


@pytest.mark.parametrize("others", [False, True])
def test_how_nodes_are_is_said_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: bool
) -> None:
    """A full disk, an archive that may only be read, a home of somebody else: all runs were `cannot be read`."""
    for name, share in (("a", 0.6), ("b", 0.6), ("c", 1.0)):
        record(Cluster(nodes=names(4), parts=slow_part("node", "n3", share)), tmp_path, name)
    (tmp_path / "c" / "journal.jsonl").write_text("")
    monkeypatch.setattr(listing, "_keep", lambda *_: None)
    if others:
        monkeypatch.setattr(listing, "kept_file", lambda *_: None)
    made = cluster(tmp_path)
    assert (made.runs, made.unread, made.nodes["n3"].verdict) == (2, 1, Verdict.SLOW)
    assert not [*tmp_path.glob("*/standings.json")]


def test_what_root_kept_is_read_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(Cluster(nodes=names(4)), tmp_path, "a")
    cluster(tmp_path)
    monkeypatch.setattr(listing, "kept_file", lambda *_: None)
    kept = read_standings(tmp_path / "a")
    assert kept is not None and len(kept) == 4


def test_no_command_shows_the_status_where_there_are_runs_and_the_help_where_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    assert run([]) == 64
    assert "Usage: seatrial" in capsys.readouterr().err
    record(Cluster(nodes=names(4)), tmp_path / "archive", "a")
    assert run([]) == 0
    assert capsys.readouterr().out.startswith("PASS  4 nodes good, nothing open")


def test_garbage_in_place_of_standings_is_judged_again(tmp_path: Path) -> None:
    record(Cluster(nodes=names(4)), tmp_path, "a")
    assert len(cluster(tmp_path).nodes) == 4
    (tmp_path / "a" / listing.NODES_FILE).write_text('{"nodes": 5}')
    assert len(cluster(tmp_path).nodes) == 4
    (tmp_path / "a" / "run.json").write_text("{")
    found = cluster(tmp_path)
    assert (found.nodes, found.unread) == ({}, 1)


@pytest.mark.parametrize("ended", ["", "yesterday", "2026-11-01T02:00:00", "2999-11-01T02:00:00Z"])
def test_a_run_whose_end_is_no_time_or_ahead_cannot_be_read(
    tmp_path: Path, ended: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record(Cluster(nodes=names(4)), tmp_path, "a")
    description = tmp_path / "a" / "run.json"
    fields = msgspec.json.decode(description.read_bytes())
    description.write_bytes(msgspec.json.encode({**fields, "started": ended, "ended": ended}))
    found = cluster(tmp_path)
    assert (found.nodes, found.unread) == ({}, 1)
    assert run(["status", "--archive", str(tmp_path)]) == 2
    assert "seatrial itself failed" not in capsys.readouterr().err
