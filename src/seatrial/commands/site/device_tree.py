"""GPUs and adapters of a node as a tree from the root ports down: each link with its limit, and which one binds."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.limits.gpus import host_term, peer_term
from seatrial.limits.node import Carriers, device_limit
from seatrial.limits.pcie import PciLink, current, link_pairs, trainable
from seatrial.limits.pcie_path import MemoryAccess, identity, link_rates
from seatrial.model.facts import Gpu, NodeFacts, PciDevice, PciKind
from seatrial.model.limit import Limit
from seatrial.model.units import bandwidth
from seatrial.render.report import Table, columns

TREE_HEADS = columns("part", "~link above it", "#link carries", "#path carries", "~what binds")
DRAWN = (PciKind.NETWORK, PciKind.GPU)
BRANCH, LAST, BAR, BLANK = "├─\u00a0", "└─\u00a0", "│\u00a0\u00a0", "\u00a0\u00a0\u00a0"
"""Pieces of the tree; spaces that a page does not join."""


class _Part(msgspec.Struct):
    """A root port, a switch or a device, with what is below it."""

    title: str
    link: str = ""
    carries: str = ""
    path: str = ""
    binds: str = ""
    below: list["_Part"] = []


def device_tree(facts: NodeFacts, best_bytes_per_s: float | None = None) -> Table | None:
    """The tree of a node that has GPUs, else None. `best_bytes_per_s`: what the best pair of the node carried."""
    of = Carriers(facts)
    gpus = {gpu.address: gpu for gpu in facts.gpus}
    devices = [device for device in facts.pci if device.kind in DRAWN and not device.virtual_function and device.path]
    if not gpus and not any(device.kind is PciKind.GPU for device in devices):
        return None
    root = _Part("", below=[])
    switches: dict[str, _Part] = {}
    for device in devices:
        above, rates = root, dict(link_rates(device, MemoryAccess.WRITE))
        for link in link_pairs(device.path)[:-1]:
            name = f"switch {link.lower.address}"
            if name not in switches:
                switches[name] = _Part(name, _state(link), _rate(rates.get(identity(link))), below=[])
                above.below.append(switches[name])
            above = switches[name]
        gpu = gpus.pop(device.address, None)
        above.below.append(_gpu(gpu, device, facts.hostname) if gpu else _device(device, of))
    root.below += [_Part(gpu.label, below=_nvlinks(gpu, facts.hostname)) for gpu in gpus.values()]
    best = "" if best_bytes_per_s is None else f" The best pair of the node carried {bandwidth(best_bytes_per_s)}."
    aside = f"Limits are for one direction. What is below a switch shares the link above it.{best}"
    return Table(
        title="GPUs, adapters and their ways to the processor",
        columns=TREE_HEADS,
        rows=tuple(_rows(root.below)),
        aside=aside,
    )


def _device(device: PciDevice, of: Carriers) -> _Part:
    """An adapter, or a GPU that no program of a driver lists; its ports are part of its limit."""
    limit, link = device_limit(device, of), link_pairs(device.path)[-1]
    return _Part(
        of.label(device),
        _state(link),
        _rate(dict(link_rates(device, MemoryAccess.WRITE)).get(identity(link))),
        _rate(limit.limit_bytes_per_s) if isinstance(limit, Limit) else "",
        (limit.binding if isinstance(limit, Limit) else limit.reason).removeprefix(f"{of.node} "),
    )


def _gpu(gpu: Gpu, device: PciDevice, node: str) -> _Part:
    """A GPU with its NVLinks. Its own link counts as it can be trained: an idle GPU lowers its speed."""
    term, link = host_term(gpu, node), link_pairs(device.path)[-1]
    ways = dict(link_rates(device, MemoryAccess.WRITE))
    own = ways.pop(identity(link), None)
    ways[gpu.label] = term.bytes_per_s if term else own or math.inf
    binding = min(ways, key=lambda name: ways[name])
    return _Part(
        f"{gpu.label} {gpu.name}".strip(),
        _state(link),
        _rate(term.bytes_per_s if term else own),
        _rate(ways[binding]) if math.isfinite(ways[binding]) else "",
        "its own link" if binding == gpu.label else f"PCIe link below {binding}",
        below=_nvlinks(gpu, node),
    )


def _nvlinks(gpu: Gpu, node: str) -> list[_Part]:
    """All NVLinks of a GPU as one part; none if it has none that is active."""
    term = peer_term(gpu, node)
    return [_Part(term.name.removeprefix(f"{node} {gpu.label}: "), carries=_rate(term.bytes_per_s))] if term else []


def _state(link: PciLink) -> str:
    """`16.0 GT/s x8 of 16.0 GT/s x16`: the present state of a link, and what both ends can do if that is more."""
    present, most = str(current(link)), str(trainable(link))
    return present if most == present or "?" in most or "unknown" in most else f"{present} of {most}"


def _rate(bytes_per_s: float | None) -> str:
    return "" if bytes_per_s is None else bandwidth(bytes_per_s)


def _rows(parts: Sequence[_Part], before: str = "") -> Iterator[tuple[str, ...]]:
    """The rows of some parts and of all that is below them, with the lines of the tree."""
    for part in parts:
        last = part is parts[-1]
        yield f"{before}{LAST if last else BRANCH}{part.title}", part.link, part.carries, part.path, part.binds
        yield from _rows(part.below, f"{before}{BLANK if last else BAR}")
