"""The next experiment, chosen from what was measured so far.

Pairs that separate suspects (`next_bandwidth`, `next_latency`); slow pairs with fewer beside them (`crowded`, `apart`);
suspects alone, alternating with good pairs (`plan_retest`).
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import NamedTuple
from zlib import crc32

from msgspec.structs import replace

from seatrial.commands.check.pair_verdicts import JudgedPair
from seatrial.commands.check.suspects import Suspicion, is_part
from seatrial.experiment.controls import RETEST_RUNS, shuffled
from seatrial.judgement.wording import who
from seatrial.locate.evidence import MeasuredPair, Pair, in_one_direction
from seatrial.locate.explanation import BUNDLES, MANY_PAIRS, Crossings, PartSuspect, blamed_parts
from seatrial.locate.references import References
from seatrial.locate.thresholds import CONTROL_PAIRS, RETEST_CAP, RETEST_PAIRS
from seatrial.model.fabric import Wiring
from seatrial.model.loss import SessionLoss
from seatrial.model.measurement import Phase, Round, Shape
from seatrial.model.subject import Direction, SubjectKind, node
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict
from seatrial.model.words import some
from seatrial.pairs.leaf_matchings import cables_known
from seatrial.pairs.survey import Known, links_of, next_pairs

OPEN = "suspected by the survey alone, not measured again"


def only_proved(suspicion: Suspicion, evidence: Mapping[Pair, MeasuredPair]) -> tuple[Suspicion, list[str]]:
    """The suspicion without suspects that were not measured again, and a sentence for each kind of those.

    Such suspects are left where a run was cut off or its budget spent; their pairs become INCONCLUSIVE.
    """
    slow, open_slow = _split(suspicion.slow, evidence, BANDWIDTH)
    late, open_late = _split(suspicion.late, evidence, LATENCY)
    lossy, open_lossy = _split(suspicion.lossy, evidence, LATENCY)
    wrongs = (("slow", open_slow), ("late", open_late), ("losing packets", open_lossy))
    kept = replace(
        suspicion,
        slow=slow,
        late=late,
        lossy=lossy,
        bandwidth=_opened(suspicion.bandwidth, (*open_slow, *open_lossy)),
        latency=_opened(suspicion.latency, (*open_late, *open_lossy)),
    )
    return kept, [_left(wrong, suspects) for wrong, suspects in wrongs if suspects]


def _left(wrong: str, suspects: Sequence[PartSuspect]) -> str:
    """Parts before single pairs."""
    names = [who(one) for one in sorted(suspects, key=lambda one: one.subject.kind is SubjectKind.PAIR)]
    return (
        f"Suspected of being {wrong}, and not measured again: {some(names)}. Let the check run to its end, "
        f"or give it more time with --budget."
    )


def retests(suspect: PartSuspect, evidence: Mapping[Pair, MeasuredPair], metric: str) -> int:
    """How often the suspect was measured again: the most runs that any of its pairs has in the retest."""
    return max((evidence[pair].retests(metric) for pair in suspect.pairs), default=0)


def due(evidence: Mapping[Pair, MeasuredPair], suspicion: Suspicion) -> list[PartSuspect]:
    """Suspects of which nothing was measured again, and those with pairs that turned out bad in the last look."""
    late = {*suspicion.lossy, *suspicion.late}

    def is_due(suspect: PartSuspect) -> bool:
        metric = LATENCY if suspect in late else BANDWIDTH
        at_last = any(Phase.LAST in evidence[pair].of(metric) for pair in suspect.pairs)
        return at_last or not retests(suspect, evidence, metric)

    return [suspect for suspect in suspicion.suspects if is_due(suspect)]


def not_seen(evidence: Mapping[Pair, MeasuredPair], suspicion: Suspicion) -> list[PartSuspect]:
    """Slow parts for which the retests until now had no room."""
    return [one for one in _split(suspicion.slow, evidence, BANDWIDTH)[1] if is_part(one)]


def _split(
    suspects: Sequence[PartSuspect], evidence: Mapping[Pair, MeasuredPair], metric: str
) -> tuple[tuple[PartSuspect, ...], tuple[PartSuspect, ...]]:
    """Suspects that were measured again, and those that were not."""
    again = [retests(suspect, evidence, metric) > 0 for suspect in suspects]
    return (
        tuple(suspect for suspect, seen in zip(suspects, again, strict=True) if seen),
        tuple(suspect for suspect, seen in zip(suspects, again, strict=True) if not seen),
    )


def _opened(judged: Mapping[Pair, JudgedPair], suspects: Sequence[PartSuspect]) -> dict[Pair, JudgedPair]:
    pairs = {pair for suspect in suspects for pair in suspect.pairs}
    return {
        pair: one.opened(OPEN, unproved=True)
        if pair in pairs and one.verdict in (Verdict.SLOW, Verdict.UNSTABLE)
        else one
        for pair, one in judged.items()
    }


PAIRS_PER_CONTROL = 16
"""One more control is measured for this many suspects: other jobs' traffic disturbs some of the controls."""
WIDE_PARTS = (SubjectKind.NODE, *BUNDLES)
SINGLE_PAIRS = 2
"""Suspects that are single pairs, for whose ends there are controls."""


def next_bandwidth(
    evidence: Mapping[Pair, MeasuredPair],
    fabric: Wiring,
    suspicion: Suspicion,
    nodes: Sequence[str],
    *,
    asked: Collection[Pair] = (),
    seed: int,
) -> list[Pair]:
    """Ordered pairs whose bandwidth distinguishes slow parts; none that was `asked` before, or measured and not stale.

    Empty where nothing is suspected or no pair could add information.
    """
    bad = [pair for suspect in suspicion.slow if is_part(suspect) for pair in suspect.pairs]
    had = {pair for pair, known in evidence.items() if known.bandwidth} - suspicion.stale[BANDWIDTH] | set(asked)
    good = suspicion.acquitted[BANDWIDTH]
    chosen = next_pairs(nodes, _known(bad, good), fabric, asked=had, seed=seed)
    return [*chosen, *_within_leaves(suspicion.slow, good, fabric, nodes, had.union(chosen))]


def _within_leaves(
    suspects: Sequence[PartSuspect], good: Crossings, fabric: Wiring, nodes: Sequence[str], had: Collection[Pair]
) -> list[Pair]:
    """A pair within its leaf for each suspected node that has none: with static routes all that other leaves send to a
    node crosses one cable between switches, which is slow for no other node. None where the routes are known."""
    chosen: list[Pair] = []
    for suspect in suspects:
        name, leaf = suspect.subject.name, fabric.leaf_of.get(suspect.subject.name, "")
        if suspect.subject.kind is not SubjectKind.NODE or not leaf or cables_known(suspect.pairs, fabric):
            continue
        mates = [mate for mate in nodes if fabric.leaf_of.get(mate) == leaf and mate != name]
        for way in (Direction.OUT, Direction.IN):
            ordered = [(name, mate) if way is Direction.OUT else (mate, name) for mate in mates]
            if suspect.direction in (way, Direction.BOTH) and not any(pair in had for pair in ordered):
                other = Direction.IN if way is Direction.OUT else Direction.OUT
                clear = [not good.parts.isdisjoint(links_of(mate, other)) for mate in mates]
                chosen += [pair for pair, cleared in zip(ordered, clear, strict=True) if cleared][:1]
    return chosen


def next_latency(
    evidence: Mapping[Pair, MeasuredPair],
    fabric: Wiring,
    suspicion: Suspicion,
    nodes: Sequence[str],
    *,
    asked: Collection[Pair] = (),
    seed: int,
) -> list[Pair]:
    """Pairs whose latency distinguishes late and lossy parts; one direction of a pair covers both.

    As with bandwidth, none that was asked before, or measured and not stale.
    """
    late = in_one_direction([pair for suspect in suspicion.late for pair in suspect.pairs])
    lossy = in_one_direction([pair for suspect in suspicion.lossy for pair in suspect.pairs])
    trips = suspicion.without_stalls.fabric
    had = {pair for pair, known in evidence.items() if known.latency} - suspicion.stale[LATENCY]
    had |= {both for source, target in asked for both in ((source, target), (target, source))}
    wanted: list[Pair] = []
    for bad, good in ((late, suspicion.acquitted[LATENCY]), (lossy, suspicion.without_stalls)):
        for source, target in next_pairs(nodes, _known(bad, good), trips, asked=had, seed=seed):
            if (source, target) not in had:
                had |= {(source, target), (target, source)}
                wanted.append((source, target))
    suspects = [*suspicion.late, *(end for suspect in suspicion.lossy for end in _ends(suspect))]
    return [*wanted, *in_one_direction(_within_leaves(suspects, suspicion.without_stalls, fabric, nodes, had))]


def _ends(suspect: PartSuspect) -> list[PartSuspect]:
    """The suspect; of a pair the nodes at both its ends."""
    if is_part(suspect):
        return [suspect]
    ends = sorted({name for pair in suspect.pairs for name in pair})
    return [replace(suspect, subject=node(name), direction=Direction.BOTH) for name in ends]


def next_started(
    evidence: Mapping[Pair, MeasuredPair],
    _fabric: Wiring,
    _suspicion: Suspicion,
    nodes: Sequence[str],
    *,
    losses: Sequence[SessionLoss],
    asked: Collection[Pair] = (),
    seed: int,
) -> list[Pair]:
    """Each node that gave no figure and failed with one other only, with a node that never failed: a program may fail
    on a node, or between two. `losses`: those of the run, which grow with it."""
    started = {name for pair, known in evidence.items() if known.bandwidth for name in pair}
    failed = Counter(name for pair in {frozenset(one.loss.pair or ()) for one in losses} for name in pair)
    left = [name for name in nodes if failed[name] == 1 and name not in started]
    good = [name for name in nodes if name in started - failed.keys()]
    random.Random(seed).shuffle(good)
    return [pair for pair in zip(left, good, strict=False) if pair not in asked]


def _known(bad: Collection[Pair], good: Crossings) -> Known:
    if not bad:
        return Known(bad=frozenset(), acquitted=frozenset(), blamed=())
    return Known(bad=frozenset(bad), acquitted=good.parts, blamed=tuple(blamed_parts(dict.fromkeys(bad, 1.0), good)))


# Slow pairs that may only have been slow because many were measured at the same time.


def crowded(evidence: Mapping[Pair, MeasuredPair], suspicion: Suspicion) -> list[Pair]:
    """Slow pairs that were measured beside others, to measure again where nothing is in their way.

    All of them, not a few of each suspected part: one good pair clears a part, but does not excuse the other pairs.
    """
    return [
        pair
        for pair, known in evidence.items()
        if suspicion.bandwidth[pair].verdict is Verdict.SLOW and known.pairs_at_once > 1
    ]


def still_crowded(evidence: Mapping[Pair, MeasuredPair], suspicion: Suspicion, fabric: Wiring) -> list[Pair]:
    """What is slow in rounds made by `apart`, to measure again: where cables are not known with fewer at once, a few
    pairs of each suspected part and every pair that no part explains; where all cables on the way are known, all but
    those of nodes, uplinks and spines that many pairs accuse.

    On known cables nothing of ours was in these pairs' way, but traffic of other jobs may have been, and passes. It
    does not fill all cables of a switch, or the port of a node, while many pairs are measured; the retest decides.
    """
    found: dict[Pair, None] = {}
    for suspect in suspicion.slow:
        known = cables_known(suspect.pairs, fabric)
        if known and suspect.subject.kind in WIDE_PARTS and len(suspect.pairs) >= MANY_PAIRS:
            continue
        pairs = suspect.pairs[:RETEST_PAIRS] if is_part(suspect) and not known else suspect.pairs
        found.update(dict.fromkeys(pair for pair in pairs if evidence[pair].pairs_at_once > 1))
    return list(found)


def contended(
    evidence: Mapping[Pair, MeasuredPair], suspicion: Suspicion, references: References, floor_bytes_per_s: float
) -> list[Pair]:
    """Pairs that were below the floor among many, and good when measured once more among fewer.

    The floor is that of pairs with the usual links.
    """
    return [
        pair
        for pair, known in evidence.items()
        if Phase.NEXT in known.bandwidth
        and Phase.RETEST not in known.bandwidth
        and known.pairs_at_once > 1
        and suspicion.bandwidth[pair].verdict is Verdict.PASS
        and max(known.bandwidth[Phase.SURVEY].runs if Phase.SURVEY in known.bandwidth else (0.0,))
        < floor_bytes_per_s * references.scale(pair)
    ]


# The retest: suspects alone, alternating with pairs that are known to be good.


class RetestSize(NamedTuple):
    """How many pairs of each suspect are measured again, and how many controls at least."""

    pairs: int = RETEST_PAIRS
    controls: int = CONTROL_PAIRS


USUAL_SIZE = RetestSize()
OF_STARTS = RetestSize(pairs=2, controls=2)
"""The size if each run is the start of a program: both directions of one pair, and controls that show a scatter."""


def plan_retest(
    suspects: Sequence[PartSuspect],
    good: Collection[Pair],
    shapes: Sequence[Shape],
    seed: int,
    *,
    clear: Collection[Pair] = (),
    leaf_of: Mapping[str, str] | None = None,
    near: Mapping[str, str] | None = None,
    lossy: Collection[PartSuspect] = (),
    size: RetestSize = USUAL_SIZE,
) -> list[Round]:
    """Rounds of one pair each: a few pairs of every suspect and some controls (`size`), six runs of every shape.

    `good`: pairs with nothing against them or their nodes. `clear`: these and good pairs of suspected nodes. `leaf_of`:
    where cables are known, the leaf of each node: pairs below one switch are the first controls, since no other job's
    traffic meets them. Where it slowed two of three controls, their suspects looked good in that run. `near`: the leaf
    of each node, as far as it is known: a pair below one switch shows whether a node or a cable behind it is at fault.
    `lossy`: suspects of losing packets.

    In each run all of them come once, in a new random order, so that a bad minute affects suspects and controls alike.
    If not all can be measured, nodes come first, whose ports no other job uses, and then what most pairs cross. Of one
    suspect those pairs come first that cross no other one, which would explain why they are slow.
    """
    draw = random.Random(seed)
    wanted: dict[Pair, None] = {}
    crossed = Counter(pair for suspect in suspects for pair in suspect.pairs)
    for suspect in sorted(suspects, key=lambda one: (one.subject.kind is not SubjectKind.NODE, -len(one.pairs))):
        for pair in _varied(suspect.pairs, draw, crossed, near or {})[: size.pairs]:
            wanted.setdefault(pair)
    chosen = list(wanted)[:RETEST_CAP]
    ordered = _in_fixed_order(good, seed)
    if leaf_of is not None:
        ordered.sort(key=lambda pair: leaf_of.get(pair[0]) != leaf_of.get(pair[1]))
    beside = _in_fixed_order(clear or good, seed)
    if near:
        beside.sort(key=lambda pair: near.get(pair[0]) != near.get(pair[1]))
    chosen += _controls(suspects, lossy, chosen, ordered, beside, size.controls)
    wanted_shapes = [(pair, shape) for pair in chosen for shape in shapes]
    return [
        Round(phase=Phase.RETEST, repetition=repetition, shape=shape, pairs=(pair,))
        for repetition, (pair, shape) in shuffled(wanted_shapes, range(RETEST_RUNS), draw)
    ]


def _controls(
    suspects: Sequence[PartSuspect],
    lossy: Collection[PartSuspect],
    wanted: Sequence[Pair],
    good: Sequence[Pair],
    clear: Sequence[Pair],
    fewest: int,
) -> list[Pair]:
    """Good pairs to measure beside the `wanted` ones: first such as share no node with them.

    A single pair may be slow because one of its nodes changed after its other pairs were measured, perhaps in one
    direction only. So a clear pair that leaves its source and one that enters its target belong to the controls, also
    where the node itself is suspected for the other direction. The same distinguishes nodes that lost packets between
    them: the one that does so with third nodes, too, is at fault.
    """
    ends = {node for pair in wanted for node in pair}
    clean = [pair for pair in good if ends.isdisjoint(pair)]
    most = max(fewest, len(wanted) // PAIRS_PER_CONTROL)
    chosen = dict.fromkeys(clean[:most])
    for suspect in [one for one in suspects if not is_part(one) or one.ambiguous_with or one in lossy][:SINGLE_PAIRS]:
        for source, target in suspect.pairs:
            leaving = (pair for pair in clear if pair[0] == source and pair[1] != target)
            entering = (pair for pair in clear if pair[1] == target and pair[0] != source)
            chosen.update(dict.fromkeys([*islice(leaving, 1), *islice(entering, 1)]))
    rest = [pair for pair in good if pair not in chosen]
    return [*chosen, *rest[: max(most - len(chosen), 0)]]


def _in_fixed_order(pairs: Collection[Pair], seed: int) -> list[Pair]:
    """The pairs in a random order that is the same in every retest of a run, both directions of a pair together.

    Runs of a retest are compared by their number, so the same controls should be in all retests.
    """
    return sorted(pairs, key=lambda pair: (crc32(f"{seed} {min(pair)} {max(pair)}".encode()), pair))


def _varied(
    pairs: Sequence[Pair], draw: random.Random, crossed: Mapping[Pair, int], leaf_of: Mapping[str, str]
) -> list[Pair]:
    """The pairs, both directions of a pair together, partners as different as can be.

    `crossed`: how many suspects are on the pair's way; the fewer, the earlier, and of as many those within a leaf.
    """
    groups: dict[frozenset[str], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(frozenset(pair), []).append(pair)
    order = list(groups)
    draw.shuffle(order)
    order.sort(key=lambda ends: (min(crossed[pair] for pair in groups[ends]), len({*map(leaf_of.get, ends)})))
    return [pair for ends in order for pair in groups[ends]]
