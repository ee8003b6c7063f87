"""What a map alone shows: cables that trained low, missing cables, contradictions, and what is missing of the map.

Cables are compared with peers (`link_rates`), pairs of switches with comparable pairs (`missing_cables`); a fault that
all cables of a switch share is the switch's (`shared_faults`); a text that was cut off, and addresses that occur twice,
are problems themselves (`map_integrity`).
"""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping

from seatrial.fabric.link_rates import rate_faults
from seatrial.fabric.map_integrity import integrity_problems, one_sided
from seatrial.fabric.missing_cables import missing_cables
from seatrial.fabric.shared_faults import link_problems, missing_problems
from seatrial.model.fabric_map import DeviceKind, FabricMap
from seatrial.model.verdict import Finding

FEWEST_SHARE = 1 / 8
"""A switch with a smaller part of the adapters of the fullest one is not a leaf: a spine with a host for management."""


def check_map(fabric: FabricMap) -> tuple[Finding, ...]:
    """All problems of a map: the map itself first, then cables, then missing ones."""
    tier = tiers(fabric)
    lone = list(one_sided(fabric))
    contradicted = {fault.link for fault in lone}
    faults = [*lone, *(fault for fault in rate_faults(fabric, tier) if fault.link not in contradicted)]
    return (
        *integrity_problems(fabric),
        *link_problems(fabric, faults),
        *missing_problems(fabric, missing_cables(fabric, tier)),
    )


def tiers(fabric: FabricMap) -> Mapping[str, int]:
    """Switch -> 0 for a leaf switch, 1 for the switches above it, and so on. Switches out of reach are left out."""
    devices = fabric.by_key
    adapters: Counter[str] = Counter()
    near: defaultdict[str, set[str]] = defaultdict(set)
    for link in fabric.links:
        for near_end, far_end in ((link.one.device, link.other.device), (link.other.device, link.one.device)):
            if devices[near_end].kind is not DeviceKind.SWITCH:
                continue
            if devices[far_end].kind is DeviceKind.ADAPTER:
                adapters[near_end] += 1
            elif devices[far_end].kind is DeviceKind.SWITCH:
                near[near_end].add(far_end)
    fullest = max(adapters.values(), default=0)
    tier = {switch: 0 for switch, count in adapters.items() if count > FEWEST_SHARE * fullest}
    queue = deque(sorted(tier))
    while queue:
        switch = queue.popleft()
        for other in sorted(near[switch]):
            if other not in tier:
                tier[other] = tier[switch] + 1
                queue.append(other)
    return tier
