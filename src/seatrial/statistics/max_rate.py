"""The max-rate model: how k ranks of one node share its port.

T(k, m) = α + k m / min(R_N, k R_C): one rank sends at most R_C, the node at most R_N (Gropp, Olson and Samfass,
Modeling MPI communication performance on SMP nodes, EuroMPI 2016, their equation with R_Ca = R_C).
"""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import CONFIDENCE, LEAST_SCATTER
from seatrial.statistics.segments import RESAMPLES, Interval

Point = tuple[int, int]
"""Ranks a node, and bytes that each of them sends."""


class MaxRate(msgspec.Struct, frozen=True, kw_only=True):
    """The three parameters; a rate is infinite where these points set no bound to it."""

    startup_s: Interval
    node_bytes_per_s: Interval
    """R_N; infinite where no number of ranks measured reached it."""
    rank_bytes_per_s: Interval
    """R_C; infinite where one rank alone already meets R_N, so that nothing of R_C is seen."""
    relative_error: float
    """Root mean square of the residuals over the times."""
    runs: int
    method: str

    @property
    def ranks_needed(self) -> float:
        """R_N / R_C: the number of ranks that drive the port; 1 where one does, infinite where none of the measured
        ones did.
        """
        if math.isinf(self.rank_bytes_per_s.value):
            return 1.0
        return max(self.node_bytes_per_s.value / self.rank_bytes_per_s.value, 1.0)


def fit_max_rate(runs: Mapping[Point, Sequence[float]], *, seed: int = 1) -> MaxRate:
    """Least squares on relative error of medians over runs; `runs[k, bytes][r]` in seconds, NaN for a run without it.

    Each number of ranks lies below R_N / R_C or above it; for each such division the model is linear, and BIC
    chooses. Intervals are percentiles over resamples of whole runs. Raises ValueError
    for fewer than two points and times that are not positive.
    """
    points = np.array(sorted(runs), dtype=np.float64)
    table = np.array([runs[int(k), int(size)] for k, size in points], dtype=np.float64).T
    if len(points) < 2 or not np.nanmin(table) > 0:
        raise ValueError(f"{len(points)} points, least time {np.nanmin(table) if table.size else None}")
    times = np.nanmedian(table, axis=0)
    fitted = _best(points, times)
    draw = np.random.default_rng(seed)
    others = []
    for _ in range(RESAMPLES if len(table) > 1 else 0):
        chosen = table[draw.integers(len(table), size=len(table))]
        missing = np.isnan(chosen).all(axis=0)
        chosen[:, missing] = times[missing]
        others.append(_best(points, np.nanmedian(chosen, axis=0)))
    startup, node, rank = (_interval(fitted[i], [other[i] for other in others]) for i in range(3))
    return MaxRate(
        startup_s=startup,
        node_bytes_per_s=node,
        rank_bytes_per_s=rank,
        relative_error=math.sqrt(float(np.mean((1 - predicted(points, fitted) / times) ** 2))),
        runs=len(table),
        method=f"max-rate model, least squares on relative error, {len(others)} resamples of {len(table)} runs",
    )


def predicted(points: Reals, parameters: Sequence[float]) -> Reals:
    """Seconds by the model for rows of (ranks, bytes each); parameters α, R_N, R_C."""
    startup, node, rank = parameters
    ranks, size = points[:, 0], points[:, 1]
    return np.asarray(startup + ranks * size / np.minimum(node, ranks * rank), dtype=np.float64)


def _best(points: Reals, times: Reals) -> tuple[float, float, float]:
    """α, R_N, R_C of the best division by BIC: a bound is taken to be seen only where it explains more than noise."""
    counts = np.unique(points[:, 0])
    divisions = [_divided(points, times, last) for last in (0.0, *counts)]
    return min(divisions, key=lambda fit: _bic(points, times, fit))


def _bic(points: Reals, times: Reals, fit: tuple[float, float, float]) -> float:
    mean_square = float(np.mean((1 - predicted(points, fit) / times) ** 2)) + LEAST_SCATTER**2
    return len(points) * math.log(mean_square) + sum(map(math.isfinite, fit)) * math.log(len(points))


def _divided(points: Reals, times: Reals, last: float) -> tuple[float, float, float]:
    """The linear fit in which up to `last` ranks are each bound by R_C and more than those together by R_N."""
    ranks, size = points[:, 0], points[:, 1]
    free = ranks <= last
    columns = np.column_stack([np.ones(len(points)), np.where(free, size, 0), np.where(free, 0, ranks * size)])
    used = [0, *(place for place in (1, 2) if columns[:, place].any())]
    solution = np.zeros(3)
    solution[used] = np.linalg.lstsq(columns[:, used] / times[:, None], np.ones(len(points)), rcond=None)[0]
    if solution[0] < 0:  # a start-up time is not negative
        solution[:] = 0
        solution[used[1:]] = np.linalg.lstsq(columns[:, used[1:]] / times[:, None], np.ones(len(points)), rcond=None)[0]
    rank, node = (1 / each if each > 0 else math.inf for each in solution[1:])
    return float(solution[0]), float(node), float(rank)


def _interval(value: float, others: Sequence[float]) -> Interval:
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(others, [tail, 100 - tail], method="nearest") if others else (value, value)
    return Interval(value=value, low=min(float(low), value), high=max(float(high), value))
