"""Slow pairs that may only have been in each other's way, since many were measured at the same time."""

from collections.abc import Mapping, Sequence

from seatrial.commands.check.suspects import Suspicion, is_part
from seatrial.locate.evidence import Evidence, Pair
from seatrial.locate.thresholds import RETEST_PAIRS
from seatrial.model.fabric import Component, Wiring
from seatrial.model.measurement import Phase
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import Verdict
from seatrial.pairs.rounds import pieces


def crowded(evidence: Mapping[Pair, Evidence], suspicion: Suspicion) -> list[Pair]:
    """Slow pairs that were measured beside others, to measure again where nothing is in their way.

    All of them, not a few of each suspected part: one good pair acquits a part, but does not excuse the other pairs.
    """
    return [
        pair
        for pair, known in evidence.items()
        if suspicion.bandwidth[pair].verdict is Verdict.SLOW and known.pairs_at_once > 1
    ]


def still_crowded(evidence: Mapping[Pair, Evidence], suspicion: Suspicion, fabric: Wiring) -> list[Pair]:
    """What is slow in rounds made by `apart`, to measure again with fewer at once: a few pairs of each suspected part,
    and every pair that no part explains.

    Nothing where all cables on the way are known: then nothing was in these pairs' way.
    """
    found: dict[Pair, None] = {}
    for suspect in suspicion.slow:
        pairs = suspect.pairs[:RETEST_PAIRS] if is_part(suspect) else suspect.pairs
        found.update(dict.fromkeys(pair for pair in pairs if evidence[pair].pairs_at_once > 1))
    return [pair for pair in found if not _cables(pair, fabric)]


def apart(pairs: Sequence[Pair], fabric: Wiring, most: int) -> list[list[Pair]]:
    """The pairs in rounds of at most `most`, in which no two share a cable as far as the fabric is known.

    Of a fabric whose cables are known those on the way count; of leaves alone, all uplinks of a leaf count as one.
    """
    paths = [
        _cables(pair, fabric) or [part for part in fabric.path(*pair) if part.kind == SubjectKind.UPLINK]
        for pair in pairs
    ]
    rounds = [[pairs[place] for place in piece] for piece in pieces(pairs, paths)]
    return [one[start : start + most] for one in rounds for start in range(0, len(one), most)]


def _cables(pair: Pair, fabric: Wiring) -> list[Component]:
    return [part for part in fabric.path(*pair) if part.kind == SubjectKind.LINK]


def contended(evidence: Mapping[Pair, Evidence], suspicion: Suspicion, floor_bytes_per_s: float) -> list[Pair]:
    """Pairs that were below the floor among many, and good when measured once more among fewer."""
    return [
        pair
        for pair, known in evidence.items()
        if Phase.NEXT in known.bandwidth
        and Phase.RETEST not in known.bandwidth
        and known.pairs_at_once > 1
        and suspicion.bandwidth[pair].verdict is Verdict.PASS
        and max(known.bandwidth[Phase.SURVEY].runs if Phase.SURVEY in known.bandwidth else (0.0,)) < floor_bytes_per_s
    ]
