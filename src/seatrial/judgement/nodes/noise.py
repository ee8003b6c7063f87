"""What noise costs a program: from the times of equal quanta of work on one processor to the slowdown of many ranks."""

from collections.abc import Sequence

from seatrial.model.node_trials import Noise

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
