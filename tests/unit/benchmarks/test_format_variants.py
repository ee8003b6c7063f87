"""Numbers and gates of forms that other versions and options print. That all are complete: test_completeness.py."""

import json
import re
from collections.abc import Callable

import pytest

from seatrial.benchmarks.catalogue import detected, parse_auto
from tests.support import benchmark_outputs as outputs
from tests.support import format_variants as variants
from tests.support.judged_outputs import judged
from tests.support.paths import DATA
from tests.support.processor_time import within


def breaches(text: str) -> list[str]:
    return [breach.kind.value for breach in judged(text).breaches]


def test_a_negative_time_is_no_result() -> None:
    text = outputs.hpl()
    assert breaches(text) == []
    assert breaches(text.replace(" 100.00 ", " -100.00 ")) == ["zero-result"]


@pytest.mark.parametrize("piece", [" \n", "\n", " ", "\t", "# ", "1 "])
def test_a_long_text_without_words_is_recognised_as_nothing_in_linear_time(piece: str) -> None:
    """Measured before: 7 s of processor time for 5,000 lines of one blank, growing with the cube of their number."""
    with within(5):
        assert detected(piece * 20_000) is None


def test_windows_are_columns_of_the_same_sizes() -> None:
    output = judged(variants.osu_windows())
    first = [(item.metric, item.labels["bytes"], item.labels["window"]) for item in output.results[:2]]
    assert first == [("bandwidth_bytes_per_s", 1, 8), ("bandwidth_bytes_per_s", 1, 16)]
    assert output.results[-1].metric == "message_rate_per_s"
    assert output.results[-1].labels["bytes"] == 1 << 22
    assert output.work("pairs") == 2


def test_iterations_of_osu_are_no_latency() -> None:
    heads = "Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations   P50 Tail Lat(us)  P99 Tail Lat(us)"
    output = judged(f"# OSU MPI Allreduce Latency Test v7.2\n# Size  {heads}\n4  5.31  5.10  5.62  1000  5.30  6.01\n")
    assert [(item.labels["statistic"], round(1e6 * item.value, 2)) for item in output.results] == [
        ("average", 5.31), ("min", 5.1), ("max", 5.62), ("p50 tail", 5.3), ("p99 tail", 6.01)
    ]  # fmt: skip


def test_one_sided_tests_keep_their_name() -> None:
    assert judged(variants.osu_put()).work("test") == "mpi_put latency"
    atomic = "# OSU MPI_Fetch_and_op latency Test v5.9\n# Size          Latency (us)\n8                       2.50\n"
    assert judged(atomic).complete


def test_times_of_initialisation_are_read() -> None:
    output = judged("# OSU MPI Init Test v5.9\nnprocs: 4, min: 120 ms, max: 130 ms, avg: 125 ms\n")
    assert output.complete
    assert [(item.labels["statistic"], item.value) for item in output.results] == [
        ("min", 0.12), ("max", 0.13), ("average", 0.125),
    ]  # fmt: skip
    assert output.work("ranks") == 4


def test_modes_and_threads_of_imb_are_labels() -> None:
    modes = [item.labels["mode"] for item in judged(variants.imb_modes()).results]
    assert modes.count("aggregate") == modes.count("non-aggregate") == 46
    threads = outputs.imb().replace("# #processes = 2", "# #processes = 2 (threads: 4)")
    assert judged(threads).results[0].labels["threads"] == 4


@pytest.mark.parametrize(
    "head", ["", "#    Intel (R) MPI Benchmark Suite V3.2, MPI-1 part\n", "#    Intel(R) MPI Benchmarks 2021\n"]
)
@pytest.mark.parametrize("unit", [1 << 20, 10**6])
@pytest.mark.parametrize(("time_us", "known"), [(1.85, True), (185.0, False)])
def test_times_show_what_megabytes_of_imb_are_else_its_version_does(
    time_us: float, unit: int, head: str, *, known: bool
) -> None:
    """The last digit of 2.16 MB/s is 0.2 %, that of 0.02 MB/s 25 %; the units differ by 5 %."""
    printed = [f"{size / time_us / 1e-6 / unit:.2f}" for size in (4, 8)]
    rows = "".join(f"{size} 1000 {time_us:.2f} {rate}\n" for size, rate in zip((4, 8), printed, strict=True))
    text = f"{head}# Benchmarking PingPong\n# #processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n{rows}"
    megabyte = unit if known else 1 << 20 if "V3.2" in head else 10**6
    rates = [each.value for each in judged(text).results if each.metric == "bandwidth_bytes_per_s"]
    assert rates == pytest.approx([float(rate) * megabyte for rate in printed])


def test_rows_behind_the_heading_of_another_program_are_none_of_osu() -> None:
    other = "# Benchmarking PingPong\n#bytes #repetitions t[usec]\n0 1000 1.10\n1 1000 1.11\n"
    output = judged(outputs.osu() + other + outputs.osu())
    assert output.results == judged(outputs.osu() + "\n" * 4 + outputs.osu()).results
    assert output.complete


def test_groups_of_imb_are_counted_together() -> None:
    groups = "# ( 2 groups of 2 processes each running simultaneous ) "
    assert judged(outputs.imb().replace("# #processes = 2 ", groups)).work("ranks") == 4


def test_the_same_times_at_all_sizes_of_imb_are_invalid() -> None:
    lines = [
        f"{line[:26]}{5.0:>13.2f}" if len(line.split()) == 4 and line.split()[1:2] == ["1000"] else line
        for line in outputs.imb().replace("t[usec]   Mbytes/sec", "t[usec]").splitlines()
    ]
    assert "constant-results" in breaches("\n".join(lines) + "\n\n")


def test_the_clock_of_hpl_is_read() -> None:
    text = outputs.hpl()
    assert "clock-backwards" in breaches(text.replace("end time   Tue Sep 15", "end time   Mon Sep 14"))
    assert "numbers-disagree" in breaches(text.replace("start time Tue Sep 15 09:55", "start time Tue Sep 15 09:56"))


def test_fewer_threads_than_requested_are_invalid() -> None:
    threads = "Number of Threads requested = 4\nNumber of Threads counted = 2\n"
    assert breaches(outputs.stream().replace("Function", f"{threads}Function", 1)) == ["ranks-differ"]
    assert judged(variants.stream_fortran()).work("threads") == 4
    counted = ("Number of Threads counted = 1\nFunction", "Number of Threads counted = 8\nFunction")
    sweep = "".join(outputs.stream().replace("Function", one, 1) for one in counted)
    assert breaches(sweep) == []  # two runs, of which neither says how many were requested
    assert breaches(sweep.replace("Threads counted = 1", "Threads requested = 1")) == ["ranks-differ"]


@pytest.mark.parametrize("made", [variants.ior_3_0, variants.ior_json])
def test_all_forms_of_ior_have_the_same_numbers(made: object) -> None:
    assert callable(made)
    output = judged(made())
    assert output.work("ranks") == 4
    assert output.values("bandwidth_bytes_per_s") == [1 << 30, 2 << 30]
    assert output.values("time_s") == [4, 2]


def test_numbers_of_ior_that_are_none_are_invalid() -> None:
    assert "not-a-number" in breaches(variants.ior_json().replace('"bwMiB": 1024.0', '"bwMiB": NaN'))
    assert "not-a-number" in breaches(variants.ior_json().replace('"bwMiB": 1024.0', '"bwMiB": "-"'))


def test_mdtest_4_gives_the_rates_of_all_ranks() -> None:
    output = judged(variants.mdtest_4())
    assert output.values("rate_per_s")[:3] == [950.5, 1000.5, 900.5]


def test_terse_output_of_fio_is_read() -> None:
    output = judged(variants.fio_terse())
    assert [(item.labels["job"], item.labels["direction"]) for item in output.results][::3] == [
        ("a", "write"), ("b", "read"),
    ]  # fmt: skip
    assert [item.value for item in output.results[:3]] == [1 << 30, 1024, 975.5e-6]
    assert "program-failed" in breaches(variants.fio_terse().replace(";a;0;0;", ";a;0;5;"))


def test_a_program_of_openfoam_without_steps_of_time_is_timed() -> None:
    body = (
        "Create time\n\nCalculating potential flow\n"
        "DICPCG:  Solving for Phi, Initial residual = 1, Final residual = 9.4e-07, No Iterations 80\n"
        "ExecutionTime = 0.5 s  ClockTime = 0 s\n\nEnd\n\n"
    )
    output = judged(outputs.foam_head("potentialFoam") + body)
    assert (output.missing, output.breaches) == ((), ())
    assert output.values("execution_time_s") == [0.5]
    assert "run-too-short" in breaches(outputs.foam_head("simpleFoam") + body)


def test_units_of_fio_2_are_powers_of_1024() -> None:
    output = judged(variants.fio_2())
    assert output.values("bandwidth_bytes_per_s") == [104857 * 1024] * 2
    assert output.values("rate_per_s") == [26214]
    assert breaches(variants.fio_2().replace("aggrb=104857", "aggrb=904857")) == ["numbers-disagree"]


def test_operations_of_mdtest_that_were_not_requested_have_no_numbers() -> None:
    text = variants.mdtest_of_creation()
    operations = {item.labels["operation"] for item in judged(text).results}
    assert operations == {"file creation", "tree creation"}
    assert "zero-result" in breaches(text.replace("'-FC'", "'-FCT'"))
    assert "zero-result" in breaches(text.replace("'-FC'", "'-F'"))


def test_ior_moves_less_only_with_a_stonewall() -> None:
    text = variants.ior_stonewall()
    assert breaches(text) == []
    assert "work-skipped" in breaches(text.replace("stonewallingTime = 4", "stonewallingTime = 0"))
    assert "numbers-disagree" in breaches(text.replace("write     512.00", "write     5120.00"))


def test_parts_of_hpcc_that_were_not_run_are_named() -> None:
    text = re.sub(r"StarDGEMM_Gflops=\S+", "StarDGEMM_Gflops=-1", (DATA / "benchmarks/hpcc-1.5.0.out").read_text())
    assert [breach.reason for breach in judged(text).breaches] == ["StarDGEMM_Gflops is -1: this part was not run"]


def test_hpcc_without_the_section_of_hpl_is_not_checked() -> None:
    text = (DATA / "benchmarks/hpcc-1.5.0.out").read_text()
    assert "residual-missing" in breaches(
        text[: text.index("Begin of HPL section")] + text[text.index("End of HPL section") :]
    )


FORTRAN = "".join(f" {line}\n" if not line[:1].isalpha() else f"{line}\n" for line in outputs.stream().splitlines())


@pytest.mark.parametrize("text", [FORTRAN, outputs.stream(), outputs.indented(outputs.stream())])
def test_a_rule_of_stream_may_be_indented(text: str) -> None:
    """Fortran begins the lines that PRINT writes with a blank, the rules too."""
    assert judged(text).missing == ()
    assert judged(text.rstrip("-\n ") + "\n").missing


@pytest.mark.parametrize("clock", ["clock", "timer"])
def test_few_ticks_of_either_variant_of_stream_are_too_short(clock: str) -> None:
    text = outputs.stream().replace("Function ", f"   (= 12 {clock} ticks)\nFunction ", 1)
    assert breaches(text) == ["run-too-short"]


def test_json_of_fio_is_whole_without_a_last_newline_and_cut_off_without_its_last_brace() -> None:
    text = fio_2(2552320).rstrip("\n")
    assert judged(text).missing == ()
    assert "its JSON has no end" in judged(text[:-1]).missing


def test_fio_may_count_all_directions_as_one() -> None:
    """Output of --unified_rw_reporting=1, as text and as JSON."""
    moved = {"io_bytes": 10_240_000, "bw_bytes": 10_240_000, "iops": 2500.0, "runtime": 1000, "total_ios": 2500}
    job = {"jobname": "j", "error": 0, "mixed": {**moved, "lat_ns": {"mean": 400_000.0}}}
    output = judged(json.dumps({"fio version": "fio-3.35", "jobs": [job]}, indent=2) + "\n")
    assert (output.missing, output.breaches) == ((), ())
    assert [(item.value, item.labels["direction"]) for item in output.results if item.metric == "rate_per_s"] == [
        (2500.0, "mixed")
    ]
    idle = {"jobname": "j", "error": 0, "mixed": {"total_ios": 0, "io_bytes": 0}}
    assert judged(json.dumps({"fio version": "fio-3.35", "jobs": [idle]}) + "\n").breaches
    text = (
        "j: (g=0): rw=randrw, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=32\nfio-3.28\n"
        "j: (groupid=0, jobs=4): err= 0: pid=9: Tue Mar 12 10:00:00 2024\n"
        "  mixed: IOPS=250k, BW=977MiB/s (1024MB/s)(57.2GiB/60001msec)\n"
        "Run status group 0 (all jobs):\n"
        "  MIXED: bw=977MiB/s (1024MB/s), 977MiB/s-977MiB/s (1024MB/s-1024MB/s), io=57.2GiB (61.5GB), "
        "run=60001-60001msec\n\n"
    )
    disks = "Disk stats (read/write):\n  nvme0n1: ios=14990000/10, merge=0/5, ticks=7/5, in_queue=7, util=99.90%\n"
    assert (judged(text + disks).missing, judged(text + disks).breaches) == ((), ())
    assert (judged(text).missing, len(judged(text).notes)) == ((), 1)
    assert judged(text.replace("  MIXED", "  NOTHING") + disks).missing


def test_a_run_of_lammps_without_steps_before_others_is_no_measurement() -> None:
    text = (DATA / "benchmarks" / "lammps.out").read_text()
    first = "Loop time of 1.2e-06 on 2 procs for 0 steps with 2048 atoms\n\n"
    both = judged(text.replace("Per MPI rank", f"{first}Per MPI rank", 1))
    assert both.breaches == ()
    assert [item.value for item in both.results if item.metric == "time_s"] == [4.76966]
    alone = text[: text.index("Per MPI rank")] + first + "Total wall time: 0:00:05\n"
    assert breaches(alone) == ["run-too-short"]


@pytest.mark.parametrize("rate", ["", ", 42.938 katom-step/s", ", 1.811 Matom-step/s"])
def test_the_rate_of_lammps_may_be_followed_by_atom_steps(rate: str) -> None:
    text = (DATA / "benchmarks" / "lammps.out").read_text().replace("20.966 timesteps/s", f"20.966 timesteps/s{rate}")
    assert judged(text).breaches == ()
    assert breaches(text.replace("20.966 timesteps", "41.9 timesteps")) == ["numbers-disagree"]


@pytest.mark.parametrize("made", [outputs.hpl_mxp, outputs.babelstream, outputs.nvidia_stream, outputs.imb])
def test_the_head_of_a_second_run_without_results_is_seen(made: Callable[[], str]) -> None:
    text = made()
    head = re.split(r"(?m)^Function| \*{6} test|^# Benchmarking", text)[0]
    assert judged(text).missing == ()
    assert judged(text + head).missing


def test_json_of_several_runs_and_what_a_script_prints_around_it_are_read() -> None:
    text = variants.ior_json()
    one, two = judged(text), judged(f"{text}\nreal 0m10s\n{text}\nreal 0m11s\n")
    assert two.missing == ()
    assert [item.value for item in two.results] == 2 * [item.value for item in one.results]


def fio_2(io_kib: int) -> str:
    part = {"io_bytes": io_kib, "bw": 153412, "iops": 299.6, "runtime": 16637, "total_ios": 4985}
    return (
        json.dumps({"fio version": "fio-2.15", "jobs": [{"jobname": "t2", "error": 0, "read": part}]}, indent=2) + "\n"
    )


def test_the_amount_of_data_of_fio_2_is_in_kibibytes() -> None:
    output = judged(fio_2(2552320))
    assert [breach.kind for breach in output.breaches] == []
    assert next(one.value for one in output.results if one.metric == "bandwidth_bytes_per_s") == 153412 * 1024
    assert breaches(fio_2(5552320)) == ["numbers-disagree"]


def test_hpl_in_mixed_precision_is_not_hpl() -> None:
    text = outputs.hpl()
    other = "HPL-AI Mixed-Precision Benchmark v2.3d  --  April 23, 2021"
    benchmark, output = parse_auto(re.sub(r"HPLinpack \d[^\n]*", other, text))
    assert benchmark is not None
    assert (benchmark.name, output.results) == ("hpl-mxp", ())
    assert "not of NVIDIA's program" in output.missing[0]
