"""The report of `seatrial check`: verdict, culprit, proof and remedy first, then everything they are based on."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from seatrial.commands.check import tables
from seatrial.commands.check.fields import check_fields, job_rows, ticket
from seatrial.commands.check.headline import (
    Machine,
    comparisons_text,
    could_show,
    headline,
    machine,
    medians,
    not_tested,
    peers,
)
from seatrial.commands.check.heatmap import HeatMap, heat_map
from seatrial.commands.check.heatmap_text import drawn_heat_map
from seatrial.commands.check.pair_plots import distributions, matrices
from seatrial.commands.check.returning import back_in_service, may_return, returning
from seatrial.commands.check.tables import MOST_FEW, MOST_WORST, nodes_worst_first, pairs_worst_first, unexplained
from seatrial.model import subject, units
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement, PairVerdict
from seatrial.model.run import Design, RunInfo, run_kind
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render import pair_canvas
from seatrial.render.escape import clean
from seatrial.render.fact_text import differences
from seatrial.render.finding_text import out_of_service
from seatrial.render.matrix import Panels
from seatrial.render.node_trials import main_figures, resolution, trial_tables
from seatrial.render.report import (
    Block,
    Case,
    Cells,
    Copy,
    Drawing,
    Findings,
    Gauge,
    Items,
    Lines,
    Paragraph,
    Report,
    Table,
    record_table,
)
from seatrial.render.spectra import spectra_bars, spectra_plots, spectra_table

MOST_FINDINGS = 20


def check_report(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Report:
    """The whole report."""
    first = headline(run, judgement)
    shares, figures = _best_shares(judgement.pairs), main_figures(judgement.trials)
    answers = {name: may_return(name, judgement) for name in returning(run)}
    cluster, job = f"cluster {run.cluster}" * bool(run.cluster), f"job {run.job}" * bool(run.job)
    return Report(
        word=first.word,
        sentence=first.what,
        exit_code=judgement.exit_code,
        run=run,
        payload=lambda: check_fields(run, judgement, facts),
        terminal=lambda width: _terminal(run, judgement, facts, width),
        page=lambda: _page(run, judgement, facts),
        about=tuple(text for text in (run.run, cluster, run.started, run.launcher, job) if text),
        findings=judgement.findings,
        facts=facts,
        gauges=(
            Gauge(name="nodes", value=len(judgement.nodes)),
            Gauge(name="pairs", value=len(judgement.pairs)),
            Gauge(name="median_bandwidth_bytes_per_s", value=judgement.median_bandwidth_bytes_per_s),
            Gauge(name="median_latency", value=judgement.median_latency_s, unit="s"),
        ),
        cases=tuple(
            Case(
                name=subject.node(node.node).text,
                verdict=Verdict.INCONCLUSIVE if answers.get(node.node, True) is None else node.verdict,
                holds=bool(answers.get(node.node)),
                reason=node.reason,
                of_limit=shares.get(node.node),
                figures=figures.get(node.node, {}),
            )
            for node in judgement.nodes
        ),
    )


def _best_shares(pairs: Sequence[PairVerdict]) -> dict[str, float]:
    """What the best pair out of each node and the best one into it reach of their limits, the lesser of the two."""
    ways: dict[tuple[str, bool], float] = {}
    for pair in pairs:
        if pair.of_limit is not None:
            for way in ((pair.source, True), (pair.target, False)):
                ways[way] = max(ways.get(way, 0.0), pair.of_limit)
    return {node: min(share, ways.get((node, False), share)) for (node, out), share in ways.items() if out}


def _terminal(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts], width: int) -> Iterator[Block]:
    if judgement.findings:
        left = len(judgement.findings) - MOST_FINDINGS
        left_out = f"and {count(left, 'more finding')} on the page" if left > 0 else ""
        yield Findings(findings=judgement.findings[:MOST_FINDINGS], left_out=left_out)
    yield from out_of_service(run, judgement.findings)
    yield from back_in_service(run, judgement)
    if judgement.verdict is not Verdict.PASS and not (judgement.unjudged and judgement.verdict is Verdict.MEASURED):
        yield from _details(run, judgement, width)
    yield from (*spectra_table(judgement.spectra), *spectra_bars(judgement.spectra, width))
    yield Lines(rows=tuple(_closing(run, judgement, facts)), indent=0)
    yield from _for_a_ticket(run, judgement, facts)


def _for_a_ticket(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Iterator[Copy]:
    """A text for a ticket, if something may be wrong with the machine of a user's own job."""
    if run.own_job is not None and machine(judgement) is not Machine.GOOD:
        yield Copy(title="Text for a ticket", lines=ticket(run, run.own_job, judgement, facts))


def _details(run: RunInfo, judgement: Judgement, width: int) -> Iterator[Block]:
    """Heat map, pairs that no finding explains, nodes."""
    heat, drawn = drawn_heat_map(judgement, run.fabric, width)
    yield Drawing(title=_heat_map_title(heat, judgement), lines=drawn)
    odd = pairs_worst_first(judgement, odd=True)
    shown = unexplained(judgement, odd) if drawn and not heat.by_leaf else odd
    if shown:
        title = f"Pairs that did not pass{' and that no finding explains' if len(shown) < len(odd) else ''}"
        title += f": the worst {MOST_WORST} of {len(shown)}" if len(shown) > MOST_WORST else ""
        yield record_table(PAIRS, shown[:MOST_WORST], title=title)
    yield from _nodes(judgement)


def _heat_map_title(heat: HeatMap, judgement: Judgement) -> str:
    of = "limit" if any(pair.limit for pair in judgement.pairs) else "peers' bandwidth"
    what = "leaf by leaf, worst first" if heat.by_leaf else "pairs, worst nodes first" if heat.left_out else "pairs"
    all_rows = count(len(heat.labels) + heat.left_out, *(("leaf", "leaves") if heat.by_leaf else ("node",)))
    what += f", {len(heat.labels)} of {all_rows}" if heat.left_out else ""
    return f"Bandwidth in % of the {of}, {what}; rows send, columns receive"


PAIRS: Cells[PairVerdict] = {
    "pair": lambda pair: f"{pair.source}>{pair.target}",
    "verdict": lambda pair: pair.verdict.value,
    "#bandwidth": lambda pair: (
        units.bandwidth(pair.bandwidth_bytes_per_s.value) if pair.bandwidth_bytes_per_s else "none"
    ),
    "#latency": lambda pair: units.duration(pair.latency_s.value) if pair.latency_s else "none",
    "~reason": lambda pair: pair.reason,
}


def _nodes(judgement: Judgement) -> Iterator[Table]:
    nodes = nodes_worst_first(judgement.nodes)
    odd = [node for node in nodes if node.verdict is not Verdict.PASS]
    shown = nodes if len(nodes) <= MOST_FEW else odd
    if shown:
        title = "Nodes" if shown is nodes else "Nodes that did not pass"
        cut = "" if len(shown) <= MOST_FEW else f": the worst {MOST_FEW} of {len(shown)}"
        yield record_table(tables.NODES, shown[:MOST_FEW], title=title + cut)


def _closing(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Iterator[tuple[str, str]]:
    seen = resolution(judgement.trials) if judgement.trials else ""
    for label, known in (
        ("all pairs", medians(judgement)),
        ("peers", peers(judgement)),
        ("compared", comparisons_text(judgement.compared)),
        ("would see", could_show(judgement)),
        ("nodes", f"each by itself; would see {seen}" if seen else ""),
        ("not tested", not_tested(run, judgement) if judgement.verdict is Verdict.PASS else ""),
    ):
        if known:
            yield label, known
    if own := run.own_job:
        yield from job_rows(run, own, judgement)
    yield from tables.loaded_rows(judgement.loaded)
    for state in judgement.lost or run.lost:
        yield "not measured", f"{state.node}: {state.reason}" + ("" if state.fault else " (no fault)")
    for difference in differences(facts):
        yield "nodes differ", difference
    for note in judgement.notes:
        yield "note", note
    if run.program is not None:
        yield "program", _program(run)
    design = judgement.design or run.design
    if design is not None:
        yield "design", design.statement
    yield "run", f"{run.run}, {run.started}, {run.launcher}" + (f", job {run.job}" if run.job else "")
    yield "more", f"seatrial report {shlex.quote(clean(run.run))} --html report.html"


def _program(run: RunInfo) -> str:
    """The command of a check's program, and its figure; empty where the probe measured."""
    words = shlex.join(run.program.words) if run.program else ""
    return f"{words}: {run.figure.metric} of {run.figure.benchmark}" if run.figure else words


def _page(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Iterator[Block]:
    if judgement.findings:
        left = len(judgement.findings) - tables.MOST_ROWS
        left_out = f"{count(left, 'more finding')}: see the JSON report." if left > 0 else ""
        yield Findings(anchor="findings", findings=judgement.findings[: tables.MOST_ROWS], left_out=left_out)
    yield from out_of_service(run, judgement.findings)
    yield from back_in_service(run, judgement)
    if lost := judgement.lost or run.lost:
        lost_nodes = record_table(tables.LOST, lost, tables.MOST_ROWS, "Nodes not measured")
        yield replace(lost_nodes, anchor="lost")
    heat = heat_map(judgement, run.fabric)
    drawings: list[Block] = [*(matrices(heat, judgement) if len(heat.labels) > 1 else ())]
    if (heat.by_leaf or heat.left_out) and len(judgement.pairs) <= pair_canvas.MOST_PAIRS:
        many = partial(heat_map, judgement, run.fabric, pair_canvas.MOST_ROWS)
        drawings.append(pair_canvas.PairCanvas(maps=lambda: matrices(many(), judgement)))
    drawings += distributions(judgement)
    if drawings:
        title = "Pairs at a glance"
        yield Panels(title=title, anchor="pairs-map", aside=_heat_map_note(heat, judgement), panels=tuple(drawings))
    yield from tables.worst_tables(judgement)
    yield from _loaded(judgement)
    yield from (*spectra_plots(judgement.spectra), *spectra_table(judgement.spectra))
    if judgement.trials:
        yield from trial_tables(judgement.trials, "Trials of each node by itself")
    yield Items(title="Caveats of these verdicts", anchor="notes", items=judgement.notes)
    yield from _for_a_ticket(run, judgement, facts)
    if design := judgement.design or run.design:
        yield Paragraph(title="Design", anchor="design", text=design.statement)
        yield Lines(rows=_design_rows(design))
    yield Lines(title="Run", anchor="run", rows=tuple(_run_rows(run)))
    yield from tables.folded_tables(judgement)
    yield from _facts(judgement, facts)


def _heat_map_note(heat: HeatMap, judgement: Judgement) -> str:
    note = "Rows send, columns receive; point at a cell or a bar for its numbers."
    if heat.by_leaf:
        note += " There are many nodes: in a map of leaves a cell is the worst of all pairs from one leaf to another."
        note += " The worst leaves come first."
    if heat.left_out:
        what = "leaves" if heat.by_leaf else "nodes"
        note += f" The {len(heat.labels)} worst {what} are drawn; {heat.left_out} more are not."
    for label, text in (("All pairs,", medians(judgement)), ("Peers,", peers(judgement))):
        note += f" {label} {text}." if text else ""
    smallest = could_show(judgement)
    return note + (f" This run would have detected {smallest}." if smallest else "")


def _loaded(judgement: Judgement) -> Iterator[Block]:
    if rows := tables.loaded_rows(judgement.loaded):
        yield Lines(title="Under load", anchor="loaded", rows=tuple(rows))
        leaves = tables.leaves_table(judgement.loaded)
        if leaves.rows:
            yield leaves


def _facts(judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Iterator[Block]:
    if not facts:
        return
    alike = ("The nodes are alike in everything that is listed here.",)
    items = tuple(f"Differs: {difference}" for difference in differences(facts)) or alike
    yield Items(title="What the nodes are", anchor="facts", items=items)
    yield tables.facts_table(judgement, facts)


def _run_rows(run: RunInfo) -> Iterator[tuple[str, str]]:
    """The run's metadata; what is not known has no row."""
    rows = [
        ("run", run.run),
        ("of", run_kind(run).command),
        ("started", run.started),
        ("ended", run.ended),
        ("ending", run.ending.value + (f": {run.reason}" if run.reason else "")),
        ("command", " ".join(run.command)),
        ("program", _program(run)),
        ("launcher", run.launcher),
        ("cluster", run.cluster),
        ("job", run.job),
        ("MPI library", run.mpi_library),
        ("leaves from", run.fabric.source),
        ("seed", str(run.seed)),
        ("seatrial", run.seatrial),
    ]
    return (row for row in rows if row[1])


def _design_rows(design: Design) -> tuple[tuple[str, str], ...]:
    return (
        ("design", design.name),
        ("pairs planned", f"{design.planned_pairs} of {design.ordered_pairs} ordered pairs"),
        ("pairs measured", f"{design.measured_pairs}, in {design.measured} measurements"),
        ("pairs at once", str(design.pairs_at_once)),
        ("repetitions", str(design.repetitions)),
        ("rounds", str(design.rounds)),
    )
