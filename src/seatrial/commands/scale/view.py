"""Scaling curves: the report of `seatrial bench scale`."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from seatrial.commands.scale.comparison import CurveComparison
from seatrial.commands.scale.comparison_view import (
    ScalingBeside,
    ScalingRun,
    beside_blocks,
    beside_fields,
    beside_sentence,
    curve_plots,
    series_blocks,
)
from seatrial.commands.scale.judge import PAYS, JudgedCurve, ScalePoint
from seatrial.commands.scale.measured import ScaleSeries
from seatrial.commands.scale.points import LeftOut
from seatrial.judgement.benchmark_result import breach_finding
from seatrial.model.benchmark import Better, Breach
from seatrial.model.measurement import Estimate
from seatrial.model.subject import curve as curve_subject
from seatrial.model.subject import output as output_subject
from seatrial.model.units import LEAST_CONFIDENCE, prefixed, share
from seatrial.model.verdict import INCOMPLETE, Finding, Verdict, exit_code
from seatrial.model.words import count, some
from seatrial.render.curves import FEWEST_SIZES
from seatrial.render.finding_text import word_of
from seatrial.render.json import filled
from seatrial.render.plots import COLOURS
from seatrial.render.report import Block, Findings, Items, Paragraph, Report, Table, columns
from seatrial.statistics.scaling import ScalingFit
from seatrial.statistics.segments import Interval

MOST_NAMES = 3
PAGE_COLUMNS = 120

ROOMY = 100
"""Columns of a terminal on which the intervals of the values have room beside those of the efficiency."""


class ScalingCurve(msgspec.Struct, frozen=True, kw_only=True):
    """One curve with its points and fits."""

    name: str
    over: str
    metric: str
    better: Better
    weak: bool
    points: tuple[ScalePoint, ...]
    breaches: tuple[tuple[str, Breach], ...]
    fits: tuple[ScalingFit, ...]
    pays_up_to: float | None
    undecided: tuple[tuple[str, str], ...]
    detectable: float | None
    memory: str
    notes: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


class ScalingFields(msgspec.Struct, frozen=True, kw_only=True):
    """Curves, and the runs that were made for them; docs/scale.md describes each field."""

    curves: tuple[ScalingCurve, ...]
    beside: ScalingBeside | None
    name: str = msgspec.field(name="series")
    left: tuple[str, ...]
    node_hours: float
    runs: tuple[ScalingRun, ...]


def scale_report(
    judged: Sequence[JudgedCurve], series: ScaleSeries | None = None, both: CurveComparison | None = None
) -> Report:
    """The whole report: a table for each curve, with marks, fits, and where more do not pay.

    `series`: the runs, where they were made for these curves. Findings come before what could not be run.
    `both`: the comparison, where there are two curves side by side.
    """
    findings = _findings(judged, both)
    incomplete = [item for item in judged if item.lost or len(item.points) < FEWEST_SIZES]
    left = (*(series.left if series else ()), *map(_lost, incomplete))
    undecided = [f"{where}: {reason}" for item in judged for where, reason in item.undecided]
    pays = all(item.pays_up_to is None for item in judged)
    passed = Verdict.INCONCLUSIVE if undecided else Verdict.PASS if pays else Verdict.NOTE
    word = word_of(findings, INCOMPLETE if left else passed.value)
    code = exit_code(word, complete=not left)
    open_parts = (*left, *undecided)
    sentence = open_parts[0] if open_parts and not findings else _sentence(judged, findings, both)

    curves = [item for item in judged if item.points]
    made = series or ScaleSeries(name="", runs=())

    def blocks(width: int = PAGE_COLUMNS, *, drawn: bool = False) -> Iterator[Block]:
        yield from _blocks(curves, findings, width, both, drawn=drawn)
        if series is not None:
            yield from series_blocks(series)

    return Report(
        kind="scale",
        word=word,
        sentence=sentence,
        exit_code=code,
        payload=lambda: filled(
            ScalingFields,
            made,
            curves=[filled(ScalingCurve, item, item.curve) for item in judged],
            beside=beside_fields(both) if both else None,
        ),
        terminal=blocks,
        page=lambda: blocks(drawn=True),
        findings=findings,
    )


def _findings(judged: Sequence[JudgedCurve], both: CurveComparison | None) -> tuple[Finding, ...]:
    findings = []
    for item in judged:
        files = {run.source for run in item.curve.runs if run.output is not None}
        compared = both.breaches if both and item is both.second else ()
        for name, breach in (*item.breaches, *compared):
            findings.append(breach_finding(breach, output_subject(name) if name in files else curve_subject(name)))
    return tuple(sorted(findings, key=lambda finding: finding.rank))


def _lost(item: JudgedCurve) -> str:
    """What a curve lacks."""
    if not item.lost and item.points:
        return f"{item.curve.name}: one size ({item.points[0].size:g}) is not a curve"
    if not item.lost:
        return f"{item.curve.name}: no run has a size"
    return f"{item.curve.name}: no run has a positive number at {some([f'{size:g}' for size in item.lost], MOST_NAMES)}"


def _sentence(judged: Sequence[JudgedCurve], findings: Sequence[Finding], both: CurveComparison | None) -> str:
    if findings:
        first = findings[0]
        more = f"; {count(len(findings), 'finding')} in {count(len(judged), 'curve')}" if len(findings) > 1 else ""
        return f"{first.subject.name}: {first.brief}{more}"
    left_out = sum(len(item.left_out) for item in judged)
    gaps = [*([f"{count(left_out, 'run')} left out"] if left_out else []), *_gaps(judged)]
    gaps.append(f"a fall of {share(max(item.detectable or 0.0 for item in judged))} would show")
    less = "".join(f"; {gap}" for gap in gaps)
    if both is not None:
        return f"{beside_sentence(both).removesuffix('.')}{less}."
    if len(judged) > 1:
        return f"{count(len(judged), 'curve')}: {some([item.curve.name for item in judged], MOST_NAMES)}{less}."
    return f"{judged[0].curve.name}: {_summary(judged[0])}{less}."


def _gaps(judged: Sequence[JudgedCurve]) -> list[str]:
    """Sizes with fewer runs than most of their curve, and those that a curve lacks and half of the curves have."""
    gaps = []
    having = Counter(point.size for item in judged for point in item.points)
    for item in judged:
        name = f"{item.curve.name}: " if len(judged) > 1 else ""
        usual = statistics.median_high([point.value.runs for point in item.points])
        fewer = {point.size: point.value.runs for point in item.points if point.value.runs < usual}
        sizes = some([f"{size:g}" for size in fewer], MOST_NAMES)
        if len(set(fewer.values())) == 1:
            gaps.append(f"{name}{min(fewer.values())} of {count(usual, 'run')} at {sizes}")
        elif fewer:
            gaps.append(f"{name}fewer than {usual} runs at {sizes}")
        own = {point.size for point in item.points}
        if lacking := [f"{size:g}" for size in sorted(having.keys() - own) if 2 * having[size] >= len(judged)]:
            gaps.append(f"{name}not measured at {some(lacking, MOST_NAMES)}")
    return gaps if len(gaps) <= MOST_NAMES else [f"{count(len(gaps), 'curve')} with gaps"]


def _summary(item: JudgedCurve) -> str:
    first, last = item.points[0], item.points[-1]
    over = item.curve.over
    text = f"{first.size:g} to {last.size:g} {over}: speed-up {last.speedup.value:.3g}, "
    text += f"efficiency {share(last.efficiency.value)}"
    text += f", {share(last.of_own)} of the nodes' own rates" if last.of_own else ""
    if item.pays_up_to is not None:
        text += f"; {_beyond(item.pays_up_to, over)}"
        text += f": {item.memory}" if item.memory else ""
    return text


def _blocks(
    judged: Sequence[JudgedCurve], findings: Sequence[Finding], width: int, both: CurveComparison | None, *, drawn: bool
) -> Iterator[Block]:
    yield Findings(findings=tuple(findings), brief=len(findings) > MOST_NAMES)
    if both is not None:
        yield from beside_blocks(both)
    if drawn and len(judged) < COLOURS:
        yield from curve_plots(judged)
    for item in judged:
        kind = "weak" if item.weak else "strong"
        name, metric = item.curve.name, item.curve.metric
        yield Paragraph(text=f"{name if name == metric else f'{name}: {metric}'}, {kind} scaling", strong=True)
        yield _table(item, width)
        undecided = [f"Not decided: {where}: {reason}." for where, reason in item.undecided]
        sentences = [*undecided, *_explanations(item.points), _pays(item), *map(_fit, item.fits), *item.notes]
        yield Items(items=tuple(sentence for sentence in sentences if sentence))


def _table(item: JudgedCurve, width: int) -> Table:
    """One row a size; columns that no size has a number for, or that the width has no room for, are left out."""
    points = item.points
    repeated = any(point.value.low != point.value.high for point in points)
    interval = "#95 % CI" if all(point.value.confidence >= LEAST_CONFIDENCE for point in points) else "#range"
    cells: list[tuple[str, bool, Callable[[ScalePoint], str]]] = [
        (f"#{item.curve.over}", True, lambda point: f"{point.size:g}"),
        ("#runs", True, lambda point: str(point.value.runs)),
        ("#value", True, lambda point: prefixed(point.value.value)),
        (interval, repeated and width >= ROOMY, _value_ends),
        ("#speed-up", True, lambda point: f"{point.speedup.value:.3g}"),
        ("#efficiency", True, lambda point: share(point.efficiency.value)),
        (interval, repeated, _efficiency_ends),
        ("#cost per result", True, lambda point: f"{point.per_result:.2f}"),
        ("#of own rates", any(point.of_own is not None for point in points), lambda point: share(point.of_own)),
        ("#its bound", any(point.own_bound is not None for point in points), lambda point: share(point.own_bound)),
        ("#balance", any(point.balance is not None for point in points), lambda point: share(point.balance)),
        ("marks", any(point.marks for point in points), lambda point: ", ".join(point.marks)),
    ]
    shown = [(title, text) for title, wanted, text in cells if wanted]
    rows = tuple(tuple(text(point) for _, text in shown) for point in points)
    return Table(columns=columns(*(title for title, _ in shown)), rows=rows, tight=True)


def _value_ends(point: ScalePoint) -> str:
    return _interval(point.value, prefixed(point.value.value, point.value.low, point.value.high))


def _efficiency_ends(point: ScalePoint) -> str:
    return _interval(point.efficiency, f"{100 * point.efficiency.low:.3g}–{100 * point.efficiency.high:.3g}")


def _interval(estimate: Estimate, ends: str) -> str:
    """Both ends; nothing where there is no interval, of one run and of what numbers are relative to."""
    return "" if estimate.low == estimate.high else ends


def _explanations(points: Sequence[ScalePoint]) -> list[str]:
    by_text: dict[str, list[str]] = {}
    for point in points:
        if point.explanation:
            by_text.setdefault(point.explanation, []).append(f"{point.size:g}")
    return [f"Faster than linear at {', '.join(sizes)}: {text}." for text, sizes in by_text.items()]


def _pays(item: JudgedCurve) -> str:
    if len(item.points) < FEWEST_SIZES:
        return ""
    seen = f"A largest size that is slower by {share(item.detectable)} than a smaller one would have been found."
    if item.pays_up_to is None:
        return f"More {item.curve.over} pay as far as was measured. {seen}"
    beyond = _beyond(item.pays_up_to, item.curve.over).capitalize()
    return f"{beyond}: less than {share(PAYS)} of what the next step adds becomes speed. {seen}"


def _beyond(size: float, over: str) -> str:
    return f"more than 1 {over[:-1]} does not pay" if size == 1 else f"more than {size:g} {over} do not pay"


def _fit(fit: ScalingFit) -> str:
    if fit.refused:
        return f"No fit of the {fit.law} law: {fit.refused}."
    sigma = _parameter("σ", fit.contention)
    kappa = f", {_parameter('κ', fit.coherence)}" if fit.coherence else ""
    peak = f"; fastest at {fit.peak:.3g} times the smallest size" if fit.peak else ""
    return f"{fit.law} law: {sigma}{kappa}{peak}; errors of {share(fit.scatter)}."


def _parameter(name: str, interval: Interval | None) -> str:
    return "" if interval is None else f"{name} = {interval.value:.3g} [{interval.low:.3g}–{interval.high:.3g}]"
