"""The judgement on a program that was started on each node: its nodes and their GPUs beside others, and its gates."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from seatrial.benchmarks import gates
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.node_outputs import NodeOutput, table_of_nodes
from seatrial.drift.peer_groups import gpu_models
from seatrial.importers.fleets import FleetTable
from seatrial.judgement.benchmark_result import breach_finding
from seatrial.judgement.fleet.strata import FleetJudgement, Named, judge_strata
from seatrial.judgement.peer_suspects import with_suspects
from seatrial.judgement.processor_waits import explained
from seatrial.judgement.program_output import BadOutput, StartOutput, read_start
from seatrial.judgement.rank_deaths import run_notes
from seatrial.launch.probe_text import rank_waits
from seatrial.model import subject
from seatrial.model.benchmark import Label, StepResult
from seatrial.model.facts import Gpu, NodeFacts
from seatrial.model.measurement import node_of
from seatrial.model.run import Ending, RecordedRun
from seatrial.model.settings import NodesSettings, SiteProgram
from seatrial.model.system import LoadedGpu
from seatrial.model.units import share
from seatrial.model.verdict import Finding, FindingKind, RunVerdict, Verdict, worst
from seatrial.model.words import by_text, count, natural_sorted, some
from seatrial.node.gpus import facts_of_gpus, loaded_gpus
from seatrial.process.time_limit import PARSE_S, limited
from seatrial.rules.base import Readings, findings_of
from seatrial.rules.catalogue import findings_during
from seatrial.rules.gpus import GPU_SLOWED
from seatrial.statistics.estimates import FEWEST_ALIKE, median

NO_FACT = "No fact that is known to matter differs from its peers'."
REMEDY = (
    "Look at the clocks, power, temperature, memory errors and links of the part (seatrial facts, nvidia-smi -q), and "
    "exchange it with that of a good node (`seatrial swap start`): the fault stays with the part, the slot or the node."
)
MOST_NAMED = 4


class NodeStart(msgspec.Struct, frozen=True, kw_only=True):
    """One start of the program on one node."""

    node: str
    run: int
    """The number of the start among those of the node, from 1."""
    seconds: float
    failure: str
    """Why it has no output that can be used; empty: it has one."""
    value: float | None = None
    """The main figure, in its base unit; None: it is not a figure of speed, or a gate shows that it is wrong."""
    waited: float | None = None
    """Share of its time for which the program waited for a processor; None: not known."""


class ProgramResult(RunVerdict, frozen=True, kw_only=True):
    """All that is derived from the starts of a program on the nodes of a run."""

    words: tuple[str, ...]
    benchmark: str
    """The benchmark that the outputs of most nodes are of; empty: no start had one."""
    unit: str
    """The base unit of its main figure."""
    starts: tuple[NodeStart, ...]
    tables: dict[str, FleetTable]
    """The numbers of the outputs, by the command; empty where they have none that nodes can be compared by."""
    fleet: FleetJudgement | None
    """Nodes and their parts compared with each other; None: there are no numbers, or too few subjects."""
    reason: str
    """What was not measured, and why; empty: nothing."""
    gpus: tuple[LoadedGpu, ...]
    """What samples show of each GPU while the program ran; only with --for."""

    @property
    def out_of_line(self) -> bool:
        """Whether a node or a part of one is worse than its peers, proved or not: more starts decide."""
        return self.fleet is not None and bool(self.fleet.named)


class _Outputs(NamedTuple):
    """What the starts of a run show."""

    benchmark: Benchmark | None
    outputs: list[NodeOutput]
    starts: list[NodeStart]


def judge_program(recorded: RecordedRun) -> ProgramResult:
    """The judgement, computed from the outputs and facts alone. The settings of the run name a program."""
    facts = {node_of(place): facts_of for place, facts_of in recorded.facts.items()}
    benchmark, outputs, starts = _read(recorded, facts)
    words = recorded.info.program.words if recorded.info.program else ()
    tables, fleet = {}, None
    lone: list[str] = []
    if benchmark is not None and not benchmark.main.of_result:
        table, lone = _by_model(benchmark, outputs, gpu_models(facts))
        tables = {shlex.join(words): table}
        fleet = judge_strata(tables) if len(table.values) >= FEWEST_ALIKE else None
    findings = [*_of_gates(outputs), *(_of_fleet(fleet, benchmark, facts, starts) if fleet and benchmark else ())]
    findings += findings_during(recorded.facts, recorded.facts_after)
    gpus = loaded_gpus([(_node(step), step.samples) for step in recorded.steps], facts)
    findings += findings_of(GPU_SLOWED, Readings(facts=_as_facts(gpus)))
    missing = natural_sorted({node_of(name) for name in recorded.info.nodes} - {item.node for item in outputs})
    reason = _reason(missing, starts)
    return ProgramResult(
        words=words,
        benchmark=benchmark.name if benchmark else "",
        unit=benchmark.main.unit if benchmark else "",
        starts=tuple(starts),
        tables=tables,
        fleet=fleet,
        verdict=_verdict(findings, outputs, fleet),
        reason=reason,
        complete=recorded.info.ending is Ending.COMPLETE and not missing and _all_started(recorded, starts),
        findings=tuple(findings),
        gpus=gpus,
        notes=tuple(dict.fromkeys((*run_notes(recorded, reason, findings), *lone, *_notes(outputs, starts, missing)))),
    )


def _by_model(
    benchmark: Benchmark, outputs: Sequence[NodeOutput], models: dict[str, str]
) -> tuple[FleetTable, list[str]]:
    """The values, with a condition for each model of nodes if there are several, and notes on nodes without peers."""
    by_model: dict[str, list[NodeOutput]] = {}
    for item in outputs:
        by_model.setdefault(models.get(item.node, ""), []).append(item)
    if len(by_model) < 2:
        return table_of_nodes(benchmark, outputs), []
    tables: list[FleetTable] = []
    notes: list[str] = []
    for model, own in by_model.items():
        table, label = table_of_nodes(benchmark, own), model or "not known"
        if len({subject for stratum in table.strata for subject in stratum.with_gaps}) < FEWEST_ALIKE:
            nodes = natural_sorted({item.node for item in own})
            notes.append(
                f"{some(nodes, MOST_NAMED)}: compared with no other node, since few are of this model: {label}."
            )
            continue
        strata = [
            msgspec.structs.replace(stratum, conditions=(("model", label), *stratum.conditions))
            for stratum in table.strata
        ]
        tables.append(msgspec.structs.replace(table, strata=tuple(strata)))
    return (
        FleetTable(
            strata=tuple(stratum for table in tables for stratum in table.strata),
            parts={subject: part for table in tables for subject, part in table.parts.items()},
            without_value=tuple(name for table in tables for name in table.without_value),
            left_out=tuple(name for table in tables for name in table.left_out),
        ),
        notes,
    )


def _read(recorded: RecordedRun, facts: dict[str, NodeFacts]) -> _Outputs:
    """All starts with their outputs. One of another benchmark, or of another number of ranks, than those of most nodes
    has failed: its figure is another figure."""
    program = recorded.info.program
    steps = [step for step in recorded.steps if not step.interrupted] if program else []
    with limited(PARSE_S, "Reading the outputs of the program"):
        read = [_attempt(program, step, facts) for step in steps if program]
    nodes_of = by_text((_node(step), _kind(made)) for step, made in zip(steps, read, strict=True)
                       if not isinstance(made, str))  # fmt: skip
    usual = max(nodes_of, key=lambda kind: len(set(nodes_of[kind])), default=None)
    benchmark: Benchmark | None = None
    outputs: list[NodeOutput] = []
    starts: list[NodeStart] = []
    for step, made in zip(steps, read, strict=True):
        node, _, number = step.name.rpartition(" ")
        failure, value = "", None
        if isinstance(made, str):
            failure = made
        elif usual is not None and (kind := _kind(made)) != usual:
            ranks = f"it ran on {kind[1]} ranks, and on most nodes on {usual[1]}"
            failure = ranks if kind[0] == usual[0] else f"it printed what {made.benchmark.title} prints"
        else:
            benchmark, output = made
            outputs.append(NodeOutput(step.name, node, int(number), output))
            main = benchmark.main_result(output) if output.valid and not benchmark.main.of_result else None
            value = main.value if main else None
        waited = next(iter(rank_waits(step.errors, 1)), None)
        starts.append(
            NodeStart(node=node, run=int(number), seconds=step.seconds, failure=failure, value=value, waited=waited)
        )
    return _Outputs(benchmark, outputs, starts)


def _attempt(program: SiteProgram, step: StepResult, facts: dict[str, NodeFacts]) -> StartOutput | str:
    """The output of a start, or why it has none that can be used."""
    node = _node(step)
    try:
        return read_start(program, step, [node], {node: facts[node]} if node in facts else {})
    except BadOutput as error:
        return error.what


def _node(step: StepResult) -> str:
    return step.name.rpartition(" ")[0]


def _kind(made: StartOutput) -> tuple[str, Label]:
    """The benchmark of an output and its number of ranks, empty where it does not say."""
    return made.benchmark.name, next((item.value for item in made.output.evidence if item.name == "ranks"), "")


def _of_gates(outputs: Sequence[NodeOutput]) -> list[Finding]:
    """What the gates show of each node, once for each kind; GPUs below those beside them are judged over all starts."""
    shown: dict[tuple[str, FindingKind, str], Finding] = {}
    for item in outputs:
        for breach in item.output.breaches:
            if breach.kind is not FindingKind.GPU_BELOW_PEERS:
                finding = breach_finding(breach, subject.node(item.node))
                shown.setdefault((item.node, breach.kind, breach.reason), finding)
    return list(shown.values())


def _as_facts(gpus: Sequence[LoadedGpu]) -> dict[str, NodeFacts]:
    """What samples show, as facts of each node: rules judge them as a single reading."""
    by_node: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        shown = Gpu(
            address=gpu.gpu.removeprefix("GPU "), slowdowns=tuple(gpu.slowdowns), temperature_celsius=gpu.celsius
        )
        by_node.setdefault(gpu.node, []).append(shown)
    return {node: facts_of_gpus(tuple(own), node) for node, own in by_node.items()}


def _of_fleet(
    fleet: FleetJudgement, benchmark: Benchmark, facts: dict[str, NodeFacts], starts: Sequence[NodeStart]
) -> Sequence[Finding]:
    """Nodes and parts that are slow, or were at times."""
    named = [part for part in fleet.named if part.verdict in (Verdict.SLOW, Verdict.UNSTABLE)]
    findings = [
        _excused(_of_part(part, benchmark), part, starts) for part in sorted(named, key=lambda part: -part.loss)
    ]
    return with_suspects(findings, facts.keys(), facts, NO_FACT)


def _excused(finding: Finding, named: Named, starts: Sequence[NodeStart]) -> Finding:
    """The finding; about waits, if the program waited for a processor for as much of its time as is lost.

    It waited on the node of the part, longer than on others: of what is low in every start the median wait counts, of
    what was low at times the longest.
    """
    own = [start.waited for start in starts if start.node == named.node and start.waited is not None]
    beside = [start.waited for start in starts if start.node != named.node and start.waited is not None]
    if not own or not beside:
        return finding
    waited, peers = (median(own) if named.verdict is Verdict.SLOW else max(own)), median(beside)
    if not explained(1 - named.loss, waited, peers):
        return finding
    waits = f"the program waited {share(waited)} of the time for a processor, on other nodes {share(peers)}"
    return msgspec.structs.replace(
        finding,
        kind=FindingKind.WAITS_FOR_PROCESSOR,
        statement=f"On {named.node} {waits}: another program takes it, or a quota withholds it. This may be all that "
        f"is wrong, and whether the hardware is good is not decided. {finding.statement}",
        remedy="Look for what else runs on the node (ps -eLo psr,pcpu,pid,comm, top), and for a quota of the control "
        "group. End or move it, then start the program again.",
        brief=waits,
    )


def _of_part(named: Named, benchmark: Benchmark) -> Finding:
    part = named.subject.removeprefix(named.node).strip()
    where = f" ({some(named.where, 1)})" if any(named.where) else ""
    how = "below its peers" if named.verdict is Verdict.SLOW else "below its own median in single starts"
    what = f"{share(named.loss)} {how} in {benchmark.title}{where}"
    return Finding(
        kind=FindingKind.PROGRAM_SLOW,
        subject=subject.node(named.node),
        verdict=named.verdict,
        statement=f"{named.subject} is {what}, by {count(named.runs, 'start')}.",
        remedy=REMEDY,
        brief=f"{part} {what}".strip(),
    )


def _verdict(findings: Sequence[Finding], outputs: Sequence[NodeOutput], fleet: FleetJudgement | None) -> Verdict:
    """The gravest finding; else what the comparison shows; else whether outputs were compared with a limit.

    MEASURED in place of PASS if a program did not check its data.
    """
    if findings:
        return worst([finding.verdict for finding in findings])
    if not outputs:
        return Verdict.NOT_RUN
    if fleet is not None and fleet.verdict is not Verdict.PASS:
        return fleet.verdict
    alone = fleet is None and not all({gates.LIMIT, gates.OWN_LIMITS} & set(item.output.references) for item in outputs)
    return Verdict.MEASURED if alone or any(item.output.unchecked for item in outputs) else Verdict.PASS


def _reason(missing: Sequence[str], starts: Sequence[NodeStart]) -> str:
    """`n3 not measured: no CUDA-capable device is detected`; empty if every node has an output."""
    if not missing:
        return ""
    causes = dict.fromkeys(start.failure for start in starts if start.node in missing and start.failure)
    why = f": {some(tuple(causes), 1)}" if causes else ""
    return f"{some(missing, MOST_NAMED)} not measured{why}"


def _all_started(recorded: RecordedRun, starts: Sequence[NodeStart]) -> bool:
    """Whether the program was started as often as was asked for."""
    settings = recorded.info.settings
    repetitions = settings.repetitions if isinstance(settings, NodesSettings) and not settings.length_s else 1
    return max((start.run for start in starts), default=0) >= repetitions


def _notes(outputs: Sequence[NodeOutput], starts: Sequence[NodeStart], missing: Sequence[str]) -> Sequence[str]:
    """Single starts that failed on nodes that have other outputs, and what the readers say of the outputs."""
    single = [f"{start.node}, start {start.run}: {start.failure}." for start in starts
              if start.failure and start.node not in missing]  # fmt: skip
    remarks = [note for item in outputs for note in item.output.notes if not note.startswith("Detectable: ")]
    return (*single[:MOST_NAMED], *dict.fromkeys(remarks))
