"""Limits for a terminal: for each path what physics permits, what binds, and how much head-room all else has."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from seatrial.model import units
from seatrial.model.limit import ComputePeak, Limit, LimitTerm, NoLimit
from seatrial.render.escape import clean
from seatrial.render.sheet import rendered

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

MOST_NOTES = 8
"""Sentences on what is not known, of one path."""


def limits_text(
    limits: Sequence[Limit | NoLimit | ComputePeak], *, width: int = 100, colour: bool = False, sources: bool = False
) -> str:
    """At most `width` (40 at least) columns wide, with ANSI colours or none; ends in a newline.

    `sources`: under each term also its formula, its inputs and where they were read.
    """
    return rendered(_blocks(limits, sources), width=width, colour=colour)


def _blocks(limits: Sequence[Limit | NoLimit | ComputePeak], sources: bool) -> Iterator["RenderableType"]:
    for number, limit in enumerate(limits):
        if number:
            yield ""
        yield _title(limit)
        rows = list(_rows(limit, sources))
        if rows:
            yield _table(rows)
    if not limits:
        yield "No limits: nothing was asked for, or nothing is known."


def _title(limit: Limit | NoLimit | ComputePeak) -> "Text":
    from rich.text import Text

    match limit:
        case NoLimit():
            rate, nominal = "not known", False
        case ComputePeak():
            rate, nominal = units.flops(limit.flops_per_s), limit.nominal
        case Limit():
            rate, nominal = units.bandwidth(limit.limit_bytes_per_s), limit.nominal
    return Text.assemble((clean(limit.path), "bold"), "  ", (rate, "bold"), " (nominal)" if nominal else "")


def _rows(limit: Limit | NoLimit | ComputePeak, sources: bool) -> Iterator[tuple[str, str, str]]:
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
        yield "", "", f"and {len(limit.unknown) - MOST_NOTES} more that is not known"


def _term_rows(limit: Limit, sources: bool) -> Iterator[tuple[str, str, str]]:
    """The term that binds first, then by head-room; then the gate, where it is more than the limit."""
    for term in sorted(limit.terms, key=lambda term: (term.bytes_per_s, term.name != limit.binding)):
        yield _head_room(term, limit), units.bandwidth(term.bytes_per_s), _term_name(term)
        if sources:
            inputs = ", ".join(f"{name} = {value:g}" for name, value in term.inputs.items())
            yield "", "", f"{term.formula}; {inputs}; read: {term.source}"
    if limit.gate_bytes_per_s > limit.limit_bytes_per_s:
        meaning = "all ports and interfaces together; faster than this is no measurement"
        yield "gate", units.bandwidth(limit.gate_bytes_per_s), meaning


def _term_name(term: LimitTerm) -> str:
    return f"{term.name} (nominal)" if term.nominal and "nominal" not in term.name else term.name


def _head_room(term: LimitTerm, limit: Limit) -> str:
    """By how much a term is above the limit: "binds", "as much", "+15 %"."""
    if term.name == limit.binding:
        return "binds"
    more = term.bytes_per_s / limit.limit_bytes_per_s - 1 if limit.limit_bytes_per_s else 0.0
    return "as much" if more < 0.0005 else f"+{units.share(more)}"


def _peak_text(peak: ComputePeak) -> str:
    return f"{peak.cores} cores, each {peak.flops_per_cycle} flop per cycle at {peak.hz / 1e9:.2f} GHz"


def _table(rows: Sequence[tuple[str, str, str]]) -> "Table":
    """A label, a rate where any row has one, and a text that wraps within itself."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    rated = any(rate for _, rate, _ in rows)
    if rated:
        table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    for label, rate, text in rows:
        style = "bold" if label == "binds" else "dim" if label in ("", "not known") else ""
        first, last = Padding(Text(label, style=style), (0, 0, 0, 3)), Text(clean(text), style=style)
        table.add_row(*((first, rate, last) if rated else (first, last)))
    return table
