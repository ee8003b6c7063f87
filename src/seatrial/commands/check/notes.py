"""Sentences that qualify a judgement: what was not seen, what could not have been, what turned out to be nothing."""

import math
from collections.abc import Mapping

from seatrial.commands.check.crowding import contended
from seatrial.commands.check.pair_verdicts import bandwidth_reason, latency_reason
from seatrial.commands.check.suspects import Suspicion
from seatrial.judgement.rank_notes import first_ranks, wandering_notes
from seatrial.limits.path import path_limit
from seatrial.locate.evidence import Evidence, Pair, Series
from seatrial.locate.references import References
from seatrial.model.limit import NoLimit
from seatrial.model.measurement import Phase
from seatrial.model.run import RecordedRun
from seatrial.model.units import bandwidth
from seatrial.model.verdict import Verdict
from seatrial.statistics.estimates import median

MOST = 10
"""Pairs that are not decided, told one by one."""


def make_notes(
    recorded: RecordedRun, evidence: Mapping[Pair, Evidence], references: References, suspicion: Suspicion
) -> tuple[str, ...]:
    """All notes on a run, in a fixed order."""
    notes = []
    if recorded.info.reason:
        notes.append(recorded.info.reason)
    notes += references.fabric.notes
    notes += _missing_limits(recorded, evidence, references)
    if suspicion.restless:
        notes.append(
            "Most nodes were good and bad in turn: something disturbed the measuring itself (load on the nodes, a "
            "shared machine), so nobody is named. Measure again when it is quiet."
        )
    if suspicion.late_everywhere:
        notes.append(
            "Pairs that seemed late were measured again, and so were others beside them, which were late too in many "
            "runs: something disturbed the measuring itself (load on the nodes, a shared machine), so nobody is named "
            "for latency."
        )
    elif suspicion.distant:
        source, target = suspicion.distant[0]
        notes.append(
            f"{len(suspicion.distant)} ordered pairs ({source} to {target} the first) take much longer than others, "
            "though their nodes are in time with other partners: so distance looks, and nobody is named for it."
        )
    notes += _in_each_others_way(evidence, references, suspicion)
    notes += wandering_notes(recorded.facts, first_ranks(recorded))
    notes += _not_again(evidence, references, suspicion)
    notes += _undecided(evidence, references, suspicion)
    return tuple(notes)


def _in_each_others_way(evidence: Mapping[Pair, Evidence], references: References, suspicion: Suspicion) -> list[str]:
    """How many pairs were slow among many and not among fewer."""
    line = references.bandwidth
    pairs = contended(evidence, suspicion, math.exp(line.usual - line.lack)) if line else []
    if not pairs:
        return []
    most = max(evidence[pair].pairs_at_once for pair in pairs)
    return [
        f"{len(pairs)} ordered pairs ({pairs[0][0]} to {pairs[0][1]} the first) were slow while up to {most} pairs "
        "were measured at once, and not when fewer were: contention, no fault."
    ]


def _undecided(evidence: Mapping[Pair, Evidence], references: References, suspicion: Suspicion) -> list[str]:
    """A sentence for each of the first pairs that are not decided, and how many more there are."""
    open_pairs: dict[Pair, str] = {}
    for pair, judged in suspicion.bandwidth.items():
        if judged.is_open:
            open_pairs[pair] = bandwidth_reason(pair, judged, evidence[pair], references)
    for pair, judged in suspicion.latency.items():
        if judged.is_open:
            open_pairs[pair] = latency_reason(pair, judged, references)
    notes = [f"{pair[0]} to {pair[1]} is not decided: {why}." for pair, why in list(open_pairs.items())[:MOST]]
    if len(open_pairs) > MOST:
        notes.append(f"{len(open_pairs) - MOST} more pairs are not decided.")
    return notes


def _missing_limits(recorded: RecordedRun, evidence: Mapping[Pair, Evidence], references: References) -> list[str]:
    without = [pair for pair in evidence if pair not in references.limits]
    if not without:
        return []
    source, target = without[0]
    reason = "facts of a node are missing"
    if source in recorded.facts and target in recorded.facts:
        limit = path_limit(recorded.facts[source], recorded.facts[target])
        reason = limit.reason if isinstance(limit, NoLimit) else reason
    scope = "any pair" if len(without) == len(evidence) else f"{len(without)} of {len(evidence)} pairs"
    if not references.alike:
        return [
            f"Measured, and held against nothing: no limit is known ({reason}), and ranks of one machine are no peers."
        ]
    return [
        f"No limit is known for {scope} ({reason}): they are held against their peers alone, and a fabric that is "
        f"slow all over would not have been seen."
    ]


def _not_again(evidence: Mapping[Pair, Evidence], references: References, suspicion: Suspicion) -> list[str]:
    """Pairs that were bad in the survey and good when measured again."""
    once = []
    late: list[str] = []
    line = references.bandwidth
    for pair, known in evidence.items():
        first, again = _both(known.bandwidth)
        if (
            again
            and line
            and first
            and line.over_peers(first) < -line.lack
            and suspicion.bandwidth[pair].verdict is Verdict.PASS
        ):
            why = "contention" if known.pairs_at_once > 1 else "a passing disturbance"
            once.append(
                f"{pair[0]} to {pair[1]} was slow once ({bandwidth(first)}) and not when measured again alone "
                f"({bandwidth(again)}): {why}, no fault."
            )
        if pair[0] < pair[1] and _late_once(pair, known, references):
            late.append(f"{pair[0]}-{pair[1]}")
    notes = once[:MOST]
    if len(once) > MOST:
        notes.append(f"{len(once) - MOST} more ordered pairs were slow once and not when measured again alone.")
    if late:
        notes.append(f"Late once and not when measured again: {', '.join(late[:MOST])}.")
    return notes


def _late_once(pair: Pair, known: Evidence, references: References) -> bool:
    first, again = _both(known.latency)
    line = references.speed.get(references.crosses(pair))
    if not (line and first and again):
        return False
    return line.over_peers(1 / first) < -line.lack <= line.over_peers(1 / again)


def _both(by_phase: Mapping[Phase, Series]) -> tuple[float, float]:
    """Medians of survey and retest; 0 where there was none."""
    first, again = (by_phase.get(phase, Series()).runs for phase in (Phase.SURVEY, Phase.RETEST))
    return (median(first) if first else 0.0), (median(again) if again else 0.0)
