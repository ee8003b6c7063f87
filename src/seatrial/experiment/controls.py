"""Subjects measured beside controls: in which order, compared how, and what decides.

Every subject comes once in each round, so that what drifts falls on all of them alike. A setting that costs a start of
its own goes forth and back; what is free to follow anything is shuffled. A value is compared with those of its own
round: what disturbs all of them cancels. Only a whole interval, over rounds, decides.
"""

import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from seatrial.model.measurement import Estimate
from seatrial.statistics import estimates  # NumPy: what only plans does without it

RETEST_RUNS = 6
"""The fewest runs whose range covers the median with 95 % (96.9 %)."""
Runs = Mapping[int, float]
"""One value for each round."""

_Item = TypeVar("_Item")


def forth_or_back(items: Sequence[_Item], number: int) -> Sequence[_Item]:
    """The order within one round: forward in even rounds, reversed in odd ones."""
    return items if number % 2 == 0 else items[::-1]


def alternating(items: Sequence[_Item], rounds: int) -> Iterator[tuple[int, _Item]]:
    """(round, item): A B B A A B ... A steady drift cancels, and at each reversal the setting need not change."""
    for number in range(rounds):
        yield from ((number, item) for item in forth_or_back(items, number))


def shuffled(items: Sequence[_Item], rounds: Iterable[int], draw: random.Random) -> Iterator[tuple[int, _Item]]:
    """(round, item), each round in a new random order, so that no item follows the same one every time."""
    for number in rounds:
        order = list(items)
        draw.shuffle(order)
        yield from ((number, item) for item in order)


def usual_of_rounds(columns: Collection[Runs], fewest: int = 1) -> dict[int, float]:
    """The median of each round over those that have a value in it; only of rounds in which at least `fewest` do."""
    rounds = {number: [own[number] for own in columns if number in own] for number in sorted(set().union(*columns))}
    return {number: estimates.median(values) for number, values in rounds.items() if len(values) >= fewest}


def median_ratio(pairs: Iterable[tuple[float, float]]) -> Estimate | None:
    """How many times the second of each pair the first is, as the median over rounds, which a disturbed one does not
    move. Rounds that lack a value (NaN) are left out; None if all do."""
    ratios = [first / second for first, second in pairs if not math.isnan(first) and second > 0]
    return estimates.median_estimate(ratios) if ratios else None


def mean_ratio(pairs: Sequence[tuple[float, float]], confidence: float) -> Estimate:
    """How many times the second of each pair the first is: geometric mean of the ratios, with an interval.

    Student's interval on the logarithms of the ratios, one ratio a block (Student, The probable error of a mean,
    Biometrika 6, 1908; ratios rather than differences as Fleming and Wallace, How not to lie with statistics, CACM 29,
    1986). One block gives no interval: it is then without bounds. Raises ValueError for none, and for numbers that
    are not positive.
    """
    if not pairs or min(min(pair) for pair in pairs) <= 0:
        raise ValueError(f"no ratios of {pairs}")
    logs = [math.log(first / second) for first, second in pairs]
    count = len(logs)
    mean = math.fsum(logs) / count
    half = math.inf
    if count > 1:
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (count - 1))
        half = estimates.student_quantile((1 + confidence) / 2, count - 1) * spread / math.sqrt(count)
    return Estimate(
        value=math.exp(mean),
        low=math.exp(mean - half),
        high=math.inf if mean + half > estimates.MOST_LOG else math.exp(mean + half),
        confidence=confidence,
        runs=count,
        method=f"geometric mean of {count} paired ratios, Student's interval on their logarithms",
    )


def too_few(measured: Estimate) -> bool:
    """Whether its interval cannot hold with 95 %: fewer than six runs."""
    return measured.confidence < estimates.CONFIDENCE


def below(ratio: Estimate | None, line: float) -> bool:
    """Whether the whole interval lies below the line, of runs enough for it to hold with 95 %."""
    return ratio is not None and not too_few(ratio) and ratio.high < line


def above(ratio: Estimate | None, line: float) -> bool:
    """Whether the whole interval lies above the line, of runs enough for it to hold with 95 %."""
    return ratio is not None and not too_few(ratio) and ratio.low > line
