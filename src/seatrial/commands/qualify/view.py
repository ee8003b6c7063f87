"""What qualify reports: nodes that separate slices found bad, suspects, the coverage, and the slice of this call."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from seatrial.model.monitoring import NodeStanding
from seatrial.model.node_list import node_list
from seatrial.model.qualification import Coverage, NodeScore, QualifySlice
from seatrial.model.verdict import Verdict, exit_code
from seatrial.model.words import count, some
from seatrial.render.node_map import MapNode, node_map
from seatrial.render.report import Block, Cells, Gauge, Lines, PageLink, Report, record_table

MOST_NAMED = 3
NAMED: Cells[NodeScore] = {
    "node": lambda node: node.node,
    "state": lambda node: "bad" if node.bad else "suspected",
    "#score": lambda node: f"{node.score:.1f}",
    "#slices": lambda node: str(node.findings),
    "~last finding": lambda node: node.text,
    "run": lambda node: node.run,
}


class QualifyFields(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report; docs/qualify.md describes each field."""

    slice: QualifySlice
    coverage: Coverage
    nodes: tuple[NodeScore, ...]
    threshold: float
    drains: dict[str, str]
    out_of_service: tuple[str, ...] = ()
    unread: int


def qualify_report(fields: QualifyFields, standing: Iterable[NodeStanding] = ()) -> Report:
    """The report. Nodes are in the order in which it names them. `standing`: all parts, whose open findings count."""
    bad = [node for node in fields.nodes if node.bad]
    suspects = [node for node in fields.nodes if node.findings and not node.bad]
    named = {node.node for node in (*bad, *suspects)}
    opened = [part for part in standing if part.faults and part.node not in named]
    verdict, sentence = _answer(bad, suspects, fields.coverage)
    if verdict is Verdict.PASS and (opened or fields.out_of_service or fields.unread):
        verdict = Verdict.NOTE
        if opened:
            sentence = f"open: {some([f'{part.node}: {part.faults[0].fault.text}' for part in opened], MOST_NAMED)}"
        elif fields.out_of_service:
            sentence = f"{node_list(fields.out_of_service)} out of service; {sentence}"
        else:
            sentence = f"{count(fields.unread, 'run')} cut off or unreadable"
    return Report(
        word=verdict.value,
        sentence=sentence,
        exit_code=exit_code(verdict),
        payload=lambda: fields,
        gauges=(
            Gauge(name="nodes", value=fields.coverage.nodes),
            Gauge(name="nodes_judged", value=fields.coverage.nodes_judged),
            Gauge(name="bad", value=len(bad)),
            Gauge(name="suspects", value=len(suspects)),
        ),
        terminal=lambda _: _blocks([*bad, *suspects], fields),
        page=lambda: _page(fields),
    )


def _page(fields: QualifyFields) -> Iterator[Block]:
    """The nodes by the verdict of their last finding; a node on which no run decided is not run."""
    drawn = [
        MapNode(
            name=PageLink(node.node, ""),
            leaf="",
            verdict=node.verdict if node.judged else Verdict.NOT_RUN,
            days=0.0,
            age="",
        )
        for node in fields.nodes
    ]
    if drawn:
        yield node_map(drawn, "Nodes")


def _answer(bad: Sequence[NodeScore], suspects: Sequence[NodeScore], covered: Coverage) -> tuple[Verdict, str]:
    if bad:
        verdict = max((node.verdict for node in bad), key=lambda verdict: verdict.gravity)
        return verdict, some([f"{node.node}: {node.text}" for node in bad], MOST_NAMED)
    if suspects:
        names = node_list([node.node for node in suspects])
        return Verdict.NOTE, f"{count(len(suspects), 'node')} suspected, none found bad: {names}"
    week = f"{covered.nodes_judged} of {count(covered.nodes, 'node')} judged within a week"
    whole = covered.nodes_judged == covered.nodes
    verdict = Verdict.PASS if whole else Verdict.NOTE if covered.nodes_judged else Verdict.MEASURED
    return verdict, f"{week}, none found bad" if covered.nodes_judged else week


def _blocks(named: Sequence[NodeScore], fields: QualifyFields) -> Iterator[Block]:
    yield record_table(NAMED, named)
    covered, unread, why = fields.coverage, fields.unread, fields.slice.why
    taken = f"{node_list(fields.slice.nodes)} in {fields.slice.run}" if fields.slice.nodes else ""
    lines = [
        ("slice", f"{taken}, stopped: {why}" if taken and why else taken or f"none: {why}"),
        (
            "coverage",
            f"within a week {covered.nodes_judged} of {count(covered.nodes, 'node')} and {covered.links_judged} of "
            f"{count(covered.links, 'link')}; {covered.pairs_judged} of {count(covered.pairs, 'pair')} so far",
        ),
        ("threshold", f"a node is bad from a score of {fields.threshold:.1f} on"),
        *((f"drain {node}", text) for node, text in fields.drains.items()),
        ("out of service", node_list(fields.out_of_service) if fields.out_of_service else ""),
        ("unread", f"{count(unread, 'run')}; `seatrial runs list` says why" if unread else ""),
    ]
    yield Lines(rows=tuple(lines))
