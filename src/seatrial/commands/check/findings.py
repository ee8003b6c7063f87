"""Findings on the suspects that the retest confirmed."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from seatrial.commands.check.second_look import SecondLook
from seatrial.commands.check.survey import on_unknown_cables
from seatrial.judgement.processor_waits import LongWaits
from seatrial.judgement.rank_notes import Ranks
from seatrial.judgement.wording import SLOW_KINDS, latency_statement, part_remedy, sentence, slow_statement, who
from seatrial.locate.evidence import TELLING, MeasuredPair, Pair, RunSeries
from seatrial.locate.explanation import PartSuspect, nodes_of
from seatrial.locate.references import References
from seatrial.model.limit import Limit
from seatrial.model.measurement import Estimate, Phase
from seatrial.model.subject import FABRIC, Direction, SubjectKind, node
from seatrial.model.units import BANDWIDTH, LATENCY, bandwidth, duration, share
from seatrial.model.verdict import Experiment, Finding, FindingKind, Verdict
from seatrial.model.words import ranges
from seatrial.statistics.estimates import median, median_estimate

MOST_CPUS = 4
"""Processors of a rank that are listed: a core and its siblings. A rank that is not bound may run on all of a node."""
BEST_PAIRS = "median of the pairs that are not slow"
"""What `References` holds for bandwidth and for latency."""


class FindingInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What findings are made from: numbers, references and the retest."""

    evidence: Mapping[Pair, MeasuredPair]
    references: References
    controls: Sequence[Pair]
    """Good pairs that were measured again beside the suspects."""
    look: SecondLook | None = None
    """The second look at bandwidth."""
    ranks: Ranks = {}
    """Node -> its ranks, as far as their processors are known."""
    resent: Mapping[str, float] = {}
    """Node -> share of its TCP segments that it had to send again while it was measured."""


def slow_link(suspect: PartSuspect, scene: FindingInputs) -> Finding:
    """Bandwidth below its references through one part, and a word where a rank also waited for a processor."""
    finding = _slow(suspect, scene)
    waits = long_waits(suspect, scene)
    if waits is None:
        return finding
    return msgspec.structs.replace(
        finding,
        statement=f"{finding.statement} Besides, {waits.text}; that alone does not explain it.",
        remedy=f"{_program(waits, scene.ranks)} {finding.remedy}",
    )


def _slow(suspect: PartSuspect, scene: FindingInputs) -> Finding:
    measured, retested = pooled([scene.evidence[pair].bandwidth for pair in suspect.pairs])
    limit = tightest(suspect, scene.references)
    expected = [peers for pair in suspect.pairs if (peers := scene.references.peers_of(pair)) is not None]
    peers = median(expected) if expected else None
    beside, _ = pooled([scene.evidence[pair].bandwidth for pair in scene.controls])
    return Finding(
        kind=SLOW_KINDS[suspect.subject.kind],
        **suspect.accused,
        verdict=Verdict.SLOW,
        statement=slow_statement(suspect, measured, limit, peers),
        remedy=part_remedy(suspect.subject, limit),
        metric=BANDWIDTH,
        measured=measured,
        limit=limit.limit_bytes_per_s if limit else None,
        limit_name=limit.binding if limit else "",
        peers=peers,
        peers_name=BEST_PAIRS,
        of_peers=scene.look.of(suspect.pairs).of_peers if scene.look else None,
        experiments=_alone(measured, beside, bandwidth) if retested else (),
    )


def waits_for_processor(suspect: PartSuspect, scene: FindingInputs) -> Finding:
    """A slow node whose rank waited for a processor as long as its link lacks: the link itself is not judged."""
    finding, waits = _slow(suspect, scene), long_waits(suspect, scene)
    if waits is None:
        return finding
    return msgspec.structs.replace(
        finding,
        kind=FindingKind.WAITS_FOR_PROCESSOR,
        subject=node(waits.node),
        ambiguous_with=(),
        verdict=FindingKind.WAITS_FOR_PROCESSOR.verdict,
        statement=f"{sentence(waits.text)}, in the same minutes: another program takes it, or a quota withholds it. "
        f"This may be all that is wrong, and whether the link is good is not decided. {finding.statement}",
        remedy=f"{_program(waits, scene.ranks)} End or move it, then run the check again.",
        brief=f"rank waited {share(waits.own)} of the time for a processor, its peers' {share(waits.peers)}",
    )


def long_waits(suspect: PartSuspect, scene: FindingInputs) -> LongWaits | None:
    """The longest wait of the nodes that the suspect is or may be, or of a pair's ends; None if no rank waited long."""
    nodes = nodes_of(suspect)
    if suspect.subject.kind is SubjectKind.PAIR:
        nodes = {name for pair in suspect.pairs for name in pair}
    return scene.look.long_waits(nodes, suspect.pairs) if scene.look else None


def _program(waits: LongWaits, ranks: Ranks) -> str:
    cpus = sorted({cpu for rank in ranks.get(waits.node, ()) for cpu in rank.cpus})
    where = f" (processors {ranges(cpus)})" if 0 < len(cpus) <= MOST_CPUS else ""
    return (
        f"Look for the program that runs on the core of {waits.node}'s rank{where}: ps -eLo psr,pcpu,pid,comm, top; "
        "a job that was not ended, a daemon, a CPU quota of the cgroup, the host of a virtual machine (st in top)."
    )


def high_latency(suspect: PartSuspect, scene: FindingInputs) -> Finding:
    """Latency above that of pairs of the same distance."""
    measured, retested = pooled([scene.evidence[pair].latency for pair in suspect.pairs])
    peers = median([scene.references.latency_s[scene.references.crosses(pair)] for pair in suspect.pairs])
    beside, _ = pooled([scene.evidence[pair].latency for pair in scene.controls])
    return Finding(
        kind=FindingKind.HIGH_LATENCY,
        **suspect.accused,
        verdict=Verdict.SLOW,
        statement=latency_statement(suspect, measured, peers),
        remedy="Compare kernel, governor, C-states, interrupt coalescing and load with those of a good node.",
        metric=LATENCY,
        measured=measured,
        peers=peers,
        peers_name=BEST_PAIRS,
        experiments=_alone(measured, beside, duration) if retested else (),
    )


def unstable_link(suspect: PartSuspect, scene: FindingInputs) -> Finding:
    """A part that is unstable: some of its runs alone are good and others are bad."""
    measured, _ = pooled([scene.evidence[pair].bandwidth for pair in suspect.pairs])
    return Finding(
        kind=FindingKind.UNSTABLE_LINK,
        **suspect.accused,
        verdict=Verdict.UNSTABLE,
        statement=sentence(
            f"{who(suspect)} is unstable: it varies between {bandwidth(measured.low)} and {bandwidth(measured.high)} "
            f"in {measured.runs} runs alone."
        ),
        remedy=part_remedy(suspect.subject, tightest(suspect, scene.references)),
        metric=BANDWIDTH,
        measured=measured,
        peers=scene.references.bandwidth_bytes_per_s,
        peers_name=BEST_PAIRS,
    )


def packet_loss(suspect: PartSuspect, scene: FindingInputs) -> Finding:
    """Small round trips that waited for TCP's retransmission timer."""
    known = [scene.evidence[pair] for pair in suspect.pairs]
    stalls, trips = map(sum, zip(*(one.trips_since(0) for one in known), strict=True))
    unknown = on_unknown_cables(suspect.subject.kind, suspect.pairs, scene.references.fabric)
    who_loses = f"a cable of {who(suspect)}, or one behind it," if unknown else who(suspect)
    which = " With --fabric and --routes a check may name the cable." if unknown else ""
    return Finding(
        kind=FindingKind.PACKET_LOSS,
        **suspect.accused,
        verdict=Verdict.UNSTABLE,
        statement=sentence(
            f"{who_loses} loses packets: {stalls} of {trips} small round trips took 0.2 s or longer, which is how "
            f"long TCP waits before it sends again ({share(stalls / trips) if stalls * 100 >= trips else 'under 1 %'})."
        ),
        remedy=f"Check errors and drops of the port and its switch (ethtool -S), cable, optics, buffer sizes.{which}",
        metric=LATENCY,
        experiments=_tcp_agrees(suspect, scene.resent),
    )


def _tcp_agrees(suspect: PartSuspect, resent: Mapping[str, float]) -> tuple[Experiment, ...]:
    """The kernel's own count as a second witness: it knows nothing of our round trips."""
    accused = sorted(nodes_of(suspect) & resent.keys())
    others = [part for node, part in resent.items() if node not in accused]
    if not accused or not others:
        return ()
    most, usual = max(resent[node] for node in accused), median(others)
    outcome = f"{', '.join(accused)} retransmitted {100 * most:.2f} %, the other nodes {100 * usual:.2f} % (median)"
    return (
        Experiment(
            description="TCP's own count of retransmitted segments, between two readings of the facts",
            outcome=outcome,
            confirmed=most > usual,
        ),
    )


def slow_fabric(pairs: Sequence[Pair], scene: FindingInputs) -> Finding:
    """All pairs alike and all below the limit."""
    everything = PartSuspect(subject=FABRIC, direction=Direction.BOTH, ambiguous_with=(), pairs=tuple(pairs))
    found = slow_link(everything, scene)
    return msgspec.structs.replace(found, pairs=found.pairs[:10])


def tightest(suspect: PartSuspect, references: References) -> Limit | None:
    """The least limit among the suspect's pairs; that of its own node where two are alike."""
    limits = [references.limits[pair] for pair in suspect.pairs if pair in references.limits]
    nodes = nodes_of(suspect)
    return min(
        limits,
        key=lambda limit: (limit.limit_bytes_per_s, limit.binding.partition(" ")[0] not in nodes),
        default=None,
    )


def pooled(known: Sequence[Mapping[Phase, RunSeries]]) -> tuple[Estimate, bool]:
    """One estimate over several pairs: in each run the median over pairs, then the median of runs; and if retested."""
    for phase in TELLING:
        series = [by_phase[phase].runs for by_phase in known if phase in by_phase]
        if series:
            runs = max(len(runs) for runs in series)
            values = [median([one[index] for one in series if index < len(one)]) for index in range(runs)]
            return median_estimate(values), phase is Phase.RETEST
    return Estimate(value=0.0, low=0.0, high=0.0, confidence=0.0, runs=0, method="nothing measured"), False


def _alone(measured: Estimate, beside: Estimate, show: Callable[[float], str]) -> tuple[Experiment, ...]:
    outcome = f"{show(measured.value)} again"
    outcome += f", while control pairs beside it gave {show(beside.value)}" if beside.runs else ""
    return (
        Experiment(
            description=f"Measured again alone, {measured.runs} runs, interleaved with pairs known to be good",
            outcome=outcome,
            confirmed=True,
        ),
    )
