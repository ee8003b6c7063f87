"""A run is reported as what it is, also where it failed before it measured or planned anything."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.archive.reader import read_info
from seatrial.archive.writer import RunWriter, ended
from seatrial.commands.check.run import run_check
from seatrial.judgement.outcome import pair_of
from seatrial.model.errors import LaunchError
from seatrial.model.run import Ending, RecordedRun, RunKind
from seatrial.model.settings import CheckSettings, PlacementSettings, RunSettings, SiteSettings
from tests.support.builders import Cluster, info_of, names
from tests.support.command_line import Seatrial, link
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher
from tests.support.transport_launcher import Launcher, carry_out

GONE = "No allocation could be had within 10 s."
TWO = Cluster(nodes=names(2))


class NoNodes(ScriptedLauncher):
    """Slurm that gives no allocation."""

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        raise LaunchError(GONE)


def failed(archive: Path, kind: RunKind, **changes: Any) -> Path:
    """A run that failed before it had its nodes, as the driver leaves it."""
    info = info_of(TWO, kind=kind, launcher="srun" if kind is RunKind.PLACEMENT else "slurm", **changes)
    if kind is RunKind.PLACEMENT:
        site = SiteSettings(archive=archive)
        asked = PlacementSettings(site=site, words=("srun", "-n", "2", "./app"))
        info = msgspec.structs.replace(info, settings=asked)
    if kind is RunKind.RUN:
        info = msgspec.structs.replace(info, settings=RunSettings(site=SiteSettings(archive=archive), benchmark="hpl"))
    return RunWriter(archive, info).close(ended(info, Ending.FAILED, info.ended, GONE))


@pytest.mark.parametrize("kind", list(RunKind))
def test_a_run_that_failed_early_is_reported_as_the_command_that_it_was(
    kind: RunKind, tmp_path: Path, seatrial: Seatrial
) -> None:
    page = tmp_path / "page.html"
    folder = failed(tmp_path, kind)
    text = " ".join(seatrial("report", str(folder), "--html", str(page), code=2).out.split())
    assert GONE in text
    assert text.startswith("NOT_RUN ")
    assert text.count(GONE) == 1 or kind is RunKind.CHECK
    if kind is not RunKind.CHECK:
        assert f"{kind.command} failed before it measured anything: {GONE}" in text
        assert "PASS" not in text
    else:
        assert "nothing was measured on 2 nodes" in text
    assert GONE in page.read_text()
    found = seatrial("report", str(folder), "--json", code=2).data
    assert (found["kind"], found["verdict"]) == (kind.value, "NOT_RUN")
    assert GONE in json.dumps(found)
    assert ("pairs" in found) is (kind is RunKind.CHECK), "a report of another kind has no table of pairs"


@pytest.mark.parametrize("kind", list(RunKind))
def test_lists_of_runs_name_the_kind(kind: RunKind, tmp_path: Path, seatrial: Seatrial) -> None:
    failed(tmp_path, kind)
    assert seatrial("runs", "list", "--archive", tmp_path, "--json").data["runs"][0]["kind"] == kind.value
    assert f"kind      {kind.value}\n" in seatrial("runs", "show", "--archive", tmp_path).out


def test_every_command_that_measures_writes_its_kind_at_the_start(tmp_path: Path) -> None:
    launcher = NoNodes(TWO)
    use_launcher(launcher)
    for name, measure in (
        ("check", lambda: run_check(CheckSettings(archive=tmp_path, run="check"))),
        ("curve", lambda: link(archive=tmp_path, run="curve")),
        ("rails", lambda: link(archive=tmp_path, run="rails", rails="auto")),
        ("saturate", lambda: link(archive=tmp_path, run="saturate", ranks_per_node="auto")),
    ):
        with pytest.raises(LaunchError):
            measure()
        info = read_info(tmp_path / name)
        assert (info.kind, info.ending, info.reason) == (RunKind(name), Ending.FAILED, GONE)
        assert info.design is None
    assert carry_out(Launcher(), tmp_path).recorded.info.kind is RunKind.TRANSPORTS


@pytest.mark.parametrize(
    ("nodes", "pair"),
    [(("n1", "n2"), ("n1", "n2")), (("n1",), ("n1:0", "n1:1")), ((), ("?", "?")), (names(3), ("n1", "n2"))],
)
def test_the_pair_of_a_run_that_planned_none(nodes: tuple[str, ...], pair: tuple[str, str]) -> None:
    assert (
        pair_of(RecordedRun(info=info_of(TWO, nodes=nodes), planned=(), facts={}, facts_after={}, measurements=()))
        == pair
    )


def test_another_run_is_no_placement(tmp_path: Path, seatrial: Seatrial) -> None:
    info = msgspec.structs.replace(info_of(TWO, kind=RunKind.PLACEMENT), command=("placement",))
    folder = RunWriter(tmp_path, info).close(ended(info, Ending.FAILED, info.ended, GONE))
    assert "not a run of seatrial placement" in seatrial("report", str(folder), code=64).err
