"""What the links of a GPU carry: PCIe to the host, and NVLinks or xGMI to other GPUs, in one direction."""

import re
from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.gpu import Gpu
from seatrial.model.limit import Limit, LimitTerm
from seatrial.model.pcie import ENCODINGS, link_bytes_per_s

TRANSFERS = dict(enumerate(sorted(ENCODINGS), start=1))
"""PCIe generation -> transfers per second and lane."""
FORMULA = "transfers_per_s * encoding * width / 8"
COHERENT = re.compile(r"\bG[HB]\d{2,3}\b|\bMI300A\b")
"""Models whose host memory is not behind PCIe but behind links of the package, which are faster."""


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
        formula=FORMULA,
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
