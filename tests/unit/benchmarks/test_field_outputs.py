"""Outputs as they are found in the field: variants without a check, summaries, quotes, and units in many spellings."""

from collections.abc import Callable

import pytest

from seatrial.benchmarks.generic import generic_benchmark
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import unit_named, unit_of
from tests.support import benchmark_outputs as outputs
from tests.support.judged_outputs import judged


@pytest.mark.parametrize("form", ["=", ":"])
def test_equations_and_nonzeros_are_those_of_the_linear_system(form: str) -> None:
    output = judged(outputs.hpcg_grids(form), equations="1124864", nonzeros="29791000")
    assert (output.work("equations"), output.work("nonzeros")) == (1124864, 29791000)
    assert output.breaches == ()
    assert judged(outputs.hpcg_grids(form), equations="2197").breaches


def test_a_variant_of_stream_without_a_check_is_complete_and_says_so() -> None:
    output = judged(outputs.nvidia_stream())
    assert (output.complete, output.breaches, output.version) == (True, (), "25.4.0")
    assert next(result.value for result in output.results if result.labels == {"kernel": "Triad"}) == 3.1270005e12
    assert any("no check of the solution" in note for note in output.notes)
    assert not judged(outputs.nvidia_stream(rows=3)).complete
    assert judged(outputs.nvidia_stream(triad=6_127_000.0)).breaches, "rate and time of a row disagree"


@pytest.mark.parametrize(("column", "unit"), [("max_mbytes_per_sec", 1e6), ("max_mibytes_per_sec", 2.0**20)])
def test_babelstream_prints_its_table_as_csv(column: str, unit: float) -> None:
    heading = f"function,num_times,n_elements,sizeof,{column},min_runtime,max_runtime,avg_runtime\n"
    arrays = {"Copy": 2, "Mul": 2, "Add": 3, "Triad": 3, "Dot": 2}
    times = {name: count * 33554432 * 8 / (1e5 * unit) for name, count in arrays.items()}
    rows = [f"{name},100,33554432,8,100000,{time:.6g},0.1,0.1\n" for name, time in times.items()]
    output = judged(heading + "".join(rows))
    assert (output.complete, output.breaches, output.work("repetitions")) == (True, (), 100)
    assert output.work("array_bytes") == 33554432 * 8
    assert next(result.value for result in output.results if result.labels == {"kernel": "Triad"}) == 1e5 * unit
    assert not judged(heading + "".join(rows[:-1])).complete
    assert judged(heading + "".join(rows).replace(",100000,", ",300000,")).breaches, "rate and time disagree"


def test_a_result_that_hpcg_calls_invalid_is_complete_and_not_sound() -> None:
    report = outputs.hpcg_grids("=")
    start = report.index("Final Summary::HPCG result is VALID")
    output = judged(
        report[:start] + "Final Summary::HPCG result is=INVALID.\n"
        "Final Summary::Please review the YAML file contents=You may NOT submit these results for consideration.\n"
    )
    assert output.complete
    assert [breach.reason for breach in output.breaches] == ["HPCG calls its own result INVALID"]


def test_the_original_stream_is_not_complete_without_its_check() -> None:
    text = outputs.stream()
    assert not judged(text[: text.index("Solution Validates")] + "-" * 61 + "\n").complete


@pytest.mark.parametrize("made", [outputs.hpl, outputs.stream, outputs.ior, outputs.ior_summary])
def test_a_closing_line_that_is_whole_needs_no_newline(made: Callable[[], str]) -> None:
    text = made().rstrip()
    assert judged(text).complete
    assert not judged(text[:-1]).complete


@pytest.mark.parametrize("spaces", [1, 2, 4, 8])
def test_an_indented_output_is_the_same(spaces: int) -> None:
    plain, moved = judged(outputs.hpl()), judged(outputs.indented(outputs.hpl(), spaces))
    assert [result.value for result in moved.results] == [result.value for result in plain.results]
    assert (moved.missing, moved.breaches) == ((), ())
    failed = judged(outputs.indented(outputs.hpl(residual="1.13e+05", outcome="FAILED"), spaces))
    assert failed.breaches


@pytest.mark.parametrize("repetitions", [1, 3])
def test_the_summary_of_ior_is_not_another_run(repetitions: int) -> None:
    output = judged(outputs.ior_summary(repetitions))
    assert len([result for result in output.results if result.metric == "bandwidth_bytes_per_s"]) == repetitions
    assert (output.missing, output.breaches) == ((), ())


def test_hpl_mxp_with_its_residual() -> None:
    output = judged(outputs.hpl_mxp(), order="100000", ranks="4")
    rates = {result.labels["part"]: result.value for result in output.results if result.metric == "rate_flops_per_s"}
    assert rates == {"whole": 1.939e14, "factorization": 6.42e14}
    assert (output.missing, output.breaches) == ((), ())
    for text in (
        outputs.hpl_mxp(outcome="FAILED"),
        outputs.hpl_mxp(residual="5.189581E+04"),
        outputs.hpl_mxp(rate=393900.0),
        outputs.hpl_mxp().replace("||Ax-b||_oo / (EPS", "nothing ("),
    ):
        assert judged(text).breaches
    assert not judged(outputs.hpl_mxp().replace("test 1 of 1 done", "")).complete


@pytest.mark.parametrize("unit", ["MBytes/sec", "MiBytes/sec"])
def test_babelstream_in_both_units(unit: str) -> None:
    output = judged(outputs.babelstream(unit))
    (value,) = [
        result.value
        for result in output.results
        if result.metric == "bandwidth_bytes_per_s" and result.labels == {"kernel": "Triad"}
    ]
    assert value == pytest.approx(3 * 2**28 / 0.00093, rel=1e-6)
    assert judged(outputs.babelstream(unit) + "Validation failed on a[]. Average error 0.1\n").breaches
    cut = outputs.babelstream(unit).splitlines(keepends=True)[:-1]
    assert not judged("".join(cut)).complete


@pytest.mark.parametrize(
    ("spellings", "base", "factor"),
    [
        ("GFLOP/s GFLOPS Gflops Gflop/s GFlop/s GFlops/s Gflop/sec GFLOPs gflops", "flop/s", None),
        ("GFLOP/s GFLOPS Gflops Gflop/s", "flop/s", 1e9),
        ("MFlop/s MFLOPS Mflops Mflop/s", "flop/s", 1e6),
        ("TFLOPS Tflop/s", "flop/s", 1e12),
        ("MB/s MB/sec MBytes/sec MBytes/s MBps mB/s MB_s", "B/s", 1e6),
        ("MiB/s MiB/sec MiBytes/sec", "B/s", 2.0**20),
        ("GB/s GB/sec GBytes/s", "B/s", 1e9),
        ("GiB/s", "B/s", 2.0**30),
        ("KB/s kB/s", "B/s", 1e3),
        ("Gb/s Gbit/s Gbps Gbits/sec Gb_s", "B/s", 1.25e8),
        ("Mbit/s Mbps", "B/s", 1.25e5),
        ("us usec µs μs microseconds", "s", 1e-6),
        ("ms msec milliseconds", "s", 1e-3),
        ("s sec secs seconds second", "s", 1.0),
        ("min minutes", "s", 60.0),
        ("IOPS ops/s op/s Hz 1/s it/s", "1/s", 1.0),
        ("kIOPS kops/s kHz", "1/s", 1e3),
        ("MiB MiBytes", "B", 2.0**20),
        ("kW", "W", 1e3),
        ("%", "", 0.01),
    ],
)
def test_units_in_the_spellings_of_the_field(spellings: str, base: str, factor: float | None) -> None:
    for spelling in spellings.split():
        unit = unit_of(spelling)
        if factor is None:
            assert unit is None or unit.base == base, spelling
        else:
            assert unit is not None
            assert unit.base == base, spelling
            assert unit.factor == pytest.approx(factor), spelling


@pytest.mark.parametrize("text", ["parsec", "GB/fortnight", "flop", "Qflop/s", "iB/s", "x" * 1000, "\n", "G", "/"])
def test_what_is_not_a_unit_is_none(text: str) -> None:
    assert unit_of(text) is None
    with pytest.raises(ValueError, match="not a unit"):
        unit_named(text)


@pytest.mark.parametrize(
    ("unit", "value"), [("GFLOP/s", 12.5e9), ("GFLOPS", 12.5e9), ("Gflops", 12.5e9), ("MFlop/s", 12.5e6)]
)
def test_a_benchmark_of_a_site_may_use_them(unit: str, value: float) -> None:
    text = f'name = "x"\n[metrics.rate]\npattern = "rate (\\\\S+)"\nunit = "{unit}"\n'
    assert [result.value for result in generic_benchmark(text, "x.toml").parse("rate 12.5\n").results] == [value]
    with pytest.raises(UsageError, match="not a known unit"):
        generic_benchmark(text.replace(unit, "furlongs"), "x.toml")
