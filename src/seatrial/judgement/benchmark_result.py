"""Judges a benchmark that was run: its programs, its output, the requested work, and the limits of the nodes."""

import math
from collections.abc import Iterator, Mapping

import msgspec

from seatrial.benchmarks import gates, generic
from seatrial.benchmarks.catalogue import BENCHMARKS, benchmark_named, detected, values_of
from seatrial.benchmarks.declaration import PAIR, Benchmark
from seatrial.benchmarks.gpu_rates import HOST, PEER
from seatrial.benchmarks.nccl_tests import BUS
from seatrial.failures.start_failure import explain
from seatrial.importers.printed_text import plain
from seatrial.judgement.job import Job, job_of, with_carrying_ports
from seatrial.judgement.outcome import failure_of
from seatrial.judgement.past import past_of_figure, slower_benchmark
from seatrial.judgement.rank_notes import first_ranks
from seatrial.limits.gpus import has_accelerators, host_term, peer_term
from seatrial.limits.path import path_limit
from seatrial.limits.peak import compute_peaks
from seatrial.model import subject
from seatrial.model.benchmark import BenchmarkPlan, Breach, Output, StepResult
from seatrial.model.errors import UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import ALL_NODES, ImportedValue
from seatrial.model.limit import ComputePeak, Limit
from seatrial.model.measurement import RankPlace, node_of
from seatrial.model.past import PastRatio
from seatrial.model.run import Ending, RecordedRun, RunInfo
from seatrial.model.settings import RunSettings
from seatrial.model.subject import Subject
from seatrial.model.units import duration
from seatrial.model.verdict import INCOMPLETE, Finding, FindingKind, Verdict, worst
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings

REMEDIES = {
    FindingKind.NOT_A_NUMBER: "Do not use this run. Look for the first such line: the solution diverged, or a field "
    "was never set.",
    FindingKind.ZERO_RESULT: "Do not use this run: a rate of 0 or a negative time means that nothing was measured.",
    FindingKind.CONSTANT_RESULTS: "Check that the program computes this number; compare with a run on one node.",
    FindingKind.ABOVE_LIMIT: "Check the unit, the amount of work and the clock; the limit itself is yours.",
    FindingKind.FAR_BELOW_LIMIT: "Give it enough work first (a larger problem); then look at the placement of "
    "ranks, the library, clocks and transport: seatrial placement, nodes and link --transports.",
    FindingKind.GPU_BELOW_PEERS: "Run it three times on this node, and judge the outputs together (seatrial judge "
    "FILE...): only a low number that returns is a finding. Then look at its clocks, power and link (nvidia-smi -q).",
    FindingKind.UNEVEN_NUMBERS: "Run it again: noise does not return in the same place. What returns is a setting: for "
    "a message size an eager limit, registration or tuning tables; for STREAM arrays within caches or threads that are "
    "not pinned; for HPL block size and grid. A repetition was disturbed (other jobs, a throttled node) or served by a "
    "cache. Give runs on other nodes or with other settings as a file each.",
    FindingKind.DIAGNOSTIC_FAILED: "Drain the node, and follow the text of the diagnostic; keep its output for the "
    "vendor (nvidia-bug-report.sh).",
    FindingKind.DIAGNOSTIC_SETTING: "Correct the setting that the text names, and run the diagnostic again: the "
    "hardware is not at fault.",
    FindingKind.DIAGNOSTIC_SKIPPED: "Find out why they were skipped (the text of the diagnostic, other programs on the "
    "GPU, an unsupported model), and run it again: a test that did not run shows nothing.",
    FindingKind.RESIDUAL_FAILED: "The result is wrong: look for faulty memory or processors (run it on each node "
    "alone), and for an unsuitable build of the libraries.",
    FindingKind.RESIDUAL_MISSING: "Run it again with its own check enabled.",
    FindingKind.WORK_SKIPPED: "Compare with the log of a correct case: mesh, patches and functions must all be there.",
    FindingKind.RUN_TOO_SHORT: "Run it with more work, so that it takes many ticks of its clock.",
    FindingKind.NUMBERS_DISAGREE: "Do not use this number: check its unit, and whether the output was edited or mixed.",
    FindingKind.ITERATIONS_DIFFER: "Check the end time and the convergence criteria of the case.",
    FindingKind.RANKS_DIFFER: "Check the launch line: a program without MPI runs once for each rank.",
    FindingKind.CLOCK_BACKWARDS: "Check the clock of the node (chronyc tracking), and run it again.",
    FindingKind.PROGRAM_FAILED: "Look at the lines above it in the output.",
    FindingKind.OUTPUT_TRUNCATED: "Give the whole output, or run it again.",
    FindingKind.MESH_DIFFERS: "Mesh and decompose the case again, and compare the logs of checkMesh.",
    FindingKind.WORK_DIFFERS: "Compare its input with that of a correct run; all sizes of a curve need the same one.",
    FindingKind.SUPERLINEAR: "Prove that each size did the same work: give the outputs instead of a table, and compare "
    "iterations, cells and results.",
    FindingKind.SLOWER_WITH_MORE: "Use the smaller size, or find what the larger one waits for: seatrial placement, "
    "nodes and link show ranks, memory and network.",
    FindingKind.BIMODAL: "Find what differs between the runs of the two kinds (nodes, placement, other jobs), and do "
    "not average them.",
    FindingKind.DATA_CORRUPT: "Test memory and network of these nodes: seatrial check --verify names the pair.",
}


def word_of_output(output: Output) -> str:
    """INCOMPLETE before INVALID; MEASURED where nothing was compared, or the program did not check its data."""
    if not output.complete:
        return INCOMPLETE
    if output.breaches:
        return worst([breach.kind.verdict for breach in output.breaches]).value
    return (Verdict.PASS if output.references and not output.unchecked else Verdict.MEASURED).value


def breach_finding(breach: Breach, subject: Subject) -> Finding:
    """The gate that is not passed, with the line that shows it."""
    where = f"line {breach.line}: " if breach.line else ""
    return Finding(
        kind=breach.kind,
        subject=subject,
        verdict=breach.kind.verdict,
        statement=f"{where}{breach.reason}." + (f" The line: {breach.text}" if breach.text else ""),
        brief=f"{breach.kind.value}: {breach.brief or where + breach.reason}",
        printed=breach.text,
        remedy=REMEDIES.get(breach.kind, "Do not use this run."),
    )


BASELINE = "baseline"
"""A reference, as those of `gates`."""
FLOPS = "rate_flops_per_s"
MAXIMUM = "maximum frequency"
SIGNAL_BASE = 128


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that is derived from one run of a benchmark."""

    benchmark: Benchmark
    output: Output
    """The output, with the breaches of all gates."""
    plan: BenchmarkPlan | None
    steps: tuple[StepResult, ...]
    findings: tuple[Finding, ...]
    machine: tuple[Finding, ...]
    """What is wrong with the facts of its nodes."""
    ranks: dict[str, tuple[RankPlace, ...]]
    """Node -> places of the probe's ranks, which were started in the same way."""
    limits: dict[str, float]
    job: Job
    """The phases of the job, and its nodes during it."""
    past: PastRatio | None = None
    """The main figure compared with the named runs, or the last one that was made alike; None: there is none."""
    failure: str = ""
    """Why it did not come to its end; empty: it did."""

    @property
    def word(self) -> str:
        """PASS, MEASURED, SLOW, INVALID or INCOMPLETE; NOT_RUN where no program was started."""
        if self.failure and not self.steps:
            return Verdict.NOT_RUN.value
        word = word_of_output(self.output)
        return (
            worst([finding.verdict for finding in self.findings]).value
            if self.findings and word != INCOMPLETE
            else word
        )


def declared_in(info: RunInfo) -> Benchmark:
    """The benchmark of a recorded run, whose own file may be gone. Raises UsageError for one that is not known."""
    settings = info.settings
    if not isinstance(settings, RunSettings):
        raise UsageError(f"The run {info.run} does not say of which benchmark it is.", "Another version wrote it.")
    if settings.definition:
        return generic.generic_benchmark(settings.definition, settings.benchmark)
    return benchmark_named(settings.benchmark)


def judge_run(recorded: RecordedRun, benchmark: Benchmark) -> RunResult:
    """The judgement, computed from what was recorded alone."""
    plan, steps = recorded.plan, recorded.steps
    facts = {node_of(name): known for name, known in recorded.facts.items()}
    whole = facts.keys() == {node_of(name) for name in recorded.info.nodes}
    after = {node_of(name): known for name, known in recorded.facts_after.items()}
    carrying = {name: with_carrying_ports(known, after.get(name)) for name, known in facts.items()}
    settings = recorded.info.settings
    given = settings.limits if isinstance(settings, RunSettings) else {}
    limits = {**(limits_of_nodes(benchmark, carrying) if whole else {}), **given}
    output = _output(benchmark, plan, steps)
    failure = _failure(recorded, output)
    if not failure:
        output = gates.judge(benchmark, output, limits, plan.expected if plan else {})
        output = msgspec.structs.replace(output, references=tuple(set(output.references) - {gates.REQUESTED}))
    failed = FindingKind.PROGRAM_FAILED
    bad_exits = [
        Breach(kind=failed, reason=f"{one.name} {_how(one)}") for one in steps if one.returncode and not failure
    ]
    output = msgspec.structs.replace(
        output,
        missing=(failure, *output.missing) if failure and steps else output.missing,
        breaches=(*bad_exits, *output.breaches),
    )
    past, settings = recorded.info.past, recorded.info.settings
    printed = run_values(recorded.info, benchmark, output) if past and output.valid and not failure else ()
    main = next((value for value in printed if value.main), None)
    ratio = past_of_figure(past, main) if past and main else None
    findings = [breach_finding(breach, subject.output(benchmark.name)) for breach in output.breaches]
    if past is not None and ratio is not None and isinstance(settings, RunSettings) and settings.baseline:
        if ratio.slower:
            findings.append(slower_benchmark(past, ratio, benchmark.name))
        elif len(past.runs) > 1:
            output = msgspec.structs.replace(output, references=(*output.references, BASELINE))
    return RunResult(
        benchmark=benchmark,
        output=output,
        plan=plan,
        steps=steps,
        findings=tuple(findings),
        past=ratio,
        machine=tuple(fact_findings(Readings(facts=facts, after=after, ranks=first_ranks(recorded)))),
        ranks=first_ranks(recorded),
        limits=limits,
        job=job_of(steps, output, first_ranks(recorded), facts, after),
        failure=failure,
    )


def run_values(info: RunInfo, benchmark: Benchmark, output: Output) -> Iterator[ImportedValue]:
    """All that was printed: of one node under its name."""
    nodes = {node_of(name) for name in info.nodes}
    return values_of(benchmark, output, nodes.pop() if len(nodes) == 1 else ALL_NODES)


def _output(benchmark: Benchmark, plan: BenchmarkPlan | None, steps: tuple[StepResult, ...]) -> Output:
    """What was read of the judged programs' outputs, one after the other."""
    text = plain("".join(step.output for step in steps if step.judged), moments=benchmark.name in BENCHMARKS)
    if not text:
        return Output(benchmark=benchmark.name, missing=("it printed nothing",) if steps else ("it was not started",))
    if plan is not None and plan.largest_bytes and benchmark.parse_up_to is not None:
        return benchmark.parse_up_to(text, plan.largest_bytes)
    other = detected(text)
    if benchmark.marks and other is not None and other.name != benchmark.name:
        return Output(benchmark=benchmark.name, missing=(f"it printed what {other.title} prints",))
    return benchmark.parse(text)


def _failure(recorded: RecordedRun, output: Output) -> str:
    """Why it did not come to its end; a program that failed behind a complete output is a breach instead."""
    last = recorded.steps[-1] if recorded.steps else None
    if last is not None and last.interrupted:
        return f"{last.name} was interrupted after {duration(last.seconds)}"
    if last is not None and last.timed_out:
        return f"{last.name} was ended after {duration(last.seconds)}: it did not finish within --budget"
    if last is not None and last.returncode and not (output.complete and last.judged):
        return f"{last.name} {_how(last)}"
    if not recorded.steps:
        return failure_of(recorded)
    if recorded.info.ending is not Ending.COMPLETE:
        return recorded.info.reason or "the run did not come to its end"
    return ""


def _how(step: StepResult) -> str:
    """`ended with exit code 1: ...`, with what its launcher and it reported."""
    code = step.returncode - SIGNAL_BASE if step.returncode > SIGNAL_BASE else -step.returncode
    ended = f"was killed by signal {code}" if 0 < code < 65 else f"ended with exit code {step.returncode}"
    report = explain(step.errors)
    if report.silent:
        report = explain(step.output[-4096:])
    return f"{ended}: {report.meaning.rstrip('.')}" if not report.silent else ended


def limits_of_nodes(benchmark: Benchmark, facts: Mapping[str, NodeFacts]) -> dict[str, float]:
    """Metric -> the most that these nodes together can do, in base units; empty if that is unknown."""
    return {**_peak(benchmark, facts), **_path(benchmark, facts), **_gpus(benchmark, facts)}


def _peak(benchmark: Benchmark, facts: Mapping[str, NodeFacts]) -> dict[str, float]:
    """Flop/s of all nodes at the highest frequency of any core; nothing where one is not known, or may use GPUs."""
    if FLOPS not in {metric.name for metric in benchmark.metrics} or any(map(has_accelerators, facts.values())):
        return {}
    peaks = [peak_of(known) for known in facts.values()]
    return {FLOPS: sum(peaks)} if peaks and all(peaks) else {}


def peak_of(facts: NodeFacts) -> float:
    """Flop/s of a node at the highest frequency of any core; 0: not known."""
    peaks = [peak for peak in compute_peaks(facts) if isinstance(peak, ComputePeak) and peak.path.endswith(MAXIMUM)]
    return max((peak.flops_per_s for peak in peaks), default=0.0)


def _path(benchmark: Benchmark, facts: Mapping[str, NodeFacts]) -> dict[str, float]:
    """Bytes per second that the ports of two nodes can carry in one direction; nothing for more or fewer nodes."""
    names = [metric.name for metric in benchmark.metrics if metric.of_path]
    limit = path_limit(*facts.values()) if names and len(facts) == PAIR else None
    finite = isinstance(limit, Limit) and math.isfinite(limit.gate_bytes_per_s)
    return dict.fromkeys(names, limit.gate_bytes_per_s) if finite and isinstance(limit, Limit) else {}


def _gpus(benchmark: Benchmark, facts: Mapping[str, NodeFacts]) -> dict[str, float]:
    """Bytes per second of the best GPU's PCIe link and of its NVLinks; nothing where those of one GPU are not known.

    Of collectives between the GPUs of one node the NVLinks are the links; between two nodes their ports are.
    """
    metrics = {metric.name for metric in benchmark.metrics}
    every = [(gpu, node) for node, known in facts.items() for gpu in known.gpus]
    host = [host_term(gpu, node) for gpu, node in every]
    peer = [peer_term(gpu, node) for gpu, node in every]
    limits = {
        name: max(term.bytes_per_s for term in terms if term)
        for name, terms in ((HOST, host), (PEER, peer), (BUS, peer if len(facts) == 1 else []))
        if name in metrics and terms and all(terms)
    }
    if BUS in metrics and len(facts) == PAIR:
        limit = path_limit(*facts.values())
        if isinstance(limit, Limit) and math.isfinite(limit.gate_bytes_per_s):
            limits[BUS] = limit.gate_bytes_per_s
    return limits
