"""Parts and pairs under suspicion, by what is wrong with them: packet loss, bandwidth, latency."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from seatrial.commands.check.pair_verdicts import JudgedPair, MetricVerdicts, limit_floor, waits_explain
from seatrial.commands.check.retest_verdicts import Proofs, prove_bandwidth, prove_latency
from seatrial.commands.check.second_look import SecondLook
from seatrial.commands.check.survey import Survey, excused_pairs, lossy_suspects
from seatrial.commands.check.survey_suspects import averaged, once_bad, set_apart
from seatrial.locate.evidence import SHORTEST_S, MeasuredPair, Pair, deciding, deciding_series, in_one_direction
from seatrial.locate.explanation import (
    Blamed,
    Crossings,
    PartSuspect,
    blame,
    both_ways,
    nodes_of,
    pair_suspects,
    suspects_of,
)
from seatrial.locate.references import References
from seatrial.locate.thresholds import EFFECT, SCATTERS, UNIFORM_SHARE
from seatrial.locate.uplinks import by_cables
from seatrial.model.fabric import Wiring
from seatrial.model.pair_faults import Located
from seatrial.model.subject import SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict
from seatrial.statistics.estimates import median

FAR_LATER = 2.0
"""Times the latency of its peers."""
FEW_PAIRS = 0.02
"""Share of all pairs of nodes: more pairs that are far later than their peers are at another distance."""


class Suspicion(msgspec.Struct, frozen=True, kw_only=True):
    """Suspects by what is wrong with them, and the verdicts on every pair they come from."""

    bandwidth: Mapping[Pair, JudgedPair]
    latency: Mapping[Pair, JudgedPair]
    lossy: tuple[PartSuspect, ...]
    slow: tuple[PartSuspect, ...]
    unstable: tuple[PartSuspect, ...]
    late: tuple[PartSuspect, ...]
    open: tuple[PartSuspect, ...]
    """Measured again, and its runs lie on both sides of the line."""
    acquitted: Mapping[str, Crossings]
    """Metric -> pairs that are clearly good, with the parts that they cross."""
    without_stalls: Crossings
    """Pairs of which no round trip waited for a retransmission."""
    too_fast: tuple[PartSuspect, ...]
    """Pairs above the gate of their limit, each alone: for certain or not yet."""
    distant: tuple[Pair, ...]
    """Late pairs whose ends are both in time with others: consistent with topology distance, not a fault."""
    uniformly_slow: tuple[Pair, ...]
    """All pairs, where the whole fabric is below its limit."""
    busy: tuple[PartSuspect, ...] = ()
    """Slow for certain, and a rank waited for a processor for as much of the time: its link may be good."""
    second_look: SecondLook
    """The second look at bandwidth."""
    located: Located | None = None
    """What averages over all pairs of each node show; None where too few pairs were measured."""
    stale: Mapping[str, frozenset[Pair]] = {}
    """Pairs, by metric, that were good before a part on their way turned out bad at the end of the run."""
    excused: frozenset[Pair] = frozenset()
    """Pairs that are slow because packets are lost on their way."""

    @property
    def suspects(self) -> tuple[PartSuspect, ...]:
        """All that must be measured again."""
        return (*self.lossy, *self.slow, *self.unstable, *self.late, *self.too_fast, *self.open, *self.busy)

    @property
    def unproved(self) -> tuple[PartSuspect, ...]:
        """Bad pairs of the survey whose part the retest found good: each may have a fault of its own."""
        both = (*self.bandwidth.items(), *self.latency.items())
        return tuple(pair_suspects(dict.fromkeys(pair for pair, judged in both if judged.refuted)))

    @property
    def timed(self) -> bool:
        """Whether latency was measured of any pair; a program that prints a bandwidth measures none."""
        return any(one.estimate is not None for one in self.latency.values())

    def passed(self) -> Mapping[str, set[Pair]]:
        """Pairs, by metric, that are good until now, and on whose way nothing loses packets."""
        good = {
            metric: {pair for pair, one in judged.items() if one.verdict is Verdict.PASS} - self.excused
            for metric, judged in ((BANDWIDTH, self.bandwidth), (LATENCY, self.latency))
        }
        good[LATENCY] -= {pair for suspect in self.lossy for pair in suspect.pairs}
        return good

    def good(self) -> list[Pair]:
        """Pairs with nothing against them, that touch no suspected node."""
        suspected = {name for suspect in self.suspects for name in nodes_of(suspect)}
        return [pair for pair in self.clear() if suspected.isdisjoint(pair)]

    def clear(self) -> list[Pair]:
        """Pairs with nothing against them; their nodes may be suspected."""
        latency, timed = self.latency, self.timed
        return [
            pair
            for pair, judged in self.bandwidth.items()
            if judged.clear and (not timed or latency[pair].verdict is Verdict.PASS)
        ]

    def quiet(self) -> list[Pair]:
        """Pairs that lost no packet while others did; they may be slow."""
        return sorted(self.without_stalls.pairs) if self.lossy else []


def suspect_all(survey: Survey, references: References, *, unknown_waits: bool = False) -> Suspicion:
    """Locate what the bad pairs of a survey have in common, and let the retest decide.

    Pairs across a lossy part are slow and late for that reason and are blamed on nothing else. `unknown_waits`:
    nobody knows how long ranks waited for a processor: what varies is not decided.
    """
    evidence, rates, speeds = survey.evidence, survey.verdicts(BANDWIDTH), survey.verdicts(LATENCY)
    lossy = lossy_suspects(survey)
    excused = excused_pairs(lossy, survey, survey.without_stalls.fabric)
    uniform = _uniformly_slow(rates, evidence, references)
    retested = survey.retested[BANDWIDTH] - excused
    groups = _slow_groups(survey, references, excused, blame_pairs=not uniform)
    waiting = set() if uniform else {pair for pair in rates.slow if rates.judged[pair].starved} - excused
    prove = partial(prove_bandwidth, starved=waiting, unknown_waits=unknown_waits)
    proved = prove(groups, rates.judged, evidence, retested, references)
    if proved.contradicts_survey and not uniform:  # what a pair that is bad in one of them only accused or cleared
        groups = _slow_groups(survey, references, excused, first=proved)
        again = prove(groups, rates.judged, evidence, retested, references)
        proved = msgspec.structs.replace(again, changed={**proved.changed, **again.changed})
    late = _late(survey, references, excused, unknown_waits)
    return Suspicion(
        bandwidth={**rates.judged, **proved.changed},
        latency={**speeds.judged, **late.changed},
        acquitted={
            BANDWIDTH: _acquitted(survey.good(BANDWIDTH), proved.changed),
            LATENCY: _acquitted(survey.good(LATENCY), late.changed),
        },
        without_stalls=survey.without_stalls.changed((), ()),
        lossy=tuple(lossy),
        slow=tuple(_by_cables(suspects_of(proved.slow), evidence, references)),
        unstable=tuple(suspects_of(proved.unstable)),
        late=late.suspects,
        open=tuple(suspects_of(proved.open)),
        busy=tuple(suspects_of(proved.busy)),
        too_fast=tuple(pair_suspects(sorted(rates.above_gate))),
        distant=late.distant,
        uniformly_slow=uniform,
        second_look=proved.look,
        located=survey.located,
        stale={metric: survey.stale(metric) for metric in (BANDWIDTH, LATENCY)},
        excused=frozenset(excused),
    )


def _by_cables(
    suspects: Sequence[PartSuspect], evidence: Mapping[Pair, MeasuredPair], references: References
) -> list[PartSuspect]:
    """Uplinks on known cables by these, where they are slow to a different degree."""

    def over_peers(pair: Pair) -> float:
        runs = deciding(evidence[pair].bandwidth)
        return references.rate_over_peers(pair, max(median(runs), SHORTEST_S)) if runs else -math.inf

    line = references.bandwidth
    return by_cables(suspects, references.fabric, over_peers, max(EFFECT, SCATTERS * line.scatter if line else 0.0))


def _slow_groups(
    survey: Survey,
    references: References,
    excused: set[Pair],
    *,
    blame_pairs: bool = True,
    first: Proofs | None = None,
) -> list[Blamed]:
    """Suspects of bandwidth. `first`: what the retest made of suspects by the survey alone. Pairs that were bad in the
    retest only convict parts, not themselves, as do those of parts that it refuted which it did not measure."""
    rates, evidence = survey.verdicts(BANDWIDTH), survey.evidence
    turned, refuted = (first.turned, first.refuted) if first else (frozenset[Pair](), frozenset[Pair]())
    good = survey.good(BANDWIDTH).changed(refuted, turned) if first else survey.good(BANDWIDTH)
    slow = {pair for pair in rates.slow if not rates.judged[pair].starved}
    bad = dict.fromkeys(sorted(((slow - refuted) | turned) - excused), 1.0)
    groups = blame(bad, good) if blame_pairs else []
    unheard = turned | {pair for pair, one in (first.changed if first else {}).items() if one.refuted}
    groups = [group for group in groups if group.components or not group.pairs <= unheard]
    groups = averaged(survey.located, groups, evidence, references.fabric, excused)
    groups = set_apart(groups, survey.survey_runs, references, excused)
    return once_bad(groups, survey.survey_runs, references, excused)


class _Late(msgspec.Struct, frozen=True, kw_only=True):
    """What is late, and the verdicts on latency that differ from the survey's."""

    suspects: tuple[PartSuspect, ...]
    distant: tuple[Pair, ...]
    changed: Mapping[Pair, JudgedPair]


def _late(survey: Survey, references: References, excused: set[Pair], unknown_waits: bool) -> _Late:
    evidence, speeds = survey.evidence, survey.verdicts(LATENCY)
    trips = survey.good(LATENCY)
    groups = both_ways(blame(dict.fromkeys(in_one_direction(sorted(speeds.slow - excused)), 1.0), trips))
    parts = [one for one in groups if one.components]
    parts += _alone_late([one for one in groups if not one.components], evidence, references)
    retested = survey.retested[LATENCY] - excused
    proofs = prove_latency(parts, speeds.judged, evidence, retested, references, unknown_waits=unknown_waits)
    changed = dict(proofs.changed)
    late = suspects_of(proofs.slow)
    blamed = {pair for suspect in late for pair in suspect.pairs} | excused
    distant = tuple(
        pair
        for pair in sorted(speeds.slow)
        if pair not in blamed and changed.get(pair, speeds.judged[pair]).verdict is Verdict.SLOW
    )
    for pair in distant:
        changed[pair] = changed.get(pair, speeds.judged[pair]).decided(Verdict.PASS)
    return _Late(suspects=tuple(late), distant=distant, changed=changed)


def _alone_late(pairs: Sequence[Blamed], evidence: Mapping[Pair, MeasuredPair], references: References) -> list[Blamed]:
    """The few late pairs that no part explains and that are far later than their peers, to be measured again.

    Many, or pairs that are a little later, lie at another distance; a switch more on the way does not double a round
    trip, and it is on the way of more than one pair.
    """

    def over_peers(pair: Pair) -> float:
        return references.speed[references.crosses(pair)].over_peers(evidence[pair].first_speed or 0.0)

    far = [one for one in pairs if max(map(over_peers, one.pairs)) < -math.log(FAR_LATER)]
    nodes = {name for pair in evidence for name in pair}
    alone = {frozenset(pair) for one in far for pair in one.pairs}
    return far if len(alone) <= max(1, FEW_PAIRS * len(nodes) * (len(nodes) - 1) / 2) else []


def _acquitted(good: Crossings, changed: Mapping[Pair, JudgedPair]) -> Crossings:
    """The survey's good pairs, with what the retest made of them."""
    clear = [pair for pair, one in changed.items() if one.clear]
    return good.changed(clear, changed.keys() - set(clear))


def left_out(suspicion: Suspicion, fabric: Wiring) -> set[str]:
    """Nodes whose links are known to be at fault, and all nodes of leaves of whose uplinks one is."""
    nodes: set[str] = set()
    leaves: set[str] = set()
    for suspect in (*suspicion.slow, *suspicion.unstable, *suspicion.busy, *suspicion.lossy):
        for subject in (suspect.subject, *suspect.ambiguous_with):
            if subject.kind is SubjectKind.NODE:
                nodes.add(subject.name)
            elif subject.kind is SubjectKind.UPLINK:
                leaves.add(subject.name)
            elif subject.kind is SubjectKind.LINK:
                leaves |= {leaf for pair in suspect.pairs for leaf in _leaves_at(subject.name, pair, fabric)}
    return nodes | {node for node, leaf in fabric.leaf_of.items() if leaf in leaves}


def _leaves_at(cable: str, pair: Pair, fabric: Wiring) -> list[str]:
    """Leaves of the pair to whose switch the cable is plugged."""
    cables = [part.name for part in fabric.path(*pair) if part.kind == SubjectKind.LINK]
    ends = ((pair[0], cables[:1]), (pair[1], cables[-1:]))
    return [fabric.leaf_of[node] for node, nearest in ends if cable in nearest and node in fabric.leaf_of]


def is_part(suspect: PartSuspect) -> bool:
    """Whether it is a part of the cluster, and not a mere pair."""
    return suspect.subject.kind is not SubjectKind.PAIR


def is_starved(known: MeasuredPair, reference_bytes_per_s: float) -> bool:
    """Whether waits explain what is lost in most of the runs that decide."""
    return waits_explain(deciding_series(known.bandwidth), reference_bytes_per_s)


def _uniformly_slow(
    verdicts: MetricVerdicts, evidence: Mapping[Pair, MeasuredPair], references: References
) -> tuple[Pair, ...]:
    """All measured pairs, where nearly all are below the limit's floor, when measured again alone, too, and none below
    its peers.

    None where ranks of more than a few waited for a processor for as much of the time: it need not be the fabric.
    """
    limits, judged = references.limits, verdicts.judged
    slow = {
        pair
        for pair in verdicts.slow
        if median(deciding(evidence[pair].bandwidth) or (0.0,)) < limit_floor(limits.get(pair))
    }
    measured = [pair for pair, one in judged.items() if one.estimate is not None] if slow else []
    again = [pair for pair in measured if evidence[pair].retests(BANDWIDTH)]
    if not again or any(len(slow.intersection(of)) < UNIFORM_SHARE * len(of) for of in (again, measured)):
        return ()
    starved = [pair for pair in slow if pair in limits and is_starved(evidence[pair], limits[pair].limit_bytes_per_s)]
    if len(slow) - len(starved) < UNIFORM_SHARE * len(slow):
        return ()
    nodes = {name for pair in measured for name in pair}
    alike = all(judged[pair].below_limit_only for pair in slow)
    return tuple(measured) if len(nodes) > 2 and alike else ()
