"""One benchmark over many nodes: the report of `seatrial judge --as fleet`."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal

import msgspec

from seatrial.importers.column_roles import ColumnRoles
from seatrial.importers.fleets import FleetTable
from seatrial.importers.lone_cells import LoneCell
from seatrial.judgement.fleet.judge import FleetJudgement, node_verdict
from seatrial.judgement.fleet.strata import Named
from seatrial.judgement.peer_suspects import PeerSuspect, brief_separation, suspects_text
from seatrial.model import subject
from seatrial.model.units import prefixed, share
from seatrial.model.verdict import Verdict
from seatrial.model.words import by_text, count, some, verb
from seatrial.render.distribution import Distribution, Reference, of_verdicts, small
from seatrial.render.finding_text import fitting_sentence
from seatrial.render.fleet.remarks import (
    MOST_NAMES,
    all_lone,
    failed_text,
    fewer_runs_notes,
    fewer_runs_text,
    led_by_lone,
    lone_note,
)
from seatrial.render.json import filled
from seatrial.render.report import Block, Case, Cells, Paragraph, Report, judged_report, record_table
from seatrial.statistics.estimates import FEWEST_ALIKE
from seatrial.statistics.fleets import FEWEST_RUNS, FleetResult, NodeRuns

NODES: Cells[NodeRuns] = {
    "node": lambda node: node.node,
    "verdict": lambda node: node_verdict(node).value,
    "#median": lambda node: prefixed(node.median),
    "#loss": lambda node: share(node.loss),
    "#worst run": lambda node: share(node.worst_run_loss),
    "#bad runs": lambda node: str(len(node.bad_runs)),
    "#runs": lambda node: str(len(node.values)),
}
MOST_LISTED = 40
SENSE_TAKEN = (
    "Nothing says which values are good, so higher ones were taken to be. Say which with --better higher or --better "
    "lower."
)
FEWEST_DRAWN = 2
"""Nodes that have a distribution."""


class FleetNode(NodeRuns, frozen=True, kw_only=True):
    """One node, or one part of one, with its values and its verdict."""

    verdict: Verdict


class FleetFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Median, scatter and power of one fleet; null where nothing was compared."""

    populations: tuple[tuple[str, ...], ...] = ()
    median: float | None = None
    run_scatter: float | None = None
    node_scatter: float | None = None
    threshold: float | None = None
    detectable: float | None = None
    planned_runs: int | None = None
    intraclass: float | None = msgspec.field(default=None, name="intraclass_correlation")
    reliability: float | None = None


class FleetStratum(FleetFigures, frozen=True, kw_only=True):
    """The values of one condition."""

    conditions: tuple[tuple[str, str], ...]
    unit: str
    better: Literal["higher", "lower"]
    unmeasured: tuple[str, ...]
    nodes: tuple[FleetNode, ...]


class PeerSuspectFields(PeerSuspect, frozen=True, kw_only=True):
    """Facts that the same nodes have, and whether that is more than chance."""

    proved: bool


class FleetColumns(ColumnRoles, frozen=True, kw_only=True):
    """Which columns of a table were read as what."""

    file: str


class FleetFields(FleetFigures, frozen=True, kw_only=True):
    """Nodes compared with each other in one benchmark; docs/judge-fleet.md describes each field."""

    effect: float
    better: Literal["higher", "lower"]
    sense_known: bool = msgspec.field(name="better_known")
    ahead: tuple[str, ...]
    impossible: tuple[str, ...]
    slow: tuple[str, ...]
    unstable: tuple[str, ...]
    suspected: tuple[str, ...]
    unmeasured: tuple[str, ...]
    nodes: tuple[FleetNode, ...]
    named: tuple[Named, ...]
    strata: tuple[FleetStratum, ...]
    suspects: tuple[PeerSuspectFields, ...]
    without_facts: tuple[str, ...]
    columns: tuple[FleetColumns, ...]
    without_value: tuple[str, ...]
    failed: tuple[str, ...]
    lone: tuple[LoneCell, ...]


def fleet_report(judged: FleetJudgement, tables: Mapping[str, FleetTable] = {}) -> Report:
    """The whole report: nodes that are not healthy, and what would have been found. `tables`: by file."""
    nodes = judged.result.nodes if judged.result else ()
    cases = (
        *(Case(name=subject.node(one.node).text, verdict=node_verdict(one), reason=_reason(one)) for one in nodes),
        *(Case(name=subject.node(name).text, verdict=Verdict.NOT_RUN, reason="no value") for name in judged.unmeasured),
    )
    left_out = [name for table in tables.values() for name in table.left_out]
    sentence = _sentence(judged, tables)
    if left_out and not judged.result:
        sentence = f"none of {count(len(left_out), 'output')} is valid: {left_out[0]}"
    fields, blocks = partial(fleet_fields, judged, tables), partial(_blocks, judged, tables)
    pictures = partial(fleet_pictures, judged)
    report = judged_report(judged.verdict, sentence, fields, blocks, cases, pictures)
    return msgspec.structs.replace(report, terminal=lambda width: (*blocks(), *small(pictures(), width)))


def fleet_pictures(judged: FleetJudgement, text: str = "") -> Iterator[Distribution]:
    """The distribution of the medians of the nodes, with the value below which a node is slow. `text`: a condition."""
    result = judged.result
    if result is None or len(result.nodes) < FEWEST_DRAWN or not min(node.median for node in result.nodes) > 0:
        return
    slow = result.median * (1 - result.threshold if judged.higher_is_better else 1 + result.threshold)
    runs = sum(len(node.values) for node in result.nodes)
    yield of_verdicts(
        f"Medians of {count(len(result.nodes), 'node')}, {count(runs, 'run')}{text and ', '}{text}",
        [(node.median, node_verdict(node)) for node in result.nodes],
        (
            Reference(value=result.median, style="peers", text=f"median {prefixed(result.median)}"),
            Reference(value=slow, style="threshold", text=f"slow from {prefixed(slow)}"),
        ),
        prefixed,
        "nodes",
    )


def _reason(node: NodeRuns) -> str:
    """Why a node has its verdict, for a test case; empty for PASS."""
    if node.slow or node.suspected:
        return f"{share(node.loss)} worse than its peers in {count(len(node.values), 'run')}"
    bad = f"{len(node.bad_runs)} of {count(len(node.values), 'run')} bad"
    return f"{bad}, the worst {share(node.worst_run_loss)} below its median" if node.bad_runs else ""


def fleet_fields(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> FleetFields:
    """What programs read of a fleet."""
    result = judged.result
    slow, unstable, suspected = ([node.node for node in nodes] for nodes in _unhealthy(judged))
    return filled(
        FleetFields,
        judged,
        result or FleetFigures(),
        impossible=[name for name, _ in judged.impossible],
        slow=slow,
        unstable=unstable,
        suspected=suspected,
        nodes=[node_fields(node) for node in result.nodes] if result else (),
        named=[Named(subject=node.node, node=node.node, verdict=node_verdict(node), loss=node.loss, where=(),
                     runs=len(node.values)) for nodes in _unhealthy(judged) for node in nodes],
        strata=(), columns=column_fields(tables),
        without_value=[node for table in tables.values() for node in table.without_value], lone=all_lone(tables),
    )  # fmt: skip


def _unhealthy(judged: FleetJudgement) -> tuple[tuple[NodeRuns, ...], ...]:
    return judged.slow, judged.unstable, judged.suspected


def column_fields(tables: Mapping[str, FleetTable]) -> list[FleetColumns]:
    """The columns of each table by their roles."""
    return [filled(FleetColumns, table.roles, file=file) for file, table in tables.items() if table.roles.node]


def node_fields(node: NodeRuns) -> FleetNode:
    """One node, or one part of one."""
    return filled(FleetNode, node, verdict=node_verdict(node))


def _sentence(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> str:
    """What is wrong, the nodes without a value, and the fact that is proved to go with it, as far as a line has room.

    A sentence that names nobody says which nodes have fewer runs, too; one that does, if there is room. The sentences
    below the table have all names, and how often chance would separate them so.
    """
    proved = next((brief_separation(each) for each in judged.suspects if each.proved), "")
    names = range(MOST_NAMES, -1, -1)
    ways = [(proved, True, number) for number in names] if proved else []
    ways += [("", short, number) for number in names for short in (False, True)]
    sentences = [
        f"{_verdict_text(judged, max(number, 1), short=short)}{_missing(judged, number)}{fact and '; '}{fact}"
        for fact, short, number in ways
    ]
    gaps = [fewer_runs_text(judged.fewer_runs(), number) for number in names]
    sentences = led_by_lone(judged.verdict, sentences, all_lone(tables))
    return fitting_sentence(judged.verdict, sentences, gaps, needed=not any(_unhealthy(judged)))


def _missing(judged: FleetJudgement, names: int) -> str:
    """Nodes without a value, or how many they are."""
    if not judged.unmeasured or not judged.result:
        return ""
    if len(judged.unmeasured) > names:
        return f"; {count(len(judged.unmeasured), 'node')} not measured"
    return f"; not measured: {', '.join(judged.unmeasured)}"


def _verdict_text(judged: FleetJudgement, names: int, *, short: bool) -> str:
    """`names`: how many are listed. `short`: in fewer words."""
    result = judged.result
    if judged.all_zero:
        return f"every value of {count(len(judged.all_zero), 'node')} is 0, so nothing can be compared"
    if result is None:
        return "no value was read"
    nodes = count(len(result.nodes), "node")
    if judged.slow:
        named = some([f"{node.node} {share(node.loss)}" for node in judged.slow], names)
        unstable = f"; {len(judged.unstable)} unstable" if judged.unstable else ""
        among = "" if short else f", among {nodes}"
        below = "below" if judged.higher_is_better else "worse than"
        return f"{named} {below} {verb(len(judged.slow), 'its', 'their')} peers{unstable}{among}"
    if judged.unstable:
        listed = some([node.node for node in judged.unstable], names)
        return f"single bad runs on {len(judged.unstable)} of {nodes}: {listed}; none is slow"
    return _unnamed(judged, result, names, short=short)


def _unnamed(judged: FleetJudgement, result: FleetResult, names: int, *, short: bool) -> str:
    """Text for a result without a slow or unstable node: what is undecided, or what would have been found."""
    nodes = count(len(result.nodes), "node")
    if judged.suspected:
        listed = some([f"{node.node} {share(node.loss)}" for node in judged.suspected], names)
        needed = count(FEWEST_RUNS - min(len(node.values) for node in judged.suspected), "more run")
        peers = "" if short else f" below {verb(len(judged.suspected), 'its', 'their')} peers"
        return f"{listed}{peers}; {needed} would decide"
    if judged.impossible or judged.sense_needed:
        above = f"{some(judged.ahead, names)} above {verb(len(judged.ahead), 'its', 'their')} peers"
        return judged.doubtful_unit(names) or f"{above}: is higher better?"
    if result.populations:
        slower, faster = map(len, result.populations)
        return f"two populations of {slower} and {faster} nodes; each node was compared with its own"
    if not result.enough:
        return f"{nodes}, and at least {FEWEST_ALIKE} are needed to compare them with each other"
    loss = share(result.detectable)
    if judged.verdict is Verdict.INCONCLUSIVE:
        lowest = max(result.nodes, key=lambda node: node.loss)
        first = f"; lowest: {lowest.node} {share(lowest.loss)}" if lowest.loss >= judged.effect and not short else ""
        weakest = max(judged.fewer_runs(), key=lambda each: each.detectable, default=None)
        on = f" on {weakest.subject}" if weakest and weakest.detectable == result.detectable and not short else ""
        hides = f"{'rounding' if result.rounded else 'the scatter'} hides a loss of less than {loss}{on}{first}"
        return failed_text(judged.failed, names) if judged.failed else hides
    would = f"a loss of {loss} would show" if short else f"a node that loses {loss} would have been named"
    if judged.verdict is Verdict.NOTE and judged.ahead:
        rest = len(result.nodes) - len(judged.ahead)
        nodes = f"{some(judged.ahead, names)} far {judged.better} than {count(rest, 'node')}"
    return f"{nodes} alike; {would}"


def _blocks(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> Iterator[Block]:
    unhealthy = [node for nodes in _unhealthy(judged) for node in nodes]
    rest = [
        node
        for node in sorted(judged.result.nodes if judged.result else (), key=lambda node: -node.loss)
        if judged.verdict is Verdict.INCONCLUSIVE and node not in unhealthy
    ]
    yield record_table(NODES, (*unhealthy, *rest))
    if judged.result:
        for note in _notes(judged, judged.result):
            yield Paragraph(text=note)
    yield Paragraph(text=suspects_text(judged.suspects))
    if len(judged.unmeasured) > 1 and judged.result:
        yield Paragraph(text=f"Without a value: {some(judged.unmeasured, MOST_LISTED)}.")
    if judged.without_facts:
        yield Paragraph(text=f"No facts are known of {some(judged.without_facts, MOST_NAMES)}.")
    yield from read_as(tables)


def read_as(tables: Mapping[str, FleetTable]) -> Iterator[Paragraph]:
    """What was read of the files, each text once with the files that have it."""
    for text, files in by_text((file, taken(table)) for file, table in tables.items()).items():
        if text:
            yield Paragraph(text=f"{some(files, MOST_NAMES)}: {text}")


def taken(table: FleetTable) -> str:
    """Which columns were read as what, and which rows had no value; empty for a form without columns and gaps."""
    gaps = len(table.without_value)
    of = some(tuple(dict.fromkeys(table.without_value)), MOST_NAMES)
    left = f"{count(gaps, 'value')} {verb(gaps)} missing, of {of}." if gaps else ""
    files = f"Left out: {'; '.join(table.left_out[:MOST_NAMES])}." if table.left_out else ""
    return " ".join(filter(None, (table.roles.text, left, files, lone_note(table.lone))))


def ahead_note(judged: FleetJudgement, text: str = "") -> str:
    """Who is far ahead, under the condition `text`, and which values were taken to be good."""
    way = f"{judged.better.capitalize()} is better; " if judged.sense_known else ""
    far = f"{verb(len(judged.ahead), 'is', 'are')} far {judged.better} than the others"
    return f"{way}{some(judged.ahead, MOST_NAMES)} {far}{text and ' in '}{text}."


def _notes(judged: FleetJudgement, result: FleetResult) -> Iterator[str]:
    if not judged.sense_known:
        yield SENSE_TAKEN
    if judged.ahead:
        yield ahead_note(judged)
    if judged.impossible:
        yield f"Values: {judged.doubtful_unit(MOST_NAMES)}."
    yield (
        f"Median {prefixed(result.median)}; one run scatters by {share(result.run_scatter)}, healthy nodes by "
        f"{share(result.node_scatter)}. Slow is a node that loses {share(result.threshold)} or more; a loss of "
        f"{share(result.detectable)} is found in 95 % of cases."
    )
    fewest = min(len(node.values) for node in result.nodes)
    if judged.verdict is Verdict.INCONCLUSIVE and fewest < FEWEST_RUNS and result.enough:
        yield (
            f"Some nodes have {count(fewest, 'run')}: {count(FEWEST_RUNS - fewest, 'more run')} of each would separate "
            "a slow node from a single bad run, and the scatter of runs from that of nodes."
        )
    if result.intraclass is not None and result.reliability is not None:
        yield (
            f"{share(result.intraclass)} of the variance is between nodes (intra-class correlation); the mean of a "
            f"node's runs has a reliability of {result.reliability:.2f}."
        )
    yield from fewer_runs_notes(judged.fewer_runs())
    if result.populations:
        slower = result.populations[0]
        yield f"Two populations; the slower one has {count(len(slower), 'node')}: {some(slower, MOST_NAMES)}."
    low = [
        f"{node.node} ({share(node.worst_run_loss)})"
        for node in result.nodes
        if not (node.slow or node.bad_runs) and node.worst_run_loss > judged.effect
    ]
    if low:
        yield f"Single low runs that are not low enough to be called bad: {some(low, MOST_NAMES)}."
