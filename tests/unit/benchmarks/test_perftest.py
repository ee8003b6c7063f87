"""perftest: what its units are, and which of its columns are read."""

import pytest

from seatrial.benchmarks.catalogue import detected, parse_auto
from seatrial.render.benchmark_output import main_number
from tests.support import benchmark_outputs as outputs
from tests.support.format_variants import perftest_json, perftest_json_latency
from tests.support.judged_outputs import judged


@pytest.mark.parametrize("unit", ["MB/sec", "MiB/sec", "Gb/sec"])
def test_a_rate_is_the_same_in_each_unit(unit: str) -> None:
    output = judged(outputs.perftest(unit))
    assert (output.benchmark, output.breaches) == ("perftest", ())
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
    for text, more in ((outputs.perftest_latency(), {"p99.9": 6.12e-6}), (perftest_json_latency(), {})):
        _, output = parse_auto(text)
        assert output.complete
        assert {each.labels["statistic"]: round(each.value, 10) for each in output.results} == {
            "min": 1.76e-6, "max": 6.12e-6, "p50": 1.79e-6, "average": 1.80e-6, "p99": 1.88e-6, **more,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "number"),
    [
        ("0 1000 0.02 0.04 0.03\n8 1000 4.5 18.59 11.69\n16 1000 5.39 17.63 11.63\n", "11.7 µs at 8 B"),
        ("0 1000 0.02 0.04 0.03\n", "30.0 ns at 0 B"),
    ],
)
def test_the_headline_is_an_average_of_the_smallest_message(rows: str, number: str) -> None:
    heading = "# Benchmarking Allreduce\n# #processes = 144\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
    for text, said in ((f"{heading}{rows}", number), (outputs.perftest_latency(), "1.80 µs at 2 B")):
        benchmark, output = parse_auto(text)
        assert benchmark is not None
        assert main_number(benchmark, output) == said


@pytest.mark.parametrize(
    ("cells", "tail"),
    [
        ("928.05           2465.901216.65                 37330.73", {"p99": 1216.65e-6, "p99.9": 37330.73e-6}),
        ("928.05           2465.90  1216.6537330.73", {"p99": 1216.65e-6, "p99.9": 37330.73e-6}),
        ("928.05           2465.90  1216.65", {"p99": 1216.65e-6}),
        ("928.05           2465.901216.65", None),  # a column is missing: which cell is of which?
        ("928.05           2465.9012.5.1                 37330.73", None),
    ],
)
def test_cells_that_have_grown_together_are_apart_where_each_column_has_one_then(
    cells: str, tail: dict[str, float] | None
) -> None:
    row = next(line for line in outputs.perftest_latency().split("\n") if line.startswith(" 2 "))
    grown = f" 2       1000          453.06         37330.73     692.41            {cells}"
    _, output = parse_auto(outputs.perftest_latency().replace(row, grown))
    tails = {each.labels["statistic"]: each.value for each in output.results if "p99" in str(each.labels["statistic"])}
    assert output.complete is (tail is not None)
    assert tails == (tail or {})


def test_an_output_without_its_last_rule_is_incomplete() -> None:
    text = outputs.perftest().rstrip("\n").rpartition("\n")[0] + "\n"
    benchmark, output = parse_auto(text)
    assert benchmark is detected(text) is not None
    assert not output.complete


@pytest.mark.parametrize("unit", [1 << 20, 125e6])
def test_the_message_rate_shows_the_unit_of_json(unit: float) -> None:
    output = judged(perftest_json(unit))
    assert (output.complete, output.breaches) == (True, ())
    assert {each.metric: each.value for each in output.results} == {
        "bandwidth_bytes_per_s": pytest.approx(12e9, rel=1e-3),
        "message_rate_per_s": pytest.approx(12e9 / 65536, rel=1e-3),
    }
    assert {(each.name, each.value) for each in output.evidence} == {("test", "rdma_write bw"), ("queue_pairs", 1)}


@pytest.mark.parametrize(("messages", "breaches"), [(0.19, {"numbers-disagree"}), (0.183105, set())])
def test_a_message_rate_of_json_agrees_with_its_bandwidth(messages: float, breaches: set[str]) -> None:
    _, output = parse_auto(perftest_json(BW_average=11444.09, MsgRate=messages))
    assert {breach.kind.value for breach in output.breaches} == breaches


@pytest.mark.parametrize("numbers", [{"BW_average": 11444.09}, {"BW_average": 11444.09, "MsgRate": 0}])
def test_a_bandwidth_of_json_whose_unit_nothing_shows_is_not_read(numbers: dict[str, float]) -> None:
    _, output = parse_auto(perftest_json(**numbers))
    assert (output.complete, output.results) == (False, ())


def test_the_json_of_another_tool_is_none_of_perftest() -> None:
    assert detected('{\n"test_info": {\n"test": "http-throughput"}, "results": {"MsgSize": 1}}\n') is None
