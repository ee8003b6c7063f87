"""Limits: for each path what physics permits, which term binds, and the headroom of the other terms."""

from collections.abc import Iterator, Sequence

from msgspec import structs

from seatrial.commands.limits.overview import limits_table, rate_text
from seatrial.model import units
from seatrial.model.errors import ExitCode
from seatrial.model.limit import ComputePeak, Limit, LimitTerm, NoLimit
from seatrial.model.words import count
from seatrial.render.json import Json, number
from seatrial.render.report import Align, Block, Column, Paragraph, Report, Table, columns

AnyLimit = Limit | NoLimit | ComputePeak
MOST_NOTES = 8
"""Sentences on what is not known, of one path."""
NOTHING = "No limits: nothing was requested, or nothing is known."


def limits_report(
    limits: Sequence[AnyLimit], *, answer: str = "", sources: bool = False, exit_code: ExitCode = ExitCode.PASS
) -> Report:
    """The whole report. `sources`: under each term also its formula, its inputs and where they were read.

    `answer`: the first line.
    """
    return Report(
        sentence=answer or _sentence(limits),
        answers=bool(answer),
        exit_code=exit_code,
        payload=lambda: limits_fields(limits),
        terminal=lambda _: _terminal(limits, sources),
        page=lambda: _page(limits, sources),
    )


def limits_fields(limits: Sequence[AnyLimit]) -> Json:
    """One object for each path, in order; docs/limits.md describes each field."""
    return {"limits": [_entry(each) for each in limits]}


def _entry(limit: AnyLimit) -> Json:
    match limit:
        case NoLimit():
            return {"path": limit.path, "limit_bytes_per_s": None, "reason": limit.reason}
        case ComputePeak():
            return _peak(limit)
        case Limit():
            return {
                "path": limit.path,
                "limit_bytes_per_s": number(limit.limit_bytes_per_s),
                "binding": limit.binding,
                "nominal": limit.nominal,
                "terms": [_term(term) for term in limit.terms],
                "gate_bytes_per_s": number(limit.gate_bytes_per_s),
                "unknown": list(limit.unknown),
            }


def _term(term: LimitTerm) -> Json:
    return {
        "name": term.name,
        "bytes_per_s": number(term.bytes_per_s),
        "inputs": {name: number(value) for name, value in term.inputs.items()},
        "source": term.source,
        "formula": term.formula,
        "nominal": term.nominal,
    }


def _peak(peak: ComputePeak) -> Json:
    return {
        "path": peak.path,
        "limit_flops_per_s": number(peak.flops_per_s),
        "limit_flops_per_s_per_core": number(peak.flops_per_s_per_core),
        "flops_per_cycle": peak.flops_per_cycle,
        "cores": peak.cores,
        "hz": number(peak.hz),
        "inputs": {name: number(value) for name, value in peak.inputs.items()},
        "source": peak.source,
        "formula": peak.formula,
        "nominal": peak.nominal,
        "unknown": list(peak.unknown),
    }


def _terminal(limits: Sequence[AnyLimit], sources: bool) -> Iterator[Block]:
    """The answer first: all limits in a table; then the terms of each."""
    if len(limits) > 1:
        yield limits_table(limits)
    for limit in limits:
        rows = list(_rows(limit, sources))
        yield Paragraph(text=_title(limit), strong=True)
        if rows:
            yield _table(rows)
    if not limits:
        yield Paragraph(text=NOTHING)


def _sentence(limits: Sequence[AnyLimit]) -> str:
    """What physics permits on one path, or on how many it is known: the title of the page."""
    if len(limits) == 1:
        return f"Limit of {limits[0].path}: {rate_text(limits[0])}"
    unknown = sum(isinstance(limit, NoLimit) for limit in limits)
    return f"Limits of {count(len(limits), 'path')}" + (f", {unknown} of them not known" if unknown else "")


def _page(limits: Sequence[AnyLimit], sources: bool) -> Iterator[Block]:
    """All limits in a table, and the terms of each to unfold where there are several."""
    if len(limits) > 1:
        yield structs.replace(limits_table(limits), title="All limits", stacked=True)
    for limit in limits:
        cells = tuple(_rows(limit, sources))
        heads = columns("head-room", "#rate", "~term")
        yield Table(title=f"{limit.path}: {rate_text(limit)}", columns=heads, rows=cells, folded=len(limits) > 1)
    if not limits:
        yield Paragraph(text=NOTHING)


def _title(limit: AnyLimit) -> str:
    return f"{limit.path}  {rate_text(limit)}"


def _rows(limit: AnyLimit, sources: bool) -> Iterator[tuple[str, str, str]]:
    """Label, rate, text."""
    if isinstance(limit, NoLimit):
        yield "because", "", limit.reason
        return
    if isinstance(limit, ComputePeak):
        yield "each core", units.flops(limit.flops_per_s_per_core), _peak_text(limit)
        if sources:
            yield "", "", f"read: {limit.source}"
    else:
        yield from _term_rows(limit, sources)
    yield from (("not known", "", why) for why in limit.unknown[:MOST_NOTES])
    if len(limit.unknown) > MOST_NOTES:
        yield "", "", f"and {len(limit.unknown) - MOST_NOTES} more that are not known"


def _term_rows(limit: Limit, sources: bool) -> Iterator[tuple[str, str, str]]:
    """The term that binds, the others by head-room, and the gate where it is above the limit."""
    for term in sorted(limit.terms, key=lambda term: (term.bytes_per_s, term.name != limit.binding)):
        yield _head_room(term, limit), units.bandwidth(term.bytes_per_s), _term_name(term)
        if sources:
            inputs = ", ".join(f"{name} = {value:g}" for name, value in term.inputs.items())
            yield "", "", f"{term.formula}; {inputs}; read: {term.source}"
    if limit.gate_bytes_per_s > limit.limit_bytes_per_s:
        meaning = "all ports and interfaces together; a faster measurement is INVALID"
        yield "gate", units.bandwidth(limit.gate_bytes_per_s), meaning


def _term_name(term: LimitTerm) -> str:
    return f"{term.name} (nominal)" if term.nominal and "nominal" not in term.name else term.name


def _head_room(term: LimitTerm, limit: Limit) -> str:
    """By how much a term is above the limit: "binds", "as much" or "+15 %"."""
    if term.name == limit.binding:
        return "binds"
    more = term.bytes_per_s / limit.limit_bytes_per_s - 1 if limit.limit_bytes_per_s else 0.0
    return "as much" if more < 0.0005 else f"+{units.share(more)}"


def _peak_text(peak: ComputePeak) -> str:
    return f"{peak.cores} cores, each {peak.flops_per_cycle} flop per cycle at {peak.hz / 1e9:.2f} GHz"


def _table(rows: Sequence[tuple[str, str, str]]) -> Table:
    """A label, a rate where any row has one, and a text that wraps within its column."""
    rated = any(rate for _, rate, _ in rows)
    shown = (Column(unbroken=True), Column(align=Align.NUMBER, unbroken=True), Column())
    return Table(
        columns=shown if rated else (shown[0], shown[2]),
        rows=tuple(row if rated else (row[0], row[2]) for row in rows),
        strong=tuple(place for place, row in enumerate(rows) if row[0] == "binds"),
        indent=3,
        tight=True,
    )
