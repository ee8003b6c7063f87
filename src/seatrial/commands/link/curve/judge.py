"""What a pair's curve over message sizes says: pieces, switches of protocol, plateau against the limit."""

import itertools
import math
from collections.abc import Iterable

import msgspec

from seatrial.commands.link.curve.points import (
    ClockReading,
    CurvePoint,
    Runs,
    clock_of,
    estimate_at,
    points_of,
    runs_by_size,
)
from seatrial.commands.link.curve.rank_places import CurvePlaces, curve_places
from seatrial.judgement.corrupt_data import sound
from seatrial.judgement.outcome import RecordOutcome, pair_of
from seatrial.judgement.pair_limit import judge_rate, limit_of_flow
from seatrial.judgement.rank_deaths import run_notes
from seatrial.locate.evidence import Pair
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate, Kernel, Measurement
from seatrial.model.run import RecordedRun
from seatrial.statistics.estimates import median, median_estimate
from seatrial.statistics.piecewise import FEWEST_SIZES
from seatrial.statistics.segments import RESAMPLES, Segmentation, segment

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
