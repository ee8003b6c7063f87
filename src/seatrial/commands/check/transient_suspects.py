"""Parts that were bad in some repetition of the survey only: a median over three does not see the third."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from seatrial.locate.effects import GROSS, SCATTERS, to_log
from seatrial.locate.evidence import SHORTEST_S, Evidence, Pair
from seatrial.locate.explanation import Blamed, Crossings, blame
from seatrial.locate.references import References
from seatrial.locate.scale import NORMAL
from seatrial.locate.thresholds import MOST_LACK
from seatrial.model.measurement import Phase
from seatrial.model.pair_table import Reals
from seatrial.model.units import BANDWIDTH
from seatrial.statistics.estimates import median

FEWEST_PAIRS = 3
"""Ordered pairs in one direction of a part that were bad once; fewer may be a passing disturbance each."""


class SurveyRuns:
    """The repetitions of the survey, as logarithms. They do not change once the survey is over."""

    def __init__(self, evidence: Mapping[Pair, Evidence], scales: Mapping[Pair, float]) -> None:
        """`scales`: as in `References`."""
        runs = {
            pair: [run / scales.get(pair, 1.0) for run in known.bandwidth[Phase.SURVEY].runs]
            for pair, known in evidence.items()
            if Phase.SURVEY in known.bandwidth
        }
        self.pairs = list(runs)
        self.worst = _logs([min(own) for own in runs.values()])
        """The least run of each pair."""
        self.repeated = np.array([len(own) > 1 for own in runs.values()], dtype=np.bool_)
        several = [(own, median(own)) for own in runs.values() if len(own) > 1]
        self._run = _logs([run for own, _ in several for run in own])
        self._middle = _logs([middle for own, middle in several for _ in own])

    def noise(self, usual: float) -> float:
        """Scatter of the repetitions of a pair about their median; `usual`: logarithm of what peers give."""
        return NORMAL * float(np.median(np.abs((self._run - usual) - (self._middle - usual))))


def once_bad(
    known: Sequence[Blamed], survey: SurveyRuns, references: References, excused: Collection[Pair]
) -> list[Blamed]:
    """`known`, and parts of which FEWEST_PAIRS or more pairs had a run that noise does not explain, to be measured
    again.

    `excused`: pairs that are slow for another reason, which is known.
    """
    line = references.bandwidth
    if line is None or not references.alike or not survey.repeated.any():
        return list(known)
    lack = min(
        max(to_log(GROSS[BANDWIDTH], BANDWIDTH), SCATTERS * max(survey.noise(line.usual), line.scatter)), MOST_LACK
    )
    over = survey.worst - line.usual
    low = np.flatnonzero(survey.repeated & (over < -lack)).tolist()
    explained = {pair for group in known for pair in group.pairs} | set(excused)
    bad = {pair: 1.0 for row in low if (pair := survey.pairs[row]) not in explained}
    if not bad:
        return list(known)
    fair = [survey.pairs[row] for row in np.flatnonzero(over > -lack / 2).tolist()]
    groups = blame(bad, Crossings(references.fabric, [pair for pair in fair if pair not in bad]))
    return [*known, *(group for group in groups if group.components and len(group.pairs) >= FEWEST_PAIRS)]


def _logs(values: Sequence[float]) -> Reals:
    return np.log(np.maximum(np.array(values, dtype=np.float64), SHORTEST_S))
