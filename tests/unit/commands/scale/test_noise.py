"""What noise alone does to a scaling curve: it has one kind of runs, and is not slower with more."""

from collections.abc import Callable

import numpy as np

from seatrial.commands.scale.judge import judge_curve
from seatrial.commands.scale.points import ScaleCurve, ScaleRun
from seatrial.model.benchmark import Better
from seatrial.model.verdict import FindingKind

SIZES = (1.0, 2.0, 4.0, 8.0)


def curve(values: dict[float, list[float]]) -> ScaleCurve:
    runs = [
        ScaleRun(source=f"{size:g}-{place}", size=size, value=value, work={})
        for size, of_size in values.items()
        for place, value in enumerate(of_size)
    ]
    return ScaleCurve(name="c", over="nodes", metric="rate", better=Better.MORE, runs=tuple(runs))


def kinds(values: dict[float, list[float]]) -> set[FindingKind]:
    return {breach.kind for _, breach in judge_curve(curve(values), weak=False).breaches}


def named(kind: FindingKind, rate: Callable[[float], float], runs: int, deviation: float) -> int:
    """In how many of 100 drawn curves."""
    chance = np.random.default_rng(11)
    return sum(
        kind in kinds({size: (rate(size) * np.exp(chance.normal(0, deviation, runs))).tolist() for size in SIZES})
        for _ in range(100)
    )


def test_runs_of_one_kind_are_seldom_divided() -> None:
    assert named(FindingKind.BIMODAL, lambda size: size**0.9, 4, 0.05) <= 12
    assert named(FindingKind.BIMODAL, lambda size: size**0.9, 10, 0.05) <= 4


def test_two_runs_in_each_of_two_kinds_are_two_kinds_and_a_wild_run_is_none() -> None:
    steady = [100.0, 100.1, 100.2, 100.3]
    assert kinds({1.0: steady, 2.0: [150.0, 151.0, 190.0, 191.0]}) == {FindingKind.BIMODAL}
    assert kinds({1.0: steady, 2.0: [190.0, 190.4, 191.0, 150.0]}) == set()


def test_a_curve_that_is_flat_is_seldom_slower_with_more() -> None:
    """The range of two runs holds a median in half of all cases."""
    for deviation in (0.003, 0.01):
        assert named(FindingKind.SLOWER_WITH_MORE, lambda size: min(size, 4.0), 2, deviation) <= 2
    flat = {1.0: [100.0, 100.1], 2.0: [180.0, 180.1]}
    assert kinds({**flat, 4.0: [160.0, 160.2]}) == {FindingKind.SLOWER_WITH_MORE}
