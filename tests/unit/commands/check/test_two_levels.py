"""A slow uplink lies on more than half of all pairs of three small leaves: that is no scatter of healthy pairs.

The numbers are those of a check on a virtual cluster whose two cores others loaded: 30 ordered pairs in three
repetitions, the uplink of leaf2 (n3 and n4) at 90 %, and n5 at 95 % outwards.
"""

import math
import random
from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.assessment import Assessment, Assessor
from seatrial.commands.check.run import run_check
from seatrial.locate.references import PeerTable
from seatrial.model.measurement import Phase, Round
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import Direction, node, uplink
from seatrial.pairs.survey import bandwidth_shape
from tests.support.builders import HEALTHY, Cluster, leaves, names, sail, slow_part
from tests.support.evidence import peers_of
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher

MEGABYTES_PER_S = """
n1 -                 110.9/116.2/117.0 105.3/99.9/105.0  100.8/104.9/101.5 113.3/107.9/109.6 111.2/116.9/116.4
n2 114.8/109.0/111.9 -                 101.2/92.2/103.7  104.0/104.9/103.0 108.4/112.3/106.0 115.2/116.1/111.8
n3 104.6/105.9/105.1 106.3/95.9/94.8   -                 117.2/116.5/114.4 104.5/94.6/105.7  99.1/104.2/98.0
n4 103.1/106.3/99.2  104.6/100.1/100.5 109.5/111.8/90.6  -                 104.3/100.3/99.9  105.3/99.9/97.1
n5 107.9/112.1/109.0 92.7/101.3/93.7   103.6/105.5/103.5 99.5/88.3/102.9   -                 105.9/110.2/110.3
n6 115.5/112.9/117.0 118.2/117.4/111.2 103.9/104.9/104.3 100.6/103.4/102.8 116.0/110.1/117.7 -
"""


def recorded_runs() -> dict[tuple[str, str], list[float]]:
    """By ordered pair, megabytes per second of each repetition."""
    rows = [line.split() for line in MEGABYTES_PER_S.strip().splitlines()]
    return {
        (row[0], target): [float(run) for run in cell.split("/")]
        for row in rows
        for target, cell in zip(names(6), row[1:], strict=True)
        if cell != "-"
    }


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    runs = recorded_runs()

    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        return runs[pair][repetition] * 1e6 / HEALTHY if phase is Phase.SURVEY else 1.0

    return Assessor().assess(sail(Cluster(nodes=names(6), leaf_of=leaves(6, 2), mood=mood, noise=0), retest=False))


def test_the_uplink_and_the_node_are_measured_again(assessment: Assessment) -> None:
    """Nothing was: the lack of 16 of 30 pairs counted as scatter of 7 %, and only the rounds under load saw it."""
    suspected = {suspect.subject for suspect in assessment.suspicion.slow}
    assert {uplink("leaf2"), node("n5")} <= suspected


def test_pairs_behind_the_uplink_are_no_peers(assessment: Assessment) -> None:
    line = assessment.references.bandwidth
    assert line is not None
    assert line.scatter < 0.01
    assert assessment.references.bandwidth_bytes_per_s == pytest.approx(116e6, rel=0.02)


def test_both_faults_are_named_by_a_whole_check(tmp_path: Path) -> None:
    """Survey and retest are as noisy as what was recorded: a run is 2 % low on average, one in five 10 % more."""
    draw = random.Random(5)
    low: dict[object, float] = {}

    def mood(*run: object) -> float:
        return low.setdefault(run, math.exp(-abs(draw.gauss(0, 0.02)) - draw.expovariate(10) * (draw.random() < 0.2)))

    faults = slow_part("uplink", "leaf2", 0.9) | slow_part("node", "n5", 0.95, [Direction.OUT])
    cluster = Cluster(nodes=names(6), leaf_of=leaves(6, 2), parts=faults, mood=mood, noise=0.001, boot_id="one")
    use_launcher(ScriptedLauncher(cluster))
    outcome = run_check(CheckSettings(archive=tmp_path, run="trial", round_timeout_s=0.5, loaded=False))
    named = {(finding.subject, finding.direction) for finding in outcome.judgement.findings}
    assert named == {(uplink("leaf2"), Direction.BOTH), (node("n5"), Direction.OUT)}


def test_a_pair_that_cleared_a_node_by_chance_is_corrected_by_its_retest() -> None:
    """From the same cluster: a pair of n5 was good in the survey, and so a control, and was slow when alone."""
    lucky = ("n5", "n3")

    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        return 1.0 if phase is Phase.SURVEY and pair == lucky else 0.95 if pair[0] == "n5" else 1.0

    cluster = Cluster(nodes=names(5), mood=mood, noise=0.001)
    rounds = [
        Round(phase=Phase.RETEST, repetition=run, shape=bandwidth_shape(0.035), pairs=(pair,))
        for run in range(6)
        for pair in (lucky, ("n5", "n2"), ("n1", "n2"), ("n2", "n3"), ("n4", "n1"))
    ]
    survey = sail(cluster, retest=False)
    draw = random.Random(1)
    again = [one for wanted in rounds for one in cluster.measure(wanted, draw)]
    recorded = msgspec.structs.replace(survey, measurements=(*survey.measurements, *again))
    (suspect,) = Assessor().assess(recorded).suspicion.slow
    assert (suspect.subject, suspect.direction) == (node("n5"), Direction.OUT)


def test_peers_may_leave_out_pairs() -> None:
    values = {("a", "b"): 100.0, ("b", "a"): 101.0, ("a", "c"): 50.0, ("c", "a"): 51.0, ("b", "c"): 99.0}
    table = PeerTable()
    table.update(values)
    slow = [("a", "c"), ("c", "a"), ("x", "y")]
    assert table.peers(slow) == peers_of({pair: value for pair, value in values.items() if pair not in slow})
    assert table.peers() == peers_of(values)
