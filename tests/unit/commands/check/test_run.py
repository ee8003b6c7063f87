"""The main job from end to end, over recordings and over clusters that misbehave."""

import gc
import random
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.reader import read_entries, read_info, read_run
from seatrial.archive.recovery import partial_folders
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import COLLECTIONS, CheckOutcome, rare_collections, run_check
from seatrial.commands.check.survey_plan import default_pairs_at_once
from seatrial.model.errors import ExitCode, LaunchError, SeatrialError, UsageError
from seatrial.model.fabric import Component
from seatrial.model.measurement import Kernel, Measurement, Phase, Round
from seatrial.model.run import Ending, NodeState
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import Direction, node, pair, uplink
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.node.node import parse_facts
from tests.support.builders import Cluster, leaves, names, record, sail, slow_once, slow_part
from tests.support.clocks import Clock, use_clock
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher


@pytest.fixture
def sea_trial(tmp_path: Path) -> "SeaTrial":
    return SeaTrial(tmp_path)


class SeaTrial:
    """Runs a check over a scripted launcher."""

    def __init__(self, tmp_path: Path) -> None:
        self.archive = tmp_path

    def __call__(self, launcher: ScriptedLauncher, **options: object) -> CheckOutcome:
        use_launcher(launcher)
        settings = CheckSettings(archive=self.archive, run="trial", round_timeout_s=0.5)
        return run_check(msgspec.structs.replace(settings, **options))


def test_a_slow_node_is_found_proved_and_archived(sea_trial: SeaTrial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(5), parts=slow_part("node", "n4", 0.6)))
    outcome = sea_trial(launcher)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.SLOW_LINK, node("n4"))
    assert finding.experiments[0].confirmed
    assert outcome.judgement.exit_code is ExitCode.FINDINGS
    assert outcome.folder == sea_trial.archive / "trial"
    assert outcome.recorded.info.ending is Ending.COMPLETE
    assert outcome.recorded.info.job == "4711"
    assert outcome.recorded.info.mpi_library == "Open MPI v4.1.4"
    assert launcher.closed


def test_the_archive_gives_the_same_judgement_again(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(4), parts=slow_part("node", "n1", 0.6))))
    assert read_run(outcome.folder) == outcome.recorded
    assert judge(read_run(outcome.folder)) == outcome.judgement


def test_a_passing_disturbance_is_measured_away(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(6), mood=slow_once)))
    assert outcome.judgement.findings == ()
    assert outcome.judgement.exit_code is ExitCode.PASS
    assert any("was slow once" in note for note in outcome.judgement.notes)


def test_a_healthy_cluster_is_not_measured_again(sea_trial: SeaTrial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(4)))
    assert sea_trial(launcher).judgement.exit_code is ExitCode.PASS
    assert {one.phase for one in launcher.rounds} == {Phase.PILOT, Phase.SURVEY, Phase.LOADED, Phase.LAST}


def test_a_pair_faster_than_physics_is_measured_again_before_it_is_named(sea_trial: SeaTrial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(4), pairs={("n1", "n2"): 1.06}))
    (finding,) = sea_trial(launcher).judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.FASTER_THAN_PHYSICS, pair("n1", "n2"))
    again = [one for one in launcher.rounds if one.phase is Phase.RETEST and one.pairs == (("n1", "n2"),)]
    assert len(again) == 6
    assert {one.shape.kernel for one in again} == {Kernel.ONEWAY}


def test_a_node_that_dies_in_mid_run_is_a_finding_and_the_rest_is_judged(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(6)), dies_at={"n2": 10}))
    assert [(one.kind, one.subject) for one in outcome.judgement.findings] == [(FindingKind.NODE_DOWN, node("n2"))]
    assert read_info(outcome.folder).lost[0].node == "n2"
    assert outcome.judgement.complete


def test_a_node_silent_from_the_start_is_a_finding(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(4)), dies_at={"n2": 0}))
    assert [one.kind for one in outcome.judgement.findings] == [FindingKind.NODE_DOWN]
    assert "did not answer" in outcome.judgement.findings[0].statement


def test_a_hanging_pair_is_a_finding(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(8)), hangs=[("n3", "n7")]))
    (finding,) = outcome.judgement.findings
    assert finding.kind is FindingKind.PAIR_HANGS
    assert finding.subject in (pair("n3", "n7"), pair("n7", "n3"))
    assert len(read_info(outcome.folder).hanging_pairs) == 1


def test_ctrl_c_closes_the_run_and_keeps_what_was_delivered(sea_trial: SeaTrial) -> None:
    def interrupt(number: int) -> None:
        if number == 10:
            raise KeyboardInterrupt

    launcher = ScriptedLauncher(Cluster(nodes=names(6)), on_round=interrupt)
    outcome = sea_trial(launcher)
    assert outcome.judgement.exit_code is ExitCode.INCOMPLETE
    info = read_info(outcome.folder)
    assert info.ending is Ending.INTERRUPTED
    assert info.reason.startswith("Interrupted")
    assert len(read_run(outcome.folder).measurements) > 5
    assert partial_folders(sea_trial.archive) == []
    assert launcher.closed
    assert launcher.killed == 1


def test_a_probe_that_never_starts_is_raised_and_the_run_is_closed_as_failed(sea_trial: SeaTrial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(4)), starts_fail=99)
    with pytest.raises(LaunchError, match="did not start"):
        sea_trial(launcher)
    info = read_info(sea_trial.archive / "trial")
    assert info.ending is Ending.FAILED
    assert "did not start" in info.reason
    assert launcher.closed


def test_an_allocation_that_is_not_granted_is_raised(sea_trial: SeaTrial, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(4)))

    def refuse(nodes: object, seconds: float) -> None:
        raise LaunchError("Slurm grants no allocation: invalid account.")

    monkeypatch.setattr(launcher, "allocate", refuse)
    with pytest.raises(LaunchError, match="invalid account"):
        sea_trial(launcher)
    assert read_info(sea_trial.archive / "trial").ending is Ending.FAILED
    assert launcher.closed


def test_trouble_in_mid_run_keeps_and_judges_what_there_is(sea_trial: SeaTrial) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(4)))

    def break_down(number: int) -> None:
        if number == 10:
            launcher.hangs.update(frozenset(pair) for pair in launcher.rounds[-1].pairs)
            launcher.starts_fail = 99

    launcher.on_round = break_down
    outcome = sea_trial(launcher)
    assert outcome.recorded.info.ending is Ending.FAILED
    assert outcome.recorded.measurements
    assert not outcome.judgement.complete
    assert outcome.judgement.exit_code is ExitCode.INCOMPLETE


def test_all_nodes_but_one_die(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(3)), dies_at={"n1": 9, "n2": 9}))
    assert {one.subject for one in outcome.judgement.findings} == {node("n1"), node("n2")}
    assert outcome.judgement.exit_code is ExitCode.FINDINGS


def test_a_budget_that_is_spent_is_said(sea_trial: SeaTrial) -> None:
    clock = Clock()
    use_clock(clock)
    launcher = ScriptedLauncher(Cluster(nodes=names(4)), on_round=lambda _: clock.advance(20.0))
    outcome = sea_trial(launcher, budget_s=100.0)
    assert any("The budget of 100 s was spent" in note for note in outcome.judgement.notes)
    assert outcome.judgement.exit_code is ExitCode.INCOMPLETE
    assert Verdict.NOT_RUN in {one.verdict for one in outcome.judgement.pairs}


@pytest.mark.parametrize(("left_out", "match"), [((), "only one node to measure"), (("n1",), "no node to measure")])
def test_fewer_than_two_nodes_are_refused_before_anything_is_written(
    sea_trial: SeaTrial, left_out: tuple[str, ...], match: str
) -> None:
    states = [NodeState(node=name, reason="Slurm says drained", fault=False) for name in left_out]
    with pytest.raises(SeatrialError, match=match):
        sea_trial(ScriptedLauncher(Cluster(nodes=("n1",)), left_out=states))
    assert list(sea_trial.archive.iterdir()) == []


def test_one_named_node_is_a_usage_error(sea_trial: SeaTrial) -> None:
    with pytest.raises(UsageError, match="at least two nodes"):
        sea_trial(ScriptedLauncher(Cluster(nodes=("n1",))), nodes=("n1",))


def test_a_full_archive_is_a_sentence(sea_trial: SeaTrial) -> None:
    (sea_trial.archive / "file").write_text("")
    with pytest.raises(SeatrialError, match="cannot be written"):
        sea_trial(ScriptedLauncher(Cluster(nodes=names(2))), archive=sea_trial.archive / "file")


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(nodes=names(4)),
        Cluster(nodes=names(5), parts=slow_part("node", "n2", 0.6)),
        Cluster(nodes=names(6), leaf_of=leaves(6, 2), parts=slow_part("uplink", "leaf3", 0.5), far_s=40e-6),
        Cluster(nodes=names(5), loss={"n3": 0.1}),
    ],
)
def test_a_recording_gives_the_findings_of_the_run_it_recorded(tmp_path: Path, cluster: Cluster) -> None:
    recorded = sail(cluster)
    folder = record(cluster, tmp_path, recorded=recorded)
    outcome = run_check(CheckSettings(archive=tmp_path, replay=folder, run="again"))
    assert outcome.folder == tmp_path / "again"
    assert outcome.recorded.info.launcher == "replay"
    again, before = outcome.judgement, judge(recorded)
    assert [(one.kind, one.subject) for one in again.findings] == [(one.kind, one.subject) for one in before.findings]
    assert again.exit_code == before.exit_code
    assert {one.pair for one in outcome.recorded.measurements} == {one.pair for one in recorded.measurements}


def test_a_recording_of_a_recording_is_the_same(tmp_path: Path) -> None:
    cluster = Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6))
    folder = record(cluster, tmp_path)
    first = run_check(CheckSettings(archive=tmp_path, replay=folder, run="first"))
    then = run_check(CheckSettings(archive=tmp_path, replay=first.folder, run="then"))
    assert then.judgement == first.judgement
    assert [entry.measurement for entry in read_entries(then.folder) if hasattr(entry, "measurement")] == [
        entry.measurement for entry in read_entries(first.folder) if hasattr(entry, "measurement")
    ]


def test_on_a_shared_kernel_one_pair_at_a_time() -> None:
    apart = {name: parse_facts(Cluster(nodes=names(4)).facts_text(name)) for name in names(4)}
    shared = {name: parse_facts(Cluster(nodes=names(4), boot_id="one").facts_text(name)) for name in names(4)}
    assert default_pairs_at_once(apart, names(4)) == 2
    assert default_pairs_at_once(shared, names(4)) == 1
    assert default_pairs_at_once({}, names(7)) == 3
    assert default_pairs_at_once({}, ("n1",)) == 1


def ordered_pairs(outcome: CheckOutcome) -> set[tuple[str, str]]:
    """All that were measured as pairs, not under load; one of which only latency was measured counts both ways."""
    found = set()
    for one in (one for one in outcome.recorded.measurements if one.phase is not Phase.LOADED):
        found |= {one.pair, one.pair[::-1]} if one.shape.kernel is Kernel.PINGPONG else {one.pair}
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({}, None),
        (slow_part("node", "n3", 0.6), (FindingKind.SLOW_LINK, node("n3"), Direction.BOTH)),
        (slow_part("node", "n6", 0.6, (Direction.OUT,)), (FindingKind.SLOW_LINK, node("n6"), Direction.OUT)),
        (slow_part("node", "n8", 0.85, (Direction.IN,)), (FindingKind.SLOW_LINK, node("n8"), Direction.IN)),
        (slow_part("uplink", "leaf2", 0.5), (FindingKind.SLOW_UPLINK, uplink("leaf2"), Direction.BOTH)),
        (
            slow_part("uplink", "leaf4", 0.8, (Direction.OUT,)),
            (FindingKind.SLOW_UPLINK, uplink("leaf4"), Direction.OUT),
        ),
    ],
)
def test_a_sparse_check_names_the_part_from_a_quarter_of_the_pairs(
    sea_trial: SeaTrial, parts: dict[Component, float], named: object, seed: int
) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(8), leaf_of=leaves(8, 2), parts=parts, seed=seed))
    outcome = sea_trial(launcher, design="sparse", seed=seed)
    assert outcome.judgement.complete
    findings = [(one.kind, one.subject, one.direction) for one in outcome.judgement.findings]
    assert findings == ([named] if named else [])
    assert not any(one.ambiguous_with for one in outcome.judgement.findings)
    assert len(ordered_pairs(outcome)) <= 56 // 4
    assert Phase.NEXT not in {one.phase for one in launcher.rounds} or all(
        len(one.pairs) == 1 for one in launcher.rounds if one.phase is Phase.NEXT
    )


def test_two_slow_nodes_that_met_each_other_are_both_named(sea_trial: SeaTrial) -> None:
    first = sea_trial(ScriptedLauncher(Cluster(nodes=names(8))), design="sparse")
    one, other = first.recorded.planned[0]
    parts = slow_part("node", one, 0.6) | slow_part("node", other, 0.7)
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(8), parts=parts)), design="sparse", run="again")
    assert {finding.subject for finding in outcome.judgement.findings} == {node(one), node(other)}


def test_contention_of_a_sparse_survey_is_no_fault(sea_trial: SeaTrial) -> None:
    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        return 0.5 if phase is Phase.SURVEY and leaf_of[pair[0]] != leaf_of[pair[1]] else 1.0

    leaf_of = leaves(16, 4)
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(16), leaf_of=leaf_of, mood=mood)), design="sparse")
    assert outcome.judgement.findings == ()
    assert outcome.judgement.exit_code is ExitCode.PASS
    assert any("contention, no fault" in note for note in outcome.judgement.notes)


def test_a_late_node_of_a_sparse_survey_is_told_from_its_partner(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(8), late={"n5": 4.0})), design="sparse")
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject, finding.ambiguous_with) == (FindingKind.HIGH_LATENCY, node("n5"), ())


def test_a_lossy_node_of_a_sparse_survey_is_told_from_its_partner(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(8), loss={"n5": 0.1})), design="sparse")
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject, finding.ambiguous_with) == (FindingKind.PACKET_LOSS, node("n5"), ())


def test_a_sparse_run_is_replayed_as_it_was(sea_trial: SeaTrial, tmp_path: Path) -> None:
    parts = slow_part("node", "n4", 0.6)
    first = sea_trial(ScriptedLauncher(Cluster(nodes=names(8), parts=parts)), design="sparse", seed=5)
    then = run_check(CheckSettings(archive=tmp_path, replay=first.folder, run="then"))
    assert then.judgement.findings == first.judgement.findings
    assert then.judgement.design == first.judgement.design
    assert then.judgement.complete


def test_what_was_measured_is_counted(sea_trial: SeaTrial) -> None:
    outcome = sea_trial(ScriptedLauncher(Cluster(nodes=names(4))))
    design = outcome.judgement.design
    assert design is not None
    assert (design.planned_pairs, design.measured_pairs) == (12, 12)
    assert design.measured == len(outcome.recorded.measurements) == 2 + 18 + 4 + 4 + 3 * 2
    assert (design.repetitions, design.rounds) == (1, 18 // 2)
    assert "once" in design.statement


@pytest.mark.parametrize(("design", "match"), [("leaf", "needs at least two leaves"), ("some", "is not a valid")])
def test_a_design_that_cannot_be_had_is_refused_before_anything_is_written(
    sea_trial: SeaTrial, design: str, match: str
) -> None:
    with pytest.raises(UsageError, match=match):
        sea_trial(ScriptedLauncher(Cluster(nodes=names(4))), design=design)
    assert list(sea_trial.archive.iterdir()) == []


def test_the_leaf_design_finds_a_slow_uplink(sea_trial: SeaTrial) -> None:
    cluster = Cluster(nodes=names(12), leaf_of=leaves(12, 4), parts=slow_part("uplink", "leaf2", 0.6))
    outcome = sea_trial(ScriptedLauncher(cluster), design="leaf")
    assert [one.subject for one in outcome.judgement.findings] == [uplink("leaf2")]


class Loaded(Cluster):
    """Nodes whose cores others load: a round of small messages is late by chance, whoever plays it."""

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        factor = draw.choice((1, 1, 1, 4, 12)) if wanted.shape.kernel is Kernel.PINGPONG else 1
        return [
            msgspec.structs.replace(one, times_s=tuple(factor * time for time in one.times_s))
            for one in super().measure(wanted, draw)
        ]


@pytest.mark.parametrize("seed", range(12))
def test_where_everybody_is_late_by_chance_nobody_is_named(sea_trial: SeaTrial, seed: int) -> None:
    outcome = sea_trial(ScriptedLauncher(Loaded(nodes=names(8), seed=seed, boot_id="one")), design="sparse", seed=seed)
    assert outcome.judgement.findings == ()


def test_a_disturbed_retest_names_nobody_and_is_no_pass(sea_trial: SeaTrial) -> None:
    class Disturbed(Cluster):
        def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
            late = wanted.shape.kernel is Kernel.PINGPONG and (
                "n3" in wanted.pairs[0] or (wanted.phase is Phase.RETEST and wanted.repetition % 2)
            )
            return [
                msgspec.structs.replace(one, times_s=tuple(time * (9 if late else 1) for time in one.times_s))
                for one in super().measure(wanted, draw)
            ]

    outcome = sea_trial(ScriptedLauncher(Disturbed(nodes=names(8), boot_id="one")))
    assert outcome.judgement.findings == ()
    assert outcome.judgement.exit_code is ExitCode.INCOMPLETE


def test_the_search_for_cycles_is_rare_in_a_check_and_as_before_after_it() -> None:
    before = gc.get_threshold()
    with pytest.raises(LaunchError), rare_collections():
        assert gc.get_threshold() == COLLECTIONS != before
        raise LaunchError("no start")
    assert gc.get_threshold() == before
