"""What noise costs a program: from the times of equal quanta of work on one processor to the slowdown of many ranks,
and to the period of what recurs.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from seatrial.model.node_trials import Noise
from seatrial.statistics.estimates import median, robust_scale

RANKS = (1_000, 10_000)
MODEL = (
    "bulk-synchronous: all ranks compute one quantum and wait for the slowest, delays are independent, and each rank's "
    "follow the distribution that was observed"
)


DETOUR_S = 5e-6
"""Shorter ones are timer ticks without work, and cache misses of the reader itself."""


def noise_of(work: dict[str, list[float]], detours: Sequence[float]) -> Noise | None:
    """`work`: times of the quantum by place; `detours`: the longest gap of each millisecond. None without work."""
    times = {place: values for place, values in work.items() if values and min(values) > 0}
    if not times:
        return None
    fractions = {place: sum(values) / len(values) / min(values) - 1 for place, values in times.items()}
    worst = max(fractions, key=lambda place: fractions[place])
    shortest = {place: min(values) for place, values in times.items()}
    delays = sorted(value - shortest[place] for place, values in times.items() for value in values)
    quantum_s = min(shortest.values())
    hit = [gap for gap in detours if gap >= DETOUR_S]
    return Noise(
        quantum_s=quantum_s,
        quanta=len(delays),
        fraction=sum(fractions.values()) / len(fractions),
        worst_fraction=fractions[worst],
        worst_place=worst,
        largest_s=delays[-1],
        core_quantum_s=shortest,
        detours_per_s=1000 * len(hit) / len(detours) if detours else None,
        largest_detour_s=max(detours, default=None),
        slowdown={ranks: expected_largest(delays, ranks) / quantum_s for ranks in RANKS},
    )


def expected_largest(ordered: Sequence[float], draws: int) -> float:
    """Expected largest of this number of independent draws from the empirical distribution of rising values.

    E[max] = sum of x_i ((i/n)^P - ((i-1)/n)^P). It never exceeds the largest observed value: what is rarer than one in
    n quanta was not seen. Raises ValueError for no values.
    """
    if not ordered:
        raise ValueError("no largest of no values")
    count = len(ordered)
    expected, below = 0.0, 0.0
    for place, value in enumerate(ordered, 1):
        upto = (place / count) ** draws
        expected += value * (upto - below)
        below = upto
    return expected


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
