"""The probe as a program: its command line, and the kernels that it lists."""

import errno
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from seatrial.failures.start_failure import explain
from seatrial.launch.mpi import find_mpi
from seatrial.launch.probe_build import build, default_folder, probe_sources
from seatrial.launch.probe_text import RUN_OPTION, rank_waits
from seatrial.model.measurement import Kernel
from tests.support.paths import ROOT

LAYERS = ("host", "kernels", "protocol", "rounds", "probe")
"""Folders of the probe; each uses only itself and those before it."""
PROTOCOL = ROOT / "docs" / "probe-protocol.md"


@pytest.fixture(scope="session")
def probe() -> Path:
    """The real probe, built by the default mpicc."""
    if shutil.which("mpicc") is None:
        pytest.skip("no mpicc on PATH")
    return build(find_mpi(), default_folder())


def started(probe: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([probe, *arguments], capture_output=True, text=True, check=False)


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_version_is_one_record(probe: Path) -> None:
    done = started(probe, "--version")
    assert done.returncode == 0
    assert records(done.stdout) == [{"record": "version", "probe": "1", "format": 2}]


@pytest.mark.parametrize(
    ("arguments", "culprit"), [(["--lis"], "--lis"), (["--list", "x"], "x"), ([""], ""), (["-v", "--list"], "--list")]
)
def test_any_other_argument_is_refused_and_shown(probe: Path, arguments: list[str], culprit: str) -> None:
    done = started(probe, *arguments)
    assert (done.returncode, done.stdout) == (64, "")
    assert f"unknown argument '{culprit}'" in done.stderr


def test_output_that_cannot_be_written_is_an_error(probe: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([probe, "--list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 74
    assert "cannot write a record" in done.stderr


def test_the_kernels_of_the_probe_are_those_of_the_model(probe: Path) -> None:
    listed = records(started(probe, "--list").stdout)
    assert {one["name"]: one["needs"] for one in listed} == {one.value: one.needs.value for one in Kernel}
    assert all(one["measures"] and one["time_is"] for one in listed)


@pytest.mark.parametrize("kernel", Kernel)
def test_every_kernel_has_its_row_in_the_protocol(kernel: Kernel) -> None:
    timed = PROTOCOL.read_text().split("## What is timed")[1].split("\n## ")[0]
    assert f"\n| `{kernel}` | {kernel.needs} | " in timed


def test_the_folders_of_the_probe_are_layers() -> None:
    used = {
        (path.parent.name, name.partition("/")[0])
        for path in probe_sources()
        for name in re.findall(r'#include "(.+)"', path.read_text())
    }
    assert {upper for upper, _ in used} == set(LAYERS)
    assert [(upper, lower) for upper, lower in used if LAYERS.index(lower) > LAYERS.index(upper)] == []


BUSY = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"


def ran(probe: Path, words: str, rank: str = "1") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"]} | ({"PMI_RANK": rank} if rank else {})
    argv = [str(probe), RUN_OPTION, "sh", "-c", words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


def test_a_program_that_it_runs_prints_as_ever_and_its_waits_follow_on_standard_error(probe: Path) -> None:
    done = ran(probe, f"{BUSY}; echo out; echo err >&2")
    assert (done.returncode, done.stdout) == (0, "out\n")
    said, line = done.stderr.splitlines()
    assert said == "err"
    (report,) = records(line)
    assert (report["record"], report["rank"]) == ("ran", 1)
    assert report["ran_s"] > 0.005
    assert report["waited_s"] >= 0
    assert rank_waits(done.stderr.replace('"rank":1', '"rank":0'), 1)[0] == pytest.approx(
        report["waited_s"] / (report["waited_s"] + report["ran_s"])
    )


@pytest.mark.parametrize(
    ("words", "code", "errors"),
    [
        ("exit 7", 7, ""),
        ("kill -9 $$", -9, ""),
        ("kill -TERM $PPID; exec sleep 20", -15, ""),
        ("seq 3000000 >/dev/null; exit 0", 0, ""),
    ],
    ids=["fails", "is killed", "is ended", "another process does the work"],
)
def test_a_program_that_it_runs_ends_it_likewise_without_waits(probe: Path, words: str, code: int, errors: str) -> None:
    done = ran(probe, words)
    assert (done.returncode, done.stderr) == (code, errors)


def test_a_program_without_a_rank_has_no_waits(probe: Path) -> None:
    assert (ran(probe, BUSY, "x").returncode, ran(probe, BUSY, "x").stderr) == (0, "")


def test_a_program_that_no_launcher_started_has_rank_0(probe: Path) -> None:
    assert len(rank_waits(ran(probe, BUSY, "").stderr, 1)) == 1


def test_a_program_that_is_not_there_is_reported_as_slurm_does(probe: Path) -> None:
    done = started(probe, RUN_OPTION, "no_such_program")
    assert done.returncode == errno.ENOENT
    failure = explain(f"{done.stderr}srun: error: n2: task 1: Exited with exit code 2\n", ["n1", "n2"])
    assert failure.meaning.startswith("the program no_such_program does not exist on n2, on PATH.")


def test_waits_are_those_of_all_ranks_or_unknown() -> None:
    lines = [f'{{"record":"ran","rank":{rank},"ran_s":3.0,"waited_s":{rank}.0}}' for rank in range(2)]
    assert rank_waits("\n".join(["banter", *reversed(lines), '{"record":"ran"}']), 2) == (0.0, 0.25)
    assert rank_waits(lines[1], 2) == ()
    assert rank_waits("\n".join(lines), 1) == ()
