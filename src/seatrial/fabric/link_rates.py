"""Cables that are not active, or trained too narrow or too slow, and rates that the ends or the tool leave open."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from seatrial.fabric.link_problem import LinkFault, link_text, name_of, rate_of, rate_text, slower_end
from seatrial.model.fabric import FabricDevice, FabricLink, FabricMap
from seatrial.model.hca import data_bits_per_s
from seatrial.model.port_state import PortUse
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count, verb

FEWEST_PEERS = 3
FULL_WIDTH = 4
HALF_WIDTH = 2
SPLIT_SPEEDS = ("HDR", "NDR", "XDR")
"""A port of 4X can be split in two of 2X: HDR100, NDR200, XDR400."""
Group = tuple[str, str]


def rate_faults(fabric: FabricMap, tier: Mapping[str, int]) -> Iterator[LinkFault]:
    """At most one fault for each cable, in the order of the links."""
    devices = fabric.by_key
    judged = _PeerRates(fabric, tier)
    state_of = {port.end: port.states for port in fabric.inactive}
    any_rate = any(link.width is not None or link.other_width is not None for link in fabric.links)
    for link in fabric.links:
        text = link_text(link, devices)
        width, speed = slower_end(link)
        if states := sorted({state_of[end] for end in (link.one, link.other) if end in state_of}):
            rate = " and ".join(dict.fromkeys(state.text for state in states))
            fails = any(state.use is PortUse.FAILS for state in states)
            kind = FindingKind.LINK_FAILING if fails else FindingKind.LINK_NOT_ACTIVE
            means = ": its link has failed and is trained again" if fails else ", not Active: it carries no data"
            yield LinkFault(kind=kind, link=link, rate=rate, expected="", says=f"{text} is {rate}{means}.")
        elif _narrow(width, speed):
            yield _fault(link, FindingKind.LINK_NARROW, f"{text} is active at {rate_text(width, speed)} only.")
        elif any_rate and (unknown := _unknown(link)):
            yield _fault(link, FindingKind.LINK_RATE_UNKNOWN, f"The rate of {text} is not known: {unknown}.")
        elif _disagree(link):
            ends = rate_text(link.width, link.speed), rate_text(link.other_width, link.other_speed)
            statement = f"The ends of {text} disagree: {ends[0]} at the first, {ends[1]} at the second."
            yield _fault(link, FindingKind.LINK_ENDS_DISAGREE, statement)
        elif link.supported:
            statement = f"{text} runs at {rate_text(width, speed)}, and both ends support {link.supported}."
            yield _fault(link, FindingKind.LINK_BELOW_SUPPORT, statement, link.supported)
        elif against := judged.faster(link):
            statement = f"{text} runs at {rate_text(width, speed)}, where {against[1]}."
            yield _fault(link, FindingKind.LINK_BELOW_PEERS, statement, against[0])


def _fault(link: FabricLink, kind: FindingKind, says: str, expected: str = "") -> LinkFault:
    return LinkFault(kind=kind, link=link, rate=rate_text(*slower_end(link)), expected=expected, says=says)


def _narrow(width: int | None, speed: str) -> bool:
    """Whether a port has fewer lanes than any cable of its speed."""
    return width is not None and width < (HALF_WIDTH if speed in SPLIT_SPEEDS else FULL_WIDTH)


def _unknown(link: FabricLink) -> str:
    """What an end printed instead of a rate; an end without its own line printed nothing."""
    ends = ((link.width, link.speed, link.listed_by_one), (link.other_width, link.other_speed, link.listed_by_other))
    for width, speed, listed in ends:
        if listed and width is not None and data_bits_per_s(width, speed) is None:
            return f"the tool printed {width}x{speed or '???'}"
    if link.listed_by_one and link.listed_by_other and link.width is None and link.other_width is None:
        return "the tool printed none"
    return ""


def _disagree(link: FabricLink) -> bool:
    both = link.width and link.other_width and link.speed and link.other_speed
    return bool(both) and (link.width, link.speed) != (link.other_width, link.other_speed)


class _PeerRates:
    """Comparable cables: those beside one, and those that join the same kinds of devices at one of its ends.

    At least three must agree, and be the majority, before one can be below them: a port that is meant for a slower node
    is alone in that.
    """

    def __init__(self, fabric: FabricMap, tier: Mapping[str, int]) -> None:
        self._devices: Mapping[str, FabricDevice] = fabric.by_key
        self._tier = tier
        at: defaultdict[Group, list[FabricLink]] = defaultdict(list)
        self._beside: defaultdict[tuple[str, str], list[FabricLink]] = defaultdict(list)
        between: defaultdict[tuple[str, ...], list[FabricLink]] = defaultdict(list)
        for link in fabric.links:
            self._beside[link.one.device, link.other.device].append(link)
            between[self._tiers_of(link)].append(link)
            for near_end, far_end in _both_ways(link):
                at[near_end, self._class(far_end)].append(link)
        self._usual = {place: _usual(links) for place, links in at.items()}
        self._between = {place: _usual(links) for place, links in between.items()}

    def faster(self, link: FabricLink) -> tuple[str, str] | None:
        """The rate that the cable should have, and which cables show it; None where none do."""
        rate = rate_of(link)
        if rate is None:
            return None
        best = max(self._beside[link.one.device, link.other.device], key=lambda other: rate_of(other) or 0.0)
        if (rate_of(best) or 0.0) > rate:
            text = rate_text(*slower_end(best))
            return text, f"a cable beside it runs at {text}"
        places = [
            ((near_end, self._class(far_end)), f"at {name_of(self._devices, near_end)}")
            for near_end, far_end in _both_ways(link)
        ]
        for place, where in places:
            if (usual := self._usual.get(place)) and rate < usual[0]:
                such = f"{usual[1]} of {count(usual[2], 'such cable')} {where}"
                return usual[3], f"{such} {verb(usual[1], 'runs', 'run')} at {usual[3]}"
        usual = self._between.get(self._tiers_of(link))
        if usual and rate < usual[0] and all(end.device in self._tier for end in (link.one, link.other)):
            such = f"{usual[1]} of {count(usual[2], 'cable')} between such switches"
            return usual[3], f"{such} {verb(usual[1], 'runs', 'run')} at {usual[3]}"
        return None

    def _class(self, device: str) -> str:
        """Adapter, aggregation engine, or switch of a tier."""
        kind = self._devices[device].kind.value if device in self._devices else ""
        return f"{kind} {self._tier.get(device, '')}"

    def _tiers_of(self, link: FabricLink) -> tuple[str, ...]:
        return tuple(sorted(self._class(end.device) for end in (link.one, link.other)))


def _both_ways(link: FabricLink) -> tuple[tuple[str, str], tuple[str, str]]:
    ends = link.one.device, link.other.device
    return ends, ends[::-1]


def _usual(links: Sequence[FabricLink]) -> tuple[float, int, int, str] | None:
    """The rate that more than half of at least three links have: rate, how many have it, of how many, its name."""
    rates = [(rate, rate_text(*slower_end(link))) for link in links if (rate := rate_of(link)) is not None]
    if len(rates) < FEWEST_PEERS:
        return None
    (rate, name), often = Counter(rates).most_common(1)[0]
    return (rate, often, len(rates), name) if 2 * often > len(rates) else None
