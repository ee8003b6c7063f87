"""What a pair's curve over message sizes says: its points, pieces, switches of protocol, plateau against the limit."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.commands.link.curve.rank_places import CurvePlaces, curve_places
from seatrial.judgement.corrupt_data import sound
from seatrial.judgement.outcome import RecordOutcome, pair_of
from seatrial.judgement.pair_limit import judge_rate, limit_of_flow
from seatrial.judgement.rank_deaths import run_notes
from seatrial.locate.evidence import SHORTEST_S, Pair, run_value
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate, Kernel, Measurement, Phase
from seatrial.model.run import RecordedRun
from seatrial.statistics.estimates import mean_estimate, median, median_estimate, p99_estimate
from seatrial.statistics.piecewise import FEWEST_SIZES
from seatrial.statistics.segments import RESAMPLES, Segmentation, segment

FEW_TICKS = 100
"""The duration of an iteration with fewer clock ticks is uncertain by more than 1 %."""
OVERHEAD_SHARE = 0.01
"""The share of an iteration from which the time to read the clock is reported."""

Runs = Mapping[int, tuple[float, ...]]
"""One value a repetition, by message size in bytes; NaN where a repetition has none."""


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One message size: latency one way, and bandwidth of a stream of such messages.

    Medians are of the runs' medians; means and the 99th percentile are of all iterations of all runs, as other
    benchmarks print them.
    """

    message_bytes: int
    latency_s: Estimate | None = None
    latency_mean_s: Estimate | None = None
    latency_p99_s: Estimate | None = None
    """None, too, for fewer than 100 iterations in all."""
    bandwidth_bytes_per_s: Estimate | None = None
    bandwidth_mean_bytes_per_s: Estimate | None = None
    """All bytes over all time."""
    round_trips: int = 0
    """Iterations that latency comes from."""


class ClockReading(msgspec.Struct, frozen=True, kw_only=True):
    """The sending rank's clock as the probe measured it, and the sizes for which it is coarse."""

    resolution_s: float
    """The smallest step that it shows."""
    overhead_s: float
    """What one reading takes; every iteration contains one."""
    coarse_up_to_bytes: int | None
    """Round trips up to this size last fewer than 100 of the smallest steps; None: of no size."""
    overhead_share: float
    """Share of the shortest round trip."""


def runs_by_size(
    measurements: Iterable[Measurement], pair: Pair, kernel: Kernel, phase: Phase = Phase.CURVE, variant: str = ""
) -> Runs:
    """One value a repetition: seconds one way, or bytes per second."""
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for one in _asked(measurements, pair, kernel, phase, variant):
        found[one.shape.message_bytes][one.repetition] = run_value(one)
    repetitions = sorted({repetition for values in found.values() for repetition in values})
    return {
        size: tuple(values.get(repetition, math.nan) for repetition in repetitions)
        for size, values in sorted(found.items())
    }


def points_of(
    measurements: Sequence[Measurement], pair: Pair, phase: Phase = Phase.CURVE, variant: str = ""
) -> tuple[CurvePoint, ...]:
    """One point for each size of latency or bandwidth."""
    latency, stream = (
        runs_by_size(measurements, pair, kernel, phase, variant) for kernel in (Kernel.PINGPONG, Kernel.ONEWAY)
    )
    trips, windows = (
        _iterations(_asked(measurements, pair, kernel, phase, variant)) for kernel in (Kernel.PINGPONG, Kernel.ONEWAY)
    )
    return tuple(
        CurvePoint(
            message_bytes=size,
            latency_s=estimate_at(latency, size),
            latency_mean_s=mean_estimate(trips[size]) if size in trips else None,
            latency_p99_s=p99_estimate(trips[size]) if size in trips else None,
            bandwidth_bytes_per_s=estimate_at(stream, size),
            bandwidth_mean_bytes_per_s=_rate(mean_estimate(windows[size])) if size in windows else None,
            round_trips=sum(len(run) for run in trips.get(size, ())),
        )
        for size in sorted({*latency, *stream})
    )


def estimate_at(runs: Runs, size: int) -> Estimate | None:
    """The median over runs at one size; None where there are none."""
    values = [value for value in runs.get(size, ()) if not math.isnan(value)]
    return median_estimate(values) if values else None


def clock_of(points: Sequence[CurvePoint], resolution_s: float | None, overhead_s: float | None) -> ClockReading | None:
    """Whether the clock is fine enough for these latencies; None where it or they are unknown."""
    known = [(point.message_bytes, 2 * point.latency_s.value) for point in points if point.latency_s]
    if not known or not resolution_s or overhead_s is None:
        return None
    coarse = [size for size, trip_s in known if trip_s < FEW_TICKS * resolution_s]
    return ClockReading(
        resolution_s=resolution_s,
        overhead_s=overhead_s,
        coarse_up_to_bytes=max(coarse, default=None),
        overhead_share=overhead_s / max(min(trip_s for _, trip_s in known), SHORTEST_S),
    )


def _asked(
    measurements: Iterable[Measurement], pair: Pair, kernel: Kernel, phase: Phase, variant: str
) -> Iterable[Measurement]:
    for one in measurements:
        asked = one.phase is phase and one.variant == variant and one.pair == pair
        known = _known(one) if asked and one.shape.kernel is kernel else None
        if known is not None and known.times_s:
            yield known


def _known(one: Measurement) -> Measurement:
    """The measurement without times that are NaN; nearly always the same object."""
    if math.isfinite(sum(one.times_s)):
        return one
    return msgspec.structs.replace(one, times_s=tuple(time for time in one.times_s if math.isfinite(time)))


def _iterations(measurements: Iterable[Measurement]) -> dict[int, tuple[NDArray[np.float64], ...]]:
    """Seconds one way, or seconds per byte of a window, of all iterations of each run, by size."""
    found: dict[int, dict[int, list[NDArray[np.float64]]]] = defaultdict(lambda: defaultdict(list))
    for one in measurements:
        part = 2 if one.shape.kernel is Kernel.PINGPONG else max(one.shape.window_bytes, 1)
        found[one.shape.message_bytes][one.repetition].append(np.array(one.times_s) / part)
    return {
        size: tuple(np.concatenate(parts) for _, parts in sorted(by_repetition.items()))
        for size, by_repetition in found.items()
    }


def _rate(s_per_byte: Estimate) -> Estimate:
    """Convert seconds per byte to bytes per second; the ends of the interval change places."""
    value, low, high = (1 / max(each, SHORTEST_S) for each in (s_per_byte.value, s_per_byte.high, s_per_byte.low))
    return msgspec.structs.replace(s_per_byte, value=value, low=low, high=high)


PLATEAU_OCTAVES = 2
"""The plateau is what the largest sizes reach: those within this many doublings of the largest."""


class Plateau(msgspec.Struct, frozen=True, kw_only=True):
    """What large messages reach: `from_bytes` is the least size that counts, and half of it comes at `half_bytes`."""

    bandwidth_bytes_per_s: Estimate
    from_bytes: int
    half_bytes: float | None
    """n½ of a stream of messages; None where the least size measured reaches half already."""
    half_alone_bytes: float | None
    """n½ of one message at a time, from the latency."""


class LinkCurve(RecordOutcome, frozen=True, kw_only=True):
    """All that is derived from the samples of one ordered pair."""

    points: tuple[CurvePoint, ...]
    latency: Segmentation | None
    plateau: Plateau | None
    limit: Limit | NoLimit
    places: CurvePlaces | None
    """The places of its ranks; None if the ranks did not report them."""
    clock: ClockReading | None
    """Whether the clock is fine enough; None where it is unknown."""


def fit_latency(
    measurements: Iterable[Measurement], pair: Pair, seed: int, resamples: int = RESAMPLES
) -> Segmentation | None:
    """The pieces of the pair's latency; None for fewer sizes than one piece needs."""
    runs = runs_by_size(measurements, pair, Kernel.PINGPONG)
    return segment(runs, resamples=resamples, seed=seed) if len(runs) >= FEWEST_SIZES else None


def judge_curve(recorded: RecordedRun) -> LinkCurve:
    """The judgement, computed from the samples alone; the same run gives the same curve."""
    pair, delivered = pair_of(recorded), recorded
    recorded = sound(recorded)
    latency = runs_by_size(recorded.measurements, pair, Kernel.PINGPONG)
    stream = runs_by_size(recorded.measurements, pair, Kernel.ONEWAY)
    plateau = plateau_of(latency, stream)
    measured = plateau.bandwidth_bytes_per_s if plateau else None
    limit = limit_of_flow(recorded.facts, pair, measured)
    judged = judge_rate(delivered, pair, measured, limit)
    points = points_of(recorded.measurements, pair)
    sender = next((rank for start in recorded.starts for rank in start.ranks if rank.place == pair[0]), None)
    return LinkCurve(
        pair=pair,
        points=points,
        places=curve_places(recorded, pair),
        clock=clock_of(points, sender.clock_resolution_s, sender.clock_overhead_s) if sender else None,
        latency=fit_latency(recorded.measurements, pair, recorded.info.seed),
        plateau=plateau,
        limit=limit,
        verdict=judged.verdict,
        reason=judged.reason,
        findings=judged.findings,
        notes=run_notes(recorded, judged.reason, judged.findings),
        complete=recorded.info.whole and plateau is not None,
    )


def plateau_runs(stream: Runs) -> tuple[float, ...]:
    """Bytes per second, one value a repetition: the median over the largest sizes, NaN where it has none of them."""
    by_repetition = [
        [value for value in values if not math.isnan(value)]
        for values in zip(*(stream[size] for size in _large(stream)), strict=True)
    ]
    return tuple(median(values) if values else math.nan for values in by_repetition)


def _large(stream: Runs) -> list[int]:
    return [size for size in stream if size * 2**PLATEAU_OCTAVES >= max(stream)]


def plateau_of(latency: Runs, stream: Runs) -> Plateau | None:
    """What the largest sizes reach, and at which sizes half of it; None where no stream was measured."""
    if not stream:
        return None
    found = median_estimate([value for value in plateau_runs(stream) if not math.isnan(value)])
    alone = {size: tuple(size / value for value in values) for size, values in latency.items()}
    return Plateau(
        bandwidth_bytes_per_s=found,
        from_bytes=_large(stream)[0],
        half_bytes=_reached(stream, found.value / 2),
        half_alone_bytes=_reached(alone, found.value / 2),
    )


def _reached(rates: Runs, wanted: float) -> float | None:
    """The size at which the rate first reaches `wanted`, straight between two sizes on logarithmic axes."""
    estimates = [(size, estimate_at(rates, size)) for size in rates]
    known = [(size, one.value) for size, one in estimates if one is not None and one.value > 0]
    for (size, rate), (next_size, next_rate) in itertools.pairwise(known):
        if rate < wanted <= next_rate:
            part = math.log(wanted / rate) / math.log(next_rate / rate)
            return float(size * (next_size / size) ** part)
    return None
