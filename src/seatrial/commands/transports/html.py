"""Which transport carried the data, as one page without scripts: every variant's times drawn beside the default's."""

import math
from collections.abc import Iterable, Iterator, Sequence

from seatrial.commands.transports.effects import BANDWIDTH_MATTERS, BASES, LATENCY_MATTERS, Effect
from seatrial.commands.transports.judge import Transports, TransportsByRail
from seatrial.commands.transports.text import (
    carried_lines,
    factor_text,
    headline,
    notes,
    settings_text,
    surroundings,
    variant_name,
    variant_text,
)
from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo
from seatrial.model.transport import Role
from seatrial.render import finding_text
from seatrial.render.json_text import Json
from seatrial.render.pages import STYLE, environment, own_file

LEAST_SPAN = 2.0
"""An axis reaches at least from half the default's time to twice as long."""
MOST_SPAN = 64.0
"""What lies beyond is drawn at the axis' end; the numbers stand beside it."""
ORDER = tuple(Role)
"""As docs/transports.md tells of them."""


def transports_as_html(run: RunInfo, found: Transports | TransportsByRail) -> str:
    """The whole page; everything from outside is cleaned and escaped."""
    made_with = environment()
    parts = found.rails if isinstance(found, TransportsByRail) else (found,)
    return made_with.get_template("transports.html.j2").render(
        run=run,
        word=found.verdict.value,
        sentence=headline(found),
        style=own_file(made_with, STYLE),
        findings=[finding_text.card(finding) for finding in found.findings],
        parts=[_part(part) for part in parts],
        summary=list(surroundings(parts[0])),
        notes=[note for _, note in notes(found)],
    )


def _part(found: Transports) -> Json:
    """One rail, or the whole run where none was named; variants of one kind stand together."""
    effects = sorted(found.effects, key=lambda one: ORDER.index(one.variant.role))
    return {
        "title": f"Rail {found.rail}" if found.rail else "",
        "verdict": found.verdict.value,
        "reason": found.reason if found.rail else "",
        "held": settings_text(found.held),
        "carriers": list(carried_lines(found)),
        "metrics": [
            _metric("Latency, 8 B", LATENCY_MATTERS, [(one, one.latency_times) for one in effects]),
            _metric("Time of 4 MiB messages", BANDWIDTH_MATTERS, [(one, one.bandwidth_times) for one in effects]),
        ],
        "variants": [(variant_name(one, found.rail), variant_text(one)) for one in effects],
        "names": [variant_name(one, found.rail) for one in effects],
    }


def _metric(title: str, matters: float, rows: Sequence[tuple[Effect, Estimate | None]]) -> Json:
    """One axis for all variants, logarithmic, with the default in its middle; places in per cent of its width."""
    span = axis_span(times for _, times in rows if times is not None)
    return {
        "title": title,
        "span": f"{span:.3g}",
        "below": place(1 / matters, span),
        "above": place(matters, span),
        "rows": [_row(one, times, span) for one, times in rows],
    }


def _row(one: Effect, times: Estimate | None, span: float) -> Json:
    """`kind`: the class by which the style colours it."""
    if one.failure:
        return {"kind": "invalid", "text": "INVALID"}
    if one.variant.role in BASES and one.starts:
        return {"kind": "base", "text": "1, by definition"}
    if times is None:
        return {"kind": "none", "text": "not measured"}
    return {
        "kind": one.variant.role.value,
        "low": place(times.low if times.runs > 1 else times.value, span),
        "value": place(times.value, span),
        "high": place(times.high if times.runs > 1 else times.value, span),
        "text": factor_text(times),
    }


def axis_span(all_times: Iterable[Estimate]) -> float:
    """How far an axis reaches, as a factor: the farthest end of the intervals, within reason."""
    return min(max([LEAST_SPAN, *(_farthest(times) for times in all_times)]), MOST_SPAN)


def _farthest(times: Estimate) -> float:
    ends: Iterator[float] = (each for each in (times.low, times.value, times.high) if each > 0 and math.isfinite(each))
    return max((max(each, 1 / each) for each in ends), default=LEAST_SPAN)


def place(times: float, span: float) -> float:
    """Where so many times the default's time lie on an axis from 1/span to span, in per cent of its width."""
    if not times > 0:
        return 0.0
    if not math.isfinite(times):
        return 100.0
    share = math.log(times) / math.log(span)
    return round(50 + 50 * min(max(share, -1.0), 1.0), 2)
