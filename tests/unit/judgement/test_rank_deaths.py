"""Lost sessions judged: what is a note, what is a finding, and on whom."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.judgement.rank_deaths import Deaths, judge_deaths
from seatrial.model.errors import ExitCode
from seatrial.model.loss import Loss, LossCause, Moment, RankDeath, SessionLoss
from seatrial.model.measurement import Phase
from seatrial.model.run import NodeState, RecordedRun
from seatrial.model.settings import CheckSettings, SiteProgram
from seatrial.model.subject import CLUSTER, node
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, info_of, names, sail


def lost(
    *suspects: str,
    cause: LossCause = LossCause.SIGNAL,
    number: int | None = 9,
    moment: Moment = Moment.ROUND,
    altered: bool = False,
) -> SessionLoss:
    return SessionLoss(
        session=1,
        moment=moment,
        at_s=12.0,
        phase=Phase.SURVEY if moment is Moment.ROUND else None,
        altered=altered,
        loss=Loss(cause=cause, suspects=suspects, deaths=tuple(RankDeath(node=one, signal=number) for one in suspects)),
    )


def judged(losses: Sequence[SessionLoss], sessions: int, gone: Sequence[str] = ()) -> Deaths:
    states = tuple(NodeState(node=name, reason="silent", fault=True) for name in gone)
    return judge_deaths(
        RecordedRun(
            info=info_of(Cluster(nodes=names(8)), lost=states),
            planned=(),
            facts={},
            facts_after={},
            measurements=(),
            losses=tuple(losses),
            sessions=sessions,
        )
    )


def test_without_losses_there_is_nothing_to_say() -> None:
    assert judged([], 1) == Deaths()


def test_two_deaths_on_one_node_are_a_finding_even_in_a_long_run() -> None:
    (finding,) = judged([lost("n3"), lost("n3")], 100).findings
    assert finding.subject == node("n3")
    assert "died in 2 of 100 sessions" in finding.statement


@pytest.mark.parametrize(("sessions", "findings"), [(10, 1), (30, 0)])
def test_deaths_here_and_there_count_by_their_share_of_all_sessions(sessions: int, findings: int) -> None:
    deaths = judged([lost("n3"), lost("n5")], sessions)
    assert [one.subject for one in deaths.findings] == [CLUSTER] * findings
    assert len(deaths.notes) == (0 if findings else 2)


def test_the_node_in_common_is_named_and_its_partners_are_not() -> None:
    deaths = judged([lost("n3", "n1"), lost("n3", "n2"), lost("n4", "n3")], 5)
    (finding,) = deaths.findings
    assert (finding.subject, finding.ambiguous_with) == (node("n3"), ())


def test_two_nodes_that_explain_the_same_deaths_are_both_named() -> None:
    (finding,) = judged([lost("n1", "n3"), lost("n1", "n3")], 3).findings
    assert {finding.subject, *finding.ambiguous_with} == {node("n1"), node("n3")}


def test_two_bad_nodes_are_two_findings() -> None:
    deaths = judged([lost("n3"), lost("n5"), lost("n3"), lost("n5"), lost("n1")], 6)
    assert {one.subject for one in deaths.findings} == {node("n3"), node("n5")}
    assert len(deaths.notes) == 1


def test_the_deaths_of_a_node_that_is_down_are_its_own_finding() -> None:
    deaths = judged([lost("n2", cause=LossCause.NODE_FAILURE), lost("n2", cause=LossCause.NODE_FAILURE)], 3, ["n2"])
    (finding,) = deaths.findings
    assert (finding.kind, finding.subject, finding.verdict) == (FindingKind.NODE_DOWN, node("n2"), Verdict.DOWN)
    assert deaths.notes == ()
    assert len(judged([lost("n2", cause=LossCause.NODE_FAILURE)] * 2, 3).findings) == 1


@pytest.mark.parametrize(("crashes", "sessions", "findings"), [(3, 1, 0), (4, 1, 1), (4, 30, 0), (12, 30, 1)])
def test_crashes_at_the_start_need_to_be_many(crashes: int, sessions: int, findings: int) -> None:
    deaths = judged([lost("n1", number=11, moment=Moment.START)] * crashes, sessions)
    assert len(deaths.findings) == findings


@pytest.mark.parametrize(("waits", "findings"), [(0.1, 1), (0.84, 0)])
def test_crashes_at_the_start_of_ranks_that_wait_for_a_processor_are_noted(waits: float, findings: int) -> None:
    """As recorded beside eight programs: four of seven starts crashed, two on each of two nodes."""
    crashes = [lost(name, number=11, moment=Moment.START) for name in ("n1", "n5", "n5", "n1")]
    recorded = sail(Cluster(nodes=names(6), waits=dict.fromkeys(names(6), waits)))
    deaths = judge_deaths(msgspec.structs.replace(recorded, losses=tuple(crashes), sessions=3))
    assert len(deaths.findings) == findings
    assert len(deaths.notes) == (0 if findings else 4)
    assert deaths.undecided == (() if findings else ("n1", "n5"))
    judgement = judge(msgspec.structs.replace(recorded, losses=tuple(crashes), sessions=3))
    assert judgement.verdict is not Verdict.PASS
    assert judgement.exit_code is (ExitCode.FINDINGS if findings else ExitCode.INCOMPLETE)


def test_a_crash_at_the_start_does_not_make_a_finding_of_a_single_death() -> None:
    deaths = judged([lost("n1", number=11, moment=Moment.START), lost("n1")], 2)
    assert deaths.findings == ()
    assert len(deaths.notes) == 2


def test_a_kill_at_the_start_is_a_death_like_others() -> None:
    assert len(judged([lost("n1", moment=Moment.START), lost("n1")], 2).findings) == 1


def test_altered_cancelled_and_silent_sessions_are_never_held_against_a_node() -> None:
    deaths = judged(
        [
            *[lost("n1", altered=True)] * 5,
            *[lost(cause=LossCause.CANCELLED)] * 3,
            *[lost(cause=LossCause.TIME_LIMIT)] * 3,
            *[lost(cause=LossCause.SILENT)] * 3,
        ],
        14,
    )
    assert deaths.findings == ()
    assert any("lost 5 times" in note for note in deaths.notes)
    assert any("time limit" in note for note in deaths.notes)
    assert any("stopped responding 3 times" in note for note in deaths.notes)


@pytest.mark.parametrize(
    ("loss", "word"),
    [
        (lost("n1", cause=LossCause.OUT_OF_MEMORY), "memory limit"),
        (lost("n1", number=7), "/dev/shm"),
        (lost("n1", number=9), "OOM killer"),
        (lost("n1", cause=LossCause.NODE_FAILURE), "slurmctld"),
        (lost("n1", cause=LossCause.EXIT, number=None), "logs folder"),
        (lost("n1", cause=LossCause.UNKNOWN, number=None), "logs folder"),
    ],
)
def test_what_to_do_depends_on_the_cause(loss: SessionLoss, word: str) -> None:
    (finding,) = judged([loss, loss], 3).findings
    assert word in finding.remedy


def of_starts(*losses: tuple[tuple[str, str], LossCause, tuple[str, ...]]) -> Deaths:
    """A check's program on all pairs of eight nodes, besides starts that failed: pair, cause and suspects of each."""
    failed = [
        msgspec.structs.replace(
            one := lost(*suspects, cause=cause, number=11 if cause is LossCause.SIGNAL else None),
            loss=msgspec.structs.replace(one.loss, pair=pair),
        )
        for pair, cause, suspects in losses
    ]
    recorded = sail(Cluster(nodes=names(8)))
    gone = {name for pair, cause, _ in losses if cause is LossCause.EXIT for name in pair[:1]}
    started = tuple(one for one in recorded.measurements if gone.isdisjoint(one.pair))
    settings = CheckSettings(archive=Path("x"), pair_program=SiteProgram(words=("osu_bw",)))
    info = msgspec.structs.replace(recorded.info, settings=settings)
    return judge_deaths(
        msgspec.structs.replace(recorded, info=info, measurements=started, losses=tuple(failed), sessions=1)
    )


def test_a_program_that_crashes_now_and_then_is_a_note() -> None:
    """Open MPI 4.1 on a lab: two starts of one pair crashed one after the other, and the third did not."""
    deaths = of_starts(*[(("n8", "n1"), LossCause.SIGNAL, ("n1",))] * 2)
    assert deaths.findings == ()
    assert len(deaths.notes) == 2


def test_a_node_on_which_a_program_crashes_in_many_of_its_own_starts_is_named() -> None:
    """Four are few of all starts, and all of its own but one, which failed in another way."""
    crashes = [(("n2", f"n{other}"), LossCause.SIGNAL, ("n2",)) for other in (3, 4, 5, 6)]
    (finding,) = of_starts((("n2", "n7"), LossCause.EXIT, ("n2", "n7")), *crashes).findings
    assert finding.subject == node("n2")
    assert "in 4 of 5 starts" in finding.statement


def test_a_node_on_which_a_program_ran_with_others_is_not_blamed() -> None:
    """n3 gave figures with all others, n2 with none."""
    (finding,) = of_starts(*[(("n2", "n3"), LossCause.EXIT, ("n2", "n3"))] * 2).findings
    assert (finding.subject, finding.ambiguous_with) == (node("n2"), ())


def test_two_nodes_on_which_a_program_fails_together_alone_are_both_named() -> None:
    pair = ("n2", "n3")
    failed = [(pair, LossCause.UNKNOWN, pair)] * 2
    (finding,) = of_starts(*failed).findings
    assert (finding.subject, finding.ambiguous_with) == (node("n2"), (node("n3"),))
