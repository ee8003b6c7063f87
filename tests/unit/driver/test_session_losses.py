"""Ranks that die while a check runs: written down, judged, and not restarted for ever."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.journal import SessionLost, of_type
from seatrial.archive.reader import read_entries, read_run
from seatrial.archive.writer import RunWriter
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Silent
from seatrial.driver.session_losses import MOST_PER_NODE, MOST_UNEXPLAINED, TooManyLost
from seatrial.launch.contract import PLAIN, StartManner
from seatrial.model.errors import ExitCode, LaunchError
from seatrial.model.loss import Loss, LossCause, Moment, RankDeath
from seatrial.model.measurement import Phase, Round
from seatrial.model.run import Ending, RecordedRun
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import CLUSTER, node
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.pairs.survey import BANDWIDTH
from tests.support.builders import Cluster, info_of, names
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher, ScriptedSession

NOWHERE = Loss(cause=LossCause.UNKNOWN)


def killed(*nodes: str, number: int = 9) -> Loss:
    deaths = tuple(RankDeath(node=name, signal=number) for name in nodes)
    return Loss(cause=LossCause.SIGNAL, suspects=nodes, deaths=deaths)


def exited(name: str) -> Loss:
    return Loss(cause=LossCause.EXIT, suspects=(name,), deaths=(RankDeath(node=name, exit_code=1),))


class Deaths:
    """Kills sessions: those of these numbers, or all; on a node only while it takes part."""

    def __init__(self, loss: Loss, sessions: Sequence[int] | None = None) -> None:
        self.loss = loss
        self.sessions = sessions

    def __call__(self, session: int, wanted: Round, nodes: Sequence[str]) -> Loss | None:
        wanted_here = self.sessions is None or session in self.sessions
        there = not self.loss.suspects or set(self.loss.suspects) & set(nodes)
        return self.loss if wanted_here and there and wanted.phase is Phase.SURVEY else None


@pytest.fixture
def trial(tmp_path: Path) -> "Trial":
    return Trial(tmp_path)


class Trial:
    """A check over a scripted launcher."""

    def __init__(self, archive: Path) -> None:
        self.archive = archive

    def __call__(self, launcher: ScriptedLauncher) -> CheckOutcome:
        use_launcher(launcher)
        return run_check(CheckSettings(archive=self.archive, run="trial", round_timeout_s=0.5))


def test_a_single_death_is_a_note_and_everything_is_measured(trial: Trial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(4)), kills=Deaths(killed("n3"), [1]))
    outcome = trial(launcher)
    judged = outcome.judgement
    assert (judged.verdict, judged.exit_code, judged.findings, judged.complete) == (Verdict.PASS, 0, (), True)
    (note,) = [note for note in judged.notes if "rank" in note]
    assert "on n3" in note
    assert "signal 9 (SIGKILL)" in note
    assert launcher.sessions == 2
    (entry,) = of_type(read_entries(outcome.folder), SessionLost)
    assert (entry.loss.session, entry.loss.moment, entry.loss.phase) == (1, Moment.ROUND, Phase.SURVEY)
    assert entry.loss.round > 0
    assert entry.loss.loss == killed("n3")
    assert judge(read_run(outcome.folder)) == judged
    assert read_run(outcome.folder) == outcome.recorded


def test_deaths_in_every_session_name_the_node_and_the_others_are_measured(trial: Trial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(5)), kills=Deaths(killed("n3")))
    judged = trial(launcher).judgement
    assert [(one.kind, one.subject, one.verdict) for one in judged.findings] == [
        (FindingKind.RANK_DIED, node("n3"), Verdict.UNSTABLE)
    ]
    assert judged.exit_code is ExitCode.FINDINGS
    assert not judged.complete
    assert launcher.sessions == MOST_PER_NODE + 1
    by_pair = {(pair.source, pair.target): pair.verdict for pair in judged.pairs}
    assert all(verdict is Verdict.PASS for pair, verdict in by_pair.items() if "n3" not in pair)
    assert all(verdict is Verdict.NOT_RUN for pair, verdict in by_pair.items() if "n3" in pair)
    assert sum("n3" in pair for pair in by_pair) == 8
    assert next(one for one in judged.nodes if one.node == "n3").verdict is Verdict.UNSTABLE


def test_two_deaths_on_one_node_are_a_finding(trial: Trial) -> None:
    judged = trial(ScriptedLauncher(Cluster(nodes=names(4)), kills=Deaths(killed("n2", number=11), [1, 2]))).judgement
    (finding,) = judged.findings
    assert (finding.kind, finding.subject) == (FindingKind.RANK_DIED, node("n2"))
    assert "died in 2 of 3 sessions" in finding.statement
    assert "signal 11 (SIGSEGV) 2 times" in finding.statement
    assert "memory errors" in finding.remedy
    assert judged.complete


def test_deaths_that_nobody_can_place_end_the_run_in_bounded_time(trial: Trial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(8)), kills=Deaths(NOWHERE))
    outcome = trial(launcher)
    judged = outcome.judgement
    assert launcher.sessions == MOST_UNEXPLAINED
    assert outcome.recorded.info.ending is Ending.FAILED
    assert f"{MOST_UNEXPLAINED} sessions of the probe died" in outcome.recorded.info.reason
    assert [(one.kind, one.subject) for one in judged.findings] == [(FindingKind.RANK_DIED, CLUSTER)]
    assert judged.exit_code is ExitCode.FINDINGS
    assert not judged.complete
    assert {pair.verdict for pair in judged.pairs} == {Verdict.NOT_RUN}


def test_a_cluster_whose_ranks_die_everywhere_is_given_up(trial: Trial) -> None:
    def anywhere(session: int, _wanted: Round, nodes: Sequence[str]) -> Loss:
        return killed(nodes[session % len(nodes)])

    launcher = ScriptedLauncher(Cluster(nodes=names(4)), kills=anywhere)
    outcome = trial(launcher)
    assert launcher.sessions <= MOST_PER_NODE * 4
    assert outcome.judgement.exit_code is ExitCode.FINDINGS
    assert not outcome.judgement.complete


def test_a_hundred_pairs_at_once_that_die_do_not_mean_hundreds_of_sessions(tmp_path: Path) -> None:
    cluster = Cluster(nodes=names(200))
    launcher = ScriptedLauncher(cluster, kills=Deaths(NOWHERE))
    measurer = Measurer(launcher, RunWriter(tmp_path, info_of(cluster)), cluster.nodes, Silent(), 0.5)
    pairs = tuple((f"n{place}", f"n{place + 100}") for place in range(1, 101))
    with pytest.raises(TooManyLost, match="no further one was started"):
        measurer.measure(Round(phase=Phase.SURVEY, repetition=0, shape=BANDWIDTH, pairs=pairs))
    assert launcher.sessions == MOST_UNEXPLAINED


def test_a_rank_that_exits_is_suspected_with_its_partner_until_deaths_tell_them_apart(trial: Trial) -> None:
    def partner_exits(_session: int, wanted: Round, _nodes: Sequence[str]) -> Loss | None:
        partners = [end for pair in wanted.pairs if "n3" in pair for end in pair if end != "n3"]
        return exited(partners[0]) if partners and wanted.phase is Phase.SURVEY else None

    judged = trial(ScriptedLauncher(Cluster(nodes=names(4)), kills=partner_exits)).judgement
    named = [one for one in judged.findings if one.kind is FindingKind.RANK_DIED]
    assert [one.subject for one in named] == [node("n3")]


def test_deaths_on_different_nodes_are_put_down_to_the_cluster(trial: Trial) -> None:
    def elsewhere(session: int, wanted: Round, _nodes: Sequence[str]) -> Loss | None:
        return killed(f"n{session}") if session < 3 and wanted.phase is Phase.SURVEY else None

    judged = trial(ScriptedLauncher(Cluster(nodes=names(4)), kills=elsewhere)).judgement
    assert [(one.kind, one.subject) for one in judged.findings] == [(FindingKind.RANK_DIED, CLUSTER)]
    assert "n1, n2" in judged.findings[0].statement


def test_a_death_after_the_last_round_is_noted(trial: Trial) -> None:
    judged = trial(ScriptedLauncher(Cluster(nodes=names(3)), end_loss=killed("n2"))).judgement
    assert judged.exit_code is ExitCode.PASS
    assert any("A rank died on n2" in note and "All measurements were complete" in note for note in judged.notes)


def test_a_crash_at_the_start_is_a_note(trial: Trial) -> None:
    judged = trial(ScriptedLauncher(Cluster(nodes=names(3)), start_losses=[killed("n1", number=11)] * 2)).judgement
    assert (judged.exit_code, judged.findings) == (ExitCode.PASS, ())
    assert sum("while session" in note and "on n1" in note for note in judged.notes) == 2


def test_a_node_whose_rank_crashes_at_every_start_is_left_out(trial: Trial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(4)), start_losses=[killed("n2", number=11)] * 5)
    judged = trial(launcher).judgement
    assert [(one.kind, one.subject) for one in judged.findings] == [(FindingKind.RANK_DIED, node("n2"))]
    assert launcher.starts[-1] == ("n1", "n3", "n4")
    assert judged.exit_code is ExitCode.FINDINGS


def test_deaths_under_settings_that_were_tried_are_noted_and_nobodys_fault(tmp_path: Path) -> None:
    cluster = Cluster(nodes=names(3))
    launcher = ScriptedLauncher(cluster, kills=Deaths(killed("n2")))
    writer = RunWriter(tmp_path, info_of(cluster))
    measurer = Measurer(launcher, writer, cluster.nodes, Silent(), 0.5)
    measurer.begin(StartManner(environment={"OMPI_MCA_btl": "self"}))
    wanted = Round(phase=Phase.SURVEY, repetition=0, shape=BANDWIDTH, pairs=(("n1", "n2"),), variant="without-tcp")
    measurer.measure(wanted)
    assert measurer.hung == [("n1", "n2")]
    recorded = trial_of(measurer, cluster)
    judged = judge(recorded)
    assert not [one for one in judged.findings if one.kind is FindingKind.RANK_DIED]
    assert any("without-tcp" in note and "2 times" in note for note in judged.notes)
    entries = of_type(read_entries(writer.folder), SessionLost)
    assert [(one.loss.variant, one.loss.altered) for one in entries] == [("without-tcp", True)] * 2


def trial_of(measurer: Measurer, cluster: Cluster) -> RecordedRun:
    return RecordedRun(
        info=info_of(cluster),
        planned=(),
        facts={},
        facts_after={},
        measurements=tuple(measurer.measurements),
        losses=tuple(measurer.losses),
        sessions=measurer.sessions,
    )


def test_a_step_that_slurm_ended_is_no_death(trial: Trial) -> None:
    cancelled = Loss(cause=LossCause.CANCELLED, deaths=(RankDeath(node="n1", signal=15),))
    judged = trial(ScriptedLauncher(Cluster(nodes=names(3)), kills=Deaths(cancelled, [1, 2]))).judgement
    assert judged.findings == ()
    assert sum("Slurm ended the step" in note and "cancelled" in note for note in judged.notes) == 2


@pytest.fixture
def oom_on_n2(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel of n2 has killed one process more at each reading of its facts."""
    texts = {"count": 0}
    plain = Cluster.facts_text

    def counting(cluster: Cluster, name: str) -> str:
        texts["count"] += name == "n2"
        lines = f"@file /proc/vmstat\n|oom_kill {texts['count'] if name == 'n2' else 7}\n@end\n#end"
        return plain(cluster, name).replace("#end", lines, 1)

    monkeypatch.setattr(Cluster, "facts_text", counting)


@pytest.mark.usefixtures("oom_on_n2")
def test_out_of_memory_is_told_by_the_kernels_own_count(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(4)), kills=Deaths(killed("n2"), [1, 2]))
    (finding,) = trial(launcher).judgement.findings
    assert "out of memory" in finding.statement
    assert "memory limit" in finding.remedy
    launcher = ScriptedLauncher(Cluster(nodes=names(4)), kills=Deaths(killed("n3"), [1, 2]))
    monkeypatch.setattr(trial, "archive", trial.archive / "other")
    (finding,) = trial(launcher).judgement.findings
    assert "out of memory" not in finding.statement


class NeverStarts(ScriptedLauncher):
    """A rank on n2 is killed in each start, the last time with a text that names another cause."""

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> ScriptedSession:
        self.starts.append(tuple(nodes))
        last = len(self.starts) == 3
        raise LaunchError("PMIx does not connect." if last else "It crashed.", transient=not last, loss=killed("n2"))


@pytest.mark.usefixtures("oom_on_n2")
def test_out_of_memory_is_told_where_the_probe_never_started(trial: Trial) -> None:
    outcome = trial(NeverStarts(Cluster(nodes=names(4))))
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.RANK_DIED, node("n2"))
    assert "out of memory (signal 9 (SIGKILL)) 3 times" in finding.statement
    assert outcome.recorded.facts_after.keys() == set(names(4))


def test_a_run_that_is_recovered_still_tells_of_its_deaths(trial: Trial) -> None:
    outcome = trial(ScriptedLauncher(Cluster(nodes=names(4)), kills=Deaths(killed("n3"))))
    recorded = read_run(outcome.folder)
    recovered = msgspec.structs.replace(recorded, info=msgspec.structs.replace(recorded.info, ending=Ending.RECOVERED))
    assert [one.subject for one in judge(recovered).findings] == [node("n3")]
