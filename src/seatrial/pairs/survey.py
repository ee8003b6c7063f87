"""The survey: latency and bandwidth over all pairs, or over a few that promise enough."""

import enum
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from seatrial.experiment.controls import shuffled
from seatrial.model.fabric import Component, Paths, Wiring
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.run import Design
from seatrial.model.subject import Direction
from seatrial.pairs.leaf_matchings import MANY_NODES, apart, capped, covering, even_matchings, leaf_design, matchings
from seatrial.pairs.rounds import MOST_ROUNDS, Pair, circle_rounds, guarantee, rounds_needed, turns
from seatrial.pairs.sizes import ROUND_COST_S, as_many_as_last

LATENCY = Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=20, iterations=100)
BANDWIDTH = Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=3)
PILOT = Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=2)
PROGRAM = Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=1, warmup=0, iterations=1)
"""One start of a program that prints a bandwidth: recorded as the time that a MiB takes at it."""

REPETITIONS = 9
"""Most repetitions, if noise hides the practical effect; a quiet cluster is measured once."""
USUAL_REPETITIONS = 3
"""More of them change nothing in the length of the rounds."""
BANDWIDTH_ROUND_S = 0.1
"""Wanted length of the timed part of one bandwidth round."""

MOST_SAMPLES = 1_000_000
"""Samples of each kernel. Beyond it rounds are cut short: the run is judged, and its median takes few."""
LEAST_ROUND_TRIPS = 10
"""Round trips in one run of the latency kernel, however many pairs there are."""

FAULT_SHARE = 0.1
"""Share of slow nodes for which a sparse design is made."""
ERROR = 0.01
"""Healthy nodes that may be expected to remain unverified then."""
FEWEST_FOR_ONE_ROUND = 6
"""A slow pair of fewer nodes would be half or so, and the others not a majority to compare it with."""
FEWEST_OF_MANY = 4
"""Random rounds over that many: two between leaves, by which every uplink is crossed with different partners, and two
within leaves, which distinguish nodes from what they share with others."""
ERROR_OF_MANY = 0.99
"""`ERROR` over that many nodes: pairs measured alone afterwards settle a single node, which a round of all does not."""


class DesignChoice(enum.StrEnum):
    """What `--design` can be."""

    AUTO = "auto"
    COMPLETE = "complete"
    SPARSE = "sparse"
    LEAF = "leaf"


class SurveyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A design and its rounds in the order in which they are to be measured, one repetition after the other."""

    design: Design
    rounds: tuple[Round, ...]
    shorter: tuple[Design, ...] = ()
    """The designs of fewer repetitions: one, two, ..."""
    separate: bool = False
    """Whether the pairs of each round share no cable, as far as the fabric is known."""

    @property
    def passes(self) -> list[tuple[Round, ...]]:
        """The rounds of each repetition."""
        return [tuple(own) for _, own in itertools.groupby(self.rounds, key=lambda one: one.repetition)]

    def after(self, passes: int) -> Design:
        """What was carried out if it ended after `passes` repetitions."""
        return self.shorter[passes - 1] if passes <= len(self.shorter) else self.design


def bandwidth_shape(window_s: float) -> Shape:
    """The bandwidth kernel with as many windows of `window_s` as fill `BANDWIDTH_ROUND_S`, 3 to 1,000."""
    iterations = as_many_as_last(BANDWIDTH_ROUND_S, window_s, BANDWIDTH.iterations, 1000)
    return msgspec.structs.replace(BANDWIDTH, iterations=iterations)


def thinned(shape: Shape, measurements: int) -> Shape:
    """The shape with as many iterations as keep that many measurements within `MOST_SAMPLES`, warm-up included.

    Its own where they do, and never less than `LEAST_ROUND_TRIPS` round trips or the windows of `BANDWIDTH`.
    """
    samples = MOST_SAMPLES // max(measurements, 1)
    if shape.iterations + shape.warmup <= samples:
        return shape
    if shape.kernel is Kernel.PINGPONG:
        iterations = max(samples * 5 // 6, LEAST_ROUND_TRIPS)
        return msgspec.structs.replace(shape, iterations=iterations, warmup=iterations // 5)
    return msgspec.structs.replace(shape, iterations=max(samples - shape.warmup, BANDWIDTH.iterations))


def plan_survey(
    nodes: Sequence[str],
    *,
    pairs_at_once: int,
    window_s: float,
    budget_s: float,
    seed: int,
    choice: DesignChoice = DesignChoice.AUTO,
    leaf_of: Mapping[str, str] | None = None,
    uplinks: int | None = None,
    wiring: Wiring | None = None,
    program: bool = False,
) -> SurveyPlan:
    """Plan a design for about `budget_s` seconds; one bandwidth window takes `window_s`.

    Repetitions shrink from three to one to fit. `AUTO` is the complete design where that fits, else as many rounds of
    random pairs as fit, up to `MOST_ROUNDS` or what `SPARSE` would take. `SPARSE` takes the rounds that
    `sparse_rounds_wanted` asks for, fewer where they do not fit, and always enough to cross every node. `COMPLETE` and
    `LEAF` are never cut: what the budget does not permit is then not measured, and reported. `uplinks` of each leaf,
    where known, cap the pairs that leave it at once. Of very many pairs each round is cut short (`thinned`). With
    `wiring`, random pairs of `MANY_NODES` or more are measured in rounds in which no two share a known cable.

    `program`: each measurement is a start of a program that takes `window_s`. Starts cost far more than rounds of the
    probe, so that latency is left out, `AUTO` is `SPARSE`, repetitions are few, and one round is enough from
    `FEWEST_FOR_ONE_ROUND` nodes on: pairs measured alone afterwards distinguish the nodes of a slow pair.
    """
    shape = PROGRAM if program else bandwidth_shape(window_s)
    sparse_wanted = sparse_rounds_wanted(len(nodes))
    large_wanted = max(rounds_needed(len(nodes), FAULT_SHARE, ERROR_OF_MANY), FEWEST_OF_MANY)  # of MANY_NODES or more
    if program:
        choice = DesignChoice.SPARSE if choice is DesignChoice.AUTO else choice
        sparse_wanted = large_wanted = 1 if len(nodes) >= FEWEST_FOR_ONE_ROUND else sparse_wanted
    seconds_each = 2 * ((shape.iterations + shape.warmup) * window_s + ROUND_COST_S) + ROUND_COST_S
    pieces_fit = budget_s / seconds_each
    leaves = leaf_of or {}

    def cut(rounds: Iterable[Sequence[Pair]]) -> list[list[Pair]]:
        return [piece for pairs in rounds for piece in capped(pairs, pairs_at_once, leaves, uplinks)]

    several = len({leaves.get(node, "") for node in nodes} - {""}) > 1
    whole = turns(len(nodes)) * math.ceil(len(nodes) // 2 / pairs_at_once)
    random_rounds, separate = 0, False
    if choice is DesignChoice.COMPLETE or (choice is DesignChoice.AUTO and whole <= pieces_fit):
        pieces = cut(circle_rounds(nodes))
    elif choice is DesignChoice.LEAF:
        rounds = leaf_design(nodes, leaves, seed)
        pieces = cut([*rounds, covering(rounds, nodes, leaves, seed, wiring)])
    elif wiring is not None and uplinks is None and len(nodes) >= MANY_NODES and several:
        separate = True
        most = _most_rounds(nodes, choice, large_wanted)
        pieces, random_rounds = _separate_pieces(nodes, wiring, pairs_at_once, most, pieces_fit, seed)
    else:
        for random_rounds in range(_most_rounds(nodes, choice, sparse_wanted), 0, -1):
            drawn = matchings(nodes, leaves, random_rounds, seed)
            pieces = cut([*drawn, covering(drawn, nodes, leaves, seed, wiring)])
            if len(pieces) <= pieces_fit:
                break
    random.Random(seed).shuffle(pieces)
    repetitions = min(max(int(pieces_fit / max(len(pieces), 1)), 1), USUAL_REPETITIONS if program else REPETITIONS)
    plan = _plan(nodes, pieces, shape, repetitions, pairs_at_once, seed, choice, random_rounds)
    return msgspec.structs.replace(plan, separate=separate)


def _most_rounds(nodes: Sequence[str], choice: DesignChoice, wanted: int) -> int:
    """Rounds of random pairs, if the budget permits."""
    return wanted if choice is DesignChoice.SPARSE else min(max(wanted, MOST_ROUNDS), turns(len(nodes)))


def _separate_pieces(
    nodes: Sequence[str], wiring: Wiring, pairs_at_once: int, most: int, pieces_fit: float, seed: int
) -> tuple[list[list[Pair]], int]:
    """Pieces of at most `most` matchings in which no two pairs share a cable, as many as fit, and how many these are.

    Pairs that do share one are slow without being faulty, and each has to be measured again.
    """
    drawn = even_matchings(nodes, wiring, most, seed)
    cut = [apart(pairs, wiring, pairs_at_once, both_ways=True) for pairs in drawn]
    while len(cut) > 1 and sum(map(len, cut)) >= pieces_fit:
        cut.pop()
    rest = covering(drawn[: len(cut)], nodes, wiring.leaf_of, seed)
    cut.append(apart(rest, wiring, pairs_at_once, both_ways=True))
    return [piece for pieces in cut for piece in pieces], len(cut) - 1


def sparse_rounds_wanted(nodes: int) -> int:
    """Rounds of random pairs that leave `ERROR` healthy nodes unverified where `FAULT_SHARE` of all are slow.

    Where that is one node, one round will do: it leaves one healthy node unverified, the slow one's partner, and two
    pairs measured alone afterwards (`next_pairs`) settle what another round would take as many pairs as nodes for.
    """
    return 1 if FEWEST_FOR_ONE_ROUND <= nodes <= 1 / FAULT_SHARE else rounds_needed(nodes, FAULT_SHARE, ERROR)


def _plan(
    nodes: Sequence[str],
    pieces: Sequence[Sequence[Pair]],
    shape: Shape,
    repetitions: int,
    pairs_at_once: int,
    seed: int,
    choice: DesignChoice,
    random_rounds: int,
) -> SurveyPlan:
    everything = len(nodes) * (len(nodes) - 1)
    planned = 2 * sum(len(pairs) for pairs in pieces)
    usual = min(repetitions, USUAL_REPETITIONS)
    latency, bandwidth = thinned(LATENCY, usual * planned // 2), thinned(shape, usual * planned)
    samples = planned * max((latency.iterations + latency.warmup) / 2, bandwidth.iterations + bandwidth.warmup)
    repetitions = repetitions if samples * repetitions <= MOST_SAMPLES else usual
    rounds = tuple(_rounds(pieces, None if shape == PROGRAM else latency, bandwidth, repetitions, seed))
    name = "complete" if planned == everything else "leaf" if choice is DesignChoice.LEAF else "sparse"
    more = "" if planned == everything else " " + _sparse_words(nodes, choice, random_rounds)
    more += " Each measurement is one start of a program, which measures no latency." if shape == PROGRAM else ""
    designs = [
        Design(
            name=name,
            pairs_at_once=pairs_at_once,
            repetitions=times,
            rounds=len(rounds) * times // repetitions,
            ordered_pairs=everything,
            planned_pairs=planned,
            statement=_statement(planned, everything, times, pairs_at_once) + more,
        )
        for times in range(1, repetitions + 1)
    ]
    return SurveyPlan(rounds=rounds, design=designs[-1], shorter=tuple(designs[:-1]))


def _sparse_words(nodes: Sequence[str], choice: DesignChoice, random_rounds: int) -> str:
    """What the rounds promise, and how to measure more."""
    statement = "All pairs within each leaf, and one pair for every two leaves."
    if choice is not DesignChoice.LEAF:
        statement = guarantee(len(nodes), random_rounds, FAULT_SHARE).statement
    more = "A larger --budget measures more" if choice is DesignChoice.AUTO else "--design complete measures all"
    return f"{statement} Pairs measured alone afterwards distinguish the suspects. {more}."


def _rounds(
    chosen: Sequence[Sequence[Pair]], latency: Shape | None, bandwidth: Shape, repetitions: int, seed: int
) -> Iterator[Round]:
    """`latency`: None where it is not measured."""
    for repetition in range(repetitions):
        for _, pairs in shuffled(chosen, [repetition], random.Random(seed + repetition)):
            back = tuple((target, source) for source, target in pairs)
            for one, ways in ((latency, tuple(pairs)), (bandwidth, tuple(pairs)), (bandwidth, back)):
                if one is not None:
                    yield Round(phase=Phase.SURVEY, repetition=repetition, shape=one, pairs=ways)


def _statement(planned: int, everything: int, repetitions: int, pairs_at_once: int) -> str:
    times = "once" if repetitions == 1 else f"in {repetitions} rounds each"
    at_once = "one pair at a time" if pairs_at_once == 1 else f"up to {pairs_at_once} pairs at once"
    if planned == everything:
        return f"All {everything} ordered pairs, {times}, {at_once}."
    share = 100 * planned / everything
    return (
        f"{planned} of {everything} ordered pairs ({share:.2g} %), {times}, {at_once}: a fault of a single pair "
        "among the others would not be detected."
    )


# Next best pairs: the few whose outcome distinguishes the remaining suspects. One good pair clears all that it crosses.

MOST_PAIRS = 16
"""Pairs in one step; each is measured alone."""
_MOST_PARTS = 64
_OTHER_LEAVES = 8
_ACROSS = 24
"""Pairs looked at for each cable in question."""
_GOOD = 3
"""Good ends of each leaf that come into question."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What measured pairs show. `acquitted`: parts that a good pair crosses. `blamed`: parts that explain the bad pairs
    best; those of one set cannot be distinguished."""

    bad: frozenset[Pair]
    acquitted: frozenset[Component]
    blamed: tuple[frozenset[Component], ...]


def next_pairs(nodes: Sequence[str], known: Known, fabric: Paths, *, asked: Collection[Pair], seed: int) -> list[Pair]:
    """At most `MOST_PAIRS` ordered pairs of `nodes` that were not `asked` yet; empty where no pair could help.

    Two questions are put, each by pairs that otherwise cross only cleared parts. Of parts blamed together: a pair
    that crosses half of them (halving: Aldridge, Johnson and Scarlett, Group Testing, 2019, section 1.7). Of parts on
    bad pairs that another part explains: a pair that crosses as many of them as can be, since all are likely good and
    one good pair then clears them all.
    """
    acquitted = known.acquitted
    on_bad = [frozenset(fabric.path(*pair)) - acquitted for pair in known.bad]
    proved = frozenset(part for parts in on_bad if len(parts) == 1 for part in parts)
    blamed = frozenset(part for parts in known.blamed for part in parts)
    groups = [left for parts in known.blamed if len(left := parts - acquitted) > 1 and not left & proved][:MOST_PAIRS]
    hidden = frozenset(part for parts in on_bad for part in parts) - proved - blamed
    if not groups and not hidden:
        return []
    draw = random.Random(seed)
    offered = _offered(nodes, [*groups, hidden], acquitted, fabric, draw)
    for pair in asked:
        offered.pop(pair, None)
    chosen: list[Pair] = []
    for group in groups:
        halves = [pair for pair, crossed in offered.items() if crossed < group and pair not in chosen]
        chosen += sorted(halves, key=lambda pair: abs(2 * len(offered[pair]) - len(group)))[:1]
    harmless = {pair: crossed for pair, crossed in offered.items() if crossed <= hidden}
    while harmless and hidden and len(chosen) < MOST_PAIRS:
        pair = max(harmless, key=lambda one: len(harmless[one] & hidden))
        if not harmless[pair] & hidden:
            break
        chosen.append(pair)
        hidden -= harmless.pop(pair)
    return chosen[:MOST_PAIRS]


def _offered(
    nodes: Sequence[str],
    questions: Sequence[frozenset[Component]],
    acquitted: frozenset[Component],
    fabric: Paths,
    draw: random.Random,
) -> dict[Pair, frozenset[Component]]:
    """Pairs in random order, and what each crosses that is not cleared; pairs that cross nothing such are left out.

    Ends are nodes in question, and good ones: of every leaf in question and of a few others; and those of pairs that
    cross a cable in question.
    """
    wanted = {part for parts in questions for part in _at_most(_MOST_PARTS, parts, draw)}
    asked_leaves = {part.name if part.kind == "uplink" else fabric.leaf_of.get(part.name, "") for part in wanted}
    members: dict[str, list[str]] = defaultdict(list)
    for node in draw.sample(nodes, len(nodes)):
        members[fabric.leaf_of.get(node, "")].append(node)
    others = [leaf for leaf in members if leaf not in asked_leaves][:_OTHER_LEAVES]
    ends: dict[Direction, list[str]] = {}
    for way in (Direction.OUT, Direction.IN):
        own = [part.name for part in sorted(wanted) if part.kind == "node" and part.direction in (way, Direction.BOTH)]
        good = [
            [node for node in members[leaf] if not acquitted.isdisjoint(links_of(node, way))][:_GOOD]
            for leaf in (*sorted(asked_leaves & members.keys()), *others)
        ]
        ends[way] = [node for node in own if node in set(nodes)] + [node for some in good for node in some]
    pairs = [(source, target) for source in ends[Direction.OUT] for target in ends[Direction.IN] if source != target]
    cables = (part for part in sorted(wanted) if part.kind != "node")
    crossing = (pair for part in cables for pair in fabric.across(part, _ACROSS, draw.getrandbits(32)))
    pairs += [pair for pair in dict.fromkeys(crossing) if set(nodes).issuperset(pair)]
    draw.shuffle(pairs)
    crossed = {pair: frozenset(fabric.path(*pair)).difference(acquitted) for pair in pairs}
    return {pair: parts for pair, parts in crossed.items() if parts}


def links_of(node: str, way: Direction) -> list[Component]:
    """A node's link in this direction, and in both, as round trips cross it."""
    return [Component(kind="node", name=node, direction=either) for either in (way, Direction.BOTH)]


def _at_most(most: int, parts: Collection[Component], draw: random.Random) -> list[Component]:
    """At most `most` parts by chance, the same ones for the same seed: a set has another order in each process."""
    ordered = sorted(parts)
    return ordered if len(ordered) <= most else draw.sample(ordered, most)
