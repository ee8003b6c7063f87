"""Which transport carried the data, for a terminal."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from seatrial.commands.transports.effects import Effect, times_text
from seatrial.commands.transports.inventory import Offer, told
from seatrial.commands.transports.judge import Transports, TransportsByRail
from seatrial.model import units
from seatrial.model.limit import Limit
from seatrial.model.measurement import Estimate
from seatrial.model.transport import Role
from seatrial.model.verdict import Finding
from seatrial.render.finding_text import lines as finding_lines
from seatrial.render.finding_text import title
from seatrial.render.sheet import labelled, rendered, text

if TYPE_CHECKING:
    from rich.console import RenderableType


def transports_as_text(found: Transports | TransportsByRail, *, width: int = 100, colour: bool = False) -> str:
    """The report, at most `width` columns wide; ends in a newline."""
    blocks = _by_rail(found) if isinstance(found, TransportsByRail) else _blocks(found)
    return rendered(blocks, width=width, colour=colour)


def headline(found: Transports | TransportsByRail) -> str:
    """Between whom, and what carried the data or why that is not known."""
    where = " to ".join(found.pair)
    if isinstance(found, TransportsByRail):
        where = f"{where}, each rail alone"
    elif found.within:
        where = f"within {found.pair[0].rpartition(':')[0]}"
    return f"{where}: {found.reason}"


def _blocks(found: Transports) -> Iterator["RenderableType"]:
    yield text(f"{found.verdict.value}  {headline(found)}", "bold")
    yield from _findings(found.findings)
    yield ""
    yield labelled((*surroundings(found), *carried_lines(found), *notes(found)), indent=3)
    yield ""
    yield labelled(_variants(found), indent=3)


def _by_rail(found: TransportsByRail) -> Iterator["RenderableType"]:
    yield text(f"{found.verdict.value}  {headline(found)}", "bold")
    yield from _findings(found.findings)
    yield ""
    yield labelled((*surroundings(found.rails[0]), *notes(found)), indent=3)
    for rail in found.rails:
        yield ""
        yield text(f"{rail.rail}  {rail.verdict.value}: {rail.reason}", "bold")
        yield labelled((("held by", settings_text(rail.held)), *carried_lines(rail)), indent=3)
        yield ""
        yield labelled(_variants(rail), indent=3)


def _findings(findings: Iterable[Finding]) -> Iterator["RenderableType"]:
    for finding in findings:
        yield ""
        yield text(title(finding), "bold")
        yield text(f"   {finding.statement}")
        yield labelled([(line.label, line.text) for line in finding_lines(finding)], indent=3)


def surroundings(found: Transports) -> Iterator[tuple[str, str]]:
    """The MPI, and what each node offers."""
    yield "MPI", found.mpi_library.splitlines()[0] if found.mpi_library else "it did not say"
    for offer in found.offers:
        yield offer.node, offer_text(offer)


def carried_lines(found: Transports) -> Iterator[tuple[str, str]]:
    """What the MPI declares, what is shown of each transport, and the limit."""
    yield "declares", ", ".join(found.declared.words) if found.declared and found.declared.words else "nothing known"
    for one in found.carriers:
        word = {True: "carried the data", False: "did not", None: "open"}[one.carried]
        yield one.carrier, f"{word}: {one.statement}"
    if isinstance(found.limit, Limit):
        yield "limit", f"{units.bandwidth(found.limit.limit_bytes_per_s)}, set by {found.limit.binding}"


def notes(found: Transports | TransportsByRail) -> Iterator[tuple[str, str]]:
    """Those that the first sentence does not say already."""
    for note in found.notes:
        if note not in found.reason:
            yield "note", note


def _variants(found: Transports) -> Iterator[tuple[str, str]]:
    for one in found.effects:
        yield variant_name(one, found.rail), variant_text(one)


def variant_name(one: Effect, rail: str) -> str:
    """Without the rail that its part of the report is about."""
    return one.variant.name.removesuffix(f" over {rail}")


def offer_text(offer: Offer) -> str:
    """Devices, what they let one expect, and what libraries have compiled in."""
    devices = ", ".join(offer.devices) or "no device known"
    inside = "; ".join(
        f"{one.name} {one.version}: "
        + ", ".join(f"{name} {' '.join(parts)}" for name, parts in one.components.items() if name in SHOWN)
        for one in offer.libraries
        if any(name in SHOWN for name in one.components)
    )
    return f"{devices}; expected: {told(offer.expected)}" + (f". {inside}" if inside else "")


SHOWN = ("pml", "mtl", "btl", "device", "transports", "devices", "providers")
"""Frameworks and lists that say how messages can travel; the others would only fill the page."""


def variant_text(one: Effect) -> str:
    """Numbers, how they stand to the default's, the way of the bytes, and the settings."""
    shown = f" [{settings_text(one.variant.environment)}]" if one.variant.environment else ""
    if one.failure:
        return f"INVALID: {one.failure}{shown}"
    whose = "the reference's" if one.variant.role is Role.HOBBLED else "the default's"
    parts = [f"{units.bandwidth(_value(one.bandwidth_bytes_per_s))}{_times(one.bandwidth_times, whose)}"]
    parts.append(f"{units.duration(_value(one.latency_s))}{_times(one.latency_times, whose)}")
    if one.devices is not None:
        parts.append(f"over {', '.join(one.devices) or 'no device that counts'}")
    starts = f"{one.starts} starts" if one.starts != 1 else "1 start"
    role = "" if one.variant.role is Role.DEFAULT else shown
    return f"{'; '.join(parts)}; {starts}{role}"


def settings_text(environment: Mapping[str, str]) -> str:
    """NAME=value NAME=value."""
    return " ".join(f"{name}={value}" for name, value in environment.items())


def _value(estimate: Estimate | None) -> float | None:
    return estimate.value if estimate else None


def _times(times: Estimate | None, whose: str) -> str:
    """How long it takes over what it is held against: 1.02 [0.99–1.05] of the default's time."""
    if times is None:
        return ""
    return f" ({factor_text(times)} of {whose} time)"


def factor_text(times: Estimate) -> str:
    """1.02 [0.99–1.05]; of one run without an interval."""
    interval = f" [{times_text(times.low)}–{times_text(times.high)}]" if times.runs > 1 else ""
    return f"{times_text(times.value)}{interval}"
