"""The judgement on nodes: figures against limits and peers, wrong results, and what could not have been seen."""

from collections import Counter
from collections.abc import Sequence

from seatrial.judgement.nodes.limits import memory_text
from seatrial.judgement.nodes.storage import binding_limit
from seatrial.judgement.nodes.trials import against_peers, judge_trials, trial_notes
from seatrial.judgement.outcome import failure_of
from seatrial.judgement.past import judge_past, references_text
from seatrial.judgement.rank_deaths import judge_deaths, run_notes
from seatrial.model.measurement import Kernel, node_of
from seatrial.model.node_trials import USEFUL, Measure, NodeTrials
from seatrial.model.past import PastRatio
from seatrial.model.run import Ending, RecordedRun
from seatrial.model.settings import NodesSettings, Trial
from seatrial.model.units import share
from seatrial.model.verdict import Finding, FindingKind, RunVerdict, Verdict, worst
from seatrial.model.words import count, natural_sorted, some
from seatrial.pairs.node_rounds import MAY_LACK, ONCE_KERNELS, TRIAL_KERNELS
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_notes, findings_during
from seatrial.statistics.estimates import FEWEST_ALIKE

OPTIONAL = (Trial.PIPE, Trial.COLLECTIVES, Trial.STORAGE)
"""Trials that a single rank cannot carry out, and a folder that not all nodes see: a remark says so."""
OF_CLOCKS = {Trial.ARITHMETIC, Trial.NOISE}
"""Trials that are chosen to see which clock all cores reach."""
MOST_NAMED = 4
ENDINGS = {
    Ending.INTERRUPTED: "was interrupted",
    Ending.FAILED: "failed",
    Ending.RECOVERED: "was killed",
    Ending.RUNNING: "is still running, or was killed",
}


class NodesResult(RunVerdict, frozen=True, kw_only=True):
    """All that is derived from the samples of a run of nodes."""

    reason: str
    trials: NodeTrials
    past: tuple[PastRatio, ...] = ()
    """Each node compared with the runs of a baseline."""


def judge_nodes(recorded: RecordedRun) -> NodesResult:
    """The judgement, computed from the samples and facts alone."""
    trials = judge_trials(recorded.group_measurements, recorded.facts)
    findings = (*trials.findings, *judge_deaths(recorded).findings)
    findings += tuple(findings_during(recorded.facts, recorded.facts_after))
    past = judge_past(recorded, (), trials, findings)
    findings += past.findings
    measured = {each.node for each in trials.figures}
    missing = natural_sorted({node_of(name) for name in recorded.info.nodes} - measured)
    ended = recorded.info.ending is Ending.COMPLETE
    complete = ended and not missing and not _without_storage(trials) and _all_measured(recorded)
    reason = _reason(recorded, trials, missing, past.ratios, complete=complete)
    return NodesResult(
        verdict=_verdict(trials, findings),
        reason=reason,
        complete=complete,
        findings=findings,
        trials=trials,
        notes=(
            *run_notes(recorded, reason, findings),
            *past.notes,
            *trial_notes(trials, recorded.facts),
            *(note.statement for note in _unlike_processors(recorded)),
        ),
        past=past.ratios,
    )


def _unlike_processors(recorded: RecordedRun) -> list[Finding]:
    """Processors of one node that differ in temperature at the end of the run."""
    notes = fact_notes(Readings(facts=recorded.facts_after or recorded.facts))
    return [note for note in notes if note.kind is FindingKind.SOCKETS_DIFFER]


def _verdict(trials: NodeTrials, findings: Sequence[Finding]) -> Verdict:
    """The verdict of the gravest finding; else whether anything was measured, compared, and could have been seen."""
    if findings:
        return worst([finding.verdict for finding in findings])
    if not trials.figures:
        return Verdict.NOT_RUN
    if not trials.comparisons:
        return Verdict.MEASURED
    shown = trials.useful and not trials.undecided and not trials.suspected
    return Verdict.PASS if shown else Verdict.INCONCLUSIVE


def _without_storage(trials: NodeTrials) -> list[str]:
    """Nodes on which storage failed, or that have no figure of it while others have."""
    if trials.storage is None:
        return []
    lacking = {each.node for each in trials.figures if Measure.STREAM_WRITE not in each.values}
    some_have = len(lacking) < len(trials.figures)
    return sorted(trials.storage.failures.keys() | (lacking if some_have else set()))


def _all_measured(recorded: RecordedRun) -> bool:
    """Whether every node has all repetitions of what it was tried with, also of the last trial."""
    design, settings = recorded.info.design, recorded.info.settings
    repetitions = design.repetitions if design else 1
    times_of: Counter[tuple[object, ...]] = Counter()
    for delivered in recorded.group_measurements:
        shape = delivered.shape
        if shape.kernel not in (*ONCE_KERNELS, Kernel.CHASE_FAR):
            times_of[delivered.nodes, shape.kernel, delivered.variant, shape.message_bytes] += 1
    trials = settings.trials if isinstance(settings, NodesSettings) else ()
    kernels = {each.shape.kernel for each in recorded.group_measurements} - MAY_LACK
    all_tried = all(kernels & TRIAL_KERNELS[trial] for trial in trials if trial not in OPTIONAL)
    return all_tried and all(times >= repetitions for times in times_of.values())


def _clocks(trials: NodeTrials) -> str:
    """`2.98 to 3.02 GHz on all cores (base 2.60); `: the slowest core of each node."""
    hertz = [min(limits.core_hz.values()) for limits in trials.limits.values() if limits.core_hz]
    if not hertz:
        return ""
    least, most = (f"{pick(hertz) / 1e9:.2f}" for pick in (min, max))
    bases = {limits.base_hz for limits in trials.limits.values()}
    base = bases.pop() if len(bases) == 1 else None
    beside = f" (base {base / 1e9:.2f})" if base else ""
    return f"{least if least == most else f'{least} to {most}'} GHz on all cores{beside}; "


def _of_lone_node(trials: NodeTrials) -> str:
    """`n1: 3.02 GHz on all cores (base 2.60), memory is full with 9 of 28 cores; `: a node without peers."""
    name = trials.figures[0].node
    limits = trials.limits[name]
    parts = [part for part in (_clocks(trials).removesuffix("; "), memory_text(limits)) if part]
    return f"{name}: {', '.join(parts)}; " if parts else ""


def _suspicions(trials: NodeTrials, nodes: Sequence[str]) -> str:
    """`n2 out of line in triad (-6.2 %)`; of several nodes their names."""
    measures = [measure for node, measure in trials.suspected if node == nodes[0]]
    ratios = [one.ratios for one in trials.comparisons if one.measure is measures[0] and nodes[0] in one.ratios]
    if len(nodes) > 1 or not ratios:
        return f"{some(nodes, MOST_NAMED)} out of line"
    return f"{nodes[0]} out of line in {measures[0].label} ({against_peers(ratios[0][nodes[0]].value, measures[0])})"


def _reason(
    recorded: RecordedRun, trials: NodeTrials, missing: Sequence[str], past: Sequence[PastRatio], *, complete: bool
) -> str:
    """What the verdict rests on, and why the run is not complete."""
    if not trials.figures:
        return failure_of(recorded) or "nothing was measured"
    settings = recorded.info.settings
    chosen = set(settings.trials) if isinstance(settings, NodesSettings) else set()
    binding = binding_limit(trials.storage) if chosen == {Trial.STORAGE} else ""
    sentence = f"{binding}; " if binding else _clocks(trials) if chosen and chosen <= OF_CLOCKS else ""
    if len(trials.figures) == 1 and not binding:
        sentence = _of_lone_node(trials)
    if (ended := ENDINGS.get(recorded.info.ending)) is not None:
        kept = f"{len(trials.figures)} of {count(len(trials.figures) + len(missing), 'node')}"
        sentence = f"seatrial {recorded.info.kind.value} {ended}; what {kept} delivered is kept; {sentence}"
    sentence += f"{count(len(trials.figures), 'node')} measured"
    if missing:
        sentence += f", {', '.join(missing)} not"
    if not trials.comparisons:
        sentence += f"; at least {FEWEST_ALIKE} nodes of one model are needed to compare them"
    else:
        compared = {name for each in trials.comparisons for name in each.nodes}
        kinds = {each.measure for each in trials.comparisons}
        sentence += f", {len(compared)} compared with their peers in {count(len(kinds), 'figure')}"
        if suspected := trials.out_of_line:
            sentence += f"; {_suspicions(trials, suspected)}, which is not decided"
        if undecided := trials.undecided:
            vary = "varies" if len(undecided) == 1 else "vary"
            sentence += f"; {', '.join(undecided)} {vary} too much to show a node that is {share(USEFUL)} worse"
        elif coarse := len(kinds) - len(trials.useful):
            vary = "varies" if coarse == 1 else "vary"
            sentence += f"; {coarse} of these {vary} too much to show a node that is {share(USEFUL)} worse"
    if recorded.info.past and past:
        sentence += f"; compared with the past ({references_text(recorded.info.past, past)})"
    lacking = _without_storage(trials)
    if lacking:
        sentence += f"; storage not on {some(lacking, MOST_NAMED)}"
    if not complete and not missing and not lacking and ended is None:
        sentence += "; incomplete: not all repetitions were measured"
    return sentence
