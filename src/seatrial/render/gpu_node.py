"""The devices of a node with GPUs as a picture: the limit of each link and path, what binds it, what was measured."""

import math
from collections.abc import Mapping

from seatrial.limits.gpus import host_term, peer_term
from seatrial.limits.node import Carriers, device_limit
from seatrial.limits.pcie import PciLink, current, link_pairs, trainable
from seatrial.limits.pcie_path import MemoryAccess, identity, link_rates
from seatrial.model.facts import Gpu, NodeFacts, PciDevice, PciKind
from seatrial.model.limit import Limit
from seatrial.model.units import bandwidth
from seatrial.render.device_map import DeviceMap, DevicePart

ROUNDING = 1e-9
DRAWN = (PciKind.NETWORK, PciKind.GPU)
ITSELF, UNKNOWN = "", "?"
"""What binds a path in place of a link: the device itself, being slower than all links; or nobody knows."""


def device_map(facts: NodeFacts, aside: str = "", measured: Mapping[str, str] | None = None) -> DeviceMap | None:
    """The picture of a node that has GPUs, else None.

    `aside`: a sentence on what was measured of the node; `measured`: figure with its unit of a device, by its label.
    """
    of, figures = Carriers(facts), measured or {}
    gpus = {gpu.address: gpu for gpu in facts.gpus}
    devices = [device for device in facts.pci if device.kind in DRAWN and not device.virtual_function and device.path]
    if not gpus and not any(device.kind is PciKind.GPU for device in devices):
        return None
    processors: dict[int | None, DevicePart] = {}
    by_link: dict[str, DevicePart] = {}
    binding: list[str] = []
    for device in devices:
        above = _processor(processors, device.numa_node)
        rates = dict(link_rates(device, MemoryAccess.WRITE))
        for link in link_pairs(device.path)[:-1]:
            if identity(link) not in by_link:
                switch = DevicePart(title=f"switch {link.lower.address}", style="bridge", below=[])
                by_link[identity(link)] = _linked(switch, link, rates.get(identity(link)))
                above.below.append(switch)
            above = by_link[identity(link)]
        gpu = gpus.pop(device.address, None)
        own = link_pairs(device.path)[-1]
        part, binds = _gpu(gpu, device, facts.hostname) if gpu else _device(device, of)
        by_link[device.address] = part
        above.below.append(part)
        part.itself_binds = binds == ITSELF
        binding.append(device.address if binds == identity(own) else binds)
    for gpu in gpus.values():
        term = host_term(gpu, facts.hostname)
        rate = _rate(term.bytes_per_s if term else None)
        lone = DevicePart(
            title=f"{gpu.label} {gpu.name}".strip(), style="gpu", path=rate, bus=_nvlinks(gpu, facts.hostname)
        )
        _processor(processors, None).below.append(lone)
        by_link[gpu.address] = lone
    for name in binding:
        if name in by_link:
            by_link[name].link_binds = True
    for part in by_link.values():
        _fill(part, figures)
    return DeviceMap(
        title="GPUs, adapters and their ways to the processor",
        parts=tuple(part for _, part in sorted(processors.items(), key=lambda one: (one[0] is None, one[0] or 0))),
        bus_title="NVLink",
        aside=f"Limits are for one direction. What is below a switch shares the link above it. {aside}".strip(),
    )


def _processor(processors: dict[int | None, DevicePart], numa_node: int | None) -> DevicePart:
    title = "processor" if numa_node is None else f"processor, NUMA node {numa_node}"
    return processors.setdefault(numa_node, DevicePart(title=title, style="processor", below=[]))


def _linked(part: DevicePart, link: PciLink, rate: float | None) -> DevicePart:
    """The part with the link above it: its present state, and what both ends can do if that is more."""
    present, most = str(current(link)), str(trainable(link))
    whole = present == most or "?" in most or "unknown" in most
    part.link, part.carries = ((present,) if whole else (present, f"of {most}")), _rate(rate)
    return part


def _device(device: PciDevice, of: Carriers) -> tuple[DevicePart, str]:
    """An adapter, or a GPU that no program of a driver lists, and what binds its path; its ports are part of it."""
    limit, rates = device_limit(device, of), dict(link_rates(device, MemoryAccess.WRITE))
    slowest = min(rates, key=lambda name: rates[name], default=UNKNOWN)
    reached = limit.limit_bytes_per_s if isinstance(limit, Limit) else math.inf
    part = DevicePart(
        title=of.label(device),
        style="gpu" if device.kind is PciKind.GPU else "adapter",
        path=_rate(reached) if math.isfinite(reached) else "",
        binds=(limit.binding if isinstance(limit, Limit) else limit.reason).removeprefix(f"{of.node} "),
    )
    link = link_pairs(device.path)[-1]
    faster = rates.get(slowest, 0.0) > reached * (1 + ROUNDING)
    return _linked(part, link, rates.get(identity(link))), ITSELF if faster else slowest


def _gpu(gpu: Gpu, device: PciDevice, node: str) -> tuple[DevicePart, str]:
    """A GPU and what binds its path. Its own link counts as it can be trained: an idle GPU lowers its speed."""
    term, link = host_term(gpu, node), link_pairs(device.path)[-1]
    ways = dict(link_rates(device, MemoryAccess.WRITE))
    own = identity(link)
    ways[own] = term.bytes_per_s if term else ways.get(own, math.inf)
    binding = min(ways, key=lambda name: ways[name])
    part = DevicePart(
        title=f"{gpu.label} {gpu.name}".strip(),
        style="gpu",
        path=_rate(ways[binding]) if math.isfinite(ways[binding]) else "",
        binds="its own link" if binding == own else f"PCIe link below {binding}",
        bus=_nvlinks(gpu, node),
    )
    return _linked(part, link, ways[own] if math.isfinite(ways[own]) else None), binding


def _nvlinks(gpu: Gpu, node: str) -> tuple[str, ...]:
    """All NVLinks of a GPU that are active, and what they carry together; empty if it has none."""
    term, up = peer_term(gpu, node), [rate for rate in gpu.nvlinks if rate]
    return (f"{len(up)} × {bandwidth(up[0])}", _rate(term.bytes_per_s)) if term else ()


def _fill(part: DevicePart, figures: Mapping[str, str]) -> None:
    """Put what is known of a device into its box."""
    if part.below:
        return
    part.measured = next((text for label, text in figures.items() if f"{part.title} ".startswith(f"{label} ")), "")
    limit = f"at most {part.path}" if part.path else "limit not known"
    part.lines = (limit, f"measured {part.measured}") if part.measured else (limit,)


def _rate(bytes_per_s: float | None) -> str:
    return "" if bytes_per_s is None else bandwidth(bytes_per_s)
