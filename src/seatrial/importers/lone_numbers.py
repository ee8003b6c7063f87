"""Numbers of few nodes, or of single runs of these, that are far from all numbers of all others."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import median_low

import msgspec

from seatrial.statistics.estimates import GROUP_SHARE, last_digit
from seatrial.statistics.fleets import judge_fleet

FEWEST_OTHERS = 2
FAR = 10.0
"""Times as much as all others: numbers that were measured alike never differ by that."""
APART = 0.1
"""Share of the usual number: what is nearer to it is not worth a word."""
DIGITS = ".12g"
FEWEST_SIGNED = 6
"""Subjects whose distances from a median are compared; of three, two may be near each other by chance."""
Way = tuple[Callable[[Sequence[float]], float], bool]
WAYS: tuple[Way, ...] = ((median_low, True), (median_low, False), (max, True), (min, False))
"""Which number of a subject is compared with those of others, and whether larger ones are sought."""
Rows = Sequence[tuple[tuple[str, ...], float]]
"""The subjects of each row, and its number."""


class FarNumber(msgspec.Struct, frozen=True, kw_only=True):
    """The number of a subject, and the range of those of all others, as text."""

    number: str
    others: str


def are_few(some: int, of: int) -> bool:
    """Whether few enough of all nodes are apart for the others to be the rule: a third may be another kind of nodes."""
    return (some == 1 or 0 < some < GROUP_SHARE * of) and of - some >= FEWEST_OTHERS


def far_numbers(rows: Rows, comparisons: int = 0) -> dict[str, FarNumber]:
    """The few subjects whose usual number is `FAR` times as large as any of all others, or as small as a part of these.

    Counters of good nodes vary a little, and those of a bad one are of another order, as measurements never are.

    `comparisons`: how many columns share the error rate of what is nearer, and of single runs; 0: neither is named.
    """
    alone = _far_ends(rows, WAYS if comparisons else WAYS[:2], comparisons)
    numbers = [number for _, number in rows]
    if min(numbers, default=0.0) < 0 < max(numbers, default=0.0):  # clocks, margins: none is a share of another
        middle = median_low(numbers)
        away = _far_ends([(subjects, abs(number - middle)) for subjects, number in rows], WAYS[:1], 0, signed=True)
        rest = [number for subjects, number in rows if away.keys().isdisjoint(subjects)]
        usual = {name: median_low(number for subjects, number in rows if name in subjects) for name in away}
        alone = {name: _far_number(number, rest) for name, number in usual.items()} | alone
    return alone


def _far_ends(rows: Rows, ways: Sequence[Way], comparisons: int, *, signed: bool = False) -> dict[str, FarNumber]:
    """The few subjects that are far at one end. `signed`: the rows have distances, which may all be less than one."""
    of_subject: defaultdict[str, list[float]] = defaultdict(list)
    for subjects, number in rows:
        for subject in subjects:
            of_subject[subject].append(number)
    numbers = [number for _, number in rows]
    step = last_digit(numbers) or min((abs(number) for number in numbers if number), default=0.0)
    alone: dict[str, FarNumber] = {}
    if signed and len(of_subject) < FEWEST_SIGNED:
        return alone
    for summary, upper in (*ways, *ways):  # what is found first may have hidden others
        single = summary is not median_low
        runs = {subject: [summary(many)] if single else many for subject, many in of_subject.items()}
        least = step if signed else 1.0
        end = _End(runs=runs, step=step, least=least, comparisons=comparisons, upper=upper, single=single)
        alone |= end.far(rows, alone)
    return alone


class _End(msgspec.Struct, frozen=True, kw_only=True):
    """The large numbers of a column, or the small ones."""

    runs: Mapping[str, Sequence[float]]
    """Subject -> its numbers, or the one that is compared."""
    step: float
    """The last digit of the numbers, or the smallest of them."""
    least: float
    """Counters of less than one are as one."""
    comparisons: int
    upper: bool
    single: bool
    """Whether the number of one run is compared, and not the usual one."""

    def far(self, rows: Rows, before: Collection[str]) -> dict[str, FarNumber]:
        """The few subjects at this end that are far from all others. `before`: those that are named already."""
        usual = {subject: median_low(many) for subject, many in self.runs.items() if subject not in before}
        ordered = sorted(usual, key=usual.__getitem__, reverse=self.upper)
        for few in range(1, len(ordered)):
            if not are_few(few + len(before), len(self.runs)):
                break
            middle = usual[ordered[few + (len(ordered) - few - 1) // 2]]
            last, near, end = (usual[ordered[place]] for place in (few - 1, few, -1))
            if not self._beyond(last, near, middle, end):
                continue  # the next one is near
            apart = {*before, *ordered[:few]}
            rest = [number for subjects, number in rows if apart.isdisjoint(subjects)] or [near, end]
            low, high = min(rest), max(rest)
            near, end = (high, low) if self.upper else (low, high)
            far = self._ratio(last, near) > FAR
            if self._beyond(last, near, middle, end) and (far or apart - {*before} <= self._outliers()):
                return {name: _far_number(usual[name], rest) for name in ordered[:few]}
        return {}

    def _ratio(self, first: float, second: float) -> float:
        """How many times as large the larger number is; what is less than `least` is as large as it."""
        return max(first, second, self.least) / max(min(first, second), self.least)

    def _beyond(self, last: float, near: float, middle: float, end: float) -> bool:
        """Whether a number is farther from the others than these are from each other, as difference and as ratio.

        Counters have few large numbers, which are near as ratios, and numbers of a sequence few small ones, which are
        near as differences. What is `FAR` must be farther from the nearest than that from the middle, as a
        ratio. A single run needs twice as much: it may be a bad one.

        `near`, `middle`, `end`: the nearest, the middle and the farthest of the others.
        """
        apart = (last > near) == self.upper and abs(last - near) > abs(near - end)
        if apart and not self.single and self._ratio(last, near) > max(FAR, self._ratio(near, middle)):
            return True
        if not (apart and self.comparisons) or min(last, near, end) < 0 < max(last, near, end):
            return False
        last, near, end = (math.log(abs(number) + self.step) for number in (last, near, end))
        return abs(last - near) > (2 if self.single else 1) * abs(near - end)

    def _outliers(self) -> set[str]:
        """Subjects that the rule for slow nodes names, with more at this end as worse. A step makes 0 a number, too."""
        shifted = {name: [abs(number) + self.step for number in many] for name, many in self.runs.items()}
        negative = min(map(min, self.runs.values())) < 0
        judged = judge_fleet(
            shifted, higher_is_better=self.upper == negative, effect=APART, comparisons=self.comparisons
        )
        return {one.node for one in judged.nodes if one.slow or one.suspected}


def _far_number(number: float, rest: Sequence[float]) -> FarNumber:
    low, high = min(rest), max(rest)
    others = f"{low:{DIGITS}} to {high:{DIGITS}}" if low < high else f"{low:{DIGITS}}"
    return FarNumber(number=f"{number:{DIGITS}}", others=others)
