"""Uplinks whose loss one cable of theirs explains as well, beside parts that are named anyway."""

from collections import defaultdict
from collections.abc import Collection, Sequence

import msgspec

from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import Suspect
from seatrial.model.fabric import Wiring
from seatrial.model.subject import Direction, Subject, SubjectKind, link


def with_single_cables(suspects: Sequence[Suspect], fabric: Wiring) -> list[Suspect]:
    """`suspects`; an uplink is ambiguous with its only cable that no other suspect touches.

    Of three cables of a leaf one is slow inwards, one leads to a slow spine, and the third is slow outwards: all pairs
    outwards are slow, and the uplink explains them with as many parts as the third cable does.
    """
    return [
        _with_cable(suspect, {other.subject for other in suspects if other is not suspect}, fabric)
        for suspect in suspects
    ]


def _with_cable(suspect: Suspect, others: Collection[Subject], fabric: Wiring) -> Suspect:
    if suspect.subject.kind is not SubjectKind.UPLINK or suspect.direction is Direction.BOTH:
        return suspect
    cables = _unexplained_cables(suspect, others, fabric)
    if len(cables) != 1 or link(cables[0]) in suspect.ambiguous_with:
        return suspect
    return msgspec.structs.replace(suspect, ambiguous_with=(*suspect.ambiguous_with, link(cables[0])))


def _unexplained_cables(suspect: Suspect, others: Collection[Subject], fabric: Wiring) -> list[str]:
    """Cables of the uplink with a pair that crosses no other suspect between the leaf and its partner's node."""
    by_cable: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in suspect.pairs:
        crossed = [part.name for part in fabric.path(*pair) if part.kind == SubjectKind.LINK]
        if crossed:
            by_cable[crossed[0] if suspect.direction is Direction.OUT else crossed[-1]].append(pair)
    if len(by_cable) < 2:
        return []
    names = {(other.kind.value, other.name) for other in others if other.kind is not SubjectKind.NODE}
    return [
        cable
        for cable, pairs in by_cable.items()
        if any(names.isdisjoint((str(part.kind), part.name) for part in fabric.path(*pair)) for pair in pairs)
    ]
