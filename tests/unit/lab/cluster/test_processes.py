"""Processes of a lab, by the program that they run."""

import os
import subprocess
import time

import pytest

from seatrial.lab.cluster.processes import named, pids_marked, program


def test_a_daemon_is_found_whether_its_file_or_its_first_argument_has_the_name() -> None:
    with subprocess.Popen(["/usr/sbin/slurmd", "60"], executable="/bin/sleep") as daemon:
        try:
            deadline = time.monotonic() + 60
            while not named([daemon.pid], "slurmd") and time.monotonic() < deadline:
                time.sleep(0.01)  # the kernel may not yet have replaced the program
            assert program(daemon.pid) == "sleep"
            assert [named([daemon.pid], name) for name in ("sleep", "slurmd", "60")] == [[daemon.pid], [daemon.pid], []]
        finally:
            daemon.kill()
    assert named([daemon.pid], "slurmd") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to start a process as another user")
def test_what_others_mark_as_a_labs_own_is_left_alone() -> None:
    mark = f"SEATRIAL_RAISED=test-{os.getpid()}"
    argv = ["env", mark, "sleep", "60"]
    with subprocess.Popen(argv) as ours, subprocess.Popen(argv, user=65534, group=65534) as theirs:
        try:
            deadline = time.monotonic() + 60
            while not (program(ours.pid) == program(theirs.pid) == "sleep") and time.monotonic() < deadline:
                time.sleep(0.01)
            assert pids_marked(mark) == [ours.pid]
        finally:
            ours.kill()
            theirs.kill()
