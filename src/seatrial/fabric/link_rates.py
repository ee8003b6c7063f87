"""Cables that are not active, or trained too narrow or too slow, and rates that the ends or the tool leave open."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from seatrial.fabric.ibnetdiscover import SOURCE as IBLINKINFO
from seatrial.fabric.link_problem import LinkFault, link_text, name_of, rate_of, rate_text, slower_end
from seatrial.model.fabric import FabricDevice, FabricLink, FabricMap
from seatrial.model.hca import PortUse, data_bits_per_s
from seatrial.model.verdict import FindingKind

FEWEST_PEERS = 3
FULL_WIDTH = 4
HALF_WIDTH = 2
SPLIT_SPEEDS = ("HDR", "NDR", "XDR")
"""A port of 4X can be split in two of 2X: HDR100, NDR200, XDR400."""
PLANNED = 1 / 4
"""Share of adapters, or of lower switches, with cables of one rate only from which that rate may be planned."""
Group = tuple[str, str]
Rate = tuple[float, str]
"""Bits of data per second, and width and speed."""


def rate_faults(fabric: FabricMap, tier: Mapping[str, int]) -> Iterator[LinkFault]:
    """At most one fault for each cable, in the order of the links."""
    devices = fabric.by_key
    judged = _PeerRates(fabric, tier)
    state_of = {port.end: port.states for port in fabric.inactive}
    any_rate = any(link.width is not None or link.other_width is not None for link in fabric.links)
    for link in fabric.links:
        text = link_text(link, devices)
        width, speed = slower_end(link)
        if states := sorted({state_of[end] for end in link.ends if end in state_of}):
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
            statement = f"{text} runs at {rate_text(width, speed)}, where {against.shown}."
            fault = _fault(link, FindingKind.LINK_BELOW_PEERS, statement, against.rate)
            yield msgspec.structs.replace(fault, planned=against.perhaps or judged.many_alike(link))


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


class _Faster(msgspec.Struct, frozen=True):
    """The rate that a cable should have, and which cables show it; `perhaps`: it may be planned to be slower."""

    rate: str
    shown: str
    perhaps: bool = False


class _PeerRates:
    """Comparable cables: those beside one, and those that join the same kinds of devices at one of its ends.

    At least three must be there, and most of them faster, before one can be below them: a port that is meant for a
    slower node is alone in that. Where the tool reports which cables could be faster, others are only perhaps below.
    """

    def __init__(self, fabric: FabricMap, tier: Mapping[str, int]) -> None:
        self._devices: Mapping[str, FabricDevice] = fabric.by_key
        self._tier = tier
        self._support_is_reported = fabric.source == IBLINKINFO
        self._class = {
            device.key: f"{device.kind.value} {tier.get(device.key, '')} {device.model}" for device in fabric.devices
        }
        """Adapter, aggregation engine, or switch of a tier; with its model, as far as it is known."""
        self._at: defaultdict[Group, Counter[Rate]] = defaultdict(Counter)
        self._beside: defaultdict[tuple[str, str], list[FabricLink]] = defaultdict(list)
        self._between: defaultdict[tuple[str, ...], Counter[Rate]] = defaultdict(Counter)
        rates_of: defaultdict[tuple[tuple[str, ...], str], set[Rate]] = defaultdict(set)
        for link in fabric.links:
            self._beside[link.one.device, link.other.device].append(link)
            if (rate := _named_rate(link)) is not None:
                self._between[self._classes_of(link)][rate] += 1
                rates_of[self._classes_of(link), self._lower_end(link)].add(rate)
                for near_end, far_end in link.device_ways:
                    self._at[near_end, self._class[far_end]][rate] += 1
        self._alike: defaultdict[tuple[str, ...], Counter[Rate]] = defaultdict(Counter)
        """Classes of both ends -> how many adapters, or lower switches, have cables of one rate only, by that rate."""
        self._lower_ends = Counter(classes for classes, _ in rates_of)
        for (classes, _), rates in rates_of.items():
            if len(rates) == 1:
                self._alike[classes][next(iter(rates))] += 1

    def faster(self, link: FabricLink) -> _Faster | None:
        """What comparable cables show; None where none do."""
        rate = _named_rate(link)
        if rate is None:
            return None
        best = max(self._beside[link.one.device, link.other.device], key=lambda other: rate_of(other) or 0.0)
        if (rate_of(best) or 0.0) > rate[0]:
            text = rate_text(*slower_end(best))
            return _Faster(text, f"a cable beside it runs at {text}")
        faster_one_there = False
        perhaps = self._support_is_reported
        for near_end, far_end in link.device_ways:
            at = self._at[near_end, self._class[far_end]]
            if shown := _most_faster(rate, at, f"such cables at {name_of(self._devices, near_end)}"):
                return _Faster(*shown, perhaps)
            faster_one_there |= at.total() < FEWEST_PEERS and max(at)[0] > rate[0]
        ends = [end.device for end in (link.one, link.other)]
        shown = _most_faster(rate, self._between[self._classes_of(link)], "cables between such devices")
        if shown and (faster_one_there or all(end in self._tier for end in ends)):
            return _Faster(*shown, perhaps)
        if shown and all(self._devices[end].model for end in ends):
            return _Faster(*shown, perhaps=True)
        return None

    def many_alike(self, link: FabricLink) -> bool:
        """Whether several adapters, or lower switches, have only cables of its rate, which may be planned then."""
        classes, rate = self._classes_of(link), _named_rate(link)
        alike = self._alike[classes][rate] if rate is not None else 0
        return alike >= FEWEST_PEERS and alike >= PLANNED * self._lower_ends[classes]

    def _classes_of(self, link: FabricLink) -> tuple[str, ...]:
        return tuple(sorted(self._class[end.device] for end in (link.one, link.other)))

    def _lower_end(self, link: FabricLink) -> str:
        return min((link.one.device, link.other.device), key=lambda key: self._tier.get(key, -1))


def _named_rate(link: FabricLink) -> Rate | None:
    rate = rate_of(link)
    return None if rate is None else (rate, rate_text(*slower_end(link)))


def _most_faster(own: Rate, rates: Counter[Rate], such: str) -> tuple[str, str] | None:
    """The commonest of the faster rates, and how many cables have them, if that is more than half of at least three."""
    faster = Counter({rate: often for rate, often in rates.items() if rate[0] > own[0]})
    total, above = rates.total(), faster.total()
    if total < FEWEST_PEERS or 2 * above <= total:
        return None
    (_, name), often = faster.most_common(1)[0]
    return name, f"{above} of {total} {such} {'run at' if often == above else 'are faster, most of them at'} {name}"
