"""Random matchings that know the leaves: pairs within them and between them, every uplink crossed twice.

`apart` divides pairs into rounds in which no two share a cable, or leave or enter the same leaf.
"""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

from seatrial.model.fabric import Component, Paths, Wiring
from seatrial.model.subject import SubjectKind
from seatrial.pairs.rounds import Pair, circle_rounds, pieces, sparse_rounds

LEAST_CROSSINGS = 2
"""Different node pairs that cross each leaf's uplinks: with one alone, a slow uplink looks like a slow node."""
_TRIES = 50
_Cost = Callable[[Pair], int]


def matchings(nodes: Sequence[str], leaf_of: Mapping[str, str], rounds: int, seed: int) -> list[list[Pair]]:
    """`rounds` random matchings of which no two share a pair; one node of an odd number rests in each.

    Where leaves are known the matchings alternate between pairs across and within leaves, so that a node is seen with
    its uplink and without it; a single one has both kinds. `sparse.wrongly_left` holds for them all the same: it asks
    only that a node's partners are different and that the slow nodes lie anywhere. Rounds that take a good part of all
    pairs are drawn without regard to leaves: they have enough of both kinds.
    """
    leaves = {leaf_of[node] for node in nodes if node in leaf_of}
    if len(leaves) < 2 or 4 * rounds > max(len(nodes), 4):
        return sparse_rounds(nodes, rounds, seed)
    draw = random.Random(seed)
    if rounds == 1:
        return [_both_kinds(nodes, leaf_of, draw)]
    used: set[frozenset[str]] = set()
    chosen_rounds = []
    for number in range(rounds):
        pairs = _within(nodes, leaf_of, used, draw) if number % 2 else _between(nodes, leaf_of, used, draw)
        used |= {frozenset(pair) for pair in pairs}
        chosen_rounds.append(pairs)
    return chosen_rounds


def leaf_matching(
    members: Mapping[str, Sequence[str]],
    leaf_pairs: Sequence[Pair],
    used: Collection[frozenset[str]],
    draw: random.Random,
) -> list[Pair]:
    """A matching in which all nodes of a leaf have partners on the same other leaf, as `leaf_pairs` says.

    A leaf that is in none of `leaf_pairs` joins the first of these: half of the nodes of each of the three have
    partners on each of the other two. What remains where leaves differ in size is matched at random. Pairs of `used`
    are left out.
    """
    resting = [leaf for leaf in members if not any(leaf in pair for pair in leaf_pairs)]
    groups = [(list(members[here]), list(members[there])) for here, there in leaf_pairs]
    if resting and groups:
        thirds = [list(members[resting[0]]), *groups.pop(0)]
        halves = [(own[: len(own) // 2], own[len(own) // 2 :]) for own in thirds]
        groups += [(halves[place][1], halves[(place + 1) % 3][0]) for place in range(3)]
    pairs: list[Pair] = []
    left = [node for leaf in resting[1:] for node in members[leaf]]
    for sources, targets in groups:
        draw.shuffle(sources)
        draw.shuffle(targets)
        pairs += zip(sources, targets, strict=False)
        count = min(len(sources), len(targets))
        left += [*sources[count:], *targets[count:]]
    leaf_of = {node: leaf for leaf, names in members.items() for node in names}
    pairs = [pair for pair in pairs if frozenset(pair) not in used]
    return pairs + _between(left, leaf_of, {*used, *map(frozenset, pairs)}, draw)


def leaf_design(nodes: Sequence[str], leaf_of: Mapping[str, str], seed: int) -> list[list[Pair]]:
    """All pairs within each leaf, all leaves at once; then one pair for every two leaves, ends drawn at random."""
    members = members_by_leaf(nodes, leaf_of)
    inside = [circle_rounds(names) for names in members.values()]
    rounds = [
        [pair for each in inside if turn < len(each) for pair in each[turn]]
        for turn in range(max((len(each) for each in inside), default=0))
    ]
    draw = random.Random(seed)
    for leaf_pairs in circle_rounds(list(members)):
        rounds.append([(draw.choice(members[here]), draw.choice(members[there])) for here, there in leaf_pairs])
    return rounds


def covering(
    rounds: Sequence[Sequence[Pair]],
    nodes: Sequence[str],
    leaf_of: Mapping[str, str],
    seed: int,
    wiring: Wiring | None = None,
) -> list[Pair]:
    """The few pairs that the rounds lack so that they cross every node, and every leaf's uplinks by two pairs.

    With `wiring` they cross each direction of each known cable, too, that any pair of fewer than `MANY_NODES` crosses.
    """
    draw = random.Random(seed)
    covered = {frozenset(pair) for pairs in rounds for pair in pairs}
    crossed = {name for pair in covered for name in pair}
    crossings: Counter[str] = Counter()
    for pair in covered:
        crossings.update(_leaves_crossed(pair, leaf_of))
    members = members_by_leaf([node for node in nodes if node in leaf_of], leaf_of)
    added: list[Pair] = []

    def add(name: str, others: Collection[str]) -> None:
        partners = [other for other in others if other != name and frozenset((name, other)) not in covered]
        if partners:
            other = min(draw.sample(partners, len(partners)), key=lambda one: crossings[leaf_of.get(one, "")])
            added.append((name, other))
            covered.add(frozenset((name, other)))
            crossed.update((name, other))
            crossings.update(_leaves_crossed((name, other), leaf_of))

    for node in nodes:
        if node not in crossed:
            add(node, nodes)
    for leaf, names in members.items() if len(members) > 1 else ():
        elsewhere = [node for other, away in members.items() if other != leaf for node in away]
        for name in draw.sample(names, len(names)) + [names[0]] * LEAST_CROSSINGS:
            if crossings[leaf] < LEAST_CROSSINGS:
                add(name, elsewhere)
    return added if wiring is None or len(nodes) >= MANY_NODES else added + _over_cables(covered, nodes, wiring, draw)


def _over_cables(
    covered: Collection[frozenset[str]], nodes: Sequence[str], wiring: Wiring, draw: random.Random
) -> list[Pair]:
    """Pairs over the cables that no covered pair crosses, in either direction: each next one crosses the most."""
    pairs = list(itertools.combinations(draw.sample(nodes, len(nodes)), 2))
    left = {pair: {*cables(pair, wiring), *cables(pair[::-1], wiring)} for pair in pairs}
    crossed = set[Component]().union(*(left.pop(pair) for pair in pairs if frozenset(pair) in covered))
    added: list[Pair] = []
    while left:
        pair = max(left, key=lambda one: len(left[one] - crossed))
        if left[pair] <= crossed:
            break
        added.append(pair)
        crossed |= left.pop(pair)
    return added


def capped(pairs: Sequence[Pair], at_once: int, leaf_of: Mapping[str, str], uplinks: int | None) -> list[list[Pair]]:
    """The pairs in pieces: at most `at_once` in each, no node twice, no leaf left by more pairs than it has uplinks.

    `uplinks`: of each leaf, where known. A pair takes one of them even where it could share: so contention cannot be
    mistaken for a fault.
    """
    pieces: list[list[Pair]] = []
    taken: list[Counter[tuple[str, str]]] = []
    first_open = 0
    for pair in pairs:
        wanted = [("node", name) for name in pair]
        wanted += [("leaf", leaf) for leaf in _leaves_crossed(pair, leaf_of)] if uplinks else []
        while first_open < len(pieces) and len(pieces[first_open]) >= at_once:
            first_open += 1
        for number in range(first_open, len(pieces) + 1):
            if number == len(pieces):
                pieces.append([])
                taken.append(Counter())
            room = all(taken[number][one] < (1 if one[0] == "node" else uplinks or 1) for one in wanted)
            if room and len(pieces[number]) < at_once:
                pieces[number].append(pair)
                taken[number].update(wanted)
                break
    return pieces


def members_by_leaf(nodes: Sequence[str], leaf_of: Mapping[str, str]) -> dict[str, list[str]]:
    """Nodes by leaf; those of unknown leaf share one without a name."""
    members: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        members[leaf_of.get(node, "")].append(node)
    return dict(members)


def _leaves_crossed(pair: Collection[str], leaf_of: Mapping[str, str]) -> set[str]:
    leaves = {leaf_of.get(name, "") for name in pair}
    return leaves if len(leaves) == 2 and "" not in leaves else set()


def _shuffled_pairs(nodes: Sequence[str], draw: random.Random) -> list[Pair]:
    order = draw.sample(nodes, len(nodes))
    return list(zip(order[::2], order[1::2], strict=False))


def _both_kinds(nodes: Sequence[str], leaf_of: Mapping[str, str], draw: random.Random) -> list[Pair]:
    """Two or three nodes of every leaf have partners on other leaves, the others on their own; best of several."""
    tries = _TRIES if len(nodes) <= 64 else 1
    both: list[list[Pair]] = []
    for _ in range(tries):
        inside: list[Pair] = []
        abroad: list[str] = []
        for names in members_by_leaf(nodes, leaf_of).values():
            order = draw.sample(names, len(names))
            staying = max(len(names) - LEAST_CROSSINGS, 0) // 2 * 2
            inside += zip(order[:staying:2], order[1:staying:2], strict=True)
            abroad += order[staying:]
        both.append(inside + _between(abroad, leaf_of, set(), draw))
    return max(both, key=lambda pairs: len({frozenset(leaf_of.get(name, "") for name in pair) for pair in pairs}))


def _within(
    nodes: Sequence[str], leaf_of: Mapping[str, str], used: set[frozenset[str]], draw: random.Random
) -> list[Pair]:
    """A matching inside every leaf; those left over, one of an odd leaf, are paired across leaves."""
    pairs: list[Pair] = []
    for names in members_by_leaf(nodes, leaf_of).values():
        pairs += _improved(_shuffled_pairs(names, draw), lambda pair: frozenset(pair) in used, draw)
    pairs = [pair for pair in pairs if frozenset(pair) not in used]
    matched = {name for pair in pairs for name in pair}
    return pairs + _between([node for node in nodes if node not in matched], leaf_of, used, draw)


def _between(
    nodes: Sequence[str], leaf_of: Mapping[str, str], used: set[frozenset[str]], draw: random.Random
) -> list[Pair]:
    """A matching whose pairs leave their leaf, as far as the leaves' sizes permit; pairs of `used` are left out."""
    pairs = _improved(
        _shuffled_pairs(nodes, draw),
        lambda pair: 2 * (frozenset(pair) in used) + (leaf_of.get(pair[0]) == leaf_of.get(pair[1])),
        draw,
    )
    return [pair for pair in pairs if frozenset(pair) not in used]


def _improved(pairs: list[Pair], cost: _Cost, draw: random.Random) -> list[Pair]:
    """The matching after swaps of partners that each lower the cost."""
    for place in range(len(pairs)):
        for _ in range(_TRIES):
            if not cost(pairs[place]):
                break
            other = draw.randrange(len(pairs))
            (a, b), (c, d) = pairs[place], pairs[other]
            if other == place:
                continue
            before = cost((a, b)) + cost((c, d))
            for first, two in (((a, c), (b, d)), ((a, d), (c, b))):
                if cost(first) + cost(two) < before:
                    pairs[place], pairs[other] = first, two
                    break
    return pairs


MANY_NODES = 64
"""Nodes from which on the pairs of a round share no cable, as far as cables or leaves are known."""
CABLES_ON_TWO_LEVELS = 2
"""Between switches, on the way of a pair whose leaves differ."""
SAMPLED = 64
"""Leaves whose pairs show of how many levels the fabric is."""


def cables_known(pairs: Sequence[Pair], fabric: Paths) -> bool:
    """Whether the cables between switches are known where these pairs cross any. Pairs below one switch cross none."""
    return any(cables(pair, fabric) for pair in pairs)


def on_shared_cables(pair: Pair, fabric: Wiring) -> bool:
    """Whether other jobs' traffic may cross the pair's way: known cables, or those between leaves of many nodes."""
    crossed = {part.kind for part in fabric.path(*pair)}
    return SubjectKind.LINK in crossed or (SubjectKind.UPLINK in crossed and len(fabric.leaf_of) >= MANY_NODES)


def apart(pairs: Sequence[Pair], fabric: Wiring, most: int, *, both_ways: bool = False) -> list[list[Pair]]:
    """The pairs in rounds of at most `most`, in which no two share a cable as far as the fabric is known.

    Of a fabric whose cables are known those on the way count; of leaves alone, all uplinks of a leaf count as one.
    `both_ways`: nor do they when the same pairs are measured in the other direction.
    """
    paths = [_shared(pair, fabric) for pair in pairs]
    if both_ways:
        paths = [
            [*there, *_shared((target, source), fabric)] for there, (source, target) in zip(paths, pairs, strict=True)
        ]
    rounds = [[pairs[place] for place in piece] for piece in pieces(pairs, paths)]
    return [one[start : start + most] for one in rounds for start in range(0, len(one), most)]


def cables(pair: Pair, fabric: Paths) -> list[Component]:
    """The cables between switches that a pair crosses, where they are known."""
    return [part for part in fabric.path(*pair) if part.kind == SubjectKind.LINK]


def _shared(pair: Pair, fabric: Wiring) -> list[Component]:
    """What other pairs may cross, too."""
    return cables(pair, fabric) or [part for part in fabric.path(*pair) if part.kind == SubjectKind.UPLINK]


def even_matchings(nodes: Sequence[str], fabric: Wiring, rounds: int, seed: int) -> list[list[Pair]]:
    """Matchings between leaves and within leaves in turn, as `leaf_matchings.matchings`.

    Where the fabric is known to have two levels, all nodes of a leaf are matched with those of one other leaf, a
    different one in each round: routes by destination then cross all cables of both leaves equally often, while random
    pairs miss some. On more levels all these pairs would share a few cables, and where cables are not known, pairs of
    many different leaves distinguish more.
    """
    drawn = matchings(nodes, fabric.leaf_of, rounds, seed)
    members = members_of(nodes, fabric.leaf_of)
    if not on_two_levels(members, fabric):
        return drawn
    draw = random.Random(seed)
    leaves = sparse_rounds(list(members), (len(drawn) + 1) // 2, seed)
    for number, leaf_pairs in zip(range(0, len(drawn), 2), leaves, strict=False):
        used = {frozenset(pair) for pairs in drawn[:number] for pair in pairs}
        drawn[number] = leaf_matching(members, leaf_pairs, used, draw)
    return drawn


def members_of(nodes: Sequence[str], leaf_of: Mapping[str, str]) -> dict[str, list[str]]:
    """Nodes by leaf; those of unknown leaf are left out."""
    return {leaf: members for leaf, members in members_by_leaf(nodes, leaf_of).items() if leaf}


def on_two_levels(members: Mapping[str, Sequence[str]], fabric: Wiring) -> bool:
    """Whether all leaves are joined by one level of switches, by the paths of a sample of pairs."""
    first = [names[0] for names in islice(members.values(), SAMPLED)]
    pairs = zip(first, [*first[1:], first[0]], strict=True) if len(first) > 1 else ()
    ways = [len(cables(pair, fabric)) for pair in pairs]
    return bool(ways) and all(count == CABLES_ON_TWO_LEVELS for count in ways)
