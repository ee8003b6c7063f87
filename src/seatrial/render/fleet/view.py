"""One benchmark over many nodes: the report of `seatrial judge --as fleet`."""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

from seatrial.importers.fleets import FleetTable
from seatrial.judgement.fleet.judge import JudgedStratum, node_verdict
from seatrial.judgement.fleet.strata import FleetJudgement, Named
from seatrial.judgement.peer_suspects import suspects_text
from seatrial.model import subject
from seatrial.model.units import level, prefixed, share
from seatrial.model.verdict import Verdict
from seatrial.model.words import by_text, count, some, verb
from seatrial.render.distribution import Distribution, Reference, of_verdicts, over_each_other, small
from seatrial.render.fleet.fields import fleet_fields
from seatrial.render.fleet.sentence import (
    MOST_NAMES,
    fewer_runs,
    fewer_runs_notes,
    fleet_sentence,
    in_conditions,
    lone_note,
    shift_text,
)
from seatrial.render.report import Block, Case, Cells, Paragraph, Report, Table, judged_report, record_table, rows_table
from seatrial.statistics.estimates import FEWEST_ALIKE
from seatrial.statistics.fleets import FleetResult, NodeRuns

NODES: Cells[NodeRuns] = {
    "node": lambda node: node.node,
    "verdict": lambda node: node_verdict(node).value,
    "#median": lambda node: prefixed(node.median),
    "#loss": lambda node: share(node.loss),
    "#worst run": lambda node: share(node.worst_run_loss),
    "#bad runs": lambda node: str(len(node.bad_runs)),
    "#runs": lambda node: str(len(node.values)),
}
NAMED = ("node", "verdict", "#loss", "under", "#runs")
CONDITIONS: Cells[JudgedStratum] = {
    "condition": lambda stratum: stratum.text or "all",
    "#nodes": lambda stratum: str(len(stratum.nodes)),
    "#median": lambda stratum: level(stratum.result.median, stratum.unit) if stratum.result else "",
    "#lowest": lambda stratum: share(_lowest(stratum).loss) if stratum.result else "",
    "": lambda stratum: _lowest(stratum).node if stratum.result else "",
    "#would show": lambda stratum: share(stratum.result.detectable) if stratum.result else "",
}
MOST_LISTED = 40
MOST_DRAWN = 8
"""Conditions whose nodes are drawn."""
SENSE_TAKEN = (
    "Nothing says which values are good, so higher ones were taken to be. Say which with --better higher or --better "
    "lower."
)
FEWEST_DRAWN = 2
"""Nodes that have a distribution."""


def fleet_report(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> Report:
    """Who is named, under which conditions, and what would have been found. `tables`: by file."""
    lacking = by_text((stratum.text, name) for stratum in judged.strata for name in stratum.missing)
    named = {each.subject for each in judged.named}
    cases = (
        *(Case(name=_case(each.subject), verdict=each.verdict, reason=_reason(each)) for each in judged.named),
        *(Case(name=_case(name), verdict=Verdict.NOT_RUN, reason=f"no value{in_conditions(texts)}")
          for name, texts in lacking.items()),
        *(Case(name=_case(name), verdict=Verdict.PASS)
          for name in judged.subjects if name not in named and name not in lacking),
    )  # fmt: skip
    fields, blocks, pictures = (
        partial(fleet_fields, judged, tables),
        partial(_blocks, judged, tables),
        partial(_pictures, judged),
    )
    report = judged_report(judged.verdict, fleet_sentence(judged, tables), fields, blocks, cases, pictures)
    if len(judged.strata) > 1:
        return report
    return msgspec.structs.replace(report, terminal=lambda width: (*blocks(), *small(pictures(), width)))


def _case(name: str) -> str:
    return subject.node(name).text


def _reason(named: Named) -> str:
    """Why a node or part has its verdict, for a test case."""
    if named.verdict is Verdict.UNSTABLE:
        return f"single bad runs, the worst {share(named.loss)} below its median{in_conditions(named.where)}"
    return f"{share(named.loss)} worse than its peers in {count(named.runs, 'run')}{in_conditions(named.where)}"


def _pictures(judged: FleetJudgement) -> Iterator[Block]:
    """The medians of the nodes: those of all conditions over each other, then each by itself."""
    drawn = {
        each.text: [node.median for node in each.nodes]
        for each in judged.strata[:MOST_DRAWN]
        if each.nodes and min(node.median for node in each.nodes) > 0
    }
    unit, *others = {each.unit for each in judged.strata}
    if len(drawn) > 1 and not others:
        yield over_each_other("Medians of nodes by condition", drawn, prefixed, f"median {unit}".strip(), "nodes")
    for stratum in judged.strata[:MOST_DRAWN]:
        yield from _distribution(stratum)


def _distribution(stratum: JudgedStratum) -> Iterator[Distribution]:
    """The distribution of the medians of the nodes, with the value below which a node is slow."""
    result = stratum.result
    if result is None or len(result.nodes) < FEWEST_DRAWN or not min(node.median for node in result.nodes) > 0:
        return
    slow = result.median * (1 - result.threshold if stratum.higher_is_better else 1 + result.threshold)
    runs = sum(len(node.values) for node in result.nodes)
    yield of_verdicts(
        f"Medians of {count(len(result.nodes), 'node')}, {count(runs, 'run')}{stratum.text and ', '}{stratum.text}",
        [(node.median, node_verdict(node)) for node in result.nodes],
        (
            Reference(value=result.median, style="peers", text=f"median {prefixed(result.median)}"),
            Reference(value=slow, style="threshold", text=f"slow from {prefixed(slow)}"),
        ),
        prefixed,
        "nodes",
    )


def _blocks(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> Iterator[Block]:
    yield _of_nodes(judged, judged.only) if judged.only else rows_table(NAMED, _named_rows(judged))
    if len(judged.strata) > 1:
        yield record_table(CONDITIONS, judged.strata)
    for note in _notes(judged):
        yield Paragraph(text=note)
    yield Paragraph(text=suspects_text(judged.suspects))
    for text, files in by_text((file, _taken(table)) for file, table in tables.items()).items():
        if text:
            yield Paragraph(text=f"{some(files, MOST_NAMES)}: {text}")


def _of_nodes(judged: FleetJudgement, only: JudgedStratum) -> Table:
    """The nodes that are named, and of a result that is undecided the others, the lowest first."""
    runs_of = {runs.node: runs for runs in only.nodes}
    named = [runs_of.pop(each.subject) for each in judged.named]
    rest = sorted(runs_of.values(), key=lambda runs: -runs.loss) if judged.verdict is Verdict.INCONCLUSIVE else ()
    return record_table(NODES, (*named, *rest))


def _named_rows(judged: FleetJudgement) -> Iterator[tuple[str, ...]]:
    everywhere = "all conditions together" if len(judged.strata) > 1 else ""
    for named in judged.named:
        where = some(named.where, 2) or everywhere
        yield named.subject, named.verdict.value, share(named.loss), where, str(named.runs)


def _lowest(stratum: JudgedStratum) -> NodeRuns:
    return max(stratum.nodes, key=lambda runs: runs.loss)


def _taken(table: FleetTable) -> str:
    """Which columns were read as what, and which rows had no value; empty for a form without columns and gaps."""
    gaps = len(table.without_value)
    of = some(tuple(dict.fromkeys(table.without_value)), MOST_NAMES)
    left = f"{count(gaps, 'value')} {verb(gaps)} missing, of {of}." if gaps else ""
    files = f"Left out: {'; '.join(table.left_out[:MOST_NAMES])}." if table.left_out else ""
    return " ".join(filter(None, (table.roles.text, left, files, lone_note(table.lone))))


def _notes(judged: FleetJudgement) -> Iterator[str]:
    if not judged.only:
        by = f"Judged by {' and '.join(judged.conditions)}" if judged.conditions else "Judged as one condition"
        yield f"{by}{'; part: ' + ', '.join(judged.parts) if judged.parts else ''}."
    if judged.parts:
        yield "A part is compared with the same part of other nodes and with the other parts of its node."
    if judged.subjects and not all(stratum.sense_known for stratum in judged.strata):
        yield SENSE_TAKEN
    for stratum in [stratum for stratum in judged.strata if stratum.ahead][:MOST_NAMES]:
        way = f"{stratum.better.capitalize()} is better; " if stratum.sense_known else ""
        far = f"{verb(len(stratum.ahead), 'is', 'are')} far {stratum.better} than the others"
        yield f"{way}{some(stratum.ahead, MOST_NAMES)} {far}{in_conditions([stratum.text])}."
    for stratum in [stratum for stratum in judged.strata if stratum.impossible][:MOST_NAMES]:
        yield f"{stratum.text or 'Values'}: {stratum.doubtful_unit(MOST_NAMES)}."
    if judged.only and judged.only.result:
        yield from _figures(judged, judged.only.result, judged.only.unit)
    lacking = by_text((each.text, each.missing) for each in judged.strata if each.missing)
    gaps = [
        f"{some(names, MOST_LISTED)}{in_conditions(texts) if len(texts) < len(judged.strata) else ''}"
        for names, texts in lacking.items()
    ]
    if gaps and judged.subjects:
        yield f"Not measured: {some(gaps, MOST_NAMES)}."
    yield from fewer_runs_notes(fewer_runs(judged))
    if few := [f"{each.text} ({len(each.nodes)} of {each.few_of})" for each in judged.strata if each.few_of]:
        yield f"Measured on fewer than half: {some(few, MOST_NAMES)}."
    if judged.shifts:
        shifts = some([shift_text(shift) for shift in judged.shifts], MOST_NAMES)
        yield f"Other states, if that returns: {shifts}. seatrial compare says what changed between them."
    if judged.rare_parts:
        yield f"Parts that a third of the nodes or more lack: {some(judged.rare_parts, MOST_NAMES)}."
    if judged.without_facts:
        yield f"No facts are known of {some(judged.without_facts, MOST_NAMES)}."


def _figures(judged: FleetJudgement, result: FleetResult, unit: str) -> Iterator[str]:
    """Notes on the values of the only condition."""
    yield (
        f"Median {level(result.median, unit)}; one run scatters by {share(result.run_scatter)}, healthy nodes by "
        f"{share(result.node_scatter)}. Slow is a node that loses {share(result.threshold)} or more; a loss of "
        f"{share(result.detectable)} is found in 95 % of cases."
    )
    fewest = min(len(node.values) for node in result.nodes)
    if judged.verdict is Verdict.INCONCLUSIVE and fewest < FEWEST_ALIKE and result.enough:
        yield (
            f"Some nodes have {count(fewest, 'run')}: {count(FEWEST_ALIKE - fewest, 'more run')} of each would "
            "separate a slow node from a single bad run, and the scatter of runs from that of nodes."
        )
    if result.intraclass is not None and result.reliability is not None:
        yield (
            f"{share(result.intraclass)} of the variance is between nodes (intra-class correlation); the mean of a "
            f"node's runs has a reliability of {result.reliability:.2f}."
        )
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
