"""Outputs of runs that went wrong, and good ones that look unusual: none of the former passes, all of the latter do."""

import re

import pytest

from seatrial.benchmarks.catalogue import parse_as
from seatrial.benchmarks.generic import generic_benchmark
from seatrial.judgement.benchmark_result import word_of_output
from tests.support import benchmark_outputs as outputs
from tests.support.judged_outputs import judged
from tests.support.paths import DATA

FOLDER = DATA / "benchmarks"
MULTI = (
    "------------ Step              0 ----- CPU =            0 (sec) -------------\n"
    "TotEng   =           nan KinEng   =     21444.8313 Temp     =       299.0397 \n"
)
YAML = "---\nkeywords: ['Step', 'Temp', 'TotEng', ]\ndata:\n  - [0, 1.44, -4.2, ]\n  - [100, -nan, -4.1, ]\n...\n"


def recorded(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


LAMMPS, WATER = recorded("lammps.out"), recorded("gromacs-2022.5.log")
SILICON, PITZ = recorded("espresso-6.7.out"), recorded("openfoam-1912-pitzdaily.out")


def table_replaced(table: str) -> str:
    """The LAMMPS output with another form of its table."""
    return LAMMPS[: LAMMPS.index("Step ")] + table + LAMMPS[LAMMPS.index("Loop time") :]


def last_row(row: str) -> str:
    """The table of OSU with another last row."""
    return "".join([*outputs.osu().splitlines(keepends=True)[:-1], row])


def without_residuals() -> str:
    return re.sub(r".*Initial residual.*\n", "", PITZ)


def without_step_of_time() -> str:
    """A log of OpenFOAM without one of its iterations."""
    text = outputs.openfoam()
    begin, end = (text.index(f"Time = {step}\n") for step in (8, 9))
    return text[:begin] + text[end:]


def mdtest_of_iterations(place: int, rate: float) -> str:
    """mdtest -v: what it prints of an iteration, beside the least and the most of all."""
    lines = "".join(
        f"V-1: Rank   0 Line  1013    {name} :  {at:.3f} sec,  {rate:.3f} ops/sec\n"
        for at, name in ((place, "Directory creation"), (place + 1, "File stat"))
    )
    return outputs.mdtest().replace("SUMMARY", f"{lines}SUMMARY")


@pytest.mark.parametrize("rate", [800.5 / 1.9, 850.0, 903.5 * 1.9])
def test_the_rates_of_iterations_may_be_those_of_one_rank(rate: float) -> None:
    assert not judged(mdtest_of_iterations(1, rate)).breaches


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        (without_step_of_time(), "iterations-differ"),
        (outputs.openfoam(seconds=0.1), "run-too-short"),
        (outputs.openfoam(cells=10**12), "run-too-short"),
        (re.sub(r"No Iterations \d+", "No Iterations 0", PITZ), "work-skipped"),
        ("# OSU MPI Barrier Latency Test v5.9\n# Avg Latency(us)\n             0.00\n", "zero-result"),
        (outputs.hpl().replace(" 100.00 ", "   0.00 "), "run-too-short"),
        (outputs.hpl(residual="1.13e+05"), "residual-failed"),
        (re.sub(r"0\.\d{6}", "0.000000", outputs.stream()), "run-too-short"),
        (last_row("4194304    0.00\n"), "zero-result"),
        ("# OSU MPI Non-blocking Broadcast Latency Test v7.4\n# Size  Overall(us)  Pure Comm.(us)\n"
         + "".join(f"{1 << at}  {at + 2.1}  {max(1.5 - at // 20 * 1.5, 0):.2f}\n" for at in range(21)), "zero-result"),
        (mdtest_of_iterations(50, 900.5 * 2.1), "numbers-disagree"),
        (outputs.hpcg().replace("Raw SpMV=20.5", "Raw SpMV=20.5\nScaled residual mean=nan"), "not-a-number"),
        (LAMMPS.replace("with 2048 atoms", "with 0 atoms"), "work-skipped"),
        (table_replaced(MULTI), "not-a-number"),
        (table_replaced(YAML), "not-a-number"),
        (SILICON.replace("   JOB DONE", "     Total force =          NaN     Total SCF\n   JOB DONE"), "not-a-number"),
        (PITZ.replace("sum local = 0.465789", "sum local = nan"), "not-a-number"),
        (PITZ.replace("Final residual = 0.00409488", "Final residual = 1.3e+45"), "residual-failed"),
        (without_residuals(), "residual-missing"),
        (outputs.hpl().replace("End of", "Abort(1) on node 1 (rank 1): Fatal error in PMPI_Recv: x\nEnd of"),
         "program-failed"),
    ],
)  # fmt: skip
def test_a_broken_run_does_not_pass(text: str, gate: str) -> None:
    output = judged(text)
    assert output.complete
    assert gate in {breach.kind.value for breach in output.breaches}


@pytest.mark.parametrize("text", [outputs.hpl(), LAMMPS, SILICON, outputs.stream()])
def test_ranks_that_each_ran_alone_are_seen(text: str) -> None:
    """A program that was built for another MPI runs once for each rank, and their lines are mixed."""
    mixed = "".join(line + line for line in text.splitlines(keepends=True))
    assert word_of_output(judged(mixed)) not in ("PASS", "MEASURED")


def test_two_programs_at_once_are_not_one_run() -> None:
    middle = LAMMPS.index("Loop time")
    end = LAMMPS.index("Total wall")
    mixed = LAMMPS[:middle] + LAMMPS[:end] + LAMMPS[middle:] + LAMMPS[end:]
    assert "ranks-differ" in {breach.kind.value for breach in judged(mixed).breaches}


def test_a_row_without_its_number_is_missing() -> None:
    assert not judged(last_row("4194304\n")).complete
    rates = outputs.osu_rates().splitlines(keepends=True)
    assert not judged("".join([*rates[:-1], "4194304   12345.79\n"])).complete


def test_rows_of_imb_that_are_missing_or_cut_off_are_seen() -> None:
    text = outputs.imb()
    assert "before 131072 bytes" in judged(re.sub(r"\n +65536 .*", "", text)).missing[0]
    assert not judged(re.sub(r"(\n +4194304) .*", r"\1", text)).complete
    chosen = re.sub(
        r"\n +65536 .*",
        "",
        text.replace("# Maximum message length in bytes:   4194304", "# Message lengths were user defined"),
    )
    assert judged(chosen).complete


STEPS = "   nsteps                         = 200"


@pytest.mark.parametrize(
    "text",
    [
        LAMMPS.replace(" on 2 procs for", " on 2 procs (2 MPI x 1 OpenMP) for"),
        WATER.replace("gmx mdrun", "gmx_mpi mdrun"),
        WATER.replace(STEPS, f"{STEPS}000").replace(
            "Started mdrun",
            "Overriding nsteps with value passed on the command line: 200 steps, 0.4 ps\n\nStarted mdrun",
        ),
    ],
)
def test_a_good_run_of_another_version_passes(text: str) -> None:
    assert word_of_output(judged(text)) == "MEASURED"


def test_fewer_steps_than_nsteps_on_the_command_line_are_invalid() -> None:
    line = "Overriding nsteps with value passed on the command line: 400 steps, 0.8 ps\n"
    output = judged(WATER.replace("Started mdrun", f"{line}\nStarted mdrun"))
    assert "-nsteps has 400 steps, the log 200" in output.breaches[0].reason


def test_work_that_a_site_demands_and_no_line_shows_is_not_done() -> None:
    own = generic_benchmark(
        "name = 'x'\n[metrics.s_s]\npattern = 'in (\\S+)'\n[evidence.sites]\npattern = 'sites (\\d+)'\nequals = 64\n",
        "x.toml",
    )
    assert not parse_as(own, "sites 64\ndone in 5.0\n").breaches
    assert parse_as(own, "done in 5.0\n").breaches[0].reason == "no line shows sites, which must be 64"
