"""How the cluster is: nodes by their last verdict, what is open and since when, and what to do next."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from seatrial.model.gate import GateTally
from seatrial.model.monitoring import NodeStanding
from seatrial.model.node_list import node_list
from seatrial.model.verdict import AT_FAULT, GOOD, Verdict, exit_code, worst
from seatrial.model.words import count, some
from seatrial.render.node_map import ago, standing_map
from seatrial.render.report import Block, Gauge, Lines, Report, rows_table

MOST_FAULTS = 5
MOST_NAMED = 3
HEAD = ("node", "verdict", "~open", "since", "run")


class StatusFields(msgspec.Struct, frozen=True, kw_only=True):
    """How all nodes are; docs/status.md describes each field."""

    nodes: tuple[NodeStanding, ...]
    runs: int
    unread: int
    gate: GateTally | None


def status_report(
    by_name: Mapping[str, NodeStanding], runs: int, unread: int, at: datetime, gate: GateTally | None = None
) -> Report:
    """The whole report. Without any node it is NOT_RUN.

    `gate`: what seatrial-gate answered; None where the site has none.
    """
    parts = sorted(by_name.values(), key=lambda part: (-part.verdict.gravity, part.node))
    nodes = [part for part in parts if part.is_node]
    faulty = [part for part in parts if part.faults]
    undecided = [node for node in nodes if not node.faults and node.verdict not in (*GOOD, Verdict.MEASURED)]
    unknown = undecided or unread or not nodes
    verdict = worst([part.verdict for part in faulty or parts]) if parts else Verdict.NOT_RUN
    if not faulty and (unread or verdict in AT_FAULT):  # what no finding is open for is not decided
        verdict = Verdict.INCONCLUSIVE
    return Report(
        word=verdict.value,
        sentence=_sentence(nodes, faulty, undecided, unread, at),
        exit_code=exit_code(verdict, complete=not unknown),
        payload=lambda: StatusFields(nodes=tuple(parts), runs=runs, unread=unread, gate=gate),
        gauges=(
            Gauge(name="nodes", value=len(nodes)),
            Gauge(name="findings", value=sum(len(part.faults) for part in parts)),
        ),
        terminal=lambda _: _blocks(nodes, faulty, undecided, unread, at, gate),
        page=lambda: standing_map(nodes, at),
    )


def _sentence(
    nodes: Sequence[NodeStanding],
    faulty: Sequence[NodeStanding],
    undecided: Sequence[NodeStanding],
    unread: int,
    at: datetime,
) -> str:
    if faulty:
        names = some([f"{part.node}: {part.faults[0].fault.text}" for part in faulty], MOST_NAMED)
        of_nodes = all(part.is_node for part in faulty)
        number = f"{len(faulty)} of {count(len(nodes), 'node')}" if of_nodes else count(len(faulty), "part")
        return f"{number} with open findings: {names}"
    if unread and not undecided:
        return f"{count(unread, 'run')} cut off or unreadable, so that not all findings are known"
    if not nodes:
        return "no run has judged a node yet"
    if undecided:
        names = node_list([node.node for node in undecided])
        return f"{len(undecided)} of {count(len(nodes), 'node')} undecided: {names}"
    if lone := [node.node for node in nodes if node.verdict is Verdict.MEASURED]:
        return f"{len(lone)} of {count(len(nodes), 'node')} compared with nothing: {node_list(lone)}"
    oldest = min(node.judged for node in nodes)
    return f"{count(len(nodes), 'node')} good, nothing open; the oldest verdict is of {ago(oldest, at)} ago"


def _blocks(
    nodes: Sequence[NodeStanding],
    faulty: Sequence[NodeStanding],
    undecided: Sequence[NodeStanding],
    unread: int,
    at: datetime,
    gate: GateTally | None,
) -> Iterator[Block]:
    rows = (
        (node.node, fault.fault.verdict.value, fault.fault.text, ago(fault.since, at), fault.run)
        for node in faulty
        for fault in node.faults
    )
    yield rows_table(HEAD, rows, MOST_FAULTS)
    by_verdict = Counter(node.verdict for node in nodes)
    lines = [("nodes", ", ".join(f"{number} {verdict.value}" for verdict, number in by_verdict.most_common()))]
    if nodes:
        oldest = min(nodes, key=lambda node: node.judged)
        lines.append(("oldest", f"{oldest.node}: {ago(oldest.judged, at)} ago, in {oldest.run}"))
    if unread:
        lines.append(("unread", f"{count(unread, 'run')}; `seatrial runs list` says why"))
    if gate:
        lines.append(("gate", ", ".join(f"{word} on {number}" for word, number in gate.nodes.items() if number)))
    lines.append(("next", _next(faulty, undecided, nodes)))
    yield Lines(rows=tuple(lines))


def _next(faulty: Sequence[NodeStanding], undecided: Sequence[NodeStanding], nodes: Sequence[NodeStanding]) -> str:
    """What to do first."""
    if faulty:
        first = faulty[0]
        again = f"seatrial check {first.node}" if first.is_node else "seatrial check"
        return f"`seatrial report {first.faults[0].run}` has the evidence and the remedy; after repair `{again}`"
    if not nodes:
        return "`seatrial check` measures all idle nodes"
    if undecided:
        return f"`seatrial check {node_list([node.node for node in undecided])}`"
    return ""
