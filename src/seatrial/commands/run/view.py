"""The report of `seatrial bench run`: numbers, programs and job of the benchmark, and nodes and ranks beside them."""

import itertools
import shlex
from collections.abc import Iterator

import msgspec

from seatrial.judgement.benchmark_result import RunResult
from seatrial.judgement.job import Job, JobPhase, NodeView
from seatrial.judgement.past import past_text
from seatrial.model import units
from seatrial.model.benchmark import BenchmarkPlan, StepResult
from seatrial.model.node_list import node_list
from seatrial.model.past import PastRatio
from seatrial.model.run import RunInfo
from seatrial.model.verdict import FindingKind, Verdict, exit_code
from seatrial.model.words import count, ranges
from seatrial.render.benchmark_output import (
    NOTHING,
    OutputFields,
    main_number,
    main_share,
    output_blocks,
    output_fields,
    output_pictures,
    output_sentence,
)
from seatrial.render.json import filled
from seatrial.render.pair_view import limit_text, run_line
from seatrial.render.plots import Bars, plain_bars
from seatrial.render.report import (
    Block,
    Case,
    Cells,
    Copy,
    Findings,
    Items,
    Lines,
    Paragraph,
    Report,
    Table,
    record_table,
    rows_table,
)

MOST_PHASES, MOST_NODES, MOST_CHANGES = 16, 32, 8
SMALL = 0.005
"""Phases with a smaller share of the longest one are left out of the bars."""


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


def programs_text(job: Job) -> str:
    """`simpleFoam 90 s, snappyHexMesh 41 s`: the wall times of the longest programs; empty if there is only one."""
    programs = sorted((phase for phase in job.phases if phase.program), key=lambda phase: -phase.seconds)
    return ", ".join(f"{one.name} {units.duration(one.seconds)}" for one in programs[:4]) if len(programs) > 1 else ""


def _bars(title: str, caption: str, phases: "list[JobPhase]") -> Bars:
    most, whole = (of(phase.seconds for phase in phases) or 1.0 for of in (max, sum))
    shown = [phase for phase in phases if phase.seconds >= SMALL * most][:MOST_PHASES]
    left = len(phases) - len(shown)
    texts = [f"{units.duration(phase.seconds)}, {units.share(phase.seconds / whole)}" for phase in shown]
    bars = plain_bars(
        f"{caption}; {units.duration(whole)} together{f', {left} short ones not drawn' if left else ''}.",
        [(phase.name, phase.seconds, text) for phase, text in zip(shown, texts, strict=True)],
    )
    return msgspec.structs.replace(bars, title=title)


def _nodes(job: Job) -> Table:
    return msgspec.structs.replace(
        record_table(NODES, job.nodes, MOST_NODES, "Nodes during the job"),
        aside="Traffic, errors and clocks are those of the whole node, from before the job to after it.",
        stacked=True,
    )


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


NODES: Cells[NodeView] = {
    "node": lambda node: node.node,
    "#ranks": lambda node: str(node.ranks or ""),
    "processors": lambda node: " | ".join(map(ranges, node.cpus[:4])) + (" ..." if len(node.cpus) > 4 else ""),
    "~limit of its paths": lambda node: limit_text(node.limit) if node.limit else "not known",
    "~carried by": _carried,
    "#clock": _clock,
    "~state": _state,
}


def _changes(job: Job) -> Iterator[str]:
    for change in job.changes[:MOST_CHANGES]:
        yield f"{change.fact}: {change.before} before, {change.after} after, on {node_list(change.nodes)}"
    if len(job.changes) > MOST_CHANGES:
        yield f"{len(job.changes) - MOST_CHANGES} more; `seatrial facts --drift` compares all."


MOST_RANKS = 32
LAST_LINES = 12
LEAST_SHOWN = 0.0005


class StepFields(msgspec.Struct, frozen=True, kw_only=True):
    """One program that was started, and how it ended."""

    name: str
    argv: tuple[str, ...]
    returncode: int = msgspec.field(name="exit_code")
    seconds: float
    timed_out: bool
    interrupted: bool


class MachineRemark(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the facts of the nodes."""

    kind: FindingKind = msgspec.field(name="finding")
    statement: str


class MainFigureFields(PastRatio, frozen=True, kw_only=True):
    """The main figure compared with earlier runs."""

    name: str
    runs: tuple[str, ...]


class RunFields(OutputFields, frozen=True, kw_only=True):
    """One run of a benchmark: its output, its programs and its nodes; docs/run.md describes each field."""

    failure: str
    nodes: tuple[str, ...]
    plan: BenchmarkPlan
    steps: tuple[StepFields, ...]
    machine: tuple[MachineRemark, ...]
    phases: tuple[JobPhase, ...]
    job_nodes: tuple[NodeView, ...]
    past: MainFigureFields | None
    ranks: dict[str, tuple[tuple[int, ...], ...]]


def run_report(run: RunInfo, result: RunResult) -> Report:
    """The whole report."""
    return Report(
        word=result.word,
        sentence=_sentence(run, result),
        exit_code=exit_code(result.word),
        run=run,
        payload=lambda: run_fields(run, result),
        terminal=lambda _: _blocks(run, result),
        page=lambda: _page(run, result),
        about=run_line(run),
        findings=result.findings,
        cases=(Case(name=f"benchmark:{result.benchmark.name}", verdict=Verdict(result.word))
               if result.word in tuple(Verdict) else Case(name=f"benchmark:{result.benchmark.name}",
               verdict=Verdict.NOT_RUN, reason=result.failure),),
    )  # fmt: skip


def _sentence(run: RunInfo, result: RunResult) -> str:
    """The benchmark's main number if all is well; else what failed, is missing or wrong."""
    if result.failure:
        return f"{result.failure.rstrip('.')}."
    plain = output_sentence(result.benchmark.name, result.benchmark, result.output, result.findings, result.limits)
    main = result.benchmark.main_result(result.output)
    if result.word not in (Verdict.PASS, Verdict.MEASURED, Verdict.SLOW) or main is None:
        return plain
    of = main_share(result.benchmark, result.output, result.limits)
    where = count(len(run.nodes), "rank" if all(":" in name for name in run.nodes) else "node")
    number = main_number(result.benchmark, result.output)
    then = _then(run, result)
    gates = (
        f": {', '.join(dict.fromkeys(finding.kind.value for finding in result.findings))}" if result.findings else ""
    )
    nothing = NOTHING if result.word == Verdict.MEASURED and not then else ""
    first = f"{result.benchmark.title.partition(' (')[0]} on {where}: {number}{of}{then}{nothing}{gates}"
    return "; ".join(filter(None, (first, programs_text(result.job))))


def _then(run: RunInfo, result: RunResult) -> str:
    """`, 1.2 % slower than a22`; empty where there is nothing from the past."""
    if run.past is None or result.past is None:
        return ""
    loss = result.past.loss
    how = (
        f"{units.share(abs(loss))} {'slower' if loss > 0 else 'faster'} than"
        if abs(loss) > LEAST_SHOWN
        else "as fast as"
    )
    name = past_text(run.past) if len(run.past.runs) > 1 else run.past.name
    return f", {how} {name}"


def run_fields(run: RunInfo, result: RunResult) -> RunFields:
    """What programs read of one run of a benchmark."""
    return filled(
        RunFields,
        output_fields(f"{result.benchmark.name}.out", result.benchmark, result.output, result.limits),
        result,
        result.job,
        nodes=run.nodes,
        past=filled(MainFigureFields, result.past, name=run.past.name, runs=[earlier.run for earlier in run.past.runs])
        if run.past and result.past
        else None,
        plan=result.plan or BenchmarkPlan(steps=()),
        job_nodes=result.job.nodes,
        ranks={node: [rank.cpus for rank in ranks] for node, ranks in result.ranks.items()},
    )


def _blocks(run: RunInfo, result: RunResult) -> Iterator[Block]:
    yield from output_blocks(result.benchmark, result.output, result.findings)
    last = result.steps[-1] if result.steps else None
    if result.failure and last is not None:
        yield from _last_words(last)
    yield Lines(title="Run", rows=tuple(_rows(run, result)))
    yield Findings(title="The nodes", findings=result.machine, brief=True)


def _rows(run: RunInfo, result: RunResult) -> Iterator[tuple[str, str]]:
    yield "nodes", node_list(run.nodes)
    if run.design and run.design.statement:
        yield "plan", run.design.statement
    for step in result.steps:
        yield step.name, f"{units.duration(step.seconds)}, exit code {step.returncode}"
    if phases := phases_text(result.job):
        yield "phases", phases
    unit_of = {metric.name: metric.unit for metric in result.benchmark.metrics}
    for metric, limit in result.limits.items():
        yield "limit", f"{metric}: {units.in_unit(limit, unit_of.get(metric, ''))}"


def _last_words(step: StepResult) -> Iterator[Block]:
    """The end of what a program printed that failed."""
    text = step.errors.strip() or step.output.strip()
    if text:
        yield Copy(title=f"Last lines of {step.name}", lines=tuple(text.splitlines()[-LAST_LINES:]))


def _page(run: RunInfo, result: RunResult) -> Iterator[Block]:
    blocks = (job_blocks(result.job), _blocks(run, result))
    yield from itertools.chain(*(reversed(blocks) if result.findings or result.failure else blocks))
    if not result.failure:
        yield from output_pictures(result.benchmark, result.output, result.limits)
    rows = (
        (node, str(number), ",".join(map(str, rank.cpus)))
        for node, ranks in result.ranks.items()
        for number, rank in enumerate(ranks)
    )
    yield rows_table(("node", "#rank of the node", "processors"), rows, MOST_RANKS, "Placement of ranks")
    yield Copy(title="Commands", lines=tuple(shlex.join(step.argv) for step in result.steps))
    if result.plan and result.plan.notes:
        yield Items(title="How the inputs were chosen", items=result.plan.notes)
    yield Paragraph(text=run.reason, aside=True)
