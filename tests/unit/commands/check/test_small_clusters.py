"""Nodes of clusters that are too small for averages with an error rate: noise must not hide what medians show."""

from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.commands.check.run import run_check
from seatrial.model.judgement import Judgement
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import Direction, node
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, names, slow_part
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher


def judged(archive: Path, cluster: Cluster, seed: int) -> Judgement:
    """A check of the cluster, with another noise for each seed."""
    use_launcher(ScriptedLauncher(replace(cluster, seed=seed)))
    return run_check(CheckSettings(archive=archive, run=f"r{seed}", round_timeout_s=0.5)).judgement


@pytest.mark.parametrize("seed", range(3))
def test_a_node_5_percent_slow_is_named_though_its_pairs_widen_the_scatter(tmp_path: Path, seed: int) -> None:
    """Of four nodes half of the pairs touch the slow one, and none was suspected: INCONCLUSIVE, 7 of 12 pairs low."""
    slow = Cluster(nodes=names(4), noise=0.02, parts=slow_part("node", "n3", 0.95))
    found = judged(tmp_path, slow, seed)
    assert [one.subject.name for one in found.findings] == ["n3"]
    assert found.verdict is Verdict.SLOW


def test_one_direction_of_a_node_is_named_alone(tmp_path: Path) -> None:
    slow = Cluster(nodes=names(4), noise=0.01, parts=slow_part("node", "n3", 0.95, (Direction.OUT,)))
    (found,) = judged(tmp_path, slow, 1).findings
    assert (found.subject.name, found.direction) == ("n3", Direction.OUT)


@pytest.mark.parametrize("seed", range(3))
def test_noise_alone_names_nothing(tmp_path: Path, seed: int) -> None:
    """By chance some nodes of a noisy cluster look slow in the survey; the retest decides."""
    assert not judged(tmp_path, Cluster(nodes=names(4), noise=0.02), seed).findings


UNLIKE = {("n1", "n4"): 0.67, ("n4", "n1"): 0.43, ("n3", "n4"): 0.58, ("n4", "n3"): 0.56, ("n2", "n4"): 0.58}
"""What the pairs of a node that loses packets carry: so unlike that the median of all is that of the slow node."""


@pytest.mark.parametrize(("noise", "seed"), [(0.004, 1), (0.02, 0), (0.03, 0), (0.03, 2)])
def test_a_slow_node_of_four_is_named_beside_a_lossy_one(noise: float, seed: int, tmp_path: Path) -> None:
    """Ten of twelve pairs cross one of the two: only the others show what a pair can carry."""
    slow = slow_part("node", "n2", 0.85)
    cluster = Cluster(nodes=names(4), parts=slow, pairs=UNLIKE, loss={"n4": 0.02}, noise=noise)
    found = judged(tmp_path, cluster, seed).findings
    assert {(one.kind, one.subject) for one in found} == {
        (FindingKind.PACKET_LOSS, node("n4")),
        (FindingKind.SLOW_LINK, node("n2")),
    }
