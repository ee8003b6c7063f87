"""Configurations side by side: the report, for a terminal, as a page with all curves in one plot, and as JSON."""

import math
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from seatrial.judgement.side_by_side import ConfigurationRatio, FigureJudged
from seatrial.model.benchmark import Better
from seatrial.model.configuration import BYTES, ComparedFigure
from seatrial.model.errors import ExitCode
from seatrial.model.measurement import Estimate
from seatrial.model.units import LEAST_CONFIDENCE, in_unit, prefixed, share
from seatrial.model.units import size as size_words
from seatrial.model.verdict import ComparisonOutcome, Verdict
from seatrial.model.words import some
from seatrial.render.change_text import amount
from seatrial.render.curves import overlaid
from seatrial.render.escape import shorten
from seatrial.render.plots import Bars, Plot, bars_of
from seatrial.render.report import Block, Items, Paragraph, Report, Table, columns

EXIT_CODES = {Verdict.INVALID: ExitCode.FINDINGS, ComparisonOutcome.INCONCLUSIVE: ExitCode.INCOMPLETE}
MEASURED = "MEASURED"
"""Single runs: nothing shows that a difference is one."""
BASE_UNITS = ("B/s", "s", "flop/s")
CELSIUS = "°C"
LEAST_PREFIXED = 1e4
"""Numbers without such a unit are printed plainly below it."""
LINE = 80
MOST_FIGURES = 4
"""Figures of which a terminal shows all sizes."""
MOST_BESIDE = 8
"""Configurations that fit beside each other."""
MOST_NAME = 18
MOST_NAMED = 4
AS_FACTOR = 1.2
"""Ratio of rates from which on it is said as a factor."""
SURE = 0.05
"""Chance below which a difference of scatter is said to be one."""


class SideBySideFields(msgspec.Struct, frozen=True, kw_only=True):
    """Configurations side by side; docs/compare.md describes each field."""

    figures: tuple[FigureJudged, ...]
    effect: float
    notes: tuple[str, ...]


def side_by_side_report(figures: Sequence[FigureJudged], effect: float, notes: Sequence[str]) -> Report:
    """The report; the first figure makes the first line."""
    invalid = next((each for each in figures if each.impossible), None)
    first = invalid or figures[0]
    outcome = first.outcome
    return Report(
        word=_word(first),
        sentence=_sentence(first, effect),
        exit_code=EXIT_CODES.get(outcome, ExitCode.PASS) if outcome else ExitCode.PASS,
        kind="side-by-side",
        payload=lambda: SideBySideFields(figures=tuple(figures), effect=effect, notes=tuple(notes)),
        terminal=lambda _: _blocks(figures, notes),
        page=lambda: _page(figures, notes),
    )


def _word(judged: FigureJudged) -> str:
    return judged.outcome.value.upper() if judged.outcome else MEASURED


def _sentence(judged: FigureJudged, effect: float) -> str:
    """The answer, as many of its parts as fit into one line."""
    room = LINE - len(_word(judged)) - 2
    figure, best = judged.figure, judged.best
    if judged.impossible:
        label, limited, part = judged.impossible[0]
        where = f" at {_size(figure, limited)}" if figure.over else ""
        return f"{_name(label)}: {share(part)} of its limit{where}: faster than physics permits"
    second = judged.others[0]
    at = f" at {_size(figure, judged.size)}" if figure.over else ""
    if judged.outcome in (ComparisonOutcome.SAME, ComparisonOutcome.INCONCLUSIVE):
        answer = "alike" if judged.outcome is ComparisonOutcome.SAME else "no difference shown"
        parts = [f"{_name(best.label)} and {_name(second.label)}: {answer}{at}"]
        if (worse := next((one for one in judged.others if one.outcome is ComparisonOutcome.FASTER), None)) is not None:
            parts.append(f"; {_worse(figure, worse)}")
        if (scatter := judged.scatter) is not None and scatter.chance < SURE:
            parts.append(f"; {_name(scatter.most)} varies more")
    elif judged.outcome is None and second.ratio.value < 1 / (1 - effect):
        apart = f"less than {share(effect)} apart{at}, single runs"
        parts = [f"{_name(best.label)} and {_name(second.label)}: {apart}"]
    else:
        value = best.points[judged.size].value
        amount_text = _amount(figure, value, second.ratio.value)
        parts = [f"{_name(best.label)}: {_value(figure, value)}{at}, {amount_text}{_name(second.label)}"]
        parts.append(_where(figure, second))
    line, *further = parts
    for more in further:
        line = line + more if len(line + more) <= room else line
    return line


def _amount(figure: ComparedFigure, best: float, ratio: float) -> str:
    """`12.3 % higher than `, `1.86 times `; of temperatures the difference: `6.0 °C lower than `."""
    if figure.unit == CELSIUS:
        return f"{best * abs(ratio - 1):.1f} {CELSIUS} {'lower' if figure.better is Better.LESS else 'higher'} than "
    if figure.better is Better.MORE and ratio >= AS_FACTOR:
        return f"{ratio:.3g} times "
    return f"{amount(ratio if figure.better is Better.MORE else 1 / ratio)} than "


def _worse(figure: ComparedFigure, row: ConfigurationRatio) -> str:
    """`FDR: 12 % lower` beside the best one."""
    ratio = 1 / row.ratio.value if figure.better is Better.MORE else row.ratio.value
    return f"{_name(row.label)}: {amount(ratio)}"


def _where(figure: ComparedFigure, row: ConfigurationRatio) -> str:
    """`, from 16 KiB on`: the sizes at which the best one is better."""
    if not row.better_at or len(row.sizes) < 2:
        return ""
    if row.better_at == row.sizes:
        return ", at all sizes"
    first, last = row.better_at[0], row.better_at[-1]
    if first == last:
        return ", only there"
    if first == row.sizes[0]:
        return f", up to {_size(figure, last)}"
    to = "on" if last == row.sizes[-1] else f"to {_size(figure, last)}"
    return f", from {_size(figure, first)} {to}"


def _name(label: str) -> str:
    return shorten(label, MOST_NAME)


def _size(figure: ComparedFigure, size: float) -> str:
    """`64 KiB`, `64 ranks`."""
    return size_words(int(size)) if figure.over == BYTES else f"{size:g} {figure.over}"


def _value(figure: ComparedFigure, value: float) -> str:
    if figure.unit == CELSIUS:
        return f"{value:.1f} {CELSIUS}"
    if figure.unit in BASE_UNITS:
        return in_unit(value, figure.unit)
    number = prefixed(value) if value >= LEAST_PREFIXED else f"{value:.4g}"
    return f"{number} {figure.unit}".strip()


def _blocks(figures: Sequence[FigureJudged], notes: Sequence[str]) -> Iterator[Block]:
    yield Items(items=tuple(filter(None, map(_scatter_text, figures))))
    for place, judged in enumerate(figures):
        at = f", compared at {_size(judged.figure, judged.size)}" if judged.figure.over else ""
        yield Paragraph(text=f"{judged.figure.text}{at}", strong=True)
        yield _summary(judged)
        if place < MOST_FIGURES and judged.figure.over and (table := _by_size(judged)) is not None:
            yield table
    sentences = [*_remarks(figures), *notes]
    yield Items(items=tuple(sentences))


def _page(figures: Sequence[FigureJudged], notes: Sequence[str]) -> Iterator[Block]:
    for judged in figures:
        drawn = _plot(judged) if judged.figure.over else _bars(judged)
        if drawn is not None:
            yield drawn
    yield from _blocks(figures, notes)


def _summary(judged: FigureJudged) -> Table:
    """A row for each configuration: its value, its limit, and the best one beside it."""
    limited = any(curve.limit for curve in judged.curves)
    beside = {row.label: row for row in judged.others}
    rows = []
    for curve in judged.curves:
        value = curve.points.get(judged.size)
        row = beside.get(curve.label)
        cells = [curve.label, _value(judged.figure, value.value) if value else "—", _ends(judged.figure, value)]
        cells.append(str(value.runs) if value else "0")
        if limited:
            of_limit = value.value / curve.limit if curve.limit and value else None
            cells += [_value(judged.figure, curve.limit) if curve.limit else "—", share(of_limit)]
        cells.append("best" if curve is judged.best else _beside(row) if row else "")
        cells.append(_where(judged.figure, row).removeprefix(", ") if row else "")
        rows.append(tuple(cells))
    limit = ("#limit", "#of limit") * limited
    titles = ("configuration", "#value", "#interval", "#runs", *limit, "the best is", "where")
    return Table(columns=columns(*titles), rows=tuple(rows), tight=True)


def _ends(figure: ComparedFigure, value: Estimate | None) -> str:
    """`3.1–3.3 GB/s`; of one run nothing. A range of few runs has an asterisk."""
    if value is None or value.runs < 2:
        return ""
    low, high = _value(figure, value.low), _value(figure, value.high)
    few = "" if value.confidence >= LEAST_CONFIDENCE else "*"
    return f"{low}{few}" if low == high else f"{low}–{high}{few}"


def _beside(row: ConfigurationRatio) -> str:
    """How much better the best one is, with its interval; what is not shown is said."""
    ratio = row.ratio
    if not math.isfinite(ratio.high):
        return f"{ratio.value:.3g} times as good"
    shown = {ComparisonOutcome.INCONCLUSIVE: ", not shown", ComparisonOutcome.SAME: ", the same"}.get(row.outcome, "")
    return f"{ratio.value:.3g} times as good ({ratio.low:.3g}–{ratio.high:.3g}{shown})"


def _by_size(judged: FigureJudged) -> Table | None:
    """Values by size; None where there is only one size, or too many configurations for a line."""
    sizes = sorted({size for curve in judged.curves for size in curve.points})
    if len(sizes) < 2 or len(judged.curves) > MOST_BESIDE:
        return None
    rows = []
    for size in sizes:
        cells = [curve.points.get(size) for curve in judged.curves]
        texts = (_value(judged.figure, value.value) if value else "—" for value in cells)
        rows.append((_size(judged.figure, size), *texts))
    titles = (f"#{judged.figure.over}", *(f"#{shorten(curve.label, MOST_NAME)}" for curve in judged.curves))
    return Table(columns=columns(*titles), rows=tuple(rows), tight=True)


def _scatter_text(judged: FigureJudged) -> str:
    """Which configuration varies more; empty where there are too few repetitions."""
    scatter = judged.scatter
    if scatter is None:
        return ""
    verb = "varies more" if scatter.chance < SURE else "does not surely vary more"
    deviations = f"{share(scatter.most_deviation)} and {share(scatter.least_deviation)}"
    return f"{judged.figure.name}: from run to run {scatter.most} {verb} than {scatter.least} ({deviations}, F test)."


def _remarks(figures: Sequence[FigureJudged]) -> Iterator[str]:
    """What is missing, and what would decide."""
    for judged in figures:
        name = judged.figure.name
        if missing := [curve.label for curve in judged.curves if judged.size not in curve.points]:
            yield f"{name}: {some(missing, MOST_NAMED)} has no value at {_size(judged.figure, judged.size)}."
    values = [value for judged in figures for curve in judged.curves for value in curve.points.values()]
    if any(value.runs < 2 for value in values):
        yield "Single runs have no interval: repeat each configuration to know whether a difference is one."
    elif any(value.confidence < LEAST_CONFIDENCE for value in values):
        yield "Intervals are of 95 %; with an asterisk the range of too few runs for that."
    rates = [judged for judged in figures if judged.figure.unit == "B/s"]
    if rates and not any(curve.limit for judged in rates for curve in judged.curves):
        yield "No limit is known: --limit QDR=QDR or --limit 12.5e9 (B/s) gives one."


def _plot(judged: FigureJudged) -> Plot | None:
    figure = judged.figure
    limits: dict[float, list[str]] = {}
    for curve in judged.curves:
        if curve.limit:
            limits.setdefault(curve.limit, []).append(curve.label)
    return overlaid(
        figure.text,
        [(curve.label, curve.points) for curve in judged.curves],
        size_text=partial(_size, figure) if figure.over == BYTES else "{:g}".format,
        value_text=partial(_value, figure),
        ends_text=partial(_ends, figure),
        over="" if figure.over == BYTES else figure.over,
        quantities=("message size" if figure.over == BYTES else figure.over, figure.name),
        levels=tuple(
            (limit, f"limit of {some(labels, MOST_NAMED)} {_value(figure, limit)}") for limit, labels in limits.items()
        ),
    )


def _bars(judged: FigureJudged) -> Bars:
    """One number for each configuration."""
    values = {curve.label: curve.points[judged.size] for curve in judged.curves if judged.size in curve.points}
    rows = [
        (label, (value.low, value.value, value.high), f"{_value(judged.figure, value.value)}, n = {value.runs}")
        for label, value in values.items()
    ]
    return bars_of(judged.figure.name, rows, alike=True)
