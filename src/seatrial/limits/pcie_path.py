"""What PCIe lets through between a device and the root port: a term for every link of the path."""

import enum

from seatrial.limits.pcie import (
    FLIT_MODE,
    READ_OVERHEAD_BYTES,
    WRITE_OVERHEAD_BYTES,
    LinkState,
    PciLink,
    current,
    ends_agree,
    link_pairs,
    payload_share,
    raw_bytes_per_s,
    state_of,
)
from seatrial.model.facts import PciDevice
from seatrial.model.limit import LimitTerm, Terms
from seatrial.model.pcie import ENCODINGS

RAW = "transfers_per_s * encoding * width / 8"
PRODUCT = "link_bytes_per_s"
"""Input of a term if only the product of speed and width was reported."""
PAYLOAD = "payload_bytes / (payload_bytes + overhead_bytes)"


class MemoryAccess(enum.StrEnum):
    """Seen from memory: a device that receives from its network writes, one that sends reads."""

    WRITE = "write"
    READ = "read"


OVERHEADS = {MemoryAccess.WRITE: WRITE_OVERHEAD_BYTES, MemoryAccess.READ: READ_OVERHEAD_BYTES}


def pcie_terms(device: PciDevice, node: str, label: str, direction: MemoryAccess) -> Terms:
    """A term for each link with a known state, and what is missing. Bytes per second, one direction."""
    links = link_pairs(device.path)
    terms = Terms()
    payload, where = packet(device, direction)
    for link in links:
        terms += _link_terms(link, node, label, direction, payload, where)
    if not terms.terms:
        return Terms(unknown=(f"{node} {label}: PCIe {device.address} reports no link state",))
    return terms


def packet(device: PciDevice, direction: MemoryAccess) -> tuple[int | None, str]:
    """The largest payload of a packet on the path, and where it was read; None where no hop reports it.

    MaxPayload of any hop: a port that gets more treats it as malformed (PCI Express Base Specification 2.2.2), so the
    least that is known is a bound. A completion is no longer than what was asked for, MaxReadReq.
    """
    payloads = [(hop.max_payload_bytes, f"MaxPayload of {hop.address}") for hop in device.path if hop.max_payload_bytes]
    if direction is MemoryAccess.READ and payloads and device.path[-1].max_read_request_bytes:
        payloads.append((device.path[-1].max_read_request_bytes, f"MaxReadReq of {device.path[-1].address}"))
    return min(payloads, default=(None, ""))


def ceilings(device: PciDevice) -> tuple[tuple[str, float], ...]:
    """Name and upper bound of each link, from the root down: for gates, which must not be too low.

    With the smallest overhead of a packet, and the better of both ends where they disagree.
    """
    payload, _ = packet(device, MemoryAccess.WRITE)
    limits = []
    for link in link_pairs(device.path):
        rates = [_payload_rate(state_of(end), payload, READ_OVERHEAD_BYTES) for end in link.ends]
        known_rates = [rate for rate in rates if rate is not None]
        limits += [(identity(link), max(known_rates))] if known_rates else []
    return tuple(limits)


def link_rates(device: PciDevice, direction: MemoryAccess) -> tuple[tuple[str, float], ...]:
    """Name of each link and what its term in `pcie_terms` comes to, from the root down: for rails."""
    payload, _ = packet(device, direction)
    rates = (
        (identity(link), _payload_rate(current(link), payload, OVERHEADS[direction]))
        for link in link_pairs(device.path)
    )
    return tuple((name, rate) for name, rate in rates if rate is not None)


def _payload_rate(state: LinkState, payload: int | None, overhead: int) -> float | None:
    raw = raw_bytes_per_s(state)
    if raw is None or payload is None or (state.transfers_per_s or 0.0) >= FLIT_MODE:
        return raw
    return raw * payload_share(payload, overhead)


def identity(link: PciLink) -> str:
    """One for the link itself: functions of one card share it."""
    return link.upper.address if link.upper is not None else link.lower.address.rpartition(".")[0]


def _link_terms(
    link: PciLink, node: str, label: str, direction: MemoryAccess, payload: int | None, where: str
) -> Terms:
    state = current(link)
    raw = raw_bytes_per_s(state)
    if raw is None:
        return Terms(unknown=(f"{node} {label}: PCIe link {link.name}: {state} is not a known rate",))
    unknown = []
    if not ends_agree(link):
        unknown.append(
            f"{node} {label}: the ends of PCIe link {link.name} disagree on its state; the slower is assumed"
        )
    inputs, formula = _inputs(state, raw)
    flit = (state.transfers_per_s or 0.0) >= FLIT_MODE
    name = f"{node} {label}: PCIe link {link.name} at {state}"
    read_from = _read_from(link, state, node)
    if payload is None or flit:
        unknown.append(
            f"{node} {label}: packet overhead of FLIT mode is not counted; 242 of 256 bytes are assumed to be payload"
            if flit
            else f"{node} {label}: MaxPayload of PCIe is not known (reading it takes root); packet overhead not counted"
        )
        term = LimitTerm(name=name, bytes_per_s=raw, inputs=inputs, source=read_from, formula=formula)
        return Terms(terms=(term,), unknown=tuple(unknown))
    overhead = OVERHEADS[direction]
    term = LimitTerm(
        name=f"{name}, {direction.value}s of {payload} bytes",
        bytes_per_s=raw * payload_share(payload, overhead),
        inputs={**inputs, "payload_bytes": float(payload), "overhead_bytes": float(overhead)},
        source=f"{read_from}, {where}",
        formula=f"{formula} * {PAYLOAD}",
    )
    return Terms(terms=(term,), unknown=tuple(unknown))


def _inputs(state: LinkState, raw: float) -> tuple[dict[str, float], str]:
    """The inputs of the raw rate and its formula in their names."""
    speed, width = state.transfers_per_s, state.width
    if speed is None or width is None:
        return {PRODUCT: raw}, PRODUCT
    return {"transfers_per_s": speed, "encoding": ENCODINGS[speed], "width": float(width)}, RAW


def _read_from(link: PciLink, state: LinkState, node: str) -> str:
    if state.bytes_per_s is not None:
        return f"pci_link_speed of {' and '.join(end.address for end in link.ends)} in hwloc's XML of {node}"
    files = " and ".join(f"/sys/bus/pci/devices/{end.address}" for end in link.ends)
    return f"{files}: current_link_speed, current_link_width on {node}"
