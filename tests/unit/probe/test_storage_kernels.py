"""Kernels that write files: they measure, they verify, and whatever happens they leave no file."""

import errno
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from seatrial.launch.local import mpirun_argv
from seatrial.launch.mpi import Mpi, without_schedulers
from tests.support.processes import kill_all
from tests.unit.probe.test_rounds import answers, mpi, probe

assert mpi, probe  # fixtures
BLOCK_BYTES = 1 << 16


def asked(kernel: str, folder: Path, **changes: Any) -> dict[str, Any]:
    block = 0 if kernel == "storage_files" else BLOCK_BYTES
    usual = {"ranks": [2, 0, 1, 3], "group_sizes": [3, 1], "message_bytes": block, "window": 2, "warmup": 0}
    return {"kernel": kernel, **usual, "folder": str(folder), **changes}


def test_each_rank_writes_and_reads_files_that_do_not_stay(mpi: Mpi, probe: Path, tmp_path: Path) -> None:
    kernels = ("storage_write", "storage_read", "storage_files")
    rounds = [asked(kernel, tmp_path, verify="ends", warmup=1) for kernel in kernels]
    for kernel, answer in zip(kernels, answers(mpi, probe, *rounds), strict=True):
        assert (answer[0]["record"], answer[-1]["record"]) == ("start", "end"), answer
        for sample in answer[1:-1]:
            assert sample["errors"] == 0
            assert sample["verified"] == (1 if kernel == "storage_read" else 0)
            assert len(sample["times_s"]) == 2
            assert all(time_s > 0 for time_s in sample["times_s"])
            assert "failed" not in sample
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_cannot_be_used_is_an_error_number_and_no_hang(mpi: Mpi, probe: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(".")
    places = {"none": errno.ENOENT, "file": errno.ENOTDIR, "link": errno.ENOTDIR}
    rounds = [asked("storage_write", tmp_path / name) for name in places]
    rounds += [asked("storage_files", tmp_path / name) for name in places]
    for answer, number in zip(answers(mpi, probe, *rounds), [*places.values()] * 2, strict=True):
        assert [sample["failed"] for sample in answer[1:-1]] == [number] * 2
        assert all(sample["times_s"] == [0.0, 0.0] for sample in answer[1:-1])


def test_killed_ranks_leave_no_data(mpi: Mpi, probe: Path, tmp_path: Path) -> None:
    """Killed while they write: a file of data has no name, so nothing of it stays."""
    line = (
        '{"command":"measure","id":1,"kernel":"storage_write","ranks":[0,1,2,3],"group_sizes":[4],'
        f'"message_bytes":{BLOCK_BYTES},"window":1,"warmup":0,"iterations":20000,"verify":"none",'
        f'"folder":"{tmp_path}"}}\n'
    )
    argv = without_schedulers(mpirun_argv(mpi, 4, probe, root=os.geteuid() == 0), os.environ)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(line)
        started.stdin.flush()
        pids = []
        for record in started.stdout:
            if '"record":"rank"' in record:
                pids.append(int(record.partition('"pid":')[2].partition(",")[0]))
            if '"record":"start"' in record:
                break
        kill_all(pids)
        started.wait(timeout=60)
    deadline = time.monotonic() + 20
    while [*tmp_path.iterdir()] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == 4
    assert [path for path in tmp_path.iterdir() if path.stat().st_size > 0] == []
