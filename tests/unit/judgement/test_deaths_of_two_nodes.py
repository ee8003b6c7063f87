"""Ranks that die while one pair is measured: said in every report, and no number passes where they die repeatedly."""

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.journal import SessionLost, of_type
from seatrial.archive.reader import read_entries
from seatrial.commands.link.transports import run as transports_run
from seatrial.frame.command_line import run
from seatrial.model.errors import ProbeLost
from seatrial.model.loss import Loss, LossCause, RankDeath
from seatrial.model.measurement import Phase, Round
from seatrial.model.verdict import FindingKind
from tests.support import transport_launcher
from tests.support.builders import Cluster, names
from tests.support.command_line import link
from tests.support.json_objects import parsed
from tests.support.launchers import use_launcher
from tests.support.rail_cluster import Railed, RailedLauncher
from tests.support.reports import transports_json, transports_text
from tests.support.scripted import ScriptedLauncher

KILLED = Loss(cause=LossCause.SIGNAL, suspects=("n2",), deaths=(RankDeath(node="n2", rank=1, signal=9),))
Kills = Callable[[int, Round, Sequence[str]], Loss | None]


def once(session: int, wanted: Round, _nodes: Sequence[str]) -> Loss | None:
    return KILLED if session == 1 and wanted.phase is not Phase.PILOT else None


def always(_session: int, wanted: Round, _nodes: Sequence[str]) -> Loss | None:
    return KILLED if wanted.phase is not Phase.PILOT else None


def twice(session: int, wanted: Round, _nodes: Sequence[str]) -> Loss | None:
    return KILLED if session <= 2 and wanted.phase is not Phase.PILOT else None


@pytest.fixture
def measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Callable[..., int], Kills], tuple[int, dict[str, Any], str]]:
    def measured(command: Callable[..., int], kills: Kills) -> tuple[int, dict[str, Any], str]:
        launcher = ScriptedLauncher(Cluster(nodes=names(2)), kills=kills)
        use_launcher(launcher)
        monkeypatch.setenv("COLUMNS", "300")
        archive = Path(tempfile.mkdtemp(dir=tmp_path))  # `last` cannot tell runs of one second apart
        code = command(archive=archive, as_json=True, budget="120s")
        found = parsed(capsys.readouterr().out)
        assert run(["report", "last", "--archive", str(archive)]) == code
        return code, found, capsys.readouterr().out

    return measured


Measured = Callable[[Callable[..., int], Kills], tuple[int, dict[str, Any], str]]
COMMANDS = [link, partial(link, ranks_per_node="auto")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_single_death_is_a_note_in_text_and_json(measure: Measured, command: Callable[..., int]) -> None:
    _, untouched, _ = measure(command, lambda *_: None)
    code, found, text = measure(command, once)
    (note,) = [note for note in found["notes"] if "A rank died on n2" in note]
    assert "signal 9 (SIGKILL)" in note
    assert "A rank died on n2" in text
    assert (code, found["verdict"], found["complete"]) == (
        untouched["exit_code"],
        untouched["verdict"],
        untouched["complete"],
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_repeated_deaths_do_not_pass(measure: Measured, command: Callable[..., int]) -> None:
    code, found, text = measure(command, twice)
    assert (code, found["verdict"]) == (1, "UNSTABLE")
    assert "The rank on n2 died in 2 of 3 sessions" in found["reason"]
    assert "The rank on n2 died in 2 of 3 sessions" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_deaths_in_every_session_end_the_run(measure: Measured, command: Callable[..., int]) -> None:
    code, found, text = measure(command, always)
    assert (code, found["complete"]) == (1, False)
    assert any(
        "died in 3 sessions, so no further one was started" in note for note in (*found["notes"], found["reason"])
    )
    assert "died in 3 sessions" in text


def test_a_rail_under_which_ranks_die_is_given_up_and_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def on_eth1(_session: int, wanted: Round, _nodes: Sequence[str]) -> Loss | None:
        return KILLED if wanted.variant == "eth1" else None

    launcher = RailedLauncher(Railed(nodes=names(2)), kills=on_eth1)
    use_launcher(launcher)
    link(archive=tmp_path, as_json=True, rails="auto", budget="120s")
    found = parsed(capsys.readouterr().out)
    assert any("Under the settings of eth1 the probe was lost" in note for note in found["notes"])
    assert not any("rank-died" in finding["kind"] for finding in found["findings"])


def test_ablations_that_crash_are_noted_and_nobodys_fault(tmp_path: Path) -> None:
    died = ProbeLost("The probe ended in mid-work: srun: error: n2: task 1: Killed", "died", KILLED)
    launcher = transport_launcher.Launcher(losses={"forced TCP": [died, died]})
    outcome = transport_launcher.carry_out(launcher, tmp_path)
    found = transport_launcher.plain(outcome)
    assert any("Under the settings of forced TCP the probe was lost 2 times" in note for note in found.notes)
    assert "forced TCP the probe was lost" in transports_text(found, width=300)
    assert "forced TCP the probe was lost" in transports_json(outcome.recorded.info, found)
    assert not any(finding.kind is FindingKind.RANK_DIED for finding in found.findings)
    entries = of_type(read_entries(outcome.folder), SessionLost)
    assert [(one.loss.variant, one.loss.altered) for one in entries] == [("forced TCP", True)] * 2
    assert transports_run.judged_again(outcome.folder).result == outcome.result
