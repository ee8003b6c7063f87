"""Limits: for each path what physics permits, which term binds, and the headroom of the other terms."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import structs

from seatrial.commands.limits.changed_limits import ChangedLimit, change_text
from seatrial.model import units
from seatrial.model.errors import ExitCode
from seatrial.model.limit import AnyLimit, ComputePeak, Limit, LimitTerm, NoLimit
from seatrial.model.words import count
from seatrial.render.escape import shorten
from seatrial.render.plots import Bars, plain_bars
from seatrial.render.report import Align, Block, Cells, Column, Paragraph, Report, Table, columns, record_table

MOST_ROWS = 24
MOST_LETTERS = 100
"""Characters of what sets a limit, or of why it is unknown: the terms follow below."""


def limits_table(limits: Sequence[AnyLimit]) -> Table:
    """A path, its limit, and what sets it. Paths between nodes come first, and those without a limit last."""
    ordered = sorted(limits, key=lambda limit: (isinstance(limit, NoLimit), not is_between(limit.path)))
    left = len(ordered) - MOST_ROWS
    more = (("", "", f"and {count(left, 'more path')} below"),) if left > 0 else ()
    rows = tuple((limit.path, rate_text(limit), shorten(_set_by(limit), MOST_LETTERS)) for limit in ordered[:MOST_ROWS])
    return Table(columns=columns("path", "#limit", "~set by"), rows=rows + more)


def rate_text(limit: AnyLimit) -> str:
    """117.7 MB/s; marked where the limit is only nominal."""
    match limit:
        case NoLimit():
            return "not known"
        case ComputePeak():
            rate, nominal = units.flops(limit.flops_per_s), limit.nominal
        case Limit():
            rate, nominal = units.bandwidth(limit.limit_bytes_per_s), limit.nominal
    return f"{rate} (nominal)" if nominal else rate


def is_between(path: str) -> bool:
    """`n1>n2` is between nodes; `n1 package 0 > memory` is inside n1."""
    return ">" in path.partition(" ")[0]


def _set_by(limit: AnyLimit) -> str:
    """The term that binds, without the path's name, which is in another column."""
    match limit:
        case NoLimit():
            return limit.reason
        case ComputePeak():
            return f"{count(limit.cores, 'core')} at {units.frequency(limit.hz)}"
        case Limit():
            node = limit.path.partition(" ")[0]
            return limit.binding.removeprefix(node).strip()


MOST_DRAWN = 6
"""Paths whose terms are drawn."""
MOST_NOTES = 8
"""Sentences on what is not known, of one path."""
NOTHING = "No limits: nothing was requested, or nothing is known."


class LimitsFields(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of paths and nodes; docs/limits.md describes each field."""

    limits: tuple[AnyLimit, ...]
    what_if: tuple[str, ...] = ()
    changed: tuple[ChangedLimit, ...] = ()


def limits_report(
    limits: Sequence[AnyLimit],
    *,
    answer: str = "",
    sources: bool = False,
    exit_code: ExitCode = ExitCode.PASS,
    what_if: Sequence[str] = (),
    changed: Sequence[ChangedLimit] = (),
) -> Report:
    """The whole report. `sources`: under each term also its formula, its inputs and where they were read.

    `answer`: the first line. `what_if`: changes that the limits are computed with; `changed`: what they change.
    """
    return Report(
        sentence=answer or _sentence(limits),
        answers=bool(answer),
        exit_code=exit_code,
        payload=lambda: LimitsFields(limits=tuple(limits), what_if=tuple(what_if), changed=tuple(changed)),
        terminal=lambda _: (record_table(CHANGED, changed), *_terminal(limits, sources)),
        page=lambda: (record_table(CHANGED, changed), *_page(limits, sources)),
    )


CHANGED: Cells[ChangedLimit] = {
    "path": lambda row: row.path,
    "#now": lambda row: units.bandwidth(row.now_bytes_per_s),
    "#then": lambda row: units.bandwidth(row.limit_bytes_per_s),
    "#change": change_text,
    "~set by then": lambda row: row.binding or "not known",
}
"""Limits now and then, and what binds then."""


def _terminal(limits: Sequence[AnyLimit], sources: bool) -> Iterator[Block]:
    """The answer first: all limits in a table; then the terms of each."""
    if len(limits) > 1:
        yield limits_table(limits)
    for limit in limits:
        rows = list(_rows(limit, sources))
        yield Paragraph(text=f"{limit.path}  {rate_text(limit)}", strong=True)
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
    yield from _bars(limits)
    for limit in limits:
        cells = tuple(_rows(limit, sources))
        heads = columns("head-room", "#rate", "~term")
        yield Table(title=f"{limit.path}: {rate_text(limit)}", columns=heads, rows=cells, folded=len(limits) > 1)
    if not limits:
        yield Paragraph(text=NOTHING)


def _bars(limits: Sequence[AnyLimit]) -> Iterator[Bars]:
    """The terms of each path in bars, the one that binds first; of many paths, those between nodes first."""
    drawn = [limit for limit in limits if isinstance(limit, Limit) and limit.limit_bytes_per_s > 0]
    for limit in sorted(drawn, key=lambda limit: not is_between(limit.path))[:MOST_DRAWN]:
        terms = sorted(limit.terms, key=lambda term: (term.bytes_per_s, term.name != limit.binding))
        yield plain_bars(
            f"{limit.path}: {rate_text(limit)}",
            [
                (_term_name(term), term.bytes_per_s, f"{units.bandwidth(term.bytes_per_s)}, {_head_room(term, limit)}")
                for term in terms
            ],
        )


def _rows(limit: AnyLimit, sources: bool) -> Iterator[tuple[str, str, str]]:
    """Label, rate, text."""
    if isinstance(limit, NoLimit):
        yield "because", "", limit.reason
        return
    if isinstance(limit, ComputePeak):
        peak = f"{limit.cores} cores, each {limit.flops_per_cycle} flop per cycle at {units.frequency(limit.hz)}"
        yield "each core", units.flops(limit.flops_per_s_per_core), peak
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
    """Distance of a term above the limit: "binds", "as much" or "+15 %"."""
    if term.name == limit.binding:
        return "binds"
    more = term.bytes_per_s / limit.limit_bytes_per_s - 1 if limit.limit_bytes_per_s else 0.0
    return "as much" if more < 0.0005 else f"+{units.share(more)}"


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
