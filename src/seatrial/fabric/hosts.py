"""Which adapter of a map is whose: by the first word of its description, which is the node's name where it was set."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from seatrial.model.fabric_map import FabricDevice, FabricMap
from seatrial.model.order import NaturalKey, natural_key


def adapters_of(fabric: FabricMap, wired: Collection[str], nodes: Iterable[str], device: str = "") -> dict[str, str]:
    """Node -> key of its adapter, for the nodes that are found. `wired`: adapters that hang on a switch.

    Names count without domain and in either case. Of several adapters of a node, its rails, the first one by name
    counts, or the one called `device` (mlx5_1, HCA-2).
    """
    rails: defaultdict[str, list[FabricDevice]] = defaultdict(list)
    for one in fabric.devices:
        if one.key in wired and device.lower() in ("", one.rail.lower()):
            rails[short(one.host)].append(one)
    found = {node: min(rails[short(node)], key=_by_name) for node in nodes if short(node) in rails}
    return {node: one.key for node, one in found.items()}


def short(name: str) -> str:
    """A host's name without its domain, in lower case."""
    return name.partition(".")[0].lower()


def _by_name(device: FabricDevice) -> NaturalKey:
    """mlx5_2 comes before mlx5_10."""
    return natural_key(f"{device.rail.lower()} {device.key}")


def unique_names(devices: Collection[FabricDevice]) -> Mapping[str, str]:
    """Key -> description; with the key where several devices have the same one, or none."""
    count = Counter(device.name for device in devices)
    return {
        device.key: device.name if device.name and count[device.name] == 1 else f"{device.name} {device.key}".strip()
        for device in devices
    }
