"""Which exchange of parts would reveal most.

The expected information of an exchange is the mutual information of the fault and of what is measured afterwards, in
bits (Lindley 1956, On a Measure of the Information Provided by an Experiment): the entropy of the results less their
entropy with the fault known.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product

import msgspec

from seatrial.commands.swap.hypotheses import (
    Arrangement,
    Hypothesis,
    Weighed,
    arrangements,
    bad_probability,
    next_arrangement,
)
from seatrial.model.part_swap import JOINT, SwapHistory, SwapStep

NEGLIGIBLE = 1e-6
"""Hypotheses that are less probable do not change which exchange is best."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """What is exchanged between two places, and what that is expected to reveal. No kind: only measure again."""

    kinds: tuple[str, ...]
    first: str = ""
    second: str = ""
    information_bits: float = 0.0

    @property
    def words(self) -> str:
        """`card,cable:n1,n2`, as --exchange takes it."""
        return f"{','.join(self.kinds)}:{self.first},{self.second}" if self.kinds else ""


def carried_out(history: SwapHistory, step: SwapStep, exchange: Exchange) -> SwapStep:
    """The next arrangement, not measured yet."""
    named = {name: dict(place) for name, place in history.named(step).items()}
    for kind in exchange.kinds:
        first, second = named[exchange.first], named[exchange.second]
        taken, given = first.pop(kind, None), second.pop(kind, None)
        first.update({kind: given} if given is not None else {})
        second.update({kind: taken} if taken is not None else {})
    return SwapStep(places=tuple(named.values()), results={})


def possible(history: SwapHistory) -> Iterator[Exchange]:
    """Every exchange of one or more kinds of parts between two places; those that change nothing are left out."""
    step = history.steps[-1]
    named = history.named(step)
    sets = [kinds for number in range(1, len(history.movable) + 1) for kinds in combinations(history.movable, number)]
    for first, second in combinations(named, 2):
        if history.is_shelf(named[first]) and history.is_shelf(named[second]):
            continue
        for kinds in sets:
            if any(kind in named[first] or kind in named[second] for kind in kinds):
                yield Exchange(kinds=kinds, first=first, second=second)


def subjects(history: SwapHistory, step: SwapStep) -> tuple[str, ...]:
    """What would be measured: what was measured last, else each place, as far as each has all parts."""
    named = history.named(step)
    last = next((each.results for each in reversed(history.steps) if each.results), {})
    wanted = tuple(last) if any(JOINT in subject for subject in last) else tuple(named)
    return tuple(
        subject for subject in wanted if not any(history.is_shelf(named[name]) for name in subject.split(JOINT))
    )


def separable(history: SwapHistory, left: Sequence[Hypothesis]) -> bool:
    """Whether there is an exchange after which these hypotheses do not all predict the same results."""
    step, before = history.steps[-1], arrangements(history)[-1]
    for exchange in (Exchange(kinds=()), *possible(history)):
        after = carried_out(history, step, exchange)
        arrangement = next_arrangement(history, before, after)
        measured = subjects(history, after)
        if len({tuple(arrangement.affected(one, subject) for subject in measured) for one in left}) > 1:
            return True
    return False


def ranked(history: SwapHistory, weighed: Sequence[Weighed]) -> list[Exchange]:
    """All exchanges, and measuring again, the most informative first; of equal ones that which moves less."""
    step = history.steps[-1]
    before = arrangements(history)[-1]
    likely = [one for one in weighed if one.probability > NEGLIGIBLE]
    rated = [_rated(history, step, before, likely, each) for each in (Exchange(kinds=()), *possible(history))]
    return sorted(rated, key=lambda one: (-round(one.information_bits, 6), len(one.kinds)))


def _rated(
    history: SwapHistory, step: SwapStep, before: Arrangement, likely: Sequence[Weighed], exchange: Exchange
) -> Exchange:
    after = carried_out(history, step, exchange) if exchange.kinds else step
    arrangement = next_arrangement(history, before, after)
    measured = subjects(history, after)
    by_pattern: dict[tuple[bool, ...], float] = {}
    for suspect in likely:
        pattern = tuple(arrangement.affected(suspect.hypothesis, subject) for subject in measured)
        by_pattern[pattern] = by_pattern.get(pattern, 0.0) + suspect.probability
    bad = {pattern: [bad_probability(history, each) for each in pattern] for pattern in by_pattern}
    known_bits = sum(p * sum(map(_entropy_bits, bad[pattern])) for pattern, p in by_pattern.items())
    results_bits = 0.0
    for result in product((False, True), repeat=len(measured)):  # True: good
        chance = math.fsum(p * _chance(result, bad[pattern]) for pattern, p in by_pattern.items())
        results_bits -= chance * math.log2(chance) if chance > 0 else 0.0
    return msgspec.structs.replace(exchange, information_bits=max(results_bits - known_bits, 0.0))


def _chance(result: Sequence[bool], bad: Sequence[float]) -> float:
    return math.prod(1 - b if good else b for good, b in zip(result, bad, strict=True))


def _entropy_bits(chance: float) -> float:
    return -sum(p * math.log2(p) for p in (chance, 1 - chance) if p > 0)
