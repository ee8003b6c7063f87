"""Outputs of Debian's packages on a virtual cluster and of programs for GPUs: their numbers, and the same spoiled."""

from collections.abc import Callable

import pytest

from seatrial.benchmarks import gates
from seatrial.benchmarks.catalogue import BENCHMARKS, detected
from seatrial.judgement.benchmark_result import word_of_output
from seatrial.model.benchmark import Output
from seatrial.model.verdict import INCOMPLETE
from tests.support.paths import DATA

BREACHES = {"netpipe-3.7.2.out": {"uneven-numbers"},
            "gb10-level2-partial-skip.json": {"diagnostic-setting", "diagnostic-skipped"}}  # fmt: skip
"""NetPIPE ran on two ranks of one processor: from 27 bytes on, a message takes a time slice of it."""
LARGEST = {"netpipe-3.7.2.out": 262144}
NUMBERS: dict[str, tuple[str, dict[str, str | int], tuple[str, float]]] = {
    "hpcc-1.5.0.out": ("hpcc", {"ranks": 2, "order": 500}, ("rate_flops_per_s", 6.0646e8)),
    "fio-3.33.json": ("fio", {}, ("bandwidth_bytes_per_s", 330585871.0)),
    "lammps.out": ("lammps", {"ranks": 2, "steps": 100, "atoms": 2048}, ("time_s", 4.76966)),
    "gromacs-2022.5.log": (
        "gromacs", {"ranks": 2, "nodes": 2, "steps": 200, "atoms": 3000}, ("ns_per_day", 9.666)
    ),
    "espresso-6.7.out": (
        "espresso", {"ranks": 2, "nodes": 2, "k_points": 8, "scf_iterations": 7}, ("energy_ry", -63.40900602)
    ),
    "netpipe-3.7.2.out": ("netpipe", {}, ("latency_s", 0.00636979)),
    "openfoam-1912-pitzdaily.out": (
        "openfoam", {"cells": 12225, "ranks": 4, "subdomains": 4, "iterations": 10, "nodes": 2}, ("clock_time_s", 45.0)
    ),
    "superbench-nccl_allreduce.log": (
        "nccl-tests", {"test": "all_reduce", "ranks": 8, "nodes": 1}, ("bus_bandwidth_bytes_per_s", 235.26e9)
    ),
    "superbench-nccl_alltoall.log": (
        "nccl-tests", {"test": "not named", "ranks": 8}, ("bus_bandwidth_bytes_per_s", 226.16e9)
    ),
    "superbench-nvbandwidth_results.log": ("nvbandwidth", {"tests": 15, "waived": 17}, ("latency_s", 772.58e-9)),
    "superbench-gpu_copy_bw_performance.log": ("gpu-copy", {}, ("local_bandwidth_bytes_per_s", 682.667e9)),
    "superbench-rocm_memory_h2d_bw.log": (
        "hip-bus-bandwidth", {"memory": "pinned"}, ("host_bandwidth_bytes_per_s", 25.3280e9)
    ),
    "superbench-cuda_memory_d2h_bw.log": ("cuda-bandwidth-test", {}, ("host_bandwidth_bytes_per_s", 13.1e9)),
    "gb10-level2-partial-skip.json": ("dcgm-diagnostic", {"tests": 3, "skipped": 2}, ("passed_tests", 0.0)),
}  # fmt: skip
"""File -> benchmark, evidence of work, and a number as it is printed there."""
OF_GPUS = {"superbench-nccl_allreduce.log": 174, "superbench-nccl_alltoall.log": 168,
           "superbench-nvbandwidth_results.log": 21, "superbench-gpu_copy_bw_performance.log": 57,
           "superbench-rocm_memory_h2d_bw.log": 46, "superbench-cuda_memory_d2h_bw.log": 81,
           "gb10-level2-partial-skip.json": 1}  # fmt: skip
"""Outputs in another folder, and how many numbers each has."""
CUTS = 12


def text_of(name: str) -> str:
    return (DATA / ("gpu" if name in OF_GPUS else "benchmarks") / name).read_text(encoding="utf-8")


def read(name: str, text: str) -> Output:
    benchmark = BENCHMARKS[NUMBERS[name][0] if name in NUMBERS else "openfoam"]
    largest = LARGEST.get(name)
    output = benchmark.parse_up_to(text, largest) if largest and benchmark.parse_up_to else benchmark.parse(text)
    return gates.judge(benchmark, output)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_real_output_is_recognised_complete_and_has_its_numbers(name: str) -> None:
    benchmark, evidence, (metric, value) = NUMBERS[name]
    text = text_of(name)
    recognised = detected(text)
    assert recognised is not None
    assert recognised.name == benchmark
    output = read(name, text)
    assert not output.missing
    assert {breach.kind.value for breach in output.breaches} == BREACHES.get(name, set())
    assert {key: output.work(key) for key in evidence} == evidence
    assert any(result == pytest.approx(value, rel=1e-4) for result in output.values(metric)), output.values(metric)
    assert len(output.results) == OF_GPUS.get(name, len(output.results))
    for number in output.results if name in OF_GPUS else ():
        assert not number.line or number.printed in text.splitlines()[number.line - 1]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_real_output_that_was_cut_off_is_incomplete(name: str) -> None:
    text = text_of(name).rstrip("\n")
    for cut in range(1, CUTS):
        assert word_of_output(read(name, text[: cut * len(text) // CUTS])) == INCOMPLETE, cut


def test_lost_patches_are_named_first() -> None:
    output = read("openfoam-1912-lost-patches.out", text_of("openfoam-1912-lost-patches.out"))
    assert output.complete
    assert output.breaches[0].reason == "patches are missing: motorBikeGroup"
    assert output.breaches[0].text == "Cannot find any patch or group names matching motorBikeGroup"


def spoiled(name: str, old: str, new: str) -> Callable[[], Output]:
    def made() -> Output:
        text = text_of(name)
        assert old in text
        return read(name, text.replace(old, new))

    return made


PITZ = "openfoam-1912-pitzdaily.out"
WATER, SILICON = "gromacs-2022.5.log", "espresso-6.7.out"


@pytest.mark.parametrize(
    ("made", "gate"),
    [
        (spoiled(PITZ, "for Ux, Initial residual = 1,", "for Ux, Initial residual = nan,"), "not-a-number"),
        (spoiled(PITZ, "ExecutionTime = ", "ExecutionTime = 0 s  was "), "run-too-short"),
        (spoiled(PITZ, "Number of cells = ", "Number of cells = 1"), "mesh-differs"),
        (spoiled("hpcc-1.5.0.out", "PASSED", "FAILED"), "residual-failed"),
        (spoiled("hpcc-1.5.0.out", "Success=1", "Success=0"), "residual-failed"),
        (spoiled("lammps.out", "Loop time of 4.76966", "Loop time of 0.00476966"), "run-too-short"),
        (spoiled("lammps.out", "0.7297537", "-nan"), "not-a-number"),
        (spoiled("lammps.out", "for 100 steps", "for 1000 steps"), "iterations-differ"),
        (spoiled(WATER, "   nsteps                         = 200", "   nsteps    = 2000"), "iterations-differ"),
        (spoiled(WATER, "   -3.42317e+04", "            nan"), "not-a-number"),
        (spoiled(WATER, "drift: -6.45e-04", "drift: 6.45e+02"), "residual-failed"),
        (spoiled(WATER, "Performance:        9.666", "Performance:       96.660"), "numbers-disagree"),
        (spoiled(WATER, "        1.797      200.0", "       17.970      200.0"), "numbers-disagree"),
        (spoiled(WATER, "Started mdrun", "LINCS WARNING\nStarted mdrun"), "program-failed"),
        (
            spoiled(WATER, "Finished mdrun on rank 0 Mon Nov 23", "Finished mdrun on rank 0 Sun Nov 22"),
            "clock-backwards",
        ),
        (spoiled(SILICON, "has been achieved in   7", "has been achieved in   9"), "iterations-differ"),
        (spoiled(SILICON, "convergence has been achieved in", "convergence NOT achieved after"), "residual-failed"),
        (spoiled(SILICON, "threshold =      1.0E-08", "threshold =      1.0E-18"), "residual-failed"),
        (spoiled(SILICON, "-63.40900602 Ry", "NaN Ry"), "not-a-number"),
        (spoiled(SILICON, "3.50s WALL", "9.50s WALL"), "numbers-disagree"),
    ],
)
def test_a_spoiled_output_does_not_pass_its_gate(made: Callable[[], Output], gate: str) -> None:
    assert gate in {breach.kind.value for breach in made().breaches}
