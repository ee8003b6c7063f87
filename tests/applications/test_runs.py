"""Real benchmarks of Debian packages on two nodes: they are run, read and judged. `make applications` installs them."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import run
from tests.applications.cases import PROJECT, motor_bike, only_mesh, pitz_daily, without_bike
from tests.support.json_objects import parsed

pytestmark = [pytest.mark.lab, pytest.mark.alone]
SURROUNDINGS = ["env", "OMPI_MCA_mpi_yield_when_idle=1", f"WM_PROJECT_DIR={PROJECT}"]
"""Ranks of two nodes share the cores of this machine."""
SIZES = ((1, 1), (2, 2), (4, 2))


def carried_out(plan: LabPlan, archive: Path, *words: object, code: int = 0, command: str = "run") -> dict[str, Any]:
    asked = ["bench", command, *map(str, words), "--archive", str(archive), "--budget", "10m", "--json"]
    done = run(as_user(plan, [*SURROUNDINGS, sys.executable, "-m", "seatrial", *asked]), timeout_s=700)
    assert done.returncode == code, done.stdout + done.stderr
    return parsed(done.stdout)


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: make applications installs it")


def evidence(report: dict[str, Any], name: str) -> object:
    return [item["value"] for item in report["evidence"] if item["name"] == name][-1]


def test_hpcc_with_hpl(lab2: LabPlan, archive: Path) -> None:
    needs("hpcc")
    report = carried_out(
        lab2, archive, "hpcc", "--node-count", 2, "--ranks", 2, "--set", "order=1000", "--set", "block=64"
    )
    assert (evidence(report, "ranks"), evidence(report, "order")) == (2, 1000)
    assert {item["labels"].get("part") for item in report["results"]} >= {"HPL_Tflops", "PTRANS_GBs", "StarFFT_Gflops"}


def test_netpipe(lab2: LabPlan, archive: Path) -> None:
    needs("NPopenmpi")
    report = carried_out(lab2, archive, "netpipe", "--set", "largest=256KiB", "--set", "times=10")
    assert len(report["results"]) > 100


def test_fio(lab2: LabPlan, archive: Path) -> None:
    needs("fio")
    assert carried_out(lab2, archive, "fio", "--set", "size=64MiB")["complete"]


def test_lammps(lab2: LabPlan, archive: Path) -> None:
    needs("lmp")
    report = carried_out(
        lab2, archive, "lammps", "--ranks", 2, "--node-count", 2, "--set", "cells=8", "--set", "steps=50"
    )
    assert (evidence(report, "atoms"), evidence(report, "steps")) == (2048, 50)


def test_gromacs(lab2: LabPlan, archive: Path) -> None:
    needs("gmx_mpi")
    report = carried_out(
        lab2, archive, "gromacs", "--ranks", 2, "--node-count", 2, "--set", "edge=10", "--set", "steps=200"
    )
    assert (evidence(report, "atoms"), evidence(report, "steps"), evidence(report, "nodes")) == (3000, 200, 2)


def test_quantum_espresso(lab2: LabPlan, archive: Path) -> None:
    needs("pw.x")
    report = carried_out(lab2, archive, "espresso", "--ranks", 2, "--node-count", 2, "--set", "cutoff=18")
    assert (evidence(report, "atoms"), evidence(report, "ranks"), evidence(report, "nodes")) == (8, 2, 2)


ITERATIONS = 20
"""Fewer take less than 20 ticks of the clock in OpenFOAM's log, which is no rate."""


def test_pitz_daily(lab2: LabPlan, archive: Path, tmp_path: Path) -> None:
    needs("simpleFoam")
    case = pitz_daily(tmp_path / "pitz")
    for ranks, nodes in SIZES:
        words = ("openfoam", "--case", case, "--set", f"end={ITERATIONS}", "--ranks", ranks, "--node-count", nodes)
        report = carried_out(lab2, archive, *words)
        assert (evidence(report, "cells"), evidence(report, "iterations")) == (12225, ITERATIONS)


def test_the_motor_bike_is_meshed_once_and_its_curve_has_one_mesh(lab2: LabPlan, archive: Path, tmp_path: Path) -> None:
    needs("simpleFoam")
    words = ["openfoam", "--set", f"end={ITERATIONS}", "--run", "meshed", "--keep", "--ranks", 1]
    carried_out(lab2, archive, *words, "--case", motor_bike(tmp_path / "bike"))
    case = only_mesh(next(archive.glob(".scratch-*")) / "meshed", tmp_path / "mesh")
    sizes = ["--cores", "1,2,4", "--spread", 2, "--run", "bike"]
    words = ["openfoam", "--case", case, "--set", f"end={ITERATIONS}", *sizes]
    (curve,) = carried_out(lab2, archive, *words, command="scale")["curves"]
    assert [point["size"] for point in curve["points"]] == [1, 2, 4]
    assert curve["breaches"] == []
    assert 0.5 < curve["points"][2]["balance"] <= 1
    done = run([sys.executable, "-m", "seatrial", "report", str(archive / "bike-c4-1"), "--json"], timeout_s=120)
    assert "motorBike_rider-body%69" in str(evidence(parsed(done.stdout), "patches"))


def test_lost_patches_are_invalid_and_named(lab2: LabPlan, archive: Path, tmp_path: Path) -> None:
    needs("simpleFoam")
    case = without_bike(tmp_path / "lost")
    words = ("openfoam", "--case", case, "--set", f"end={ITERATIONS}", "--ranks", 2, "--node-count", 2)
    report = carried_out(lab2, archive, *words, code=1)
    assert report["headline"].startswith("INVALID  openfoam: work-skipped: ")
    assert "patches are missing: motorBikeGroup" in report["headline"]
