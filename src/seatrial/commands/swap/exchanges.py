"""Which exchange of parts would reveal most.

The expected information of an exchange is the mutual information of the fault and of what is measured afterwards, in
bits (Lindley 1956, On a Measure of the Information Provided by an Experiment).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.commands.swap.hypotheses import (
    Arrangement,
    Cause,
    Hypothesis,
    Weighed,
    arrangements,
    bad_probability,
    next_arrangement,
)
from seatrial.model.part_swap import JOINT, SwapHistory, SwapStep

NEGLIGIBLE = 1e-6
"""Hypotheses that are less probable do not change which exchange is best."""

MOST_RESULTS = 256
"""Combinations of good and bad that are distinguished: as many as all places of a search can show."""
Floats = NDArray[np.float64]


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
    everywhere = (True,) * len(measured)
    pattern_of = {name: tuple(name in subject.split(JOINT) for subject in measured) for name in history.named(after)}
    shares: dict[tuple[bool, ...], float] = {}
    for suspect in likely:
        outside = suspect.hypothesis.cause is Cause.OUTSIDE
        place = arrangement.faulty_place(suspect.hypothesis)
        pattern = everywhere if outside else pattern_of.get(place or "", (False,) * len(measured))
        shares[pattern] = shares.get(pattern, 0.0) + suspect.probability
    bad = np.array([[bad_probability(history, each) for each in pattern] for pattern in shares])
    return msgspec.structs.replace(exchange, information_bits=_information_bits(np.array([*shares.values()]), bad))


def _information_bits(shares: Floats, bad: Floats) -> float:
    """What the results reveal of the fault: the divergence of its probabilities after them from those before.

    `shares`: the probability of each pattern of results; `bad`: that each result is bad, by pattern. Results double
    with each measurement. Beyond `MOST_RESULTS` the least probable are not divided by further measurements, which can
    only add to what they reveal.
    """
    before = shares / shares.sum()
    results, bits = before[np.newaxis], 0.0
    for chance in bad.T:
        results = np.concatenate([results * chance, results * (1 - chance)])
        if len(results) > MOST_RESULTS:
            order = np.argsort(-results.sum(axis=1), kind="stable")
            bits += _divergence_bits(results[order[MOST_RESULTS:]], before)
            results = results[order[:MOST_RESULTS]]
    return max(bits + _divergence_bits(results, before), 0.0)


def _divergence_bits(results: Floats, before: Floats) -> float:
    independent = results.sum(axis=1, keepdims=True) * before
    possible_results = results > 0
    ratios = results[possible_results] / independent[possible_results]
    return float((results[possible_results] * np.log2(ratios)).sum())
