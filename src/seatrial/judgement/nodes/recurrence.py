"""Noise that recurs: the period and the amplitude of delays of equal quanta of work, as of a daemon that wakes up."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from seatrial.statistics.estimates import median, robust_scale

LEAST_DELAY = 0.05
"""Share of the quantum: what is shorter is the timer tick."""
SCATTERS = 6.0
FEWEST_GAPS = 4
REGULAR = 0.15
"""Half of the gaps differ from the usual one by at most this share of it. Of random arrivals, a third or more."""


class Recurrence(NamedTuple):
    """How often, and how long."""

    period_s: float
    amplitude_s: float


def recurrence_of(sequences: Iterable[Sequence[float]]) -> Recurrence | None:
    """The rhythm of delays in times of consecutive quanta without a pause, in seconds; each sequence is of one core.

    A delay is what exceeds the usual time of a quantum by far. The period is the median gap between the beginnings of
    consecutive delays, the amplitude the median delay. None where the gaps are not alike.
    """
    gaps: list[float] = []
    delays: list[float] = []
    for times in sequences:
        spikes = _spikes(times)
        delays += [delay for _, delay in spikes]
        gaps += [later - earlier for (earlier, _), (later, _) in pairwise(spikes)]
    if len(gaps) < FEWEST_GAPS:
        return None
    period_s = median(gaps)
    spread_s = median([abs(gap - period_s) for gap in gaps])
    return Recurrence(period_s, median(delays)) if spread_s <= REGULAR * period_s else None


def _spikes(times: Sequence[float]) -> list[tuple[float, float]]:
    """When each delayed quantum began, and by how much it was late."""
    if not times:
        return []
    usual = median(times)
    scatter = robust_scale(times)
    line = usual + max(LEAST_DELAY * usual, SCATTERS * scatter)
    spikes, began_s, late = [], 0.0, False
    for time_s in times:
        if time_s > line and not late:
            spikes.append((began_s, time_s - usual))
        elif time_s > line:  # one delay that lasts over two quanta
            spikes[-1] = (spikes[-1][0], spikes[-1][1] + time_s - usual)
        late = time_s > line
        began_s += time_s
    return spikes
