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
from seatrial.render.fields import estimate_fields, finding_fields, run_fields
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


def nodes_report(run: RunInfo, found: NodesResult) -> Report:
    """The whole report."""
    return Report(
        word=found.word,
        sentence=sentence_of(found.findings) or found.reason,
        exit_code=found.exit_code,
        payload=lambda: nodes_fields(run, found),
        terminal=lambda _: _blocks(found),
        page=lambda: _page(run, found),
        about=run_line(run),
        findings=found.findings,
        cases=() if found.findings else tuple(_case(one) for one in found.figures),
    )


def nodes_fields(run: RunInfo, found: NodesResult) -> Json:
    """docs/nodes.md describes each field."""
    return {
        **run_fields(run),
        "verdict": found.verdict.value if found.verdict else None,
        "reason": found.reason,
        "exit_code": int(found.exit_code),
        "complete": found.complete,
        "findings": [finding_fields(finding) for finding in found.findings],
        "nodes": [_node(one, found.limits[one.node]) for one in found.figures],
        "comparisons": [
            {
                "figure": str(one.measure),
                "nodes": list(one.nodes),
                "peers": one.peers,
                "scatter": one.scatter,
                "resolution": one.resolution,
            }
            for one in found.comparisons
        ],
        "notes": list(found.notes),
    }


def _node(one: NodeFigures, limits: NodeLimits) -> Json:
    return {
        "node": one.node,
        "figures": {str(measure): estimate_fields(value) for measure, value in one.values.items()},
        "memory_bytes_per_s": {scope: estimate_fields(value) for scope, value in one.memory_bytes_per_s.items()},
        "flops_by_width": {str(width): estimate_fields(value) for width, value in one.flops_by_width.items()},
        "noise": msgspec.to_builtins(one.noise, str_keys=True),
        "limits": msgspec.to_builtins(limits),
        "wrong_bytes": one.wrong_bytes,
        "verified": one.verified,
    }


def _case(one: NodeFigures) -> Case:
    return Case(name=subject.node(one.node).text, verdict=Verdict.PASS if one.values else Verdict.NOT_RUN)


def _blocks(found: NodesResult) -> Iterator[Block]:
    if found.findings:
        yield Findings(findings=found.findings)
    shown = [(measure, head) for measure, head in zip(SHOWN, HEADS, strict=True) if _any(found, measure)]
    if shown:
        yield Table(
            columns=columns("node", *(f"#{head}" for _, head in shown)),
            rows=tuple(_row(one, [measure for measure, _ in shown]) for one in found.figures[:MOST_ROWS]),
            left_out=_left_out(found),
        )
    if rows := tuple(_limit_rows(found)):
        yield Table(title="Limits", columns=LIMIT_HEAD, rows=rows)
    if rows := tuple(_noise_rows(found)):
        yield Table(title="Noise", columns=NOISE_HEAD, rows=rows)
    yield Lines(rows=tuple(_lines(found)))


def _page(run: RunInfo, found: NodesResult) -> Iterator[Block]:
    yield from _blocks(found)
    yield from design_note(run)


def _any(found: NodesResult, measure: Measure) -> bool:
    return any(measure in one.values for one in found.figures)


def _left_out(found: NodesResult) -> str:
    more = len(found.figures) - MOST_ROWS
    return f"{more} more: --json has all." if more > 0 else ""


def _row(one: NodeFigures, measures: list[Measure]) -> tuple[str, ...]:
    return one.node, *(_value(one, measure) for measure in measures)


def _value(one: NodeFigures, measure: Measure) -> str:
    value = one.values.get(measure)
    return units.quantity(value.value, measure.metric) if value else ""


def _limit_rows(found: NodesResult) -> Iterator[tuple[str, ...]]:
    for one in found.figures[:MOST_ROWS]:
        limits = found.limits[one.node]
        if limits.memory_bytes_per_s is None and limits.flops_per_s is None:
            continue
        yield (
            one.node,
            units.bandwidth(limits.memory_bytes_per_s),
            units.share(limits.memory_share),
            units.flops(limits.flops_per_s),
            units.share(limits.arithmetic_share),
            f"{limits.observed_hz / 1e9:.2f} GHz" if limits.observed_hz else units.UNKNOWN,
        )


def _noise_rows(found: NodesResult) -> Iterator[tuple[str, ...]]:
    for one in found.figures[:MOST_ROWS]:
        if one.noise is None:
            continue
        yield (
            one.node,
            units.share(one.noise.fraction),
            units.share(one.noise.worst_fraction),
            units.duration(one.noise.largest_s),
            *(units.share(cost) for cost in one.noise.slowdown.values()),
        )


def _lines(found: NodesResult) -> Iterator[tuple[str, str]]:
    """What was compared, what could have been seen, the model of noise, and notes."""
    yield "compared", found.reason
    if found.comparisons:
        seen: dict[Measure, float] = {}
        for one in found.comparisons:
            seen[one.measure] = max(one.resolution, seen.get(one.measure, 0.0))
        yield (
            "resolution",
            (
                "a node that is worse than its peers by less than this would not have been reported: "
                + ", ".join(f"{measure.label} {units.share(value)}" for measure, value in seen.items())
            ),
        )
    if any(one.noise for one in found.figures):
        yield "cost of noise", f"{MODEL}; rarer delays than were observed are not in it"
    unknown = dict.fromkeys(why for limits in found.limits.values() for why in limits.unknown)
    for why in unknown:
        yield "no limit", why
    for note in found.notes:
        yield "note", note
