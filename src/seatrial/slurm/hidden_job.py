"""The job around this process whose variables are gone, as in a pure environment: by its cgroup or its ancestors."""

import os
import re
from pathlib import Path

from seatrial.model.launching import blocked
from seatrial.model.verdict import Finding, FindingKind

PROC = Path("/proc")
CGROUP = re.compile(r"/job_(\d{1,18})(?:/|$)", re.MULTILINE)
"""Slurm's own name of a job's cgroup; also seen from within a container that has a process namespace of its own."""
VARIABLE = re.compile(rb"(?:^|\0)SLURM_JOB_ID=(\d{1,18})(?:\0|$)")
MOST_ANCESTORS = 100
MOST_BYTES = 1 << 20
KEEP = "Keep them (guix shell --pure --preserve=^SLURM, apptainer without --cleanenv), or set SLURM_JOB_ID={job} here."


def hidden_job(proc: Path = PROC, process: int | None = None) -> str:
    """The job's number; empty where neither the cgroup nor an ancestor of this user's names one."""
    number = os.getpid() if process is None else process
    of_cgroup = CGROUP.search(_read(proc / str(number) / "cgroup").decode(errors="replace"))
    if of_cgroup:
        return of_cgroup[1]
    for _ in range(MOST_ANCESTORS):
        named = VARIABLE.search(_read(proc / str(number) / "environ"))
        if named:
            return named[1].decode()
        fields = _read(proc / str(number) / "stat").rpartition(b")")[2].split()
        number = int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else 0
        if number <= 1:
            return ""
    return ""


def _read(path: Path) -> bytes:
    """What the kernel says of a process; empty where it is another user's or gone."""
    try:
        with path.open("rb") as stream:
            return stream.read(MOST_BYTES)
    except OSError:
        return b""


def judge_hidden_job(step: str, job: str, nodes: str, *, slurm: bool) -> Finding:
    """This shell is inside a job without the job's variables. `slurm`: whether Slurm's commands are here."""
    where = f" on {nodes}" if nodes else ""
    gone = "its SLURM_ variables are gone" if slurm else "its SLURM_ variables and Slurm's commands are gone"
    says = f"This shell is inside job {job}{where}, and {gone}."
    return blocked(step, FindingKind.JOB_VARIABLES, says, KEEP.format(job=job))
