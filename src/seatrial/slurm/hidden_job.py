"""The job around this process whose variables are gone, as in a pure environment.

Its cgroup names it, or a variable of an ancestor. An ancestor that is salloc itself has no such variable: the session
of salloc, with which Slurm notes where a job was asked for, says which of the user's jobs it is.
"""

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from seatrial.model.launching import blocked
from seatrial.model.verdict import Finding, FindingKind
from seatrial.slurm import argv
from seatrial.slurm.presence import asked

PROC = Path("/proc")
CGROUP = re.compile(r"/job_(\d{1,18})(?:/|$)", re.MULTILINE)
"""Slurm's own name of a job's cgroup; also seen from within a container that has a process namespace of its own."""
VARIABLE = re.compile(rb"(?:^|\0)SLURM_JOB_ID=(\d{1,18})(?:\0|$)")
MOST_ANCESTORS = 100
MOST_BYTES = 1 << 20
PARENT, SESSION = 1, 3
"""Fields of /proc/PID/stat behind the name of the program: state, parent, group, session (proc(5))."""
KEEP = "Keep them (guix shell --pure --preserve=^SLURM, apptainer without --cleanenv), or set SLURM_JOB_ID={job} here."
SALLOC = b"salloc"


def hidden_job(proc: Path = PROC, process: int | None = None) -> str:
    """The job's number; empty where neither the cgroup nor an ancestor of this user's names one."""
    number = os.getpid() if process is None else process
    of_cgroup = CGROUP.search(_read(proc / str(number) / "cgroup").decode(errors="replace"))
    if of_cgroup:
        return of_cgroup[1]
    for ancestor in _ancestors(proc, number):
        named = VARIABLE.search(_read(proc / str(ancestor) / "environ"))
        if named:
            return named[1].decode()
    return ""


def salloc_session(proc: Path = PROC, process: int | None = None) -> str:
    """The session of the nearest ancestor that is salloc; empty where none is."""
    for ancestor in _ancestors(proc, os.getpid() if process is None else process):
        begin, _, rest = _read(proc / str(ancestor) / "stat").rpartition(b")")
        fields = rest.split()
        if begin.partition(b"(")[2] == SALLOC and len(fields) > SESSION:
            return fields[SESSION].decode(errors="replace")
    return ""


def job_of_session(session: str, host: str = "") -> str:
    """The user's job that was asked for in this session of this host; empty unless exactly one was."""
    lines = [line.split() for line in asked(argv.jobs_by_session(os.geteuid())).stdout.splitlines()]
    own_host = (host or socket.gethostname()).partition(".")[0]
    fitting = {
        words[0]
        for words in lines
        if len(words) == 4 and words[2] == session and words[1].partition(".")[0] == own_host and words[3] == "RUNNING"
    }
    return fitting.pop() if len(fitting) == 1 else ""


def _ancestors(proc: Path, number: int) -> Iterator[int]:
    """The process itself, its parent, and so on."""
    for _ in range(MOST_ANCESTORS):
        yield number
        fields = _read(proc / str(number) / "stat").rpartition(b")")[2].split()
        number = int(fields[PARENT]) if len(fields) > PARENT and fields[PARENT].isdigit() else 0
        if number <= 1:
            return


def _read(path: Path) -> bytes:
    """What the kernel says of a process; empty where it is another user's or gone."""
    try:
        with path.open("rb") as stream:
            return stream.read(MOST_BYTES)
    except OSError:
        return b""


def judge_hidden_job(step: str, job: str, nodes: str, also: str = "") -> Finding:
    """This shell is inside a job without the job's variables, and without `also`, such as Slurm's commands.

    `job`: empty where only salloc knows it.
    """
    where = f" on {nodes}" if nodes else ""
    gone = f"its SLURM_ variables{f' and {also}' if also else ''} are gone"
    says = f"This shell is inside {f'job {job}' if job else 'a job of salloc'}{where}, and {gone}."
    return blocked(step, FindingKind.JOB_VARIABLES, says, KEEP.format(job=job or "NUMBER"))
