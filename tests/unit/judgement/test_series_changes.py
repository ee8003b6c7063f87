"""Whether a series is now worse than it was: beside chance, the practical effect and steady drift."""

from collections.abc import Sequence

import numpy as np
import pytest

from seatrial.commands.judge.series_view import changes_report
from seatrial.importers.series import ValueSeries
from seatrial.judgement.series_changes import JudgedSeries, judge_series
from seatrial.model.imported import SeriesSense
from seatrial.model.pair_table import Reals
from seatrial.model.verdict import Verdict

HIGHER, LOWER, UNKNOWN = SeriesSense.HIGHER, SeriesSense.LOWER, SeriesSense.UNKNOWN


def judged(values: Reals | Sequence[float], better: SeriesSense = HIGHER, effect: float = 0.0) -> JudgedSeries:
    series = ValueSeries(name="rate", values=tuple(map(float, values)))
    return judge_series([series], better=better, effect=effect).series[0]


def noise(seed: int, count: int = 120, deviation: float = 3.0) -> Reals:
    return np.asarray(1000 + np.random.default_rng(seed).normal(0, deviation, count))


@pytest.mark.parametrize("seed", range(12))
def test_a_series_that_is_back_at_its_level_is_not_worse(seed: int) -> None:
    """Both means differ by chance; without an effect the lower one is not worse for that."""
    values = noise(seed)
    values[40:70] *= 0.9
    assert judged(values).verdict is Verdict.NOTE
    values[70:] *= 0.98
    assert judged(values).verdict is Verdict.SLOW


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("first", "end"), [(55, 57), (54, 57), (0, 3)])
def test_a_change_for_the_worse_is_one_for_the_worse(seed: int, first: int, end: int) -> None:
    """Two or three values far off and their neighbours are no steep line whose mean is worse and whose start better."""
    values = noise(seed, 60)
    values[first:end] *= 0.85 if first else 1.2
    worsened = judged(values).worsened
    assert worsened is None or worsened.after < worsened.before


def test_a_short_series_that_lost_half_is_worse() -> None:
    """What neighbours may have in common leaves two means of six values little; the step itself is sure."""
    chance = np.random.default_rng(9)
    for _ in range(25):
        values = np.exp(chance.normal(0, 0.02, 12)) * np.repeat([100, 50], 6)
        assert judged(values, SeriesSense.HIGHER).verdict is Verdict.SLOW
        assert judged(values, SeriesSense.LOWER).verdict is not Verdict.SLOW


def test_small_changes_may_together_exceed_the_effect() -> None:
    values = noise(1, deviation=0.5)
    for place in (30, 60, 90):
        values[place:] *= 0.994
    together = judged(values, effect=0.01)
    assert (together.verdict, together.worsened in together.changes) == (Verdict.SLOW, True)
    assert judged(values, effect=0.02).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("end", "better", "verdict"),
    [
        (0.95, HIGHER, Verdict.INCONCLUSIVE),
        (0.95, UNKNOWN, Verdict.INCONCLUSIVE),
        (0.95, LOWER, Verdict.PASS),
        (1.05, LOWER, Verdict.INCONCLUSIVE),
        (1.05, HIGHER, Verdict.PASS),
    ],
)
def test_a_drift_to_worse_values_is_no_pass(end: float, better: SeriesSense, verdict: Verdict) -> None:
    found = judged(noise(2) * np.linspace(1, end, 120), better)
    assert found.verdict is verdict
    direction = "down" if end < 1 else "up"
    assert found.undecided.startswith(f"the newest 120 values drift {direction} by ") is (verdict is not Verdict.PASS)
    assert judged(noise(2) * np.linspace(1, end, 120), better, effect=0.1).verdict is Verdict.PASS


def test_rare_counts_of_errors_may_not_fall() -> None:
    counts = np.random.default_rng(83).poisson(0.1, 200).tolist()
    assert judged(counts, HIGHER).verdict is Verdict.INCONCLUSIVE
    assert judged(counts, LOWER).verdict is Verdict.PASS


@pytest.mark.parametrize("count", [1, 64])
def test_what_would_have_been_found_has_room_on_the_first_line(count: int) -> None:
    series = [ValueSeries(name=str(seed), values=tuple(noise(seed, 60))) for seed in range(count)]
    report = changes_report(judge_series(series, better=HIGHER))
    assert report.word == "PASS"
    assert len(report.headline) <= 80
