"""Parts that were bad in some repetition of the survey only: a median over three does not see the third."""

from collections.abc import Collection, Mapping, Sequence

from seatrial.locate.effects import GROSS, SCATTERS, to_log
from seatrial.locate.evidence import Evidence, Pair
from seatrial.locate.explanation import Blamed, blame
from seatrial.locate.references import References
from seatrial.locate.scale import NORMAL
from seatrial.locate.thresholds import MOST_LACK
from seatrial.model.measurement import Phase
from seatrial.model.units import BANDWIDTH
from seatrial.statistics.estimates import median

FEWEST_PAIRS = 3
"""Ordered pairs in one direction of a part that were bad once; fewer may be a passing disturbance each."""


def once_bad(
    known: Sequence[Blamed], evidence: Mapping[Pair, Evidence], references: References, excused: Collection[Pair]
) -> list[Blamed]:
    """`known`, and parts of which FEWEST_PAIRS or more pairs had a run that noise does not explain, to be measured
    again."""
    line = references.bandwidth
    if line is None or not references.alike:
        return list(known)
    runs = {pair: _survey(one, references.scale(pair)) for pair, one in evidence.items()}
    several = {pair: own for pair, own in runs.items() if len(own) > 1}
    if not several:
        return list(known)
    noise = NORMAL * median([abs(line.over_peers(run) - line.over_peers(median(own))) for own in several.values()
                             for run in own])  # fmt: skip
    lack = min(max(to_log(GROSS[BANDWIDTH], BANDWIDTH), SCATTERS * max(noise, line.scatter)), MOST_LACK)
    explained = {pair for group in known for pair in group.pairs} | set(excused)
    bad = {pair: 1.0 for pair, own in several.items() if line.over_peers(min(own)) < -lack and pair not in explained}
    good = [pair for pair, own in runs.items() if own and pair not in bad and line.over_peers(min(own)) > -lack / 2]
    groups = blame(bad, good, references.fabric) if bad else []
    return [*known, *(group for group in groups if group.components and len(group.pairs) >= FEWEST_PAIRS)]


def _survey(known: Evidence, scale: float) -> tuple[float, ...]:
    return tuple(run / scale for run in known.bandwidth[Phase.SURVEY].runs) if Phase.SURVEY in known.bandwidth else ()
