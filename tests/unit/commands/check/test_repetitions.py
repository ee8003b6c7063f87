"""How often the survey is repeated: while noise hides the practical effect, and while that does not take long."""

from collections.abc import Callable
from pathlib import Path

from seatrial.commands.check.run import run_check
from seatrial.model.measurement import Phase
from seatrial.model.settings import CheckSettings
from tests.support.builders import Cluster, names, steady
from tests.support.clocks import Clock, use_clock
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher

Mood = Callable[[Phase, int, tuple[str, str]], float]


def repetitions(archive: Path, noise: float, mood: Mood = steady) -> int:
    """Of the survey of four nodes."""
    use_launcher(ScriptedLauncher(Cluster(nodes=names(4), noise=noise, mood=mood)))
    outcome = run_check(CheckSettings(archive=archive, run=f"noise-{noise}", round_timeout_s=0.5))
    assert outcome.judgement.design is not None
    return outcome.judgement.design.repetitions


def test_where_noise_hides_the_effect_the_survey_is_repeated(tmp_path: Path) -> None:
    assert repetitions(tmp_path, 0.001) == 1
    assert repetitions(tmp_path, 0.05) >= 3


def test_a_survey_that_takes_long_is_repeated_once_whatever_the_noise(tmp_path: Path) -> None:
    """On two loaded cores 10 nodes were measured up to eight times, and the check took 86 to 148 s."""
    clock = Clock()
    use_clock(clock)

    def mood(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
        clock.advance(0.5)
        return 1.0

    assert repetitions(tmp_path, 0.05, mood) == 2
