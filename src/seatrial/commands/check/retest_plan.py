"""The next experiment: the suspects measured again alone, beside pairs known to be good."""

import random
from collections.abc import Collection, Sequence

from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import Suspect
from seatrial.locate.thresholds import CONTROL_PAIRS, RETEST_CAP, RETEST_PAIRS, RETEST_RUNS
from seatrial.model.measurement import Phase, Round, Shape


def plan_retest(suspects: Sequence[Suspect], good: Collection[Pair], shapes: Sequence[Shape], seed: int) -> list[Round]:
    """Rounds of one pair each: up to four pairs of every suspect and three controls, six runs of every shape.

    In each run all of them come once, in an order drawn anew, so that a bad minute strikes suspects and controls alike.
    """
    draw = random.Random(seed)
    wanted: dict[Pair, None] = {}
    for suspect in suspects:
        for pair in _varied(suspect.pairs, draw):
            wanted.setdefault(pair)
    chosen = list(wanted)[:RETEST_CAP]
    chosen += _varied(sorted(good), draw, CONTROL_PAIRS)
    rounds: list[Round] = []
    for repetition in range(RETEST_RUNS):
        order = [(pair, shape) for pair in chosen for shape in shapes]
        draw.shuffle(order)
        rounds += [
            Round(phase=Phase.RETEST, repetition=repetition, shape=shape, pairs=(pair,)) for pair, shape in order
        ]
    return rounds


def _varied(pairs: Sequence[Pair], draw: random.Random, most: int = RETEST_PAIRS) -> list[Pair]:
    """At most `most` of the pairs, both directions of a pair together, partners as different as can be."""
    groups: dict[frozenset[str], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(frozenset(pair), []).append(pair)
    order = list(groups.values())
    draw.shuffle(order)
    return [pair for group in order for pair in group][:most]
