"""What the trials of nodes show: figures, limits, comparisons with peers, and the findings that follow."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from seatrial.drift.peer_groups import one_kernel
from seatrial.judgement.nodes.collectives import clocks_of, collectives_of
from seatrial.judgement.nodes.conditions import condition_notes
from seatrial.judgement.nodes.figures import figures_of
from seatrial.judgement.nodes.findings import slow_node
from seatrial.judgement.nodes.heat import heat_of, hot_node_finding
from seatrial.judgement.nodes.limits import limits_of, without_turbo
from seatrial.judgement.nodes.peers import Outlier, compare, outliers
from seatrial.judgement.nodes.storage import impossible, storage_notes, storage_of, without
from seatrial.judgement.nodes.wrong_results import wrong_results
from seatrial.judgement.peer_suspects import with_suspects
from seatrial.locate.thresholds import RETEST_RUNS
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import GroupMeasurement, Kernel, node_of
from seatrial.model.node_trials import Measure, NodeFigures, NodeTrials, Storage
from seatrial.model.settings import Trial
from seatrial.model.units import SHARE, share
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import some

NO_FACT = "No fact that is known to matter differs from its peers'."
NO_BLAS = "the loader finds no BLAS there (a module, or LD_LIBRARY_PATH in the environment of the probe, names one)."
TURBO = (
    "Turbo is off (BIOS, intel_pstate/no_turbo, cpufreq/boost), or a limit of power or heat holds it: `seatrial facts` "
    "shows both."
)
SHARED = "These nodes share one kernel and its cores, so their trials were carried out one after the other."


def judge_trials(measurements: Sequence[GroupMeasurement], facts: Mapping[str, NodeFacts]) -> NodeTrials:
    """All that the measurements of phase `nodes` show. `facts`: by node or place."""
    by_node = {node_of(name): known for name, known in facts.items()}
    cores = _cores(measurements)
    figures, storage = _possible(measurements, by_node)
    comparisons = compare(figures, by_node)
    models = heat_of(figures, by_node)
    worse = outliers(figures, comparisons)
    return NodeTrials(
        figures=figures,
        limits={each.node: limits_of(each, by_node.get(each.node), cores.get(each.node, 0)) for each in figures},
        comparisons=comparisons,
        collectives=collectives_of(measurements),
        clocks=clocks_of(measurements),
        storage=storage,
        heat=tuple(model.heat for model in models),
        findings=(
            *wrong_results(figures),
            *_slow([one for one in worse if one.proved], by_node),
            *(hot_node_finding(hot) for model in models for hot in model.hot),
        ),
        suspected=tuple((one.node, one.comparison.measure) for one in worse if not one.proved),
    )


def suspects(measurements: Sequence[GroupMeasurement], facts: Mapping[str, NodeFacts]) -> tuple[str, ...]:
    """Nodes that are out of line in any figure so far."""
    by_node = {node_of(name): known for name, known in facts.items()}
    figures, _ = _possible(measurements, by_node)
    return tuple(dict.fromkeys(one.node for one in outliers(figures, compare(figures, by_node))))


def suspected_trials(measurements: Sequence[GroupMeasurement], facts: Mapping[str, NodeFacts]) -> tuple[Trial, ...]:
    """What must be tried again: storage if it showed nodes out of line so far, all else if anything else did."""
    by_node = {node_of(name): known for name, known in facts.items()}
    figures, _ = _possible(measurements, by_node)
    shown = {outlier.comparison.measure.trial for outlier in outliers(figures, compare(figures, by_node))}
    return tuple(trial for trial in Trial if (trial in shown if trial is Trial.STORAGE else shown - {Trial.STORAGE}))


def trial_notes(trials: NodeTrials, facts: Mapping[str, NodeFacts]) -> tuple[str, ...]:
    """How nodes that share cores were tried, and nodes out of line that were not measured again."""
    notes = []
    if len(trials.figures) > 1 and one_kernel({node_of(name): known for name, known in facts.items()}.values()):
        notes.append(SHARED)
    notes += [_suspicion(node, measure, trials) for node, measure in trials.suspected]
    if at_base := [figures.node for figures in trials.figures if without_turbo(trials.limits[figures.node])]:
        notes.append(f"No turbo on {some(at_base)}: no core was faster than its base frequency. {TURBO}")
    if without := [figures.node for figures in trials.figures if figures.blas == ""]:
        notes.append(f"DGEMM was not tried on {some(without)}: {NO_BLAS}")
    return (*notes, *storage_notes(trials.storage), *condition_notes(trials))


def _suspicion(node: str, measure: Measure, trials: NodeTrials) -> str:
    """The note on a node that is out of line: by how much, and why that is not decided."""
    ratio = next(one.ratios[node] for one in trials.comparisons if one.measure is measure and node in one.ratios)
    if ratio.runs < RETEST_RUNS:
        return (
            f"{node} was out of line in {measure.label} and not tried often enough to decide: try it again "
            f"(seatrial nodes)."
        )
    low, middle, high = (against_peers(value, measure) for value in (ratio.low, ratio.value, ratio.high))
    return (
        f"{node} is at {middle} in {measure.label} beside its peers, and its {ratio.runs} repetitions differ too much "
        f"to decide ({low} to {high}): try it again (seatrial nodes)."
    )


def against_peers(ratio: float, measure: Measure) -> str:
    """-6.2 %; of a share points."""
    change = ratio if measure.metric == SHARE else ratio - 1.0
    return f"{'-' if change < 0 else '+'}{share(abs(change))}"


def _possible(
    measurements: Sequence[GroupMeasurement], by_node: Mapping[str, NodeFacts]
) -> tuple[tuple[NodeFigures, ...], Storage | None]:
    """The figures without those of storage that are beyond what memory does, and what is seen of the file system."""
    kept: list[NodeFigures] = []
    reasons: list[str] = []
    for figures in figures_of(measurements):
        invalid = impossible(figures, limits_of(figures, by_node.get(figures.node), 0))
        kept.append(without(figures, invalid))
        reasons += invalid.values()
    storage = storage_of(measurements, kept)
    return tuple(kept), replace(storage, invalid=tuple(reasons)) if storage else None


def _slow(worse: Sequence[Outlier], facts: Mapping[str, NodeFacts]) -> tuple[Finding, ...]:
    """One finding for each node and kind, by the figure that is farthest out of line, with the facts that differ.

    Nodes that are peers in this figure are compared in their facts as well.
    """
    by_part: dict[tuple[str, FindingKind], list[Outlier]] = {}
    for outlier in worse:
        by_part.setdefault((outlier.node, outlier.comparison.measure.kind), []).append(outlier)
    by_peers: dict[frozenset[str], list[Finding]] = {}
    for outlying in by_part.values():
        worst_first = sorted(outlying, key=lambda each: -each.excess)
        peers = frozenset(worst_first[0].comparison.nodes)
        by_peers.setdefault(peers, []).append(slow_node(worst_first))
    return tuple(one for peers, findings in by_peers.items() for one in with_suspects(findings, peers, facts, NO_FACT))


def _cores(measurements: Sequence[GroupMeasurement]) -> dict[str, int]:
    """Cores of each node on which arithmetic was measured."""
    places: dict[str, set[str]] = {}
    for delivered in measurements:
        if delivered.shape.kernel is Kernel.FMA:
            places.setdefault(node_of(delivered.nodes[0]), set()).update(delivered.nodes)
    return {name: len(ranks) for name, ranks in places.items()}
