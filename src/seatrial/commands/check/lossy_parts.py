"""Parts that lose packets, and the pairs that are slow and late for that reason alone."""

import math
from collections.abc import Mapping, Sequence

from seatrial.commands.check.processor_waits import TIMES_PEERS
from seatrial.commands.check.survey import Survey
from seatrial.locate.evidence import MeasuredPair, Pair
from seatrial.locate.explanation import PartSuspect, blame, suspects_of
from seatrial.model.fabric import Component, Wiring
from seatrial.model.measurement import Phase
from seatrial.model.subject import SubjectKind

CHANCE = 0.001
"""A part is cleared of loss if its stalls fall on as few of its pairs as they did with at most this probability."""


class PairTrips:
    """Small round trips of some pairs: how many, how many were late, and for how long their ranks waited."""

    def __init__(self) -> None:
        self.trips = self.late = 0
        self.delay = 0.0

    def add(self, known: MeasuredPair) -> None:
        """Count those of one more pair."""
        self.trips += known.round_trips
        self.late += known.late_trips
        self.delay += known.delay


def lossy_suspects(survey: Survey) -> list[PartSuspect]:
    """Parts whose round trips stalled; where they were measured again, only if they stalled again.

    Round trips that were late while their ranks waited for a processor count where they are far more than such waits
    delayed other pairs.
    """
    evidence = survey.evidence
    bad = {pair: float(evidence[pair].late_trips) for pair in sorted(survey.stalled)}
    if not bad:
        return []
    cleared = _cleared(bad, survey)
    suspects = suspects_of(blame(bad, survey.without_stalls, acquit=False, cleared=cleared))
    confirmed = []
    for suspect in suspects:
        by_phase = [evidence[pair].latency for pair in suspect.pairs]
        again = [series[Phase.RETEST] for series in by_phase if Phase.RETEST in series]
        decide = again or [series for phases in by_phase for series in phases.values()]
        excused = any(series.excused_stalls for series in decide)
        if any(series.stalls for series in decide) or (excused and _beyond_waits(suspect, survey)):
            confirmed.append(suspect)
    return confirmed


def _beyond_waits(suspect: PartSuspect, survey: Survey) -> bool:
    """Whether more late round trips fell on these pairs than waits can have made late.

    Ranks that wait at most `TIMES_PEERS` times as long as others make at most as many times as many round trips late.
    That of all k at least j fall on a share of at most f has a probability of at most C(k, j) f^j.
    """
    own, others = PairTrips(), PairTrips()
    for pair, known in survey.evidence.items():
        if pair[0] < pair[1]:
            (own if {pair, pair[::-1]} & set(suspect.pairs) else others).add(known)
    share = TIMES_PEERS * own.trips / (TIMES_PEERS * own.trips + others.trips)
    alike = own.delay * others.trips <= TIMES_PEERS * others.delay * own.trips
    return alike and math.log(math.comb(own.late + others.late, own.late)) + own.late * math.log(share) < math.log(
        CHANCE
    )


def _cleared(bad: Mapping[Pair, float], survey: Survey) -> frozenset[Component]:
    """Parts that would have lost packets on more of their pairs, if it was they that lost them.

    A lossy part loses those of all its pairs alike. That all k stalls fall on j of its m pairs, which made the share f
    of its round trips, has a probability of at most C(m, j) f^k.
    """
    fabric, evidence = survey.without_stalls.fabric, survey.evidence
    trips: dict[Component, dict[Pair, int]] = {part: {} for pair in bad for part in fabric.path(*pair)}
    for pair in (*bad, *survey.without_stalls.pairs):
        for part in fabric.path(*pair):
            if part in trips:
                trips[part][pair] = evidence[pair].round_trips
    cleared = set()
    for part, made in trips.items():
        hit = [pair for pair in made if pair in bad]
        share = sum(made[pair] for pair in hit) / max(sum(made.values()), 1)
        stalls = sum(evidence[pair].late_trips for pair in hit)
        if len(hit) < len(made) and math.comb(len(made), len(hit)) * share**stalls < CHANCE:
            cleared.add(part)
    return frozenset(cleared)


def excused_pairs(lossy: Sequence[PartSuspect], survey: Survey, fabric: Wiring) -> set[Pair]:
    """Pairs that are slow and late since they cross a lossy part.

    Of parts that cannot be distinguished, only the pairs that lost packets: what else is slow on their way may be slow
    for another reason.
    """
    excused = {pair for suspect in lossy for pair in suspect.pairs}
    certain = [suspect for suspect in lossy if not suspect.ambiguous_with]
    if certain:
        excused |= {pair for pair in survey.evidence if any(crosses(suspect, pair, fabric) for suspect in certain)}
    return excused


def crosses(suspect: PartSuspect, pair: Pair, fabric: Wiring) -> bool:
    """Whether the pair is, or crosses, what is suspected."""
    names = {(subject.kind, subject.name) for subject in (suspect.subject, *suspect.ambiguous_with)}
    if suspect.subject.kind is SubjectKind.PAIR:
        return pair in suspect.pairs
    return any((SubjectKind(part.kind), part.name) in names for part in fabric.path(*pair))
