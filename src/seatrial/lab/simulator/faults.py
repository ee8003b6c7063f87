"""Faults of a simulated fabric: which part carries less than it should, loses packets, or takes longer."""

import math
import random
from collections.abc import Sequence

import msgspec

from seatrial.fabric.parts import FEWEST_CABLES, FabricPart, FabricParts, PartKind, Way, merged
from seatrial.model.errors import UsageError


class FaultCourse(msgspec.Struct, frozen=True, kw_only=True):
    """When a fault acts, in simulated seconds since the run began, and what it does to small messages."""

    since_s: float = 0.0
    period_s: float = 0.0
    """The fault acts for the first half of each period; 0: all the time from `since_s` on."""
    lost: float = 0.0
    """Share of the packets on the part's way that do not arrive, 0 to 1."""
    late_s: float = 0.0
    """Seconds that a small message takes longer on each cable of the part, or on the way of the pair."""

    def acts(self, at_s: float) -> bool:
        """Whether the part is at fault at this time."""
        return at_s >= self.since_s and (not self.period_s or (at_s - self.since_s) % self.period_s < self.period_s / 2)


class FaultSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A fault to be planted somewhere. `share` of the design rate is left, 0 to 1 (all); `way` None: random."""

    kind: PartKind
    share: float
    way: Way | None = None
    course: FaultCourse = FaultCourse()


class SimulatedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is at fault, and the share of its design rate that is left while the fault acts."""

    part: FabricPart
    share: float
    course: FaultCourse = FaultCourse()

    @property
    def loss(self) -> float:
        """Share of the design rate that is missing."""
        return 1 - self.share


DIRECTED = (PartKind.NODE, PartKind.LINK)
SIZES = (PartKind.SPINE, PartKind.UPLINK, PartKind.LINK, PartKind.NODE, PartKind.PAIR)
"""Kinds in the order in which faults get their places: those with many cables while there is room."""
LOSSES = 0.05, 0.5
"""Range of the losses of random faults."""
FAULTY_SHARE = 0.1
"""Share of the parts of one kind, at least one, that random faults hit; the good ones remain the majority."""
NAMED = {True: (PartKind.NODE, PartKind.LINK, PartKind.UPLINK, PartKind.SPINE), False: (PartKind.NODE, PartKind.UPLINK)}
"""Kinds that a check can name with and without the fabric's cables and routes."""


COURSE = {"since": "since_s", "period": "period_s", "lost": "lost", "late": "late_s"}
"""Name of a setting in `--fault` -> the field of `FaultCourse`."""


def parse_fault(text: str) -> FaultSpec:
    """`link:0.5`, `node:0.8:in`, `pair:0.3`, `node:0.5,since=30`, `uplink:0.5,period=4`, `node:1,lost=0.01`.

    Raises UsageError that shows the text.
    """
    plain, *settings = text.split(",")
    kind, _, rest = plain.partition(":")
    number, _, way = rest.partition(":")
    share, *values = (_number(value) for value in (number, *(one.partition("=")[2] for one in settings)))
    names = [one.partition("=")[0] for one in settings]
    whole = share == 1 and not {"lost", "late"}.isdisjoint(names)
    if kind not in list(PartKind) or not (0 <= share < 1 or whole) or (way and way not in list(Way)):
        raise UsageError(
            f"--fault {text!r} is not a valid fault.",
            f"Give KIND:SHARE, KIND one of {', '.join(PartKind)}, SHARE from 0 to less than 1: what is left. "
            "1 needs lost or late: node:1,late=1e-6.",
        )
    if not set(names) <= COURSE.keys() or min(values, default=0.0) < 0:
        raise UsageError(
            f"--fault {text!r} has a setting that is not valid.",
            f"Give since=SECONDS, period=SECONDS, lost=SHARE or late=SECONDS: {plain},since=30.",
        )
    if way and kind in ("spine", "pair"):
        raise UsageError(f"--fault {text!r}: a {kind} has no direction.", f"Give {kind}:{number}.")
    course = FaultCourse(**{COURSE[name]: value for name, value in zip(names, values, strict=True)})
    return FaultSpec(kind=PartKind(kind), share=share, way=Way(way) if way else None, course=course)


def _number(text: str) -> float:
    """A number of 0 and more; -1 for any other text."""
    try:
        return max(float(text), -1.0) if math.isfinite(float(text)) else -1.0
    except ValueError:
        return -1.0


def random_faults(parts: FabricParts, count: int, draw: random.Random, *, routed: bool) -> list[FaultSpec]:
    """`count` faults of kinds that a check can name with or without routes, each with a loss of 5 to 50 %.

    Every kind is as likely, until `FAULTY_SHARE` of its parts are at fault. Raises UsageError where there is no room.
    """
    room = {kind: max(int(FAULTY_SHARE * number), min(number, 1)) for kind, number in _numbers(parts).items()}
    specs: list[FaultSpec] = []
    for _ in range(count):
        kinds = [kind for kind in NAMED[routed] if room[kind]]
        if not kinds:
            raise UsageError(f"--faults {count}: this fabric has room for {len(specs)}.", "Give fewer, or more nodes.")
        kind = draw.choice(kinds)
        room[kind] -= 1
        specs.append(FaultSpec(kind=kind, share=1 - draw.uniform(*LOSSES)))
    return specs


def draw_faults(parts: FabricParts, specs: Sequence[FaultSpec], draw: random.Random) -> list[SimulatedFault]:
    """Each on a random part of its kind; no fault is hidden behind the others. In the order of `specs`.

    A cable or a node without a direction in its spec has a random one, or both; an uplink bundle has both. Raises
    UsageError where no part is left.
    """
    planted: dict[int, SimulatedFault] = {}
    for number in sorted(range(len(specs)), key=lambda number: SIZES.index(specs[number].kind)):
        spec = specs[number]
        for _ in range(1000):
            part = _draw_part(parts, spec, draw)
            if part is not None and _visible([*(one.part for one in planted.values()), part]):
                break
        else:
            raise UsageError(f"This fabric has no {spec.kind} (left) that could be at fault.", "Choose another fault.")
        planted[number] = SimulatedFault(part=part, share=spec.share, course=spec.course)
    return [planted[number] for number in range(len(specs))]


def _visible(chosen: Sequence[FabricPart]) -> bool:
    """Whether the last one is new, and none lies within a single other one, whose fault would hide its own."""
    *before, last = chosen
    return not any(
        (one.kind, one.place) == (last.kind, last.place)
        or (one.hops and last.hops and (set(one.hops) <= set(last.hops) or set(last.hops) <= set(one.hops)))
        for one in before
    )


def _numbers(parts: FabricParts) -> dict[PartKind, int]:
    """How many parts of each kind could be at fault."""
    bundles = [one for one in parts.bundles if _cables(one) >= FEWEST_CABLES]
    return {
        PartKind.NODE: len(parts.ports) // 2,
        PartKind.LINK: len(parts.trunks) // 2,
        PartKind.UPLINK: sum(one.kind is PartKind.UPLINK for one in bundles) // 2,
        PartKind.SPINE: sum(one.kind is PartKind.SPINE for one in bundles),
    }


def _draw_part(parts: FabricParts, spec: FaultSpec, draw: random.Random) -> FabricPart | None:
    if spec.kind is PartKind.PAIR:
        first, other = draw.sample(parts.routes.adapters, 2)
        return parts.of_pair((first, other))
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


def _cables(part: FabricPart) -> int:
    return len({hop // 2 for hop in part.hops})
