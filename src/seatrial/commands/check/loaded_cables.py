"""Which cables of an uplink carry too little under load, where the routes are known."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.commands.check.loaded_rates import Key, carried
from seatrial.model.fabric import Wiring
from seatrial.model.measurement import Measurement
from seatrial.model.subject import Direction, SubjectKind
from seatrial.statistics.estimates import median

Rounds = Sequence[Sequence[Measurement]]


class CableLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One cable of an uplink while its leaf is under load."""

    cable: str
    direction: Direction
    """Seen from the cable's first end."""
    bytes_per_s: float
    of_peers: float
    """Share of what cables of other leaves carry with as many streams."""


def cable_loads(key: Key, ours: Rounds, others: Rounds, wiring: Wiring) -> list[CableLoad]:
    """The cables by which a leaf's streams leave it (or enter it), the worst first.

    `ours` and `others`: rounds in which this leaf alone, or another one alone, was under load the same way. A cable is
    compared with those of other leaves that had as many streams; one without such is left out.
    """
    usual: defaultdict[int, list[float]] = defaultdict(list)
    for flows in others:
        for _, count, rate in _cables(flows, key[1], wiring):
            usual[count].append(rate)
    shares: defaultdict[tuple[str, Direction], list[tuple[float, float]]] = defaultdict(list)
    for flows in ours:
        for cable, count, rate in _cables(flows, key[1], wiring):
            if usual[count]:
                shares[cable].append((rate, rate / median(usual[count])))
    found = [
        CableLoad(
            cable=name,
            direction=way,
            bytes_per_s=median([rate for rate, _ in many]),
            of_peers=median([share for _, share in many]),
        )
        for (name, way), many in shares.items()
    ]
    return sorted(found, key=lambda one: (one.of_peers, one.cable))


def _cables(
    flows: Sequence[Measurement], way: Direction, wiring: Wiring
) -> Iterator[tuple[tuple[str, Direction], int, float]]:
    """Each cable next to the leaf: how many streams cross it in this round, and what they carry together."""
    by_cable: defaultdict[tuple[str, Direction], list[Measurement]] = defaultdict(list)
    for one in flows:
        crossed = [part for part in wiring.path(*one.pair) if part.kind == SubjectKind.LINK]
        if crossed:
            nearest = crossed[0] if way is Direction.OUT else crossed[-1]
            by_cable[nearest.name, nearest.direction].append(one)
    for cable, many in by_cable.items():
        yield cable, len(many), carried(many)
