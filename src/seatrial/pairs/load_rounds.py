"""Rounds under load: which nodes send to which at once, so that uplinks and not single links are the bottleneck.

A node either sends or receives in a round, so half of the nodes send at most. Sources and targets have the same place
in their leaves as far as possible: on a fat tree with D-mod-K routes such pairs share no cable that they need not share
(Zahavi, J. Parallel Distrib. Comput. 72, 2012).
"""

import random
from collections.abc import Collection, Mapping, Sequence

import msgspec

from seatrial.experiment.controls import shuffled
from seatrial.model.measurement import Shape
from seatrial.model.subject import Direction
from seatrial.model.words import leaf_order
from seatrial.pairs.rounds import Pair
from seatrial.pairs.sizes import as_many_as_last
from seatrial.pairs.survey import BANDWIDTH, BANDWIDTH_ROUND_S

FEWEST_NODES = 4
"""The fewest nodes that are halved: a half of fewer is one node, and that is a single pair."""
EACH_ALONE = 4
"""Up to this many leaves each is loaded while the others are not; of more, half of them at once."""
TIMES = 2
"""How often each round is measured where leaves are loaded one by one, and the survey is long enough."""
LONGEST_WINDOW_S = 0.04
"""Wanted of one window of a node alone."""
FEWEST_WINDOWS = 6
"""Timed, of each stream."""
SPLITS = 3
"""Ways to divide more leaves into halves."""
MANY_LEAVES = 32
"""Leaves from which on each has two partners at a time (`blocks`), so that one division is enough: contention inside
the fabric does not hide what a leaf lacks."""
FEW_LEAVES = 4
"""The fewest that are divided into halves of two, so that each has two partners."""
LARGE_LEAF = 8
"""Nodes of a leaf; with fewer, the partners of a leaf are spread over many others."""


class Leaves(dict[str, list[str]]):
    """The nodes of each leaf that take part.

    On routes by destination a stream takes the cable of its target's place in its leaf. So absent nodes keep theirs: if
    those behind one moved up, streams to two leaves in turn would meet on half of the cables, whatever the turn.
    """

    places: Mapping[str, int] = {}
    """Places of nodes in their leaves, absent nodes counted; without one, the place among those that take part."""


def load_shape(window_s: float) -> Shape:
    """Streams for rounds under load; `window_s`: the time of one window of the survey alone.

    Fewer messages a window where links are slow: streams that share an uplink take several times as long, and what they
    carry together is counted window by window.
    """
    messages = round(min(max(BANDWIDTH.window * LONGEST_WINDOW_S / max(window_s, 1e-9), 1), BANDWIDTH.window))
    each_s = window_s * messages / BANDWIDTH.window
    iterations = as_many_as_last(BANDWIDTH_ROUND_S, each_s, FEWEST_WINDOWS, 1000)
    return msgspec.structs.replace(BANDWIDTH, window=messages, iterations=iterations)


def leaves_of(nodes: Collection[str], leaf_of: Mapping[str, str]) -> Leaves:
    """Nodes by leaf, both in natural order; nodes of unknown leaf are left out. `leaf_of`: of absent nodes, too."""
    whole: dict[str, list[str]] = {}
    for node in sorted(filter(leaf_of.get, leaf_of), key=lambda node: leaf_order(leaf_of[node], node)):
        whole.setdefault(leaf_of[node], []).append(node)
    wanted = set(nodes)
    present = {leaf: [node for node in members if node in wanted] for leaf, members in whole.items()}
    leaves = Leaves({leaf: members for leaf, members in present.items() if members})
    leaves.places = {node: place for members in whole.values() for place, node in enumerate(members)}
    return leaves


def leaf_round(leaves: Leaves, leaf: str, way: Direction, turn: int) -> list[Pair]:
    """All nodes of one leaf send to (`way` OUT) or receive from (IN) nodes of the others, one each.

    They are spread over all other leaves as evenly as their sizes allow, so that no other uplink carries more than
    its share; each `turn` chooses other partners. Fewer pairs where the others have fewer nodes.
    """
    place = list(leaves).index(leaf)
    others = [name for name in leaves if name != leaf]
    return _spread(leaves, [leaf], others[place:] + others[:place], way, turn)


def split_round(leaves: Leaves, senders: Sequence[str], receivers: Sequence[str], turn: int) -> list[Pair]:
    """All nodes of some leaves send to nodes of others, each leaf to all of these as evenly as can be."""
    return _spread(leaves, senders, receivers, Direction.OUT, turn)


def halves(leaves: Leaves, draw: random.Random, before: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Half of the leaves and the other half, drawn so that both have about as many nodes; an odd one is in neither.

    `before`: leaves that were in neither before.
    """
    names = sorted(leaves, key=lambda name: (len(leaves[name]), draw.random()))
    if len(names) % 2:
        names.remove(draw.choice([name for name in names if name not in before] or names))
    twos = [draw.sample(names[place : place + 2], 2) for place in range(0, len(names), 2)]
    return [one for one, _ in twos], [other for _, other in twos]


def bisection_rounds(nodes: Sequence[str]) -> list[list[Pair]]:
    """The shift by half of the nodes, in two rounds: the first half sends to the second, and back."""
    half = len(nodes) // 2
    forward = [(nodes[place], nodes[place + half]) for place in range(half)]
    return [forward, [(target, source) for source, target in forward]]


def light_rounds(leaves: Leaves, turn: int) -> list[list[Pair]]:
    """One node of every leaf with one of another, there and back: what a node reaches while no uplink is loaded."""
    chosen = [members[turn % len(members)] for members in leaves.values()]
    half = len(chosen) // 2
    forward = list(zip(chosen[:half], chosen[half : 2 * half], strict=True))
    return [forward, [(target, source) for source, target in forward]] if forward else []


def first_rounds(
    leaves: Leaves, nodes: Sequence[str], seed: int, *, light: bool, times: int = TIMES, blocks: bool = False
) -> list[list[Pair]]:
    """The rounds that every check measures, the most informative first, as their time may be cut.

    `times`: how often each is measured where leaves are loaded one by one.
    `light`: begin with rounds of one pair a leaf, for nodes that were never measured without others at once.
    `blocks`: each leaf has two partners at a time; see `block_split`.
    """
    names = list(leaves)
    if len(nodes) < FEWEST_NODES:
        return []
    if len(names) < 2:
        return [pairs for _ in range(times) for pairs in bisection_rounds(nodes)]
    rounds = [pairs for turn in range(times) for pairs in light_rounds(leaves, turn)] if light else []
    if len(names) <= EACH_ALONE:
        ways = (Direction.OUT, Direction.IN) if len(names) > 2 else (Direction.OUT,)
        for turn in range(times):
            rounds += [leaf_round(leaves, name, way, turn) for name in names for way in ways]
            rounds += bisection_rounds(nodes) if len(names) > 2 else []
        return rounds
    draw = random.Random(seed)
    if blocks:
        return rounds + _split_of_all(leaves, draw)
    idle: set[str] = set()
    for turn in range(SPLITS):
        senders, receivers = halves(leaves, draw, idle)
        idle |= leaves.keys() - {*senders, *receivers}
        forward = split_round(leaves, senders, receivers, turn)
        rounds += [forward, [(target, source) for source, target in forward]]
    return rounds


def _split_of_all(leaves: Leaves, draw: random.Random) -> list[list[Pair]]:
    """`block_split`; then of an odd leaf that is in neither half, with three others."""
    rounds = block_split(leaves, draw)
    loaded = {name for pair in rounds[0] for name in pair}
    idle = max(leaves, key=lambda name: loaded.isdisjoint(leaves[name]) and len(leaves[name]))
    if not loaded.isdisjoint(leaves[idle]):
        return rounds
    few = {idle, *draw.sample([name for name in leaves if name != idle], FEW_LEAVES - 1)}
    return rounds + block_split(Leaves({name: leaves[name] for name in leaves if name in few}), draw)


def in_blocks(leaves: Leaves) -> bool:
    """Whether there are many leaves, half of them large, as a fabric of two or three levels has them."""
    return len(leaves) >= MANY_LEAVES and sorted(map(len, leaves.values()))[len(leaves) // 2] >= LARGE_LEAF


def block_split(leaves: Leaves, draw: random.Random) -> list[list[Pair]]:
    """Half of the leaves send to the other half, and back: half of each leaf's nodes to one leaf, half to the next.

    On routes by destination, nodes in a row have different cables between switches. So the partners of a leaf are in a
    row, too: the last nodes of one leaf and the first ones of the next. Partners spread over all leaves share cables.
    """
    place = {name: number for number, name in enumerate(leaves)}
    senders, receivers = (
        sorted(half, key=lambda name: (len(leaves[name]), place[name])) for half in halves(leaves, draw)
    )
    forward: list[Pair] = []
    for number, name in enumerate(senders):
        last, first = leaves[receivers[number]], leaves[receivers[(number + 1) % len(receivers)]]
        forward += _in_a_row(leaves[name], last[len(last) // 2 :], first[: len(first) // 2])
    return [forward, [(target, source) for source, target in forward]]


def leaf_blocks(leaves: Leaves, leaf: str, way: Direction, turn: int) -> list[Pair]:
    """All nodes of one leaf send to (`way` OUT) or receive from (IN) nodes of two others, half of them each.

    Each `turn` chooses other leaves, of as many nodes at least as far as there are such.
    """
    own = leaves[leaf]
    others = sorted((name for name in leaves if name != leaf), key=lambda name: len(leaves[name]) < len(own))
    enough = sum(len(leaves[name]) >= len(own) for name in others)
    others = others[:enough] if enough > 1 else others
    start = (2 * turn + list(leaves).index(leaf)) % len(others)
    pairs = _in_a_row(own, leaves[others[start]], leaves[others[(start + 1) % len(others)]])
    return pairs if way is Direction.OUT else [(target, source) for source, target in pairs]


def _in_a_row(nodes: Sequence[str], last: Sequence[str], first: Sequence[str]) -> list[Pair]:
    """Half of `nodes` (and an odd one) with the last of one leaf, the rest with the first of another."""
    half = (len(nodes) + 1) // 2
    return [*zip(nodes, last[-half:], strict=False), *zip(nodes[half:], first, strict=False)]


def _spread(leaves: Leaves, ours: Sequence[str], others: Sequence[str], way: Direction, turn: int) -> list[Pair]:
    """Pairs of each node of `ours` with one of `others`, none of them twice, both alternating between leaves."""
    known = leaves.places
    free = {
        name: {known.get(node, number): node for number, node in enumerate(leaves[name])} for name in (*ours, *others)
    }
    width = 1 + max((place for members in free.values() for place in members), default=0)
    stride = max(len(others) // max(len(leaves[name]) for name in ours), 1)
    pairs: list[Pair] = []
    for place in range(width):
        for number, name in enumerate(ours):
            if place not in free[name]:
                continue
            left = {other: free[other] for other in others}
            partner = _partner(left, width, place + turn // len(others), number + place * stride + turn)
            if partner is None:
                return pairs
            pair = (free[name][place], partner)
            pairs.append(pair if way is Direction.OUT else pair[::-1])
    return pairs


def _partner(free: Mapping[str, dict[int, str]], width: int, place: int, start: int) -> str | None:
    """A free node in the same place of its leaf, else any; the leaves are tried in order from `start` on."""
    others = list(free)
    ordered = [name for step in range(len(others)) if free[name := others[(start + step) % len(others)]]]
    for name in ordered:
        same = place % max(width, 1)
        if same in free[name]:
            return free[name].pop(same)
    return free[ordered[0]].pop(next(iter(free[ordered[0]]))) if ordered else None


def again_rounds(
    leaves: Leaves,
    loaded: Sequence[tuple[str, Direction]],
    times: int,
    seed: int,
    *,
    blocks: bool = False,
    first: int = 0,
) -> list[list[Pair]]:
    """Each of these leaves alone under load, `times` times, with other partners and in another order each time.

    `blocks`: in every other turn each has two partners; see `leaf_blocks`. On some routes streams of all nodes to
    partners in a row share cables, on others those to partners everywhere. `first`: the turn to begin with; a turn has
    the same partners in every call.
    """
    order = shuffled(loaded, range(first, first + times), random.Random(seed))
    return [_leaf_turn(leaves, leaf, way, turn, blocks=blocks) for turn, (leaf, way) in order]


def _leaf_turn(leaves: Leaves, leaf: str, way: Direction, turn: int, *, blocks: bool) -> list[Pair]:
    """Partners everywhere where two other leaves have too few nodes: a leaf is compared with itself at full load."""
    everywhere = leaf_round(leaves, leaf, way, turn)
    if not blocks or turn % 2:
        return everywhere
    row = leaf_blocks(leaves, leaf, way, turn)
    return row if len(row) >= len(everywhere) else everywhere
