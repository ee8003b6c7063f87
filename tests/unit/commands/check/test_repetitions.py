"""How often the survey is repeated: while noise hides the practical effect, and while that does not take long."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.commands.check.run import run_check
from seatrial.model.measurement import Phase
from seatrial.model.settings import CheckSettings
from tests.support.builders import Cluster, leaves, names, slow_part, steady
from tests.support.clocks import Clock, use_clock
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher

FOUR = Cluster(nodes=names(4))
Mood = Callable[[Phase, int, tuple[str, str]], float]


def repetitions(archive: Path, noise: float, mood: Mood = steady, cluster: Cluster = FOUR) -> int:
    """Of the survey of a cluster with this noise."""
    use_launcher(ScriptedLauncher(replace(cluster, noise=noise, mood=mood)))
    outcome = run_check(CheckSettings(archive=archive, run=f"noise-{noise}", round_timeout_s=0.5))
    assert outcome.judgement.design is not None
    return outcome.judgement.design.repetitions


def test_where_noise_hides_the_effect_the_survey_is_repeated(tmp_path: Path) -> None:
    assert repetitions(tmp_path, 0.001) == 1
    assert repetitions(tmp_path, 0.05) >= 3


@pytest.mark.parametrize(("noise", "most"), [(0.001, 1), (0.1, 9)])
def test_pairs_that_differ_are_repeated_only_where_their_runs_differ(tmp_path: Path, noise: float, most: int) -> None:
    """Of two leaves the slow uplinks lie on more than half of all pairs, and no repetition makes that scatter less."""
    slow = slow_part("uplink", "leaf1", 0.9)
    cluster = Cluster(nodes=names(6), leaf_of=leaves(6, 3), parts=slow, boot_id="one kernel")
    assert repetitions(tmp_path, noise, cluster=cluster) == most


def test_a_survey_that_takes_long_is_repeated_once_whatever_the_noise(tmp_path: Path) -> None:
    """On two loaded cores 10 nodes were measured up to eight times, and the check took 86 to 148 s."""
    clock = Clock()
    use_clock(clock)

    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        clock.advance(0.5)
        return 1.0

    assert repetitions(tmp_path, 0.05, mood) == 2
