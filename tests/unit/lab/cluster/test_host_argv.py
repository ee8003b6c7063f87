"""A program enters the namespaces of a host's holder, never those of a process that has got its number."""

import os
import subprocess
from pathlib import Path

import pytest

from seatrial.lab.cluster.host_argv import ENTER
from seatrial.lab.cluster.processes import start_ticks
from seatrial.process.process import Completed, run


def entered(pid: int, ticks: int, tmp_path: Path) -> Completed:
    """`hostname` by the program of a host whose holder is that process."""
    program = tmp_path / "n1"
    program.write_text(ENTER.format(host="n1", pid=pid, ticks=ticks, lab="a", net=f"/proc/{os.getpid()}/ns/net"))
    return run(["sh", str(program), "sh", "-c", 'hostname; ls /proc/$$/fd; echo "$1"', "sh", "a  b"], timeout_s=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to enter namespaces")
def test_only_the_holder_itself_is_entered(tmp_path: Path) -> None:
    argv = ["unshare", "--uts", "--ipc", "--mount", "sh", "-c", "hostname held; echo; exec sleep 60"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        ticks = start_ticks(holder.pid) or 0
        done = entered(holder.pid, ticks, tmp_path)
        assert (done.stdout.split()[0], done.stdout.splitlines()[-1]) == ("held", "a  b")
        assert not {"7", "8", "9"} & {*done.stdout.split()[1:]}, "they would keep the namespaces alive"
        other = entered(holder.pid, ticks - 1, tmp_path)
        holder.kill()
    gone = entered(holder.pid, ticks, tmp_path)
    for refused in (other, gone):
        assert (refused.returncode, refused.stdout) == (125, "")
        assert "n1 has lost its namespaces" in refused.stderr
