"""Slow uplinks on known cables: the cables that are slow each by itself, or the one that may be meant."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import Suspect
from seatrial.model.fabric import Component, Wiring
from seatrial.model.subject import Direction, Subject, SubjectKind, link

UNLIKE = 0.03
"""Log: cables of one uplink whose levels are further apart are not slow for one reason."""
FEWEST_PAIRS = 3
"""Of a cable, to know its level: the best of them, since traffic of other jobs only takes from a pair."""
Own = Mapping[tuple[Direction, Component], Sequence[Pair]]
"""By the way over the uplink and the cable crossed: pairs on which no other suspect is."""


def by_cables(
    suspects: Sequence[Suspect], fabric: Wiring, over_peers: Callable[[Pair], float], apart: float = UNLIKE
) -> list[Suspect]:
    """`suspects`; an uplink whose cables are slow to a different degree is replaced by them.

    An uplink with only one cable that no other suspect touches is ambiguous with it: of three cables of a leaf one is
    slow inwards, one leads to a slow spine, and the third is slow outwards. All pairs outwards are slow then, and the
    uplink explains them with as many parts as the third cable does.

    `over_peers`: logarithm of a pair's bandwidth over what its peers give. `apart`: see `UNLIKE`; more where noise is.
    """
    by_subject: dict[Subject, Suspect] = {}
    for suspect in suspects:
        parts = [suspect]
        if suspect.subject.kind is SubjectKind.UPLINK and not suspect.ambiguous_with:
            others = {other.subject for other in suspects if other is not suspect}
            parts = _by_cables(suspect, others, fabric, over_peers, apart)
        for part in parts:
            earlier = by_subject.get(part.subject)
            by_subject[part.subject] = _together(earlier, part) if earlier else part
    return list(by_subject.values())


def _by_cables(
    suspect: Suspect,
    others: Collection[Subject],
    fabric: Wiring,
    over_peers: Callable[[Pair], float],
    apart: float,
) -> list[Suspect]:
    own, cables = _own_pairs(suspect, others, fabric)
    if len(cables) < 2:
        return [suspect]
    if any(_unlike(own, way, over_peers, apart) for way in (Direction.OUT, Direction.IN)):
        return [_cable(cable, own) for cable in dict.fromkeys(part.name for _, part in own)]
    left = {part.name for _, part in own}
    if len(left) == 1 and suspect.direction is not Direction.BOTH:
        return [msgspec.structs.replace(suspect, ambiguous_with=(link(left.pop()),))]
    return [suspect]


def _own_pairs(suspect: Suspect, others: Collection[Subject], fabric: Wiring) -> tuple[Own, set[str]]:
    """Pairs that no other suspect explains, and all cables of the uplink that its pairs cross."""
    names = {(other.kind.value, other.name) for other in others}
    own: defaultdict[tuple[Direction, Component], list[Pair]] = defaultdict(list)
    cables = set()
    for pair in suspect.pairs:
        path = list(fabric.path(*pair))
        crossed = [part for part in path if part.kind == SubjectKind.LINK]
        ways = [part.direction for part in path if (part.kind, part.name) == ("uplink", suspect.subject.name)]
        if not crossed or len(ways) != 1:
            continue
        cable = crossed[0] if ways[0] is Direction.OUT else crossed[-1]
        cables.add(cable.name)
        if names.isdisjoint((str(part.kind), part.name) for part in path):
            own[ways[0], cable].append(pair)
    return own, cables


def _unlike(own: Own, way: Direction, over_peers: Callable[[Pair], float], apart: float) -> bool:
    levels = [
        max(over_peers(pair) for pair in pairs)
        for (over, _), pairs in own.items()
        if over is way and len(pairs) >= FEWEST_PAIRS
    ]
    return len(levels) > 1 and max(levels) - min(levels) > apart


def _cable(cable: str, own: Own) -> Suspect:
    """One cable of the uplink, by its own pairs."""
    crossed = {part: pairs for (_, part), pairs in own.items() if part.name == cable}
    ways = {part.direction for part in crossed}
    return Suspect(
        subject=link(cable),
        direction=ways.pop() if len(ways) == 1 else Direction.BOTH,
        ambiguous_with=(),
        pairs=tuple(sorted(pair for pairs in crossed.values() for pair in pairs)),
    )


def _together(first: Suspect, second: Suspect) -> Suspect:
    """Two suspects of one part."""
    return msgspec.structs.replace(
        first,
        direction=first.direction if first.direction is second.direction else Direction.BOTH,
        pairs=tuple(sorted({*first.pairs, *second.pairs})),
    )
