"""Parts that lose packets, and the pairs that are slow and late for that reason alone."""

import math
from collections.abc import Mapping, Sequence

from seatrial.commands.check.survey import Survey
from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import PartSuspect, blame, suspects_of
from seatrial.model.fabric import Component, Wiring
from seatrial.model.measurement import Phase
from seatrial.model.subject import SubjectKind

CHANCE = 0.001
"""A part is cleared of loss if its stalls fall on as few of its pairs as they did with at most this probability."""


def lossy_suspects(survey: Survey) -> list[PartSuspect]:
    """Parts whose round trips stalled; where they were measured again, only if they stalled again."""
    evidence = survey.evidence
    bad = {pair: float(evidence[pair].stalls) for pair in sorted(survey.stalled)}
    if not bad:
        return []
    cleared = _cleared(bad, survey)
    suspects = suspects_of(blame(bad, survey.without_stalls, acquit=False, cleared=cleared))
    confirmed = []
    for suspect in suspects:
        again = [
            evidence[pair].latency[Phase.RETEST] for pair in suspect.pairs if Phase.RETEST in evidence[pair].latency
        ]
        if not again or any(series.stalls for series in again):
            confirmed.append(suspect)
    return confirmed


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
        stalls = sum(evidence[pair].stalls for pair in hit)
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
