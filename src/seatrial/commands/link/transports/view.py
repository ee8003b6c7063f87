"""Which transport carried the data: the report of `seatrial link --transports`."""

from collections.abc import Iterable, Iterator

import msgspec

from seatrial.commands.link.transports.carriers import CarrierVerdict, over
from seatrial.commands.link.transports.components import Offer
from seatrial.commands.link.transports.effects import (
    BANDWIDTH_MATTERS,
    BASES,
    LATENCY_MATTERS,
    Effect,
    factor_text,
    settings_text,
    times_text,
)
from seatrial.commands.link.transports.judge import Transports, TransportsByRail
from seatrial.model import units
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo
from seatrial.model.transport import Carrier, Declared, Role
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.finding_text import sentence_of
from seatrial.render.forest import Ends, Forest, factors
from seatrial.render.json import filled
from seatrial.render.pair_view import OutcomeFields, PairOutcome, limit_text, pair_case, run_report
from seatrial.render.report import Block, Items, Lines, Paragraph, Report, rows_table

LEAST_SPAN = 2.0
"""An axis reaches at least from half the default's time to twice as long."""
ORDER = tuple(Role)
"""The order of docs/transports.md."""
SHOWN = ("pml", "mtl", "btl", "device", "transports", "devices", "providers")
"""Frameworks and lists that show how messages can travel; the others would only fill the page."""
READING = (
    "Times as multiples of the default's (of the reference's, where a transport is slowed down): to the right is "
    "slower, a bar is the interval. Within the grey band a difference does not matter."
)


class VariantEffect(Effect, frozen=True, kw_only=True):
    """One variant against the default or the reference, and whether the difference matters."""

    changed: bool
    slower: bool
    faster: bool


class TransportAnswer(OutcomeFields, frozen=True, kw_only=True):
    """What carried the data over one rail or all, and the starts that show it."""

    carried_by: Carrier | None
    declared: Declared | None
    carriers: tuple[CarrierVerdict, ...]
    effects: tuple[VariantEffect, ...] = msgspec.field(name="variants")
    limit: Limit | NoLimit


class TransportsFields(TransportAnswer, frozen=True, kw_only=True):
    """The transport between two ranks; docs/transports.md describes each field."""

    source: str
    target: str
    within: bool
    mpi_library: str
    offers: tuple[Offer, ...]


class RailTransport(TransportAnswer, frozen=True, kw_only=True):
    """The transport over one rail alone."""

    rail: str
    held: dict[str, str]
    verdict: Verdict


class TransportsByRailFields(PairOutcome, frozen=True, kw_only=True):
    """The transports between two ranks over each rail alone; docs/transports.md describes each field."""

    within: bool
    mpi_library: str
    offers: tuple[Offer, ...]
    rails: tuple[RailTransport, ...]


def transports_report(run: RunInfo, transports: Transports | TransportsByRail) -> Report:
    """The whole report."""
    return run_report(
        run,
        transports,
        "; ".join(filter(None, (sentence_of(transports.findings), headline(transports)))),
        payload=lambda: transports_fields(transports),
        terminal=lambda _: _terminal(transports),
        page=lambda: _page(transports),
        cases=(pair_case(transports),),
    )


def transports_fields(transports: Transports | TransportsByRail) -> TransportsFields | TransportsByRailFields:
    """What programs read of an ablation, over one rail or several."""
    if isinstance(transports, Transports):
        return filled(TransportsFields, transports)
    return filled(TransportsByRailFields, transports, transports.rails[0])


def headline(transports: Transports | TransportsByRail) -> str:
    """Between whom, and what carried the data or why that is not known."""
    where = " to ".join(transports.pair)
    if isinstance(transports, TransportsByRail):
        where = f"{where}, each rail alone"
        return f"{where}: {transports.reason}"
    if transports.within:
        where = f"within {transports.pair[0].rpartition(':')[0]}"
    text, forced = f"{where}: {transports.reason}", [*_forced(transports.effects)]
    return "; ".join((text.removesuffix("."), *forced)) if forced else text


def _forced(effects: Iterable[Effect]) -> Iterator[str]:
    """How long the MPI takes with each transport alone, the worse of latency and bandwidth, and which do not start."""
    forced = {one.variant.carrier: one for one in effects if one.variant.role is Role.FORCED and one.variant.carrier}
    parts = [
        f"{carrier} {times_text(max(times))}"
        for carrier, one in forced.items()
        if (times := [of.value for of in (one.latency_times, one.bandwidth_times) if of])
    ]
    if failed := [carrier for carrier, one in forced.items() if one.failure and not one.unmeasured]:
        parts.append(f"not {' or '.join(failed)}")
    if parts:
        yield f"forced, of the default's time: {', '.join(parts)}"


def _terminal(transports: Transports | TransportsByRail) -> Iterator[Block]:
    by_rail = isinstance(transports, TransportsByRail)
    for part in _parts(transports):
        if by_rail:
            yield Paragraph(text=f"{part.rail}  {part.verdict.value}: {part.reason}", strong=True)
        held = [("held by", settings_text(part.held))] if by_rail else []
        yield Lines(rows=(*held, *carried_lines(part)), tight=by_rail)
        yield Lines(rows=tuple(_variants(part.effects, part.rail)))
    notes = (("note", note) for note in notes_of(transports))
    yield Lines(rows=(*notes, *surroundings(_parts(transports)[0])))


def _parts(transports: Transports | TransportsByRail) -> tuple[Transports, ...]:
    """Each rail, or the whole run where none was named."""
    return transports.rails if isinstance(transports, TransportsByRail) else (transports,)


def _page(transports: Transports | TransportsByRail) -> Iterator[Block]:
    for part in _parts(transports):
        yield from _page_part(part)
    yield Lines(title="What there is", rows=tuple(surroundings(_parts(transports)[0])))
    yield Items(title="Caveats", items=notes_of(transports))


def _page_part(transports: Transports) -> Iterator[Block]:
    """One rail, or the whole run where none was named; variants of one kind are next to each other."""
    if transports.rail:
        yield Paragraph(title=f"Rail {transports.rail}: {transports.verdict.value}", text=transports.reason)
        if transports.held:
            yield Paragraph(text=f"Restricted to it by {settings_text(transports.held)}", aside=True)
    yield Lines(title="What carried the data", rows=tuple(carried_lines(transports)))
    effects = sorted(transports.effects, key=lambda one: ORDER.index(one.variant.role))
    yield Forest(
        title="What each setting changed",
        aside=READING,
        names=tuple(variant_name(one, transports.rail) for one in effects),
        metrics=tuple(
            factors(title, [_factor(one, times) for one, times in values], matters=matters, least=LEAST_SPAN)
            for title, values, matters in (
                ("Latency, 8 B", [(one, one.latency_times) for one in effects], LATENCY_MATTERS),
                ("Time of 4 MiB messages", [(one, one.bandwidth_times) for one in effects], BANDWIDTH_MATTERS),
            )
        ),
    )
    yield rows_table(("setting", "~what was measured"), _variants(effects, transports.rail), None)


def _factor(one: Effect, times: Estimate | None) -> tuple[str, str, Ends | None]:
    """Text and style of a variant, and what is drawn of it."""
    if one.failure:
        return "INVALID", "invalid", None
    if one.variant.role in BASES and one.starts:
        return "1, by definition", "base", None
    if times is None:
        return "not measured", "none", None
    return factor_text(times), one.variant.role.value, (times.low, times.value, times.high)


def surroundings(transports: Transports) -> Iterator[tuple[str, str]]:
    """The MPI, and what each node offers."""
    yield "MPI", transports.mpi_library.splitlines()[0] if transports.mpi_library else "it did not say"
    for offer in transports.offers:
        yield offer.node, offer_text(offer)


def carried_lines(transports: Transports) -> Iterator[tuple[str, str]]:
    """What the MPI declares, what is shown of each transport, and the limit."""
    for one in transports.carriers:
        word = {True: "carried the data", False: "did not", None: "open"}[one.carried]
        yield one.carrier, f"{word}: {one.statement}"
    yield (
        "declares",
        ", ".join(transports.declared.words) if transports.declared and transports.declared.words else "nothing known",
    )
    if isinstance(transports.limit, Limit):
        yield "limit", limit_text(transports.limit)


def notes_of(transports: Transports | TransportsByRail) -> tuple[str, ...]:
    """The notes that the headline does not contain."""
    return tuple(note for note in transports.notes if note not in transports.reason)


def _variants(effects: Iterable[Effect], rail: str) -> Iterator[tuple[str, str]]:
    return ((variant_name(one, rail), variant_text(one)) for one in effects)


def variant_name(one: Effect, rail: str) -> str:
    """The variant's name without the rail that its part of the report is about."""
    return one.variant.name.removesuffix(f" over {rail}")


def offer_text(offer: Offer) -> str:
    """Devices, what to expect from them, and what libraries have compiled in."""
    devices = ", ".join(offer.devices) or "no device known"
    inside = "; ".join(
        f"{one.name} {one.version}: "
        + ", ".join(f"{name} {' '.join(parts)}" for name, parts in one.components.items() if name in SHOWN)
        for one in offer.libraries
        if any(name in SHOWN for name in one.components)
    )
    return f"{devices}; expected: {' or '.join(offer.expected)}" + (f". {inside}" if inside else "")


def variant_text(one: Effect) -> str:
    """Numbers, their ratio to the default's, the devices that carried the bytes, and the settings."""
    shown = f" [{settings_text(one.variant.environment)}]" if one.variant.environment else ""
    if one.failure:
        return f"INVALID: {one.failure}{shown}"
    whose = "the reference's" if one.variant.role is Role.HOBBLED else "the default's"
    parts = [f"{units.bandwidth(_value(one.bandwidth_bytes_per_s))}{_times(one.bandwidth_times, whose)}"]
    parts.append(f"{units.duration(_value(one.latency_s))}{_times(one.latency_times, whose)}")
    if one.devices is not None:
        parts.append(f"over {over(one.devices)}")
    role = "" if one.variant.role is Role.DEFAULT else shown
    return f"{'; '.join(parts)}; {count(one.starts, 'start')}{role}"


def _value(estimate: Estimate | None) -> float | None:
    return estimate.value if estimate else None


def _times(times: Estimate | None, whose: str) -> str:
    """The time over that of the reference: 1.02 [0.99–1.05] of the default's time."""
    if times is None:
        return ""
    return f" ({factor_text(times)} of {whose} time)"
