"""Measurements of a pair, gathered: one value a run, the survey apart from the retest."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from seatrial.diagnosis.thresholds import STALL_S
from seatrial.model.measurement import Kernel, Measurement, Phase
from seatrial.statistics.median import median

Pair = tuple[str, str]

TELLING = (Phase.RETEST, Phase.NEXT, Phase.SURVEY)
"""Whose runs decide where there are several; the survey's pairs may have been in each other's way."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One value a run (bytes per second or seconds), and how many of how many round trips stalled."""

    runs: tuple[float, ...] = ()
    stalls: int = 0
    round_trips: int = 0


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one ordered pair. Latency is one way and holds for both directions."""

    bandwidth: Mapping[Phase, Series]
    latency: Mapping[Phase, Series]
    pairs_at_once: int = 1

    @property
    def retested(self) -> bool:
        """Whether anything of it was measured again."""
        return Phase.RETEST in self.bandwidth or Phase.RETEST in self.latency

    @property
    def stalls(self) -> int:
        """Round trips that waited for a retransmission, in all phases."""
        return sum(series.stalls for series in self.latency.values())

    @property
    def round_trips(self) -> int:
        """Small round trips in all phases."""
        return sum(series.round_trips for series in self.latency.values())


def deciding(by_phase: Mapping[Phase, Series]) -> tuple[float, ...]:
    """The runs to judge by, of the phase that says most; never a mixture."""
    for phase in TELLING:
        if phase in by_phase:
            return by_phase[phase].runs
    return ()


def run_value(measurement: Measurement) -> float:
    """One number for one round of one pair: one-way latency in seconds, or bandwidth in bytes per second.

    The median over the iterations, so that one interrupted iteration does not count.
    """
    typical = median(measurement.times_s)
    if measurement.shape.kernel is Kernel.PINGPONG:
        return typical / 2
    return measurement.shape.message_bytes * measurement.shape.window / max(typical, 1e-12)


def gather(measurements: Iterable[Measurement]) -> dict[Pair, Evidence]:
    """Evidence for every ordered pair of which anything was measured; the pilot's rounds do not count."""
    bandwidth: dict[Pair, dict[Phase, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
    latency: dict[Pair, dict[Phase, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
    for measurement in measurements:
        if measurement.phase is Phase.PILOT or not measurement.times_s:
            continue
        source, target = measurement.pair
        if measurement.shape.kernel is Kernel.PINGPONG:
            latency[source, target][measurement.phase].append(measurement)
            latency[target, source][measurement.phase].append(measurement)
        elif measurement.shape.kernel is Kernel.ONEWAY:
            bandwidth[source, target][measurement.phase].append(measurement)
    return {
        pair: Evidence(
            bandwidth={phase: _series(items) for phase, items in bandwidth[pair].items()},
            latency={phase: _series(items) for phase, items in latency[pair].items()},
            pairs_at_once=max((item.pairs_at_once for items in bandwidth[pair].values() for item in items), default=1),
        )
        for pair in sorted({*bandwidth, *latency})
    }


def _series(measurements: list[Measurement]) -> Series:
    return Series(
        runs=tuple(run_value(item) for item in measurements),
        stalls=sum(time >= STALL_S for item in measurements for time in item.times_s),
        round_trips=sum(len(item.times_s) for item in measurements),
    )
