"""The judgement on nodes: figures against limits and peers, wrong results, and what could not have been seen."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.nodes.figures import NodeFigures, figures_of
from seatrial.commands.nodes.findings import slow_node, wrong_result
from seatrial.commands.nodes.limits import NodeLimits, limits_of
from seatrial.commands.nodes.peers import FEWEST_PEERS, Comparison, Outlier, compare, outliers
from seatrial.commands.nodes.rounds import ONCE_KERNELS, TRIAL_KERNELS
from seatrial.driver.group_rounds import node_of
from seatrial.judgement.outcome import failure_of
from seatrial.judgement.rank_deaths import judge_deaths, run_notes
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Kernel
from seatrial.model.run import Ending, RecordedRun
from seatrial.model.settings import NodesSettings, Trial
from seatrial.model.verdict import Finding, FindingKind, Verdict, worst
from seatrial.model.words import count


class NodesResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that is derived from the samples of a run of nodes."""

    verdict: Verdict | None
    """None where nothing could be compared, and nothing is wrong."""
    reason: str
    complete: bool
    findings: tuple[Finding, ...]
    figures: tuple[NodeFigures, ...]
    limits: Mapping[str, NodeLimits]
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> ExitCode:
        """Findings before incompleteness."""
        if self.findings:
            return ExitCode.FINDINGS
        return ExitCode.PASS if self.complete else ExitCode.INCOMPLETE

    @property
    def word(self) -> str:
        """The verdict's, with which a report begins; MEASURED where nothing was judged."""
        if not self.findings and not self.complete and self.figures:
            return "INCOMPLETE"
        return self.verdict.value if self.verdict else "MEASURED"


def judge_nodes(recorded: RecordedRun) -> NodesResult:
    """The judgement, computed from the samples and facts alone."""
    facts = {node_of(name): known for name, known in recorded.facts.items()}
    figures = figures_of(recorded.group_measurements)
    cores = _cores(recorded)
    comparisons = compare(figures, facts)
    findings = (
        *(wrong_result(each) for each in figures if each.wrong_bytes),
        *_slow(outliers(figures, comparisons), facts),
        *judge_deaths(recorded).findings,
    )
    measured = {each.node for each in figures}
    missing = sorted({node_of(name) for name in recorded.info.nodes} - measured)
    complete = recorded.info.ending is Ending.COMPLETE and not missing and _all_measured(recorded)
    reason = _reason(recorded, figures, comparisons, missing)
    return NodesResult(
        verdict=_verdict(figures, comparisons, findings),
        reason=reason,
        complete=complete,
        findings=findings,
        figures=figures,
        limits={each.node: limits_of(each, facts.get(each.node), cores.get(each.node, 0)) for each in figures},
        comparisons=comparisons,
        notes=run_notes(recorded, reason, findings),
    )


def _verdict(
    figures: Sequence[NodeFigures], comparisons: Sequence[Comparison], findings: Sequence[Finding]
) -> Verdict | None:
    """That of the gravest finding; else whether anything was measured and compared."""
    if findings:
        return worst([finding.verdict for finding in findings])
    if not figures:
        return Verdict.NOT_RUN
    return Verdict.PASS if comparisons else None


def _all_measured(recorded: RecordedRun) -> bool:
    """Whether every node has all repetitions of what it was tried with, also of the last trial."""
    design, settings = recorded.info.design, recorded.info.settings
    repetitions = design.repetitions if design else 1
    times_of: Counter[tuple[object, ...]] = Counter()
    for delivered in recorded.group_measurements:
        shape = delivered.shape
        if shape.kernel not in ONCE_KERNELS:
            times_of[delivered.nodes, shape.kernel, delivered.variant, shape.message_bytes] += 1
    trials = settings.trials if isinstance(settings, NodesSettings) else ()
    kernels = {each.shape.kernel for each in recorded.group_measurements}
    all_tried = all(kernels & TRIAL_KERNELS[trial] for trial in trials if trial is not Trial.PIPE)
    return all_tried and all(times >= repetitions for times in times_of.values())


def _slow(worse: Sequence[Outlier], facts: Mapping[str, NodeFacts]) -> tuple[Finding, ...]:
    """One finding for each node and kind, by the figure that is farthest out of line."""
    by_part: dict[tuple[str, FindingKind], list[Outlier]] = {}
    for outlier in worse:
        by_part.setdefault((outlier.node, outlier.comparison.measure.kind), []).append(outlier)
    worst_first = (sorted(outliers_, key=lambda each: -each.excess) for outliers_ in by_part.values())
    return tuple(slow_node(ordered, facts) for ordered in worst_first)


def _cores(recorded: RecordedRun) -> dict[str, int]:
    """On how many cores of each node arithmetic was measured."""
    places: dict[str, set[str]] = {}
    for delivered in recorded.group_measurements:
        if delivered.shape.kernel is Kernel.FMA:
            places.setdefault(node_of(delivered.nodes[0]), set()).update(delivered.nodes)
    return {name: len(ranks) for name, ranks in places.items()}


def _reason(
    recorded: RecordedRun, figures: Sequence[NodeFigures], comparisons: Sequence[Comparison], missing: Sequence[str]
) -> str:
    """What the verdict rests on."""
    if not figures:
        return failure_of(recorded) or "nothing was measured"
    sentence = f"{count(len(figures), 'node')} measured"
    if missing:
        sentence += f", {', '.join(missing)} not"
    if not comparisons:
        return f"{sentence}; at least {FEWEST_PEERS} nodes of one model are needed to compare them"
    compared = {name for each in comparisons for name in each.nodes}
    kinds = {each.measure for each in comparisons}
    return f"{sentence}, {len(compared)} compared with their peers in {count(len(kinds), 'figure')}"
