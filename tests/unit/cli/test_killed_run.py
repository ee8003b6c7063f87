"""seatrial bench run whose driver is killed: its program ends, and its files go at the next command."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seatrial.archive import working_folder
from seatrial.frame.command_line import run
from tests.lab.waiting import eventually
from tests.support.builders import Cluster
from tests.support.collecting import program
from tests.support.command_line import Seatrial
from tests.support.launchers import use_launcher
from tests.support.paths import ROOT
from tests.support.processes import kill_all, runs
from tests.support.program_launcher import ProgramLauncher

DRIVER = """
import sys
from seatrial.frame.command_line import run
from seatrial.process import file_output
from tests.support.builders import Cluster
from tests.support.launchers import use_launcher
from tests.support.program_launcher import ProgramLauncher
file_output.GRACE_S = 0.2
use_launcher(ProgramLauncher(Cluster(nodes=("n1",))))
sys.exit(run(["bench", "run", *sys.argv[1:]]))
"""
HEAT = """
name = "heat"
mark = '^Heat'
complete = '^Done'
[metrics.solve_time_s]
pattern = 'Solved in (\\S+) ms'
unit = "ms"
better = "less"
[run]
command = ["{program}", "{pids}"]
mpi = false
"""
WRITES = """
trap '' TERM
mkdir -p deep/er
echo data >deep/er/data
sh -c 'trap "" TERM; while :; do sleep 0.1; done' &
printf '%s\\n%s\\n' $$ $! >"$1.new"
mv "$1.new" "$1"
while :; do echo more >>deep/er/data; sleep 0.1; done
"""
"""Files in folders of its own, and a child, until both are ended."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With an archive and a benchmark that the variable parts of a test complete."""
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    return tmp_path


@pytest.fixture
def kill_driver(folder: Path) -> Iterator[Callable[..., list[int]]]:
    """Start a run, kill its driver while the program writes, and tell which processes the program is."""
    started: list[int] = []

    def killed(*options: str) -> list[int]:
        pids = folder / "pids"
        program(folder, "heat.sh", WRITES)
        (folder / "heat.toml").write_text(HEAT.format(program=folder / "heat.sh", pids=pids))
        argv = [sys.executable, "-c", DRIVER, str(folder / "heat.toml"), *options]
        with (folder / "driver.err").open("wb") as errors:
            driver = subprocess.Popen(argv, cwd=ROOT, stdout=errors, stderr=errors)
        assert eventually(pids.exists), (folder / "driver.err").read_text()
        driver.kill()
        driver.wait()
        started.extend(int(word) for word in pids.read_text().split())
        return started

    yield killed
    kill_all(pid for pid in started if runs(pid))


def scratch_of(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if working_folder.OURS.fullmatch(path.name)]


def test_its_program_ends_and_its_files_go_at_recover(
    folder: Path, kill_driver: Callable[..., list[int]], seatrial: Seatrial
) -> None:
    parent = working_folder.scratch_parent(folder / "archive")
    parent.mkdir(parents=True)
    live = working_folder.WorkingFolder(parent, working_folder.Use.SCRATCH)
    pids = kill_driver("--run", "killed")
    (left,) = {*scratch_of(parent)} - {live.path.parent}
    assert (left / "files" / "deep" / "er" / "data").exists()
    assert eventually(lambda: not any(map(runs, pids))), "the program goes with the driver, though it ignores SIGTERM"
    assert "Removed 1 folder of files that killed runs had left." in seatrial("runs", "recover").out
    assert scratch_of(parent) == [live.path.parent], "that of a run that goes on stays"
    assert live.remove()


def test_files_in_a_named_folder_go_and_nothing_else_there(
    folder: Path, kill_driver: Callable[..., list[int]], seatrial: Seatrial
) -> None:
    scratch = folder / "fast"
    scratch.mkdir()
    (scratch / "of-the-user").touch()
    pids = kill_driver("--scratch", str(scratch))
    assert eventually(lambda: not any(map(runs, pids)))
    assert len(scratch_of(scratch)) == 1
    assert "Removed 1 folder" in seatrial("runs", "recover").out
    assert [path.name for path in scratch.iterdir()] == ["of-the-user"]


def test_the_next_run_removes_them_too(folder: Path, kill_driver: Callable[..., list[int]]) -> None:
    pids = kill_driver()
    assert eventually(lambda: not any(map(runs, pids)))
    use_launcher(ProgramLauncher(Cluster(nodes=("n1",))))
    (folder / "heat.sh").write_text("#!/bin/sh\necho Heat; echo 'Solved in 1 ms'; echo Done\n")
    assert run(["bench", "run", str(folder / "heat.toml")]) == 0
    assert scratch_of(working_folder.scratch_parent(folder / "archive")) == []
