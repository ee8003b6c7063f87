"""One problem of a fabric, and the names of its parts in a sentence."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.model.fabric import FabricDevice, FabricLink
from seatrial.model.hca import data_bits_per_s
from seatrial.model.subject import Subject
from seatrial.model.verdict import Finding, FindingKind


class LinkFault(msgspec.Struct, frozen=True, kw_only=True):
    """A problem of one cable, before cables of one switch are reported together. `rate`: the rate or state, in words.

    `expected`: the rate that its peers have, "" where the fault needs none.
    """

    kind: FindingKind
    link: FabricLink
    rate: str
    expected: str
    says: str
    planned: bool = False
    """Whether several others are alike, so that it may have been planned so."""


ACTIVATE = (
    "Only a subnet manager makes a port Active: check that one runs (sminfo) and what its log (opensm.log) says about "
    "this port, then read the map again."
)
RESEAT = "Check the cable and both ports (iblinkinfo), reseat or replace the cable, then run the check again."


def problem(
    *, kind: FindingKind, subject: Subject, statement: str, remedy: str, cables: tuple[str, ...] = ()
) -> Finding:
    """Something wrong with a cable, a switch or its table. `cables`: those that a finding on a switch covers."""
    return Finding(kind=kind, subject=subject, verdict=kind.verdict, statement=statement, remedy=remedy, pairs=cables)


def link_text(link: FabricLink, devices: Mapping[str, FabricDevice]) -> str:
    """leaf1[35] - spine2[32], by the devices' names."""
    return " - ".join(f"{name_of(devices, end.device)}[{end.port}]" for end in (link.one, link.other))


def device_name(device: FabricDevice) -> str:
    """The device's description, or its key if it has none."""
    return device.name or device.key


def name_of(devices: Mapping[str, FabricDevice], key: str) -> str:
    """The name of the device of that key, which may have no lines of its own."""
    return device_name(devices[key]) if key in devices else key


def rate_text(width: int | None, speed: str) -> str:
    """4x NDR."""
    return f"{width or '?'}x {speed or 'unknown speed'}"


def slower_end(link: FabricLink) -> tuple[int | None, str]:
    """Width and speed of the slower end."""
    first, second = (link.width, link.speed), (link.other_width, link.other_speed)
    near_end, far_end = data_bits_per_s(*first), data_bits_per_s(*second)
    return second if far_end is not None and (near_end is None or far_end < near_end) else first


def rate_of(link: FabricLink) -> float | None:
    """Bits of data per second of the slower end; None where neither end's rate is known."""
    return data_bits_per_s(*slower_end(link))


def port_list(ports: Iterable[int]) -> str:
    """1-4,7: ports in order."""
    ranges: list[list[int]] = []
    for port in sorted(set(ports)):
        if ranges and port == ranges[-1][1] + 1:
            ranges[-1][1] = port
        else:
            ranges.append([port, port])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in ranges)


def ports_text(ports: Sequence[int]) -> str:
    """port 7; ports 1-4,7."""
    return f"{'port' if len(set(ports)) == 1 else 'ports'} {port_list(ports)}"
