"""One problem of a fabric, and the names of its parts in a sentence."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.model.fabric import End, FabricDevice, FabricLink
from seatrial.model.hca import data_bits_per_s
from seatrial.model.subject import Subject
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import ranges


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
    *,
    kind: FindingKind,
    subject: Subject,
    statement: str,
    remedy: str,
    cables: tuple[str, ...] = (),
    note: bool = False,
    brief: str = "",
) -> Finding:
    """Something wrong with a cable, a switch or its table, or a `note`, where it may have been planned so.

    `cables`: those that a finding on a switch covers.
    """
    verdict = Verdict.NOTE if note else kind.verdict
    return Finding(
        kind=kind, subject=subject, verdict=verdict, statement=statement, remedy=remedy, pairs=cables, brief=brief
    )


def link_text(link: FabricLink, devices: Mapping[str, FabricDevice]) -> str:
    """leaf1[35] - spine2[32], by the devices' names."""
    return " - ".join(end_text(end, devices) for end in link.ends)


def end_text(end: End, devices: Mapping[str, FabricDevice]) -> str:
    """leaf1[35], by the device's name."""
    return f"{name_of(devices, end.device)}[{end.port}]"


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


def ports_text(ports: Sequence[int]) -> str:
    """port 7; ports 1-4,7."""
    return f"{'port' if len(set(ports)) == 1 else 'ports'} {ranges(ports)}"
