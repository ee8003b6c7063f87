"""Units and better directions of metrics follow from the ends of their names."""

import pytest

from seatrial.benchmarks.catalogue import BENCHMARKS
from seatrial.model.benchmark import Better, Metric

WITHOUT_UNIT = {
    "coefficient", "final_residual", "initial_residual", "load_imbalance", "overlap_share", "passed_tests", "residual",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "unit", "better"),
    [
        ("host_bandwidth_bytes_per_s", "B/s", Better.MORE),
        ("gpu_rate_flops_per_s", "flop/s", Better.MORE),
        ("message_rate_per_s", "1/s", Better.MORE),
        ("ns_per_day", "ns/day", Better.MORE),
        ("latency_s", "s", Better.LESS),
        ("energy_ry", "Ry", Better.LESS),
        ("temperature_celsius", "°C", Better.LESS),
        ("overlap_share", "", Better.MORE),
        ("residual", "", Better.LESS),
    ],
)
def test_unit_and_direction(name: str, unit: str, better: Better) -> None:
    metric = Metric(name, "made up")
    assert (metric.unit, metric.better) == (unit, better)


def test_what_is_stated_counts() -> None:
    metric = Metric("figure_of_merit", "made up", stated_unit="1/s", stated_better=Better.MORE)
    assert (metric.unit, metric.better) == ("1/s", Better.MORE)


def test_metrics_without_a_unit_are_listed() -> None:
    """A name whose end is misspelt would lose its unit."""
    names = {metric.name for benchmark in BENCHMARKS.values() for metric in benchmark.metrics if not metric.unit}
    assert names == WITHOUT_UNIT
