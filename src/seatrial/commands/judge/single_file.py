"""One output of a benchmark, or one file of series over time, is read and judged."""

from collections.abc import Collection

import msgspec

from seatrial.archive import run_sets
from seatrial.benchmarks import catalogue
from seatrial.benchmarks.declaration import AUTO, PAIR, Benchmark
from seatrial.benchmarks.gates import judge
from seatrial.commands.judge.kinds import JudgeOptions
from seatrial.commands.judge.series_view import changes_report
from seatrial.commands.judge.sources import Sources
from seatrial.driver import facts_reading
from seatrial.driver.benchmark import definition
from seatrial.importers.series import ValueSeries, read_series
from seatrial.judgement.benchmark_result import limits_of_nodes
from seatrial.judgement.comparison import history
from seatrial.judgement.series_changes import judge_series
from seatrial.model.benchmark import Output
from seatrial.model.errors import UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import SeriesSense
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.process.time_limit import PARSE_S, limited
from seatrial.render.benchmark_output import output_report
from seatrial.render.report import Report


def output_judged(sources: Sources, wanted: JudgeOptions) -> Report:
    """The numbers of one output, the evidence of work, and the gates that it passes. Raises UsageError."""
    file = sources.only("An output of a benchmark is judged by itself.")
    text = sources.text(file)
    with limited(PARSE_S, f"Reading {file}"):
        declared, result = definition.parsed(wanted.benchmark, text, wanted.largest)
    if declared is None:
        return output_report(file.name, declared, result)
    limits = definition.limits_of(declared, wanted.limit)
    if wanted.facts:
        facts = facts_reading.read_named(wanted.facts, wanted.archive).facts
        if ":" not in wanted.facts and not _ran_on_all(declared, result, facts.values()):
            what = f"The facts are of {count(len(facts), 'node')}, and the output does not show that it ran on all."
            raise UsageError(what, f"Name those that it ran on: --facts {wanted.facts}:n[1-2].")
        limits = {**limits_of_nodes(declared, facts), **limits}
    judged = judge(declared, result, limits, dict(wanted.expect))
    if wanted.benchmark == AUTO:
        judged = _with_others(declared, judged, text)
    return output_report(file.name, declared, judged, limits)


def _with_others(declared: Benchmark, judged: Output, text: str) -> Output:
    """The output with what is wrong with outputs of other benchmarks in the same text, whose numbers are not shown."""
    for other in catalogue.others_in(declared, text):
        beside = judge(other, catalogue.parse_as(other, text))
        lines = {breach.line for breach in judged.breaches}
        wrong = [
            msgspec.structs.replace(breach, reason=f"{other.title}: {breach.reason}")
            for breach in beside.breaches
            if breach.kind.verdict is Verdict.INVALID and breach.line not in lines
        ]
        judged = msgspec.structs.replace(
            judged,
            breaches=(*judged.breaches, *wrong),
            missing=(*judged.missing, *(f"the output of {other.title} in it: {reason}" for reason in beside.missing)),
            notes=(
                *judged.notes,
                f"It has an output of {other.title}, too: --benchmark {other.name} shows its numbers.",
            ),
        )
    return judged


def _ran_on_all(declared: Benchmark, result: Output, facts: Collection[NodeFacts]) -> bool:
    """Whether an output is of all of these nodes: it says how many, has a rank on each core, or is of a pair."""
    pair = len(facts) == PAIR and any(metric.of_path for metric in declared.metrics)
    cores = [known.cores for known in facts if known.cores]
    full = len(cores) == len(facts) and result.work("ranks") == sum(cores)
    return len(facts) == 1 or result.work("nodes") == len(facts) or pair or full


def series_judged(sources: Sources, wanted: JudgeOptions) -> Report:
    """The changes in the series of a file, or in those of runs. Raises UsageError."""
    if wanted.runs:
        series = _of_runs(sources, wanted)
    else:
        series = read_series(sources.text(sources.only("Values over time are read from one file.")), wanted.column)
    better = SeriesSense(wanted.better)
    return changes_report(
        judge_series(series, better=better, effect=wanted.effect or 0.0, error_rate=wanted.error_rate)
    )


def _of_runs(sources: Sources, wanted: JudgeOptions) -> tuple[ValueSeries, ...]:
    """One series for each metric of runs of the archive, or for those whose names begin so."""
    chosen = run_sets.find_runs(wanted.archive, wanted.runs)
    tables = run_sets.load_tables([chosen], note=sources.waiting)
    metrics = [history.metric_named(tables, name) for name in wanted.column] or tables
    leaf_of = {node: leaf for run in chosen.summaries for node, leaf in run.leaf_of.items()}
    return history.series_of(metrics, chosen.summaries, leaf_of)
