"""The probe as a program: its command line, and the kernels that it lists."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from seatrial.launch.mpi import find_mpi
from seatrial.launch.probe_build import build, default_folder, probe_sources
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
