"""How far a fabric's uplinks are shared by design: what its cables say, before anything is measured."""

from collections import defaultdict
from collections.abc import Collection

from seatrial.fabric.routed import Routing
from seatrial.model.fabric_map import DeviceKind, FabricLink
from seatrial.model.lanes import data_bits_per_s


def oversubscription(routing: Routing, nodes: Collection[str]) -> float | None:
    """The median over leaves of what `nodes` can send into their leaf over what its cables to other switches carry.

    At least 1: wider uplinks help nobody. None where no such leaf, or the rate of a cable, is known.
    """
    kinds = {device.key: device.kind for device in routing.fabric.devices}
    ours = {routing.adapter_of[node] for node in nodes if node in routing.adapter_of}
    down: defaultdict[str, float] = defaultdict(float)
    up: defaultdict[str, float] = defaultdict(float)
    for link in routing.fabric.links:
        rate = _rate(link)
        for here, there in ((link.one.device, link.other.device), (link.other.device, link.one.device)):
            if kinds.get(here) is not DeviceKind.SWITCH:
                continue
            if there in ours:
                down[here] += rate
            elif kinds.get(there) is DeviceKind.SWITCH:
                up[here] += rate
    ratios = sorted(down[leaf] / up[leaf] for leaf in down if up[leaf] > 0 and down[leaf] > 0)
    return max(ratios[len(ratios) // 2], 1.0) if ratios else None


def _rate(link: FabricLink) -> float:
    """Bits per second, by the end that says less; 0 where neither is known."""
    ends = (data_bits_per_s(link.width, link.speed), data_bits_per_s(link.other_width, link.other_speed))
    return min((rate for rate in ends if rate), default=0.0)
