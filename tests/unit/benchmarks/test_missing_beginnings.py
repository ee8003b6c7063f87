"""The last lines of an output show which program printed it: it is incomplete, and no number of it is another."""

from collections.abc import Callable

import pytest

from seatrial.benchmarks.catalogue import NO_BEGINNING, detected, parse_auto
from seatrial.model.errors import UsageError
from seatrial.model.verdict import FindingKind
from tests.support import application_outputs as application
from tests.support import benchmark_outputs as outputs
from tests.support import gpu_outputs as gpu
from tests.support.judged_outputs import judged

LOOP = "Loop time of {} on 4 procs for 100 steps with 32000 atoms\n"
RATING = "Final Summary::HPCG result is VALID with a GFLOP/s rating of={}\n"
ACCOUNT = (
    "       Time:       61.892        {}     1599.4\n                 (ns/day)    (hour/ns)\nPerformance: {}    0.05\n"
)
SUMMARY = "SUMMARY rate: (of 3 iterations)\n   File stat         :    {0}.9    {0}.6    {0}.7    0.1\n"
MADE = (outputs.hpl, outputs.stream, outputs.hpcg, outputs.mdtest, outputs.ior, outputs.fio_text, outputs.imb,
        outputs.hpcc, gpu.nccl, gpu.nvbandwidth, application.gromacs, application.espresso)  # fmt: skip


@pytest.mark.parametrize("made", MADE)
def test_what_is_left_of_an_output_has_numbers_of_the_output_alone_and_breaks_no_gate(made: Callable[[], str]) -> None:
    lines = made().splitlines(keepends=True)
    benchmark, whole = parse_auto(made())
    numbers = {(result.metric, result.value) for result in whole.results}
    parts = ["".join(lines[first:]) for first in range(1, len(lines))]
    of_parts = [part for part in parts if detected(part) and not detected(part, parts=False)]
    assert of_parts
    for part in of_parts:
        assert detected(part) is benchmark
        output = judged(part)
        assert output.missing[0] == NO_BEGINNING
        assert not output.breaches
        assert numbers.issuperset((result.metric, result.value) for result in output.results)


@pytest.mark.parametrize(
    ("text", "metric", "values"),
    [
        (LOOP.format("5.0"), "steps_per_s", [20.0]),
        (ACCOUNT.format(3.870, 446.590), "ns_per_day", [446.59]),
        (ACCOUNT.format(3.870, 446.590) + ACCOUNT.format(9.4, 183.4), "ns_per_day", []),  # which time is of which?
        (RATING.format(10.5), "rate_flops_per_s", [10.5e9]),
        ("GFLOP/s Summary=\nGFLOP/s Summary::Raw MG=212.5 \nGFLOP/s Summary::Raw Total=196.5\n", "rate_flops_per_s",
         [212.5e9, 196.5e9]),
        (RATING.format(10.5) + RATING.format(14.5), "rate_flops_per_s", []),
        (SUMMARY.format(2352), "rate_per_s", [2352.7, 2352.9, 2352.6]),
        ("V-1: Rank   0 Line  1013    File stat:   4.1 sec,    38097.012 ops/sec\n", "rate_per_s", []),
        ("bandwidthTest-H2D-Pinned, Bandwidth = 12.3 GB/s, Time = 0.00260 s, Size = 32000000 bytes, NumDevsUsed = 1\n",
         "host_bandwidth_bytes_per_s", [12.3e9]),
        (f"{SUMMARY.format(2352).splitlines()[1]}\n{SUMMARY.format(77)}", "rate_per_s", [77.7, 77.9, 77.6]),
        ("Max Write: 580.00 MiB/sec (608.18 MB/sec)\n", "bandwidth_bytes_per_s", []),
        ("Run status group 0 (all jobs):\nREAD: bw=2MiB/s (2097kB/s), io=8MiB (8389kB), run=4000-4000msec\n",
         "bandwidth_bytes_per_s", [2 * 2**20]),
        ("StarDGEMM_Gflops=8.5\nPTRANS_GBs=2.25\nMPIRandomAccess_GUPs=0.5\n", "updates_per_s", [0.5e9]),
    ],
)  # fmt: skip
def test_numbers_are_read_where_the_lines_show_what_they_are(text: str, metric: str, values: list[float]) -> None:
    output = judged(text)
    assert output.missing[0] == NO_BEGINNING
    assert [result.value for result in output.results if result.metric == metric] == values


def test_what_two_unknown_runs_printed_is_not_compared() -> None:
    assert not judged(SUMMARY.format(2352) + SUMMARY.format(77)).breaches
    again = outputs.mdtest().replace("32768", "1024")
    assert len(judged(SUMMARY.format(2352) + again).results) > len(judged(again).results) > 0


def test_a_failure_that_one_line_shows_counts_without_the_beginning() -> None:
    (breach,) = judged("Final Summary::HPCG result is INVALID.\n").breaches
    assert breach.kind is FindingKind.RESIDUAL_FAILED


@pytest.mark.parametrize(
    "text",
    [
        "Loop time of the solver: 6.9 s on 4 procs\n",
        "Job 12 ran GROMACS: Performance: 12.1 ns/day\nFinished mdrun on all nodes\n",
        "IOR wrote well. Max Write: 580 MiB/s\nSUMMARY rate: 5\nRun status of group 0: done\n",
        "node,HPCG,GPCNet,mdtest\nn1,23.1,1.0,40784\nn2,23.2,1.0,40785\n",
        "# Average bus bandwidth of all nodes: 12\nPWSCF : took 5 minutes\nHPL_Tflops of n1: 2\n",
        *("".join(f"n{node:02}: {line}" for node in range(1, 9)) for line in (LOOP.format(5), RATING.format(20.5))),
        "".join(f"--- n{node:02} ---\n{RATING.format(20 + node)}" for node in range(1, 9)),
    ],
)
def test_who_mentions_a_program_and_lines_of_several_nodes_are_no_part_of_one(text: str) -> None:
    assert detected(text) is None
    with pytest.raises(UsageError):
        parse_auto(text)
