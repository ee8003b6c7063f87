"""The report of `seatrial nodes`."""

from collections.abc import Iterator

import msgspec

from seatrial.commands.nodes.figures import Measure, NodeFigures
from seatrial.commands.nodes.judge import NodesResult
from seatrial.commands.nodes.limits import NodeLimits
from seatrial.commands.nodes.noise import MODEL
from seatrial.model import subject, units
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.render.fields import estimate_fields
from seatrial.render.headline import sentence_of
from seatrial.render.json import Json
from seatrial.render.pair_view import design_note, run_line
from seatrial.render.report import Block, Case, Findings, Lines, Report, Table, columns

SHOWN = (
    Measure.TRIAD, Measure.CORE_TRIAD, Measure.CHASE, Measure.FMA, Measure.SLOWEST_CORE, Measure.NOISE, Measure.SWITCH,
    Measure.WAKE,
)  # fmt: skip
HEADS = ("triad", "one core", "latency", "arithmetic", "slowest core", "noise", "switch", "wake")
MOST_ROWS = 40
LIMIT_HEAD = columns("node", "#triad", "#of channels", "#arithmetic", "#of peak", "#frequency")
NOISE_HEAD = columns("node", "#mean", "#worst core", "#largest", "#cost of 1,000 ranks", "#cost of 10,000 ranks")


def nodes_report(run: RunInfo, result: NodesResult) -> Report:
    """The whole report."""
    return Report(
        word=result.word,
        sentence=sentence_of(result.findings) or result.reason,
        exit_code=result.exit_code,
        run=run,
        payload=lambda: nodes_fields(result),
        terminal=lambda _: _blocks(result),
        page=lambda: _page(run, result),
        about=run_line(run),
        findings=result.findings,
        cases=() if result.findings else tuple(_case(figures) for figures in result.figures),
    )


def nodes_fields(result: NodesResult) -> Json:
    """docs/nodes.md describes each field."""
    return {
        "reason": result.reason,
        "complete": result.complete,
        "nodes": [_node(figures, result.limits[figures.node]) for figures in result.figures],
        "comparisons": [
            {
                "figure": str(figures.measure),
                "nodes": list(figures.nodes),
                "peers": figures.peers,
                "scatter": figures.scatter,
                "resolution": figures.resolution,
            }
            for figures in result.comparisons
        ],
        "notes": list(result.notes),
    }


def _node(figures: NodeFigures, limits: NodeLimits) -> Json:
    return {
        "node": figures.node,
        "figures": {str(measure): estimate_fields(value) for measure, value in figures.values.items()},
        "memory_bytes_per_s": {scope: estimate_fields(value) for scope, value in figures.memory_bytes_per_s.items()},
        "flops_by_width": {str(width): estimate_fields(value) for width, value in figures.flops_by_width.items()},
        "noise": msgspec.to_builtins(figures.noise, str_keys=True),
        "limits": msgspec.to_builtins(limits),
        "wrong_bytes": figures.wrong_bytes,
        "verified": figures.verified,
    }


def _case(figures: NodeFigures) -> Case:
    return Case(name=subject.node(figures.node).text, verdict=Verdict.PASS if figures.values else Verdict.NOT_RUN)


def _blocks(result: NodesResult) -> Iterator[Block]:
    if result.findings:
        yield Findings(findings=result.findings)
    displayed = [(measure, head) for measure, head in zip(SHOWN, HEADS, strict=True) if _any(result, measure)]
    if displayed:
        yield Table(
            columns=columns("node", *(f"#{head}" for _, head in displayed)),
            rows=tuple(_row(figures, [measure for measure, _ in displayed]) for figures in result.figures[:MOST_ROWS]),
            left_out=_left_out(result),
        )
    if rows := tuple(_limit_rows(result)):
        yield Table(title="Limits", columns=LIMIT_HEAD, rows=rows)
    if rows := tuple(_noise_rows(result)):
        yield Table(title="Noise", columns=NOISE_HEAD, rows=rows)
    yield Lines(rows=tuple(_lines(result)))


def _page(run: RunInfo, result: NodesResult) -> Iterator[Block]:
    yield from _blocks(result)
    yield from design_note(run)


def _any(result: NodesResult, measure: Measure) -> bool:
    return any(measure in figures.values for figures in result.figures)


def _left_out(result: NodesResult) -> str:
    more = len(result.figures) - MOST_ROWS
    return f"{more} more: --json has all." if more > 0 else ""


def _row(figures: NodeFigures, measures: list[Measure]) -> tuple[str, ...]:
    return figures.node, *(_value(figures, measure) for measure in measures)


def _value(figures: NodeFigures, measure: Measure) -> str:
    value = figures.values.get(measure)
    return units.quantity(value.value, measure.metric) if value else ""


def _limit_rows(result: NodesResult) -> Iterator[tuple[str, ...]]:
    for figures in result.figures[:MOST_ROWS]:
        limits = result.limits[figures.node]
        if limits.memory_bytes_per_s is None and limits.flops_per_s is None:
            continue
        yield (
            figures.node,
            units.bandwidth(limits.memory_bytes_per_s),
            units.share(limits.memory_share),
            units.flops(limits.flops_per_s),
            units.share(limits.arithmetic_share),
            f"{limits.observed_hz / 1e9:.2f} GHz" if limits.observed_hz else units.UNKNOWN,
        )


def _noise_rows(result: NodesResult) -> Iterator[tuple[str, ...]]:
    for figures in result.figures[:MOST_ROWS]:
        if figures.noise is None:
            continue
        yield (
            figures.node,
            units.share(figures.noise.fraction),
            units.share(figures.noise.worst_fraction),
            units.duration(figures.noise.largest_s),
            *(units.share(cost) for cost in figures.noise.slowdown.values()),
        )


def _lines(result: NodesResult) -> Iterator[tuple[str, str]]:
    """What was compared, what could have been seen, the model of noise, and notes."""
    if result.figures:
        yield "compared", result.reason
    if result.comparisons:
        least: dict[Measure, float] = {}
        for figures in result.comparisons:
            least[figures.measure] = max(figures.resolution, least.get(figures.measure, 0.0))
        yield (
            "resolution",
            (
                "a node that is worse than its peers by less than this would not have been reported: "
                + ", ".join(f"{measure.label} {units.share(value)}" for measure, value in least.items())
            ),
        )
    if any(figures.noise for figures in result.figures):
        yield "cost of noise", f"{MODEL}; rarer delays than were observed are not in it"
    unknown = dict.fromkeys(why for limits in result.limits.values() for why in limits.unknown)
    for why in unknown:
        yield "no limit", why
    for note in result.notes:
        yield "note", note
