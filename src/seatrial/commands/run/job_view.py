"""One job in one view: bars of its phases, and a row for each node."""

from collections.abc import Iterator

import msgspec

from seatrial.drift.flat_facts import ranges
from seatrial.judgement.job import Job, JobPhase, NodeView
from seatrial.model import units
from seatrial.model.node_list import node_list
from seatrial.model.words import count, verb
from seatrial.render.json import filled
from seatrial.render.pair_view import limit_text
from seatrial.render.plots import Bar, Bars
from seatrial.render.report import Block, Items, Table, columns

MOST_PHASES, MOST_NODES, MOST_CHANGES = 16, 32, 8
WIDEST = 95.0
"""Per cent of the width that the longest bar takes."""
SMALL = 0.005
"""Phases with a smaller share of the longest one are left out of the bars."""


class JobNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node during the job: counters, clocks and the limit of its paths."""

    node: str
    ranks: int
    limit_bytes_per_s: float | None
    port_bytes: dict[str, int]
    tcp_sent: int | None = msgspec.field(name="tcp_segments_sent")
    tcp_resent: int | None = msgspec.field(name="tcp_segments_resent")
    frequency_before_hz: float | None
    frequency_after_hz: float | None
    throttles: int | None
    memory_errors: int | None
    interface_errors: int
    oom_kills: int | None


def job_blocks(job: Job) -> Iterator[Block]:
    """The blocks of the page: what the application did, and where and on what it did it."""
    programs = [phase for phase in job.phases if phase.program]
    parts = [phase for phase in job.phases if not phase.program]
    if programs:
        yield _bars("Programs of the job", "Wall time of each, with the start of its ranks", programs)
    if parts:
        yield _bars("Phases of the application", "Times that it prints itself", parts)
    if job.nodes:
        yield _nodes(job)
    if job.changes:
        yield Items(title="What changed on the nodes meanwhile", items=tuple(_changes(job)))


def phases_text(job: Job) -> str:
    """Force 41 %, PME mesh 48 %: the largest phases of the application, as shares of all; empty without any."""
    parts = [phase for phase in job.phases if not phase.program]
    whole = sum(phase.seconds for phase in parts)
    largest = sorted(parts, key=lambda phase: -phase.seconds)[:4]
    return ", ".join(f"{phase.name} {units.share(phase.seconds / whole)}" for phase in largest) if whole else ""


def _bars(title: str, caption: str, phases: "list[JobPhase]") -> Bars:
    most = max(phase.seconds for phase in phases) or 1.0
    whole = sum(phase.seconds for phase in phases) or 1.0
    shown = [phase for phase in phases if phase.seconds >= SMALL * most][:MOST_PHASES]
    left = len(phases) - len(shown)
    return Bars(
        title=title,
        caption=f"{caption}; {units.duration(whole)} together{f', {left} short ones not drawn' if left else ''}.",
        bars=tuple(_bar(phase, most, whole) for phase in shown),
        alike=True,
    )


def _bar(phase: JobPhase, most: float, whole: float) -> Bar:
    width = round(WIDEST * phase.seconds / most, 2)
    text = f"{units.duration(phase.seconds)}, {units.share(phase.seconds / whole)}"
    return Bar(name=phase.name, low=width, value=width, high=width, text=text)


def _nodes(job: Job) -> Table:
    left = len(job.nodes) - MOST_NODES
    return Table(
        title="Nodes during the job",
        aside="Traffic, errors and clocks are those of the whole node, from before the job to after it.",
        columns=columns("node", "#ranks", "processors", "~limit of its paths", "~carried by", "#clock", "~state"),
        rows=tuple(_row(node) for node in job.nodes[:MOST_NODES]),
        left_out=f"{count(left, 'more node')} {verb(left)} in the JSON report." if left > 0 else "",
        stacked=True,
    )


def _row(node: NodeView) -> tuple[str, ...]:
    masks = " | ".join(ranges(cpus) for cpus in node.cpus[:4]) + (" ..." if len(node.cpus) > 4 else "")
    limit = limit_text(node.limit) if node.limit else "not known"
    return (node.node, str(node.ranks or ""), masks, limit, _carried(node), _clock(node), _state(node))


def _carried(node: NodeView) -> str:
    """Which device counted what."""
    parts = [f"{name}: {counted / 1e6:.3g} MB" for name, counted in node.port_bytes.items() if counted]
    if node.tcp_sent is not None:
        resent = f", {node.tcp_resent} sent again" if node.tcp_resent else ""
        parts.append(f"TCP: {count(node.tcp_sent, 'segment')}{resent}")
    return "; ".join(parts) or "no counters"


def _clock(node: NodeView) -> str:
    before, after = node.frequency_hz
    if before is None or after is None:
        return units.UNKNOWN
    return f"{before / 1e9:.2f} to {after / 1e9:.2f} GHz"


def _state(node: NodeView) -> str:
    """What was counted and should not be."""
    wrong = [
        f"{counted} {what}"
        for counted, what in (
            (node.throttles, "thermal throttles"), (node.memory_errors, "corrected memory errors"),
            (node.interface_errors, "errors or drops of interfaces"), (node.oom_kills, "processes killed for memory"),
        )
        if counted
    ]  # fmt: skip
    return ", ".join(wrong) or "nothing counted"


def _changes(job: Job) -> Iterator[str]:
    for change in job.changes[:MOST_CHANGES]:
        yield f"{change.fact}: {change.before} before, {change.after} after, on {node_list(change.nodes)}"
    if len(job.changes) > MOST_CHANGES:
        yield f"{len(job.changes) - MOST_CHANGES} more; `seatrial facts --drift` compares all."


def job_nodes(job: Job) -> list[JobNode]:
    """The nodes as programs read them."""
    return [
        filled(
            JobNode,
            node,
            limit_bytes_per_s=node.limit.limit_bytes_per_s if node.limit else None,
            frequency_before_hz=node.frequency_hz[0],
            frequency_after_hz=node.frequency_hz[1],
        )
        for node in job.nodes
    ]
