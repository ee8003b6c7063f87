"""Processes of a lab, by the program that they run."""

import subprocess
import time

from seatrial.lab.cluster.processes import named, program


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
