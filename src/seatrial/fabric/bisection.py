"""How much one half of a fabric's adapters can send to the other at most, by arithmetic from its cables.

The halves are whole leaf switches. Of several ways to divide them the one with the least between them counts, so the
number is an upper bound: another division may have less.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec

from seatrial.model.fabric import DeviceKind, FabricMap
from seatrial.model.hca import data_bits_per_s

DIVISIONS = 64
"""Random orders of the leaves that are tried besides that of the map."""
SEED = 1


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """Bits per second in one direction between two halves of the adapters."""

    bits_per_s: float
    adapters: int
    """Adapters of the smaller half."""
    share: float
    """Share of what these adapters can send together."""


def bisection(fabric: FabricMap) -> Bisection | None:
    """None for a fabric with more than two tiers of switches, or with cables of unknown rate, or without two adapters.

    A switch without adapters lets through what both halves have cables for: the lesser of the two sums.
    """
    rates = _rates(fabric)
    kinds = {device.key: device.kind for device in fabric.devices}
    if rates is None:
        return None
    hosts: Counter[str] = Counter()
    sends: defaultdict[str, float] = defaultdict(float)
    between: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for ends, rate in rates.items():
        for switch, device in (ends, ends[::-1]):
            if kinds.get(switch) is not DeviceKind.SWITCH:
                continue
            if kinds.get(device) is DeviceKind.ADAPTER:
                hosts[switch] += 1
                sends[switch] += rate
            elif kinds.get(device) is DeviceKind.SWITCH:
                between[switch][device] = between[switch].get(device, 0.0) + rate
    upper = {switch for switch in between if not hosts[switch]}
    if sum(hosts.values()) < 2 or any(other in upper for switch in upper for other in between[switch]):
        return None
    if len(hosts) == 1:
        (total,) = sends.values()
        adapters = sum(hosts.values()) // 2
        return Bisection(bits_per_s=total * adapters / sum(hosts.values()), adapters=adapters, share=1.0)
    return min(
        (_divided(half, hosts, sends, between, upper) for half in _halves(hosts)), key=lambda each: each.bits_per_s
    )


def _rates(fabric: FabricMap) -> dict[tuple[str, str], float] | None:
    """Both ends -> bits per second of all cables between them; None where a rate is not known."""
    rates: dict[tuple[str, str], float] = {}
    aggregation = {device.key for device in fabric.devices if device.kind is DeviceKind.AGGREGATION}
    for link in fabric.links:
        ends = (link.one.device, link.other.device)
        if aggregation.intersection(ends):
            continue
        rate = data_bits_per_s(link.width, link.speed)
        if rate is None:
            return None
        rates[ends] = rates.get(ends, 0.0) + rate
    return rates


def _halves(hosts: Mapping[str, int]) -> Iterator[set[str]]:
    """Leaves whose adapters are about half of all: by the order of the map, and by random orders."""
    leaves = list(hosts)
    yield _half(leaves, hosts)
    chance = random.Random(SEED)
    for _ in range(DIVISIONS):
        chance.shuffle(leaves)
        yield _half(leaves, hosts)


def _half(leaves: Sequence[str], hosts: Mapping[str, int]) -> set[str]:
    """The first leaves, as many as bring the number of adapters nearest to the half."""
    half: set[str] = set()
    adapters, wanted = 0, sum(hosts.values()) / 2
    for leaf in leaves[:-1]:
        if half and abs(adapters + hosts[leaf] - wanted) > abs(adapters - wanted):
            continue
        half.add(leaf)
        adapters += hosts[leaf]
    return half


def _divided(
    half: set[str],
    hosts: Mapping[str, int],
    sends: Mapping[str, float],
    between: Mapping[str, Mapping[str, float]],
    upper: Set[str],
) -> Bisection:
    """What passes from one half of the leaves to the other: through upper switches, and over cables between leaves."""
    rest = hosts.keys() - half
    through = sum(
        min(sum(rate for leaf, rate in between[switch].items() if leaf in side) for side in (half, rest))
        for switch in upper
    )
    direct = sum(rate for leaf in half for other, rate in between[leaf].items() if other in rest)
    smaller = min((half, rest), key=lambda side: sum(sends[leaf] for leaf in side))
    able = sum(sends[leaf] for leaf in smaller)
    passing = min(through + direct, able)
    return Bisection(bits_per_s=passing, adapters=sum(hosts[leaf] for leaf in smaller), share=passing / able)
