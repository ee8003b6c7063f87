"""What the trials of nodes show: figures, limits, comparisons with peers, and the findings that follow."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from seatrial.drift.peer_groups import hardware_groups, one_kernel
from seatrial.experiment.controls import too_few
from seatrial.judgement.nodes.figures import clocks_of, collectives_of, figures_of
from seatrial.judgement.nodes.limits import limits_of, without_turbo
from seatrial.judgement.nodes.peers import Outlier, compare, heat_of, hot_node_finding, outliers
from seatrial.judgement.nodes.storage import impossible, storage_notes, storage_of, without
from seatrial.judgement.peer_suspects import with_suspects
from seatrial.judgement.processor_waits import LEAST_EXCESS
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import GroupMeasurement, Kernel, node_of
from seatrial.model.node_trials import Measure, NodeFigures, NodeTrials, Storage, WrongResult
from seatrial.model.settings import Trial
from seatrial.model.subject import CLUSTER, Subject, node
from seatrial.model.units import SHARE, estimate, quantity, share
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import MOST_NAMED, count, natural_sorted, some
from seatrial.pairs.node_rounds import COLLECTIVE_KERNELS, STORAGE_KERNELS
from seatrial.statistics.estimates import FEWEST_ALIKE

REMEDIES = {
    FindingKind.LOW_MEMORY_BANDWIDTH: "Compare its memory modules with a peer's (seatrial facts): a missing or slower "
    "module, an empty channel, corrected errors (EDAC). Look for another process on the node.",
    FindingKind.HIGH_MEMORY_LATENCY: "Compare frequency, huge pages, NUMA settings and memory modules with a peer's.",
    FindingKind.SLOW_ARITHMETIC: "Look at governor, power limit, temperature and throttling on the node, and for "
    "processes that use its cores (top, systemd-cgtop), a CPU quota of the cgroup, or a virtual machine's host (st).",
    FindingKind.HIGH_NOISE: "Look for processes and interrupts on its cores (top, /proc/interrupts, perf sched): "
    "daemons, monitoring, a job that was not ended.",
    FindingKind.DELAYS_OTHERS: "Look at arithmetic and noise of its cores (the other figures of this report), at its "
    "frequency and for another process on the core of its first rank.",
    FindingKind.SLOW_SCHEDULER: "Compare kernel, mitigations, idle states and scheduler settings with a peer's "
    "(seatrial facts --drift).",
    FindingKind.SLOW_STORAGE: "Compare how it mounts the file system (seatrial facts: server, options, protocol), its "
    "network and the client's log with a peer's; remount it, and look for other programs that use the file system.",
}


def slow_node(worst_first: Sequence[Outlier]) -> Finding:
    """One node's figures of one kind, the one that is farthest out of line first."""
    worst = worst_first[0]
    name, compared = worst.node, worst.comparison
    measure, peers = compared.measure, compared.peers
    others = [each.comparison.measure.label for each in worst_first[1:]]
    likewise = f" The same holds for {' and '.join(others)}." if others else ""
    of_peers = None if measure.metric == SHARE else compared.ratios[name]
    part = f", {share(of_peers.value)} of" if of_peers else ", against"
    return Finding(
        kind=measure.kind,
        subject=node(name),
        verdict=measure.kind.verdict,
        statement=f"On {name} the {measure.label} is {estimate(worst.measured, measure.metric)}{part} the "
        f"{quantity(peers, measure.metric)} of {count(len(compared.nodes), 'node')} of its model.{likewise}",
        remedy=REMEDIES[measure.kind],
        brief=f"{measure.label} {quantity(worst.measured.value, measure.metric)}{part} "
        f"its peers' {quantity(peers, measure.metric)}",
        metric=measure.metric,
        measured=worst.measured,
        peers=peers,
        peers_name=f"median of {count(len(compared.nodes), 'node')} of its model",
        of_peers=of_peers,
    )


def with_slow_nodes(findings: Sequence[Finding], trials: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings on links, with a word where the trials show that the node itself is slow."""
    slow = {finding.subject: finding for finding in trials if finding.kind in REMEDIES}
    return tuple(_explained(one, slow[one.subject]) if one.subject in slow else one for one in findings)


def _explained(link: Finding, slow: Finding) -> Finding:
    return replace(
        link,
        statement=f"{link.statement} The node itself is slow as well ({slow.brief}), which may be the reason.",
        remedy=f"First see the finding {slow.kind} on this node. {link.remedy}",
    )


MOST_RANKS = 8
EXACT = "Every result is known exactly, so this is silent data corruption and no noise."


def wrong_results(figures: Sequence[NodeFigures]) -> Iterator[Finding]:
    """One for each node that computed wrong results by itself; one for all that got them in operations together.

    An operation of several nodes carries the data of each over the network to the others: whose data were wrong is not
    known from it.
    """
    together = [each for each in figures if each.wrong_bytes and all(map(_of_several, each.wrong))]
    yield from (_alone(each) for each in figures if each.wrong_bytes and each not in together)
    if together:
        yield _together(together)


def _of_several(wrong: WrongResult) -> bool:
    return len(wrong.nodes) > 1 and wrong.kernel in COLLECTIVE_KERNELS


def _alone(figures: NodeFigures) -> Finding:
    """A node that gave wrong results without any other node."""
    kernels = " and ".join(str(wrong.kernel) for wrong in figures.wrong)
    local = {wrong.kernel for wrong in figures.wrong if not _of_several(wrong)}
    of_storage = local <= STORAGE_KERNELS
    causes = (
        "The file system, the way to it, or the memory or a processor of the node"
        if of_storage
        else ("Its memory or a processor")
    )
    separate = (
        "Try memory and arithmetic alone (seatrial nodes --trials memory,arithmetic): if these are right, check the "
        "file system and its network, and read the same file on another node."
        if of_storage
        else "Run the trial again, test its memory (memtest86+), look for machine checks (rasdaemon, mcelog), and "
        "replace the module or the processor that these name."
    )
    return Finding(
        kind=FindingKind.WRONG_RESULT,
        subject=node(figures.node),
        verdict=FindingKind.WRONG_RESULT.verdict,
        statement=f"{count(figures.wrong_bytes, 'byte')} of the results of {kernels} on {figures.node} are wrong. "
        f"{EXACT} {causes} can be the cause.",
        remedy="Take the node out of service. Use nothing that it computed until this is explained. " + separate,
        brief=f"wrong results of {kernels}",
    )


def _together(figures: Sequence[NodeFigures]) -> Finding:
    """Wrong results of operations in which several nodes take part."""
    wrong = [result for each in figures for result in each.wrong]
    kernels = " and ".join(dict.fromkeys(str(result.kernel) for result in wrong))
    ranks = natural_sorted({rank for result in wrong for rank in result.ranks})
    nodes = natural_sorted({name for result in wrong for name in result.nodes})
    subjects = [node(each.node) for each in figures]
    subject: Subject = subjects[0] if len(subjects) <= MOST_NAMED else CLUSTER
    wrong_bytes = sum(each.wrong_bytes for each in figures)
    names = some(nodes, MOST_RANKS)
    listed = shlex.quote(",".join(nodes)) if len(nodes) <= MOST_RANKS else "NODES"
    return Finding(
        kind=FindingKind.WRONG_RESULT,
        subject=subject,
        verdict=FindingKind.WRONG_RESULT.verdict,
        ambiguous_with=tuple(subjects[1:]) if subject is not CLUSTER else (),
        statement=f"{count(wrong_bytes, 'byte')} of the results of {kernels} are wrong on "
        f"{count(len(ranks), 'rank')}: {some(ranks, MOST_RANKS)}. {EXACT} {count(len(nodes), 'node')} took part "
        f"({names}): a processor or the memory of any of them can be the cause, and so can the network "
        "between these nodes.",
        remedy="Use nothing that these nodes computed until this is explained. First `seatrial nodes --nodes "
        f"{listed} --trials memory,arithmetic`, which computes on each node without the network: wrong results there "
        f"are of its memory or a processor. If there are none, `seatrial check --nodes {listed} --verify`, which "
        "compares data that were sent: wrong ones there name the part of the network.",
        brief=f"wrong results of {kernels}",
    )


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
    alike = {one for many in hardware_groups(by_node if figures else {}) if len(many) >= FEWEST_ALIKE for one in many}
    comparisons = compare(figures, by_node)
    models = heat_of(figures, by_node)
    worse = outliers(figures, comparisons)
    begun = {measure.trial for each in figures for measure in each.values if measure.fine}
    compared = [(each.measure.trial, name) for each in comparisons for name in each.nodes]
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
        untried=tuple(one for one in Trial if one in begun and alike.difference(n for t, n in compared if t is one)),
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
    busy = [note for figures in trials.figures for note in _node_notes(figures)]
    more = [f"The same holds for {count(len(busy) - MOST_NAMED, 'more node')}: see --json."]
    return (*notes, *storage_notes(trials.storage), *busy[:MOST_NAMED], *more * (len(busy) > MOST_NAMED))


def _node_notes(figures: NodeFigures) -> Iterator[str]:
    conditions, others = figures.conditions, figures.values.get(Measure.OTHERS)
    if conditions and conditions.throttles:
        yield (
            f"The cores of {figures.node} were throttled for heat {count(conditions.throttles, 'time')} while it "
            "was measured: its figures are those of a hot node."
        )
    if others and others.value > LEAST_EXCESS:
        yield (
            f"Other processes of {figures.node} used {share(others.value)} of a processor while it was measured: its "
            "figures are those of a busy node."
        )


def _suspicion(node: str, measure: Measure, trials: NodeTrials) -> str:
    """The note on a node that is out of line: by how much, and why that is not decided."""
    ratio = next(one.ratios[node] for one in trials.comparisons if one.measure is measure and node in one.ratios)
    if too_few(ratio):
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
