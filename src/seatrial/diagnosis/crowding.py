"""Slow pairs that may only have been in each other's way, since many were measured at the same time."""

from collections.abc import Mapping, Sequence

from seatrial.diagnosis.evidence import Evidence, Pair
from seatrial.diagnosis.suspicion import Suspicion
from seatrial.model.fabric import Wiring
from seatrial.model.measurement import Phase
from seatrial.model.verdict import Verdict
from seatrial.pairing.conflicts import pieces


def crowded(evidence: Mapping[Pair, Evidence], suspicion: Suspicion) -> list[Pair]:
    """Slow pairs that were measured beside others, to measure again where nothing is in their way.

    All of them, not a few of each suspected part: one good pair acquits a part, but does not excuse the other pairs.
    """
    return [
        pair
        for pair, known in evidence.items()
        if suspicion.bandwidth[pair].verdict is Verdict.SLOW and known.pairs_at_once > 1
    ]


def apart(pairs: Sequence[Pair], fabric: Wiring, most: int) -> list[list[Pair]]:
    """The pairs in rounds of at most `most`, in which no two share a cable as far as the fabric is known.

    Of a fabric whose cables are known those on the way count; of leaves alone, all uplinks of a leaf count as one.
    """
    paths = []
    for pair in pairs:
        parts = [part for part in fabric.path(*pair) if part.kind != "node"]
        cables = [part for part in parts if part.kind == "link"]
        paths.append(cables or parts)
    rounds = [[pairs[place] for place in piece] for piece in pieces(pairs, paths)]
    return [one[start : start + most] for one in rounds for start in range(0, len(one), most)]


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
