"""Tables of values of runs with known changes, drawn from the model that comparisons assume."""

from collections.abc import Mapping

import numpy as np

from seatrial.model.measurement import Kernel, Phase
from seatrial.model.run_values import MetricTable, RunMetric, RunSummary, VerifiedData

BANDWIDTH = RunMetric(phase=Phase.SURVEY, variant="", kernel=Kernel.ONEWAY, message_bytes=1 << 20, window_messages=4)
LATENCY = RunMetric(phase=Phase.SURVEY, variant="", kernel=Kernel.PINGPONG, message_bytes=8, window_messages=1)

JUMPING_PAIRS = np.array(
    [
        [16.57, 19.14, 13.14, 12.97, 13.28, 10.79],
        [10.83, 19.02, 12.60, 19.16, 14.75, 10.72],
        [16.54, 13.42, 13.04, 19.20, 19.03, 10.75],
        [16.68, 13.40, 19.19, 19.08, 12.97, 11.26],
    ]
)
"""Latencies of six pairs in four runs, in microseconds, as measured without any change."""


def complete_pairs(nodes: int) -> tuple[tuple[str, str], ...]:
    """All ordered pairs of n1, n2, ..."""
    names = [f"n{number}" for number in range(1, nodes + 1)]
    return tuple((a, b) for a in names for b in names if a != b)


def table(
    runs: tuple[int, int],
    *,
    nodes: int = 8,
    metric: RunMetric = BANDWIDTH,
    of_runs: float = 0.003,
    of_pairs: float = 0.003,
    everything: float = 1.0,
    slow: Mapping[str, float] | None = None,
    only_last: bool = False,
    seed: int = 0,
) -> MetricTable:
    """`everything`: factor on all values of the second set; `slow`: by node, on its pairs (`only_last`: of one run)."""
    draw = np.random.default_rng(seed)
    pairs = complete_pairs(nodes)
    count = sum(runs)
    logs = draw.normal(0, 0.05, len(pairs)) + draw.normal(0, of_runs, (count, 1))
    logs = logs + draw.normal(0, of_pairs, (count, len(pairs)))
    logs[runs[0] :] += np.log(everything)
    for node, share in (slow or {}).items():
        touched = np.array([node in pair for pair in pairs])
        logs[(count - 1 if only_last else runs[0]) :, touched] += np.log(share)
    base = 1e-6 if metric == LATENCY else 1e9
    return table_of(metric, pairs, base * np.exp(logs))


def table_of(metric: RunMetric, pairs: tuple[tuple[str, str], ...], values: "np.ndarray") -> MetricTable:
    """A table of given values."""
    count = len(values)
    return MetricTable(
        metric=metric,
        pairs=pairs,
        values=values,
        iteration_spread=np.full(count, 0.01),
        round_spread=np.full(count, 0.005),
        pairs_at_once=np.full(count, 4.0),
        iterations=np.full(count, 10.0),
        compared=(VerifiedData.ENDS,) * count,
    )


def summaries(first: int, count: int, **changes: object) -> tuple[RunSummary, ...]:
    """Runs r1, r2, ... that were measured alike."""
    fields = {"kind": "check", "launcher": "slurm", "mpi_library": "Open MPI v4.1.4", "ranks_per_node": 1.0, **changes}
    return tuple(
        RunSummary(run=f"r{number}", started=f"2026-11-{number:02d}T10:00:00Z", **fields)  # type: ignore[arg-type]
        for number in range(first, first + count)
    )
