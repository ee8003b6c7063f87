"""A soak of hours in bounded memory: the cycles that are judged, evenly spread, and what the others must not hide."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from msgspec.structs import replace

from seatrial.model.measurement import Conditions, GroupMeasurement, Measurement

FEWEST_CYCLES = 128
"""Cycles that are kept at least, however much memory they take: fewer would show changes late."""
MOST_CORRUPTIONS = 100
"""Wrong places that are kept of one group in one cycle; wrong bytes are counted of all."""

_One = TypeVar("_One", bound=Measurement | GroupMeasurement)


def sampled(measurements: Iterable[_One], most_times: int) -> list[_One]:
    """All measurements of a soak; where these would take too much memory, those of every second, fourth, ... cycle.

    Wrong bytes, throttling, and the extremes of temperature and frequency in a cycle that is left out are added to the
    cycle before it that is kept, so that what happened only once is not lost. `measurements` are gone through once.
    `most_times`: iterations that are kept, as long as that leaves `FEWEST_CYCLES`.
    """
    sample = _Sample[_One](most_times)
    for measured in measurements:
        sample.take(measured)
    return [one for _, cycle in sorted(sample.cycles.items()) for one in cycle.values()]


class _Sample(Generic[_One]):
    """What is kept so far, by the number of the cycle."""

    def __init__(self, most_times: int) -> None:
        self.cycles: dict[int, dict[Hashable, _One]] = {}
        self._most_times = most_times
        self._times = 0
        self._every = 1

    def take(self, measured: _One) -> None:
        """Another measurement; when they become too many, half of the cycles are left out."""
        self._put(measured)
        if self._times > self._most_times and len(self.cycles) >= 2 * FEWEST_CYCLES:
            self._every *= 2
            before, self.cycles, self._times = self.cycles, {}, 0
            for _, cycle in sorted(before.items()):
                for earlier in cycle.values():
                    self._put(earlier)

    def _put(self, measured: _One) -> None:
        first = measured.repetition - measured.repetition % self._every
        cycle = self.cycles.setdefault(first, {})
        conditions = measured.conditions if isinstance(measured, GroupMeasurement) else None
        key = (
            measured.shape,
            measured.variant,
            measured.nodes if isinstance(measured, GroupMeasurement) else measured.pair,
        )
        kept = cycle.get(key)
        if kept is None and measured.repetition == first:
            cycle[key] = measured
            self._times += len(measured.times_s) + len(measured.warmup_times_s)
        elif kept is not None:
            cycle[key] = _with_events(kept, measured)
        elif measured.errors or (conditions and conditions.throttles):
            cycle[key] = replace(measured, repetition=first, times_s=(), warmup_times_s=())


def _with_events(kept: _One, other: _One) -> _One:
    """The measurement with what happened in a later one of the same group, whose times are left out."""
    if other.errors:
        kept = replace(
            kept,
            errors=kept.errors + other.errors,
            corruptions=(*kept.corruptions, *other.corruptions)[:MOST_CORRUPTIONS],
            verified=kept.verified + other.verified,
        )
    if not isinstance(kept, GroupMeasurement) or not isinstance(other, GroupMeasurement):
        return kept
    if kept.conditions is None or other.conditions is None:
        return kept
    return replace(kept, conditions=_extremes(kept.conditions, other.conditions))


def _extremes(kept: Conditions, other: Conditions) -> Conditions:
    throttles = [one for one in (kept.throttles, other.throttles) if one is not None]
    return replace(
        kept,
        throttles=sum(throttles) if throttles else None,
        millicelsius=max(kept.millicelsius or 0, other.millicelsius or 0) or None,
        least_khz=min(filter(None, (kept.least_khz, other.least_khz)), default=None),
    )
