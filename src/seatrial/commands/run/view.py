"""The report of `seatrial run`: the benchmark's own numbers, its programs, and the nodes and ranks beside them."""

import itertools
import shlex
from collections.abc import Iterator

from seatrial.commands.run.job_view import job_blocks, job_fields, phases_text
from seatrial.judgement.benchmark_result import RunResult
from seatrial.model import units
from seatrial.model.benchmark import Better
from seatrial.model.benchmark_run import StepResult
from seatrial.model.node_list import node_list
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.model.words import count, verb
from seatrial.render.benchmark_output import output_blocks, output_fields, output_sentence
from seatrial.render.json import Json
from seatrial.render.pair_view import run_line
from seatrial.render.report import Block, Case, Copy, Findings, Items, Lines, Paragraph, Report, Table, columns

MOST_RANKS = 32
LAST_LINES = 12


def run_report(run: RunInfo, result: RunResult) -> Report:
    """The whole report."""
    return Report(
        word=result.word,
        sentence=_sentence(run, result),
        exit_code=result.exit_code,
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
    """Its main number where all is well; else what failed, is missing or wrong."""
    if result.failure:
        return f"{result.failure.rstrip('.')}."
    plain = output_sentence(result.benchmark.name, result.benchmark, result.output, result.findings)
    values = [item for item in result.output.results if item.metric == result.benchmark.main_metric]
    if result.word not in (Verdict.PASS, Verdict.MEASURED) or not values:
        return plain
    metric = result.benchmark.main
    best = (max if metric.better is Better.MORE else min)(values, key=lambda item: item.value)
    best = best if "bytes" in best.labels else values[0]  # the parts of one benchmark are not comparable
    limit = result.limits.get(metric.name)
    of = f", {units.share(best.value / limit)} of the limit of its nodes" if limit else ""
    where = count(len(run.nodes), "rank" if all(":" in name for name in run.nodes) else "node")
    number = units.in_unit(best.value, metric.unit)
    nothing = "; compared with nothing" if result.word == Verdict.MEASURED else ""
    return f"{result.benchmark.title} on {where}: {number}{of}; complete, all gates passed{nothing}"


def run_fields(run: RunInfo, result: RunResult) -> Json:
    """docs/run.md describes each field."""
    return {
        **output_fields(f"{result.benchmark.name}.out", result.benchmark, result.output),
        "failure": result.failure,
        "nodes": list(run.nodes),
        "plan": {
            "notes": list(result.plan.notes) if result.plan else [],
            "expected": dict(result.plan.expected) if result.plan else {},
        },
        "limits": dict(result.limits),
        "steps": [
            {
                "name": step.name,
                "argv": list(step.argv),
                "exit_code": step.returncode,
                "seconds": step.seconds,
                "timed_out": step.timed_out,
                "interrupted": step.interrupted,
            }
            for step in result.steps
        ],
        "machine": [{"finding": item.kind.value, "statement": item.statement} for item in result.machine],
        **job_fields(result.job),
        "ranks": {node: [list(rank.cpus) for rank in ranks] for node, ranks in result.ranks.items()},
    }


def _blocks(run: RunInfo, result: RunResult) -> Iterator[Block]:
    yield from output_blocks(result.benchmark, result.output, result.findings)
    last = result.steps[-1] if result.steps else None
    if result.failure and last is not None:
        yield from _last_words(last)
    yield Lines(title="Run", rows=tuple(_rows(run, result)))
    if result.machine:
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
    if result.ranks:
        rows = tuple(
            (node, str(number), ",".join(map(str, rank.cpus)))
            for node, ranks in result.ranks.items()
            for number, rank in enumerate(ranks)
        )
        left = len(rows) - MOST_RANKS
        yield Table(
            title="Placement of ranks",
            columns=columns("node", "#rank of the node", "processors"),
            rows=rows[:MOST_RANKS],
            left_out=f"{count(left, 'more rank')} {verb(left)} in the JSON report." if left > 0 else "",
        )
    yield Copy(title="Commands", lines=tuple(shlex.join(step.argv) for step in result.steps))
    if result.plan and result.plan.notes:
        yield Items(title="How the inputs were chosen", items=result.plan.notes)
    if run.reason:
        yield Paragraph(text=run.reason, aside=True)
