"""From suspects to names: measured again alone beside known-good pairs, then told apart by the next best pairs."""

import math
import random
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from seatrial.fabric.crossing import pairs_across
from seatrial.fabric.routes import Path
from seatrial.lab.simulator.evidence import Evidence, Look
from seatrial.lab.simulator.parts import Part, merged
from seatrial.model.pair_table import Reals
from seatrial.pairing.complete import Pair
from seatrial.pairing.next_best import NextPairs, Question, next_best

TURNS = 24
CONTROLS = 8
"""Known-good pairs measured beside the others, in every turn."""
PROOFS = 3
"""Rows of one suspect that are measured again."""
LONE_PROOFS = 4
"""Times that a pair must have been slow, and never good, before it is named though nobody shares its fault."""
FEWEST_ROWS = 2
"""Pairs that a part must have slowed, and slowed again, before it is named."""
OFFERED = 12
"""Pairs looked at for each member of a question."""
Measure = Callable[[Sequence[Pair], Sequence[Path]], Reals]


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A part at fault; `loss` is the share of the design rate that is missing, `rows` how many pairs it slowed."""

    part: Part
    loss: float
    rows: int


class Ambiguous(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of which one or several are at fault, and no pair can tell which."""

    parts: tuple[Part, ...]
    loss: float


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome. `passing`: pairs that were slow once and not again.

    `untold`: directions of cables neither acquitted nor named; `unused`: those that no pair was found to cross.
    """

    named: tuple[Named, ...]
    ambiguous: tuple[Ambiguous, ...]
    passing: int
    untold: int
    unused: int
    turns: int


def prove(evidence: Evidence, measure: Measure, *, pairs_per_turn: int, seed: int) -> Proof:
    """Measure until every suspicion is proved, refuted or past telling; `measure` runs pairs without contention.

    A turn measures either slow rows again, or, when all have been, new pairs that no row has answered yet.
    """
    draw = random.Random(seed)
    passing, turns, settled = 0, 0, False
    stuck: dict[tuple[Part, ...], float] = {}
    while not settled and turns < TURNS:
        turns += 1
        seen = evidence.look()
        again = _again(evidence, seen)
        if again:
            slow = seen.line * seen.usual
            before = [evidence.ratios[row] for row in again]
            _measure(evidence, seen, again, [], measure, draw)
            passing += sum(was < slow <= evidence.ratios[row] for was, row in zip(before, again, strict=True))
            continue
        step = _next(evidence, seen, stuck, pairs_per_turn, draw)
        settled = not step.pairs
        if step.pairs:
            _measure(evidence, seen, [], step.pairs, measure, draw)
    seen = evidence.look()
    named, ambiguous = verdict(evidence, seen)
    unused = sum(stuck.get((evidence.parts.of_hop(hop),)) == math.inf for hop in seen.undecided)
    return Proof(
        named=named,
        ambiguous=ambiguous,
        passing=passing,
        untold=len(seen.undecided) - unused,
        unused=unused,
        turns=turns,
    )


def _next(
    evidence: Evidence, seen: Look, stuck: dict[tuple[Part, ...], float], limit: int, draw: random.Random
) -> NextPairs:
    """Pairs for the open questions. One that no pair could answer (`stuck`) is asked again when more is acquitted.

    Of a hop that nobody crosses it is never asked again.
    """
    good = len(seen.acquitted)
    asked = [one for one in _questions(evidence, seen) if stuck.get(one, -1) < good]
    nobody: set[int] = set()

    def across(hop: int) -> list[tuple[Pair, Path]]:
        found = pairs_across(evidence.parts.routes, hop, OFFERED, draw.getrandbits(32))
        nobody.update(() if found else (hop,))
        return found

    step = next_best(
        [Question(members=tuple(frozenset(part.hops) for part in one)) for one in asked],
        seen.acquitted,
        across,
        neutral=seen.undecided,
        known=evidence.known,
        limit=limit,
        seed=draw.getrandbits(32),
    )
    for one in (asked[number] for number in step.stuck):
        stuck[one] = math.inf if nobody.issuperset(hop for part in one for hop in part.hops) else good
    return step


def verdict(evidence: Evidence, seen: Look) -> tuple[tuple[Named, ...], tuple[Ambiguous, ...]]:
    """Names for what slowed two pairs or more that were measured twice; a set where several parts explain the same.

    One pair alone, all of whose cables are good for others, is named as a pair; one whose cables nobody else crossed
    stays ambiguous between them and itself; both only after LONE_PROOFS times. Behind a part that is named a pair's own
    fault cannot be seen.
    """
    named: list[Named] = []
    ambiguous: list[Ambiguous] = []
    for one in seen.suspects:
        sure = [row for row in one.rows if evidence.times[row] > 1]
        if len(sure) < FEWEST_ROWS:
            continue
        if len(one.parts) == 1:
            named.append(Named(part=one.parts[0], loss=1 - one.ratio, rows=len(one.rows)))
        else:
            ambiguous.append(Ambiguous(parts=one.parts, loss=1 - one.ratio))
    guilty = {hop for name in named for hop in name.part.hops}
    guilty |= {hop for one in ambiguous for part in one.parts for hop in part.hops}
    lone = [(row, one.parts) for one in seen.suspects if len(one.rows) < FEWEST_ROWS for row in one.rows]
    for row, parts in [*lone, *((row, ()) for row in seen.unexplained)]:
        if evidence.times[row] < LONE_PROOFS or not guilty.isdisjoint(evidence.paths[row]):
            continue
        way, loss = evidence.parts.of_pair(evidence.pairs[row]), 1 - evidence.ratios[row] / seen.usual
        if parts:
            ambiguous.append(Ambiguous(parts=(*parts, way), loss=loss))
        else:
            named.append(Named(part=way, loss=loss, rows=1))
    return tuple(_joined(named)), tuple(ambiguous)


def _joined(named: Sequence[Named]) -> list[Named]:
    """Both directions of a cable as one name, with the greater loss."""
    found = []
    for part in merged([one.part for one in named]):
        mine = [one for one in named if (one.part.kind, one.part.place) == (part.kind, part.place)]
        found.append(Named(part=part, loss=max(one.loss for one in mine), rows=sum(one.rows for one in mine)))
    return found


def _again(evidence: Evidence, seen: Look) -> list[int]:
    """Slow rows that were measured only once: some of each suspect's; and those that stand alone, until it is sure."""
    rows: dict[int, None] = {}
    for one in seen.suspects:
        once = [row for row in one.rows if evidence.times[row] == 1]
        rows.update(dict.fromkeys(once[: max(PROOFS - (len(one.rows) - len(once)), 0)]))
    lone = [row for one in seen.suspects if len(one.rows) < FEWEST_ROWS for row in one.rows]
    rows.update(dict.fromkeys(row for row in (*lone, *seen.unexplained) if evidence.times[row] < LONE_PROOFS))
    return list(rows)


def _questions(evidence: Evidence, seen: Look) -> list[tuple[Part, ...]]:
    """Suspects that are several, or that only one pair speaks against; then every hop that nothing speaks for."""
    open_sets = [one.parts for one in seen.suspects if len(one.parts) > 1 or len(one.rows) < FEWEST_ROWS]
    return open_sets + [(evidence.parts.of_hop(hop),) for hop in seen.undecided]


def _measure(
    evidence: Evidence,
    seen: Look,
    again: Sequence[int],
    fresh: Sequence[tuple[Pair, Path]],
    measure: Measure,
    draw: random.Random,
) -> None:
    """Controls along with the rest: what slows them too was the moment and not the part."""
    good = [
        row
        for row in draw.sample(range(len(evidence.pairs)), min(8 * CONTROLS, len(evidence.pairs)))
        if seen.acquitted.issuperset(evidence.paths[row]) and row not in again
    ][:CONTROLS]
    rows = [*good, *again]
    pairs = [*(evidence.pairs[row] for row in rows), *(pair for pair, _ in fresh)]
    paths = [*(evidence.paths[row] for row in rows), *(path for _, path in fresh)]
    ratios = measure(pairs, paths)
    usual = float(np.median(ratios[: len(good)])) if good else seen.usual
    evidence.add(pairs[len(good) :], paths[len(good) :], (ratios[len(good) :] * seen.usual / usual).tolist())
