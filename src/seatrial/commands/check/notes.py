"""Sentences that qualify a judgement, and its power.

Notes say what was not seen and what turned out to be no fault. The power is the smallest fault that the run would have
shown, and whether noise hides more than it may.
"""

import math
from collections.abc import Mapping, Sequence
from math import sqrt

from seatrial.commands.check.next_experiments import contended
from seatrial.commands.check.pair_verdicts import bandwidth_reason, latency_reason
from seatrial.commands.check.suspects import Suspicion
from seatrial.drift.peer_groups import one_kernel
from seatrial.judgement.pair_limit import has_path_limits
from seatrial.judgement.rank_notes import first_ranks, wandering_notes
from seatrial.limits.path import path_limit
from seatrial.locate.evidence import MeasuredPair, Pair, RunSeries, in_one_direction
from seatrial.locate.references import PeerLine, References
from seatrial.locate.table import topology_classes
from seatrial.locate.thresholds import GROSS_LOSS, RETEST_PAIRS, detectable, to_log, to_loss
from seatrial.model.judgement import Power
from seatrial.model.limit import NoLimit
from seatrial.model.measurement import Phase
from seatrial.model.node_list import node_list
from seatrial.model.pair_faults import Population, Resolution
from seatrial.model.pair_table import repeated_pair_table
from seatrial.model.run import RecordedRun
from seatrial.model.units import BANDWIDTH, LATENCY, bandwidth, duration, share
from seatrial.model.verdict import Verdict
from seatrial.model.words import MOST_NAMED, count, natural_sorted, some, verb
from seatrial.statistics.estimates import FEWEST_ALIKE, median

MOST = 10
"""Notes on single pairs of one kind; the others are counted."""


def make_notes(
    recorded: RecordedRun, evidence: Mapping[Pair, MeasuredPair], references: References, suspicion: Suspicion
) -> tuple[str, ...]:
    """All notes on a run, in a fixed order."""
    notes = [recorded.info.reason] if recorded.info.reason else []
    notes += references.fabric.notes
    notes += _missing_limits(recorded, evidence, references)
    if (figure := recorded.info.figure) and figure.unchecked:
        why = "did not check the data that it received: start it with its check (nccl-tests: -c 1)"
        notes.append(f"{figure.benchmark} {why}, or verify data with the probe (seatrial check --verify).")
    leaf_of = references.fabric.leaf_of
    for near, why in ((False, "consistent with topology distance"), (True, "unexplained, since they share a leaf")):
        if late := [pair for pair in suspicion.distant if (leaf_of.get(pair[0], "") == leaf_of.get(pair[1])) is near]:
            notes.append(
                f"{len(late)} ordered pairs (the first: {late[0][0]} to {late[0][1]}) have a much higher latency than "
                f"others, while their nodes are as fast as others with other partners: {why}; not reported as a fault."
            )
    notes += _inferred_leaves(recorded, evidence, references)
    notes += _in_each_others_way(evidence, references, suspicion)
    if waited := late_pairs(evidence):
        notes.append(
            f"Round trips between {some(waited, MOST_NAMED)} took as long as after a lost packet while their ranks "
            "waited for a processor: either may be why. Measure again when the nodes are idle."
        )
    notes += wandering_notes(recorded.facts, first_ranks(recorded))
    notes += _not_again(evidence, references, suspicion)
    notes += _undecided(evidence, references, suspicion)
    return tuple(notes)


def late_pairs(evidence: Mapping[Pair, MeasuredPair]) -> tuple[str, ...]:
    """Pairs with round trips as late as after a lost packet, while their ranks waited for a processor."""
    late = [pair for pair in in_one_direction(evidence) if evidence[pair].late_trips > evidence[pair].stalls]
    return tuple("-".join(pair) for pair in late)


def _inferred_leaves(recorded: RecordedRun, evidence: Mapping[Pair, MeasuredPair], references: References) -> list[str]:
    """What latencies say of leaf switches where nothing else does. Nobody is judged by it."""
    if recorded.fabric.leaf_of or not references.alike or one_kernel(recorded.facts.values()):
        return []
    latencies = {
        pair: [shown.latency_estimate.value] for pair, shown in evidence.items() if shown.latency_estimate is not None
    }
    nodes = sorted({name for pair in latencies for name in pair})
    classes = topology_classes(repeated_pair_table(nodes, {}, latencies))
    if classes is None:
        return []
    leaves = [group for group in classes.groups if len(group) > 1]
    groups = "; ".join(node_list(group) for group in leaves[:MOST])
    more = f"; and {len(leaves) - MOST} more" if len(leaves) > MOST else ""
    return [
        f"Inferred from latencies, since no leaf switches are known: {count(len(leaves), 'group')} of nodes "
        f"probably {verb(len(leaves), 'shares one', 'share one each')} ({groups}{more}), "
        f"{duration(classes.near_s)} one way within and {duration(classes.far_s)} "
        "between them. Nothing is judged by it; --leaves FILE makes them known."
    ]


def _in_each_others_way(
    evidence: Mapping[Pair, MeasuredPair], references: References, suspicion: Suspicion
) -> list[str]:
    """How many pairs were slow while many were measured at once, and good with fewer."""
    line = references.bandwidth
    pairs = contended(evidence, suspicion, references, math.exp(line.usual - line.lack)) if line else []
    if not pairs:
        return []
    most = max(evidence[pair].pairs_at_once for pair in pairs)
    return [
        f"{len(pairs)} ordered pairs (the first: {pairs[0][0]} to {pairs[0][1]}) were slow while up to {most} pairs "
        "were measured at once, but not with fewer pairs at once: contention, no fault."
    ]


def _undecided(evidence: Mapping[Pair, MeasuredPair], references: References, suspicion: Suspicion) -> list[str]:
    """A sentence for each reason why pairs are not decided."""
    open_pairs: dict[Pair, str] = {}
    remarks: dict[Pair, str] = {}
    for pair, judged in suspicion.bandwidth.items():
        if judged.is_open:
            open_pairs[pair], remarks[pair] = bandwidth_reason(pair, judged, evidence[pair], references), judged.remark
    for pair, judged in suspicion.latency.items():
        if judged.is_open:
            open_pairs[pair], remarks[pair] = latency_reason(pair, judged, references), judged.remark
    alike: dict[str, list[Pair]] = {}
    for pair, reason in open_pairs.items():
        alike.setdefault(remarks[pair] or reason, []).append(pair)
    notes = [_undecided_note(pairs, why, open_pairs) for why, pairs in list(alike.items())[:MOST]]
    if left := [pair for pairs in list(alike.values())[MOST:] for pair in pairs]:
        notes.append(f"{count(len(left), 'more pair')} not decided, for other reasons.")
    return notes


def _undecided_note(pairs: Sequence[Pair], why: str, reasons: Mapping[Pair, str]) -> str:
    """One pair with its numbers; of several with the same reason the names of the first."""
    names = [f"{source} to {target}" for source, target in pairs]
    if len(pairs) == 1:
        return f"{names[0]} is not decided: {reasons[pairs[0]]}."
    return f"{count(len(pairs), 'pair')} {verb(len(pairs))} not decided ({some(names)}): {why}."


def _missing_limits(recorded: RecordedRun, evidence: Mapping[Pair, MeasuredPair], references: References) -> list[str]:
    without = [pair for pair in evidence if pair not in references.limits]
    if not without:
        return []
    figure = recorded.info.figure
    if figure is not None and not has_path_limits(recorded):
        return [
            f"The limits of the paths are not those of {figure.metric}: pairs are compared only with their peers, so a "
            "fabric that is uniformly slow would not be detected."
        ]
    source, target = without[0]
    reason = "facts of a node are missing"
    if source in recorded.facts and target in recorded.facts:
        limit = path_limit(recorded.facts[source], recorded.facts[target])
        reason = limit.reason if isinstance(limit, NoLimit) else reason
    scope = "any pair" if len(without) == len(evidence) else f"{len(without)} of {count(len(evidence), 'pair')}"
    if not references.alike:
        return [f"Not judged: no limit is known ({reason}), and ranks of one machine are not peers of each other."]
    return [
        f"No limit is known for {scope} ({reason}): they are compared only with their peers, so a fabric that is "
        "uniformly slow would not be detected."
    ]


def _not_again(evidence: Mapping[Pair, MeasuredPair], references: References, suspicion: Suspicion) -> list[str]:
    """Pairs that were bad in the survey and good when measured again."""
    once = []
    late = ["-".join(pair) for pair in in_one_direction(evidence) if _late_once(pair, evidence[pair], references)]
    line = references.bandwidth
    for pair, known in evidence.items():
        first, again = _both(known.bandwidth)
        if (
            again
            and line
            and first
            and references.alike
            and references.rate_over_peers(pair, first) < -line.lack
            and suspicion.bandwidth[pair].verdict is Verdict.PASS
        ):
            why = "contention" if known.pairs_at_once > 1 else "a passing disturbance"
            once.append(
                f"{pair[0]} to {pair[1]} was slow once ({bandwidth(first)}) but not when measured again alone "
                f"({bandwidth(again)}): {why}, no fault."
            )
    notes = once[:MOST]
    if len(once) > MOST:
        more = f"{count(len(once) - MOST, 'more ordered pair')} {verb(len(once) - MOST, 'was', 'were')}"
        notes.append(f"{more} slow once but not when measured again alone.")
    if late:
        notes.append(f"Late once but not when measured again: {', '.join(late[:MOST])}.")
    return notes


def _late_once(pair: Pair, known: MeasuredPair, references: References) -> bool:
    first, again = _both(known.latency)
    if again and known.latency[Phase.RETEST].stalls < known.stalls:
        return not known.latency[Phase.RETEST].stalls
    line = references.speed.get(references.crosses(pair))
    if not (line and first and again):
        return False
    return line.over_peers(1 / first) < -line.lack <= line.over_peers(1 / again)


def _both(by_phase: Mapping[Phase, RunSeries]) -> tuple[float, float]:
    """Medians of survey and retest; 0 where there was none."""
    first, again = (by_phase.get(phase, RunSeries()).runs for phase in (Phase.SURVEY, Phase.RETEST))
    return (median(first) if first else 0.0), (median(again) if again else 0.0)


# The power of a run: the smallest fault that it would have shown.

MARGIN = 1.5
"""An effect that was asked for may take this many times itself to be found."""


def powers(references: References, suspicion: Suspicion) -> tuple[Power, ...]:
    """The power of bandwidth and of latency, as far as they were compared with peers."""
    if not references.alike or len({name for pair in suspicion.bandwidth for name in pair}) < FEWEST_ALIKE:
        return ()
    resolutions = {one.metric: one for one in (suspicion.located.resolutions if suspicion.located else ())}
    found = []
    if references.bandwidth is not None:
        found.append(_power(BANDWIDTH, references.bandwidth, resolutions.get(BANDWIDTH)))
    if references.speed:
        worst = max(references.speed.values(), key=lambda line: line.lack)
        found.append(_power(LATENCY, worst, resolutions.get(LATENCY)))
    return tuple(found)


def _power(metric: str, line: PeerLine, averaged: Resolution | None) -> Power:
    """A fault has to be suspected first, by a pair or by an average, and the retest must then confirm it."""
    smallest = detectable(line.lack, line.scatter)
    if averaged is not None and averaged.detectable_ratio is not None:
        smallest = min(smallest, to_log(min(averaged.detectable_ratio, 0.99), metric))
    smallest = max(smallest, detectable(line.effect, line.scatter / sqrt(RETEST_PAIRS)))
    loss = to_loss(smallest, metric)
    return Power(
        metric=metric,
        effect_ratio=to_loss(line.effect, metric),
        scatter_ratio=to_loss(line.scatter, metric),
        detectable_ratio=loss,
        enough=metric != BANDWIDTH or loss <= max(GROSS_LOSS, MARGIN * to_loss(line.effect, metric)),
    )


def unsure_notes(known: Sequence[Power], paces: Sequence[Population]) -> list[str]:
    """Why nothing passes although nothing is named."""
    notes = [
        f"Healthy pairs scatter by {share(power.scatter_ratio)}: a node that is 10 % slow would not be detected, so "
        "nothing passes. Measure when the machine is quiet, or for longer (--budget)."
        for power in known
        if not power.enough
    ]
    if paces:
        slower = min(paces, key=lambda one: one.ratio)
        notes.append(
            f"The nodes form two speed groups: {some(natural_sorted(slower.nodes))} deliver "
            f"{share(slower.ratio)} of what the others do. A majority does not show which is right; "
            "compare both with the design."
        )
    return notes
