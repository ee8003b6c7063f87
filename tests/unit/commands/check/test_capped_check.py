"""Checks of clusters with gross faults: cheap, everything named, and what was left out is said."""

import dataclasses
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.contents import Tally
from seatrial.archive.journal import PairCapped, of_type
from seatrial.archive.reader import read_entries, read_run
from seatrial.archive.recovery import _closed
from seatrial.archive.writer import RunWriter
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.driver.measurer import LEAST_PATIENCE_S, Measurer
from seatrial.driver.progress import Silent
from seatrial.model.errors import ExitCode
from seatrial.model.measurement import Kernel, Phase, Round
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import node, uplink
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.pairs.survey import BANDWIDTH, LATENCY
from tests.support.builders import Cluster, info_of, leaves, names, slow_part, survey_rounds
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher

LOSSY = Cluster(
    nodes=names(10), leaf_of=leaves(10, 5), loss={"n3": 0.1}, parts=slow_part("node", "n3", 0.02), boot_id="one"
)
"""5 % packet loss each way: every tenth round trip stalls, and a window takes 50 times the usual."""


def checked(cluster: Cluster, archive: Path, **given: object) -> CheckOutcome:
    launcher = ScriptedLauncher(cluster, **given)  # type: ignore[arg-type]
    use_launcher(launcher)
    return run_check(CheckSettings(archive=archive, run="trial", round_timeout_s=0.5))


def seconds_through(outcome: CheckOutcome, name: str) -> float:
    """What the measurements of a node's pairs took."""
    own = [one for one in outcome.recorded.measurements if name in one.pair]
    return sum(sum(one.times_s) + sum(one.warmup_times_s) for one in own)


def test_a_lossy_node_is_named_and_costs_little(tmp_path: Path) -> None:
    outcome = checked(LOSSY, tmp_path)
    assert [(one.kind, one.subject) for one in outcome.judgement.findings] == [(FindingKind.PACKET_LOSS, node("n3"))]
    assert outcome.judgement.exit_code is ExitCode.FINDINGS
    assert seconds_through(outcome, "n3") < 45
    others = {one.pair for one in outcome.recorded.measurements if "n3" not in one.pair}
    assert len(others) == 9 * 8


def test_pairs_that_were_left_out_are_not_called_good_nor_missing(tmp_path: Path) -> None:
    judgement = checked(LOSSY, tmp_path).judgement
    spared = [pair for pair in judgement.pairs if pair.verdict is Verdict.NOT_RUN]
    assert len(spared) >= 8
    assert all("n3" in (pair.source, pair.target) for pair in spared)
    assert {pair.reason for pair in spared} == {"not measured: it crosses n3, which loses packets"}
    assert all(pair.verdict is not Verdict.PASS for pair in judgement.pairs if "n3" in (pair.source, pair.target))
    assert judgement.complete
    (note,) = (note for note in judgement.notes if "not measured" in note)
    assert note.startswith(f"{len(spared)} ordered pairs across n3 were not measured: it loses packets")


def test_the_archive_and_a_recovered_journal_have_the_pairs(tmp_path: Path) -> None:
    outcome = checked(LOSSY, tmp_path)
    recorded = read_run(outcome.folder)
    assert recorded.info.capped_pairs
    assert recorded == outcome.recorded
    assert judge(recorded) == outcome.judgement
    entries = read_entries(outcome.folder)
    assert {one.pair for one in of_type(entries, PairCapped)} >= set(recorded.info.capped_pairs)
    cut_off = msgspec.structs.replace(recorded.info, capped_pairs=(), contents=None)
    assert set(_closed(cut_off, entries, Tally()).capped_pairs) == set(recorded.info.capped_pairs)


def test_a_replay_leaves_the_same_pairs_out(tmp_path: Path) -> None:
    outcome = checked(LOSSY, tmp_path)
    again = run_check(CheckSettings(archive=tmp_path, run="again", replay=outcome.folder, round_timeout_s=0.5))
    assert set(again.recorded.info.capped_pairs) == set(outcome.recorded.info.capped_pairs)
    assert [one.subject for one in again.judgement.findings] == [node("n3")]


def test_a_slow_node_behind_a_lossy_one_is_named_too(tmp_path: Path) -> None:
    both = {**LOSSY.parts, **slow_part("node", "n8", 0.6)}
    outcome = checked(altered(LOSSY, parts=both), tmp_path)
    found = {(one.kind, one.subject) for one in outcome.judgement.findings}
    assert found == {(FindingKind.PACKET_LOSS, node("n3")), (FindingKind.SLOW_LINK, node("n8"))}


def altered(cluster: Cluster, **changes: object) -> Cluster:
    return dataclasses.replace(cluster, **changes)  # type: ignore[arg-type]


def test_a_node_at_a_fiftieth_of_its_speed_is_named(tmp_path: Path) -> None:
    outcome = checked(altered(LOSSY, loss={}), tmp_path)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.SLOW_LINK, node("n3"))
    assert seconds_through(outcome, "n3") < 60
    assert outcome.judgement.complete


def test_a_very_slow_uplink_is_named_and_pairs_inside_the_leaves_are_measured(tmp_path: Path) -> None:
    cluster = altered(LOSSY, loss={}, parts=slow_part("uplink", "leaf2", 0.05))
    outcome = checked(cluster, tmp_path)
    (finding,) = outcome.judgement.findings
    assert uplink("leaf2") in (finding.subject, *finding.ambiguous_with)
    inside = [pair for pair in outcome.judgement.pairs if cluster.leaf_of[pair.source] == cluster.leaf_of[pair.target]]
    assert {pair.verdict for pair in inside} == {Verdict.PASS}
    assert outcome.judgement.complete


def test_pairs_of_a_part_that_turns_out_good_are_measured_after_all(tmp_path: Path) -> None:
    launcher = ScriptedLauncher(LOSSY)
    healthy = altered(LOSSY, loss={}, parts={})

    def repair(number: int) -> None:
        if launcher.rounds[-1].phase is Phase.RETEST:
            launcher.cluster = healthy

    launcher.on_round = repair
    use_launcher(launcher)
    outcome = run_check(CheckSettings(archive=tmp_path, run="trial", round_timeout_s=0.5))
    assert outcome.recorded.info.capped_pairs == ()
    assert not [pair for pair in outcome.judgement.pairs if pair.verdict is Verdict.NOT_RUN]


class Hanging:
    """A measurer whose launcher loses all bandwidth rounds of one node."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: int = 8) -> None:
        cluster = Cluster(nodes=names(nodes), leaf_of=leaves(nodes, nodes // 2), boot_id="one")
        hangs = [("n3", other) for other in cluster.nodes if other != "n3"]
        self.launcher = ScriptedLauncher(cluster, hangs=hangs)
        self.patience: list[float] = []
        self.measurer = Measurer(self.launcher, RunWriter(tmp_path, info_of(cluster)), cluster.nodes, Silent(), 20.0)
        self.rounds = [one for one in survey_rounds(cluster, 1) if one.shape.kernel is Kernel.ONEWAY]
        real = Measurer._patience_s

        def listen(measurer: Measurer, wanted: Round) -> float:
            self.patience.append(real(measurer, wanted))
            return self.patience[-1]

        monkeypatch.setattr(Measurer, "_patience_s", listen)

    def run(self) -> None:
        assert self.measurer.run(self.rounds, time.monotonic() + 600)


def test_after_three_hangs_at_one_node_its_other_pairs_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Hanging(tmp_path, monkeypatch)
    scene.run()
    assert len(scene.measurer.hung) == 3
    assert all("n3" in pair for pair in scene.measurer.hung)
    assert {one.part for one in scene.measurer.capped} == {"node:n3"}
    own = Counter(frozenset(pair) for one in scene.launcher.rounds for pair in one.pairs if "n3" in pair)
    assert sorted(own.values()) == [1, 1, 2]
    assert scene.launcher.killed == 4
    others = {one.pair for one in scene.measurer.measurements}
    assert len(others) == 7 * 6


def test_the_next_hang_at_a_node_is_not_waited_for_as_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Hanging(tmp_path, monkeypatch)
    scene.run()
    of_hung = [
        patience for patience, one in zip(scene.patience, scene.launcher.rounds, strict=True) if "n3" in one.pairs[0]
    ]
    assert of_hung == [20.0, 20.0, LEAST_PATIENCE_S, LEAST_PATIENCE_S]


def test_a_pair_that_is_merely_slow_is_tried_again_with_few_iterations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Hanging(tmp_path, monkeypatch, nodes=2)
    scene.launcher = ScriptedLauncher(scene.launcher.cluster, hangs=[("n1", "n2")])
    scene.launcher.on_round = lambda number: scene.launcher.hangs.clear() if number == 2 else None
    writer = RunWriter(tmp_path, info_of(scene.launcher.cluster, run="other"))
    measurer = Measurer(scene.launcher, writer, names(2), Silent(), 20.0)
    measurer.measure(Round(phase=Phase.SURVEY, repetition=0, shape=BANDWIDTH, pairs=(("n1", "n2"),)))
    assert [one.shape.iterations for one in scene.launcher.rounds] == [BANDWIDTH.iterations, 1]
    assert measurer.hung == []


def test_a_lossy_pair_among_many_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """Eight pairs at once: the doubtful one is measured apart, and the others in full."""
    cluster = Cluster(nodes=names(16), loss={"n3": 0.3})
    launcher = ScriptedLauncher(cluster)
    measurer = Measurer(launcher, RunWriter(tmp_path, info_of(cluster)), cluster.nodes, Silent(), 20.0)
    pairs = tuple((f"n{place}", f"n{place + 8}") for place in range(1, 9))
    for shape in (LATENCY, BANDWIDTH):
        measurer.measure(Round(phase=Phase.SURVEY, repetition=0, shape=shape, pairs=pairs))
    sizes = [(len(one.pairs), one.shape.kernel, one.shape.iterations) for one in launcher.rounds]
    assert sizes[0] == (8, Kernel.PINGPONG, 100)
    assert sizes[1] == (7, Kernel.ONEWAY, BANDWIDTH.iterations)
    assert sizes[2] == (1, Kernel.ONEWAY, 1)
