"""Faults of a simulated fabric: which part carries less than it should."""

import random
from collections.abc import Sequence

import msgspec

from seatrial.lab.simulator.parts import FEWEST_CABLES, Part, PartKind, Parts, Way, merged
from seatrial.model.errors import UsageError


class FaultSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be planted somewhere. `share` of the design rate is left, 0 to 1; `way` None: drawn."""

    kind: PartKind
    share: float
    way: Way | None = None


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is at fault, and the share of its design rate that is left."""

    part: Part
    share: float


DIRECTED = (PartKind.NODE, PartKind.LINK)


def parse_fault(text: str) -> FaultSpec:
    """`link:0.5`, `node:0.8:in`, `uplink:0.5`, `spine:0.5`, `pair:0.3`. Raises UsageError that shows the text."""
    kind, _, rest = text.partition(":")
    number, _, way = rest.partition(":")
    try:
        share = float(number)
    except ValueError:
        share = -1.0
    if kind not in list(PartKind) or not 0 <= share < 1 or (way and way not in list(Way)):
        raise UsageError(
            f"--fault {text!r} is none.",
            f"Give KIND:SHARE, KIND one of {', '.join(PartKind)}, SHARE from 0 to less than 1: what is left.",
        )
    if way and kind in ("spine", "pair"):
        raise UsageError(f"--fault {text!r}: a {kind} has no direction.", f"Give {kind}:{number}.")
    return FaultSpec(kind=PartKind(kind), share=share, way=Way(way) if way else None)


def draw_faults(parts: Parts, specs: Sequence[FaultSpec], draw: random.Random) -> list[Planted]:
    """Each on a part of its kind that no other has, at random. Raises UsageError where there is none (left).

    A cable or a node without a direction in its spec has a random one, or both; an uplink bundle has both.
    """
    planted: list[Planted] = []
    taken: set[tuple[PartKind, str]] = set()
    for spec in specs:
        for _ in range(1000):
            part = _draw_part(parts, spec, draw)
            if part is not None and (part.kind, part.place) not in taken:
                break
        else:
            raise UsageError(f"This fabric has no {spec.kind} (left) that could be at fault.", "Choose another fault.")
        taken.add((part.kind, part.place))
        planted.append(Planted(part=part, share=spec.share))
    return planted


def _draw_part(parts: Parts, spec: FaultSpec, draw: random.Random) -> Part | None:
    if spec.kind is PartKind.PAIR:
        return parts.of_pair(_two(parts, draw))
    if spec.kind in DIRECTED:
        hops = parts.ports if spec.kind is PartKind.NODE else parts.trunks
        if not hops:
            return None
        way = spec.way or draw.choice(list(Way))
        hop = draw.choice(hops)
        both = [parts.of_hop(hop), parts.of_hop(hop ^ 1)]
    else:
        bundles = [one for one in parts.bundles if one.kind is spec.kind and _cables(one) >= FEWEST_CABLES]
        if not bundles:
            return None
        way = spec.way or Way.BOTH
        place = draw.choice(bundles).place
        both = [one for one in bundles if one.place == place]
    return next(merged([one for one in both if way in (Way.BOTH, one.way) or one.way is Way.BOTH]))


def _two(parts: Parts, draw: random.Random) -> tuple[str, str]:
    one, other = draw.sample(range(len(parts.routes.adapters)), 2)
    return parts.routes.adapters[one], parts.routes.adapters[other]


def _cables(part: Part) -> int:
    return len({hop // 2 for hop in part.hops})
