"""Limits of GPUs: to the host, to the other GPUs of the node, and to an adapter, as far as their links are known."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

import msgspec

from seatrial.limits.pcie_path import RAW, MemoryAccess, pcie_terms
from seatrial.model.facts import Gpu, NodeFacts, PciDevice, PciKind
from seatrial.model.limit import Limit, LimitTerm, Terms
from seatrial.model.pcie import ENCODINGS, link_bytes_per_s

TRANSFERS = dict(enumerate(sorted(ENCODINGS), start=1))
"""PCIe generation -> transfers per second and lane."""
COMPUTING = (0x0302, 0x0380, 0x1200)
"""PCI classes of GPUs for computing: 3D controller, other display controller, accelerator. VGA may be a console."""
COHERENT = re.compile(r"\bG[HB]\d{2,3}\b|\bMI300A\b")
"""Models whose host memory is not behind PCIe but behind links of the package, which are faster."""


def has_accelerators(facts: NodeFacts) -> bool:
    """Whether programs may compute on GPUs of the node: its driver lists some, or the bus has some beside VGA."""
    on_bus = (device.class_code for device in facts.pci if device.kind is PciKind.GPU and device.class_code is not None)
    return bool(facts.gpus) or any(code >> 8 in COMPUTING for code in on_bus)


def gpu_limits(facts: NodeFacts) -> Iterator[Limit]:
    """The path of each GPU to the host and the one to all other GPUs, as far as its links are known."""
    for gpu in facts.gpus:
        for term in (host_term(gpu, facts.hostname), peer_term(gpu, facts.hostname)):
            if term is not None:
                target = "host" if "PCIe" in term.name else "other GPUs"
                yield Limit(
                    path=f"{facts.hostname} {gpu.label} > {target}",
                    limit_bytes_per_s=term.bytes_per_s,
                    binding=term.name,
                    terms=(term,),
                    gate_bytes_per_s=term.bytes_per_s,
                    unknown=("the overhead of packets on PCIe is not counted",) if target == "host" else (),
                )


def host_term(gpu: Gpu, node: str) -> LimitTerm | None:
    """PCIe as GPU and slot can train it; an idle GPU lowers what it uses. None where that is not known.

    Without the overhead of packets, so the limit is never too low. PCI Express Base Specification 4.2 (encodings).
    """
    transfers, width = TRANSFERS.get(gpu.link_generation_max or 0), gpu.link_width_max
    rate = link_bytes_per_s(transfers, width) if transfers and width else None
    if transfers is None or width is None or rate is None or COHERENT.search(gpu.name):
        return None
    return LimitTerm(
        name=f"{node} {gpu.label}: PCIe generation {gpu.link_generation_max} x{width}",
        bytes_per_s=rate,
        inputs={"transfers_per_s": transfers, "encoding": ENCODINGS[transfers], "width": float(width)},
        source="max_link_gen and max_link_width of nvidia-smi, or the bus of amd-smi",
        formula=RAW,
    )


def peer_term(gpu: Gpu, node: str) -> LimitTerm | None:
    """All active NVLinks together: their number times their rate. None for a GPU without any."""
    active = [rate for rate in gpu.nvlinks if rate]
    if not active:
        return None
    inputs = {f"link_{number}": rate for number, rate in enumerate(active, start=1)}
    return LimitTerm(
        name=f"{node} {gpu.label}: {len(active)} NVLinks at {active[0] / 1e9:g} GB/s",
        bytes_per_s=sum(active),
        inputs=inputs,
        source="nvidia-smi nvlink -s",
        formula=" + ".join(inputs),
    )


def adapter_terms(facts: NodeFacts, adapter: PciDevice | None, label: str, direction: MemoryAccess) -> Terms:
    """Terms of the way between a GPU of the node and its adapter: PCIe of the GPU, then the adapter's links.

    `direction`: as the adapter does it to memory. The GPU is the one whose way to the adapter has the fewest links, and
    of these the fastest. What lies above a switch that both are below is not on their way: the adapter's links from
    there on count. An adapter whose path is not known has no terms, and the GPU's own count alone.
    """
    paths = {device.address: [hop.address for hop in device.path] for device in facts.pci}
    own = [hop.address for hop in adapter.path] if adapter else []
    shared = {gpu.address: shared_hops(own, paths.get(gpu.address, [])) for gpu in facts.gpus}
    rates = {gpu.address: term for gpu in facts.gpus if (term := host_term(gpu, facts.hostname)) is not None}
    nearest = max(shared.values(), default=0)
    near = [gpu.address for gpu in facts.gpus if shared[gpu.address] == nearest]
    terms = Terms()
    if near and all(address in rates for address in near):
        terms += Terms(terms=(max((rates[address] for address in near), key=lambda term: term.bytes_per_s),))
    else:
        terms += Terms(unknown=(f"{facts.hostname}: PCIe of the GPU whose data are sent is not known",))
    if adapter is None:
        return terms + Terms(unknown=(f"{facts.hostname} {label}: its PCIe path is not known",))
    below = msgspec.structs.replace(adapter, path=adapter.path[nearest:])
    return terms + pcie_terms(below, facts.hostname, label, direction)


def shared_hops(own: Sequence[str], other: Sequence[str]) -> int:
    """Hops from the root port down that two paths have in common, an even number: links have two ends."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, other, strict=False)))
    return min(alike - alike % 2, max(len(own) - 1, 0))
