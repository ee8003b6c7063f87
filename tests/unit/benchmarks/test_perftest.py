"""perftest: what its units are, and which of its columns are read."""

import pytest

from seatrial.benchmarks.catalogue import detected, parse_auto
from seatrial.benchmarks.gates import judge
from tests.support import benchmark_outputs as outputs


@pytest.mark.parametrize("unit", ["MB/sec", "MiB/sec", "Gb/sec"])
def test_a_rate_is_the_same_in_each_unit(unit: str) -> None:
    benchmark, output = parse_auto(outputs.perftest(unit))
    assert benchmark is not None
    assert benchmark.name == "perftest"
    assert judge(benchmark, output).breaches == ()
    largest = [each for each in output.results if each.labels["bytes"] == 1048576]
    rate = 1048576 / (0.5e-6 + 1048576 / 12e9)
    assert {each.metric: each.value for each in largest} == {
        "bandwidth_bytes_per_s": pytest.approx(rate, rel=1e-3),
        "message_rate_per_s": pytest.approx(rate / 1048576, rel=1e-3),
    }


def test_a_rate_that_its_messages_contradict_is_invalid() -> None:
    text = outputs.perftest().replace("MB/sec", "Gb/sec")
    _, output = parse_auto(text)
    assert {breach.kind.value for breach in output.breaches} == {"numbers-disagree"}


def test_latencies_are_read_with_their_statistics() -> None:
    _, output = parse_auto(outputs.perftest_latency())
    assert output.complete
    assert {each.labels["statistic"]: each.value for each in output.results} == {
        "min": 1.76e-6, "max": 6.12e-6, "p50": 1.79e-6, "average": 1.80e-6, "p99": 1.88e-6, "p99.9": 6.12e-6,
    }  # fmt: skip


def test_an_output_without_its_last_rule_is_incomplete() -> None:
    text = outputs.perftest().rstrip("\n").rpartition("\n")[0] + "\n"
    benchmark, output = parse_auto(text)
    assert benchmark is detected(text) is not None
    assert not output.complete
