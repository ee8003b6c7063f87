"""What may be at fault, and how probable that is after a history of exchanges.

Bayes' rule over a list of hypotheses, exactly one of which is true. Given a hypothesis, measurements are independent:
one that the fault takes part in is bad with probability 1 - miss rate, any other one with the false alarm rate.
"""

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from seatrial.model.part_swap import JOINT, Part, SwapHistory, SwapStep


class Cause(enum.StrEnum):
    """What kind of fault it is."""

    PART = "part"
    """One part, wherever it is."""
    PAIR = "pair"
    """Two parts that do not work together: a card in a slot that it does not fit."""
    SEAT = "seat"
    """The contact of a part where it was at first: it is gone as soon as the part was moved."""
    OUTSIDE = "outside"
    """Something that is not listed, and is the same in every measurement."""
    NOTHING = "nothing"
    """No fault: bad measurements happened by chance."""


PRIOR: Mapping[Cause, float] = {
    Cause.PART: 0.75, Cause.PAIR: 0.10, Cause.SEAT: 0.10, Cause.OUTSIDE: 0.04, Cause.NOTHING: 0.01,
}  # fmt: skip
"""Probability of each cause before anything is measured, spread equally over its hypotheses. Assumed, not measured."""


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True):
    """One possible fault. `parts`: two for a pair, none for causes outside of the parts; `place`: of a seat."""

    cause: Cause
    parts: tuple[Part, ...] = ()
    place: str = ""


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """A hypothesis and its probability after all measurements."""

    hypothesis: Hypothesis
    probability: float


class Arrangement(msgspec.Struct, frozen=True, kw_only=True):
    """The places of the parts in one step, and the parts that have never been moved before or in it."""

    place_of: dict[Part, str]
    """The name of the place in which each part is."""
    unmoved: frozenset[Part]

    def faulty_place(self, hypothesis: Hypothesis) -> str | None:
        """The place in which the fault of some parts would show; None: in none, or the fault is not of parts."""
        if not hypothesis.parts or (hypothesis.cause is Cause.SEAT and hypothesis.parts[0] not in self.unmoved):
            return None
        place = self.place_of.get(hypothesis.parts[0])
        return place if self.place_of.get(hypothesis.parts[-1]) == place else None

    def affected(self, hypothesis: Hypothesis, subject: str) -> bool:
        """Whether a measurement at these places, joined with +, is bad if the hypothesis is true."""
        return hypothesis.cause is Cause.OUTSIDE or self.faulty_place(hypothesis) in subject.split(JOINT)


def arrangements(history: SwapHistory) -> list[Arrangement]:
    """The arrangement of each step."""
    made: list[Arrangement] = []
    for step in history.steps:
        made.append(next_arrangement(history, made[-1] if made else None, step))
    return made


def next_arrangement(history: SwapHistory, before: Arrangement | None, step: SwapStep) -> Arrangement:
    """The arrangement of a step after another one."""
    place_of = {part: name for name, place in history.named(step).items() for part in place.items()}
    if before is None:
        return Arrangement(place_of=place_of, unmoved=frozenset(place_of))
    stayed = (part for part in before.unmoved if place_of.get(part) == before.place_of[part])
    return Arrangement(place_of=place_of, unmoved=frozenset(stayed))


def hypotheses(history: SwapHistory) -> list[Hypothesis]:
    """All that are considered: each part, each pair that was together at first, each seat, and the rest."""
    parts = dict.fromkeys(part for step in history.steps for place in step.places for part in place.items())
    return [
        *(Hypothesis(cause=Cause.PART, parts=(part,)) for part in parts),
        *(Hypothesis(cause=Cause.PAIR, parts=pair) for pair in _neighbours(history)),
        *_seats(history),
        Hypothesis(cause=Cause.OUTSIDE),
        Hypothesis(cause=Cause.NOTHING),
    ]


def _neighbours(history: SwapHistory) -> list[tuple[Part, Part]]:
    """Parts that were in the same place at first, when the fault was noticed, and that can be separated."""
    pairs = dict.fromkeys(pair for place in history.steps[0].places for pair in combinations(place.items(), 2))
    return [pair for pair in pairs if any(kind not in history.fixed for kind, _ in pair)]


def _seats(history: SwapHistory) -> Iterator[Hypothesis]:
    for name, place in history.named(history.steps[0]).items():
        if not history.is_shelf(place):
            for kind in history.movable:
                yield Hypothesis(cause=Cause.SEAT, parts=((kind, place[kind]),), place=name)


def weigh(history: SwapHistory) -> list[Weighed]:
    """All hypotheses, the most probable first; their probabilities add up to 1."""
    considered = hypotheses(history)
    number = {cause: sum(each.cause is cause for each in considered) for cause in Cause}
    made = arrangements(history)
    logs = [
        math.log(PRIOR[each.cause] / number[each.cause]) + _log_likelihood(history, made, each) for each in considered
    ]
    largest = max(logs)
    if largest == -math.inf:  # without misses and false alarms, what was measured fits nothing
        return [Weighed(hypothesis=each, probability=1 / len(considered)) for each in considered]
    weights = [math.exp(value - largest) for value in logs]
    total = math.fsum(weights)
    weighed = [Weighed(hypothesis=each, probability=w / total) for each, w in zip(considered, weights, strict=True)]
    return sorted(weighed, key=lambda one: -one.probability)


def bad_probability(history: SwapHistory, affected: bool) -> float:
    """The probability that a measurement is bad, with or without the fault in it."""
    return 1 - history.miss_rate if affected else history.false_alarm_rate


def _log_likelihood(history: SwapHistory, made: Sequence[Arrangement], hypothesis: Hypothesis) -> float:
    total = 0.0
    for step, arrangement in zip(history.steps, made, strict=True):
        for subject, good in step.results.items():
            bad = bad_probability(history, arrangement.affected(hypothesis, subject))
            chance = 1 - bad if good else bad
            total += math.log(chance) if chance > 0 else -math.inf
    return total
