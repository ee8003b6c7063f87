"""One job as Slurm has it now: whether it runs, whose it is, and its nodes."""

import os
from collections.abc import Mapping

import msgspec

from seatrial.model.errors import LaunchError
from seatrial.slurm import argv
from seatrial.slurm.job_variables import FORGET
from seatrial.slurm.presence import asked, silence
from seatrial.slurm.queue import ENDED, NO_SUCH_JOB

OVER = frozenset([*ENDED, "COMPLETING", "PENDING"])
"""PENDING: Slurm has taken it back and put it in the queue again."""
STANDING_STILL = frozenset(["SUSPENDED", "STOPPED"])


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is not over."""

    state: str
    """In capitals."""
    user: str
    """Whose it is, by number."""
    nodes: str
    """As Slurm writes them."""

    def stranger(self, environ: Mapping[str, str], user_id: int) -> str:
        """The number of its user where that is not us; else empty. In a container everybody may be root."""
        ours = {environ.get("SLURM_JOB_UID", ""), str(user_id)}
        return "" if not self.user or self.user in ours else self.user


def parse_job(text: str, number: str) -> Job | None:
    """The line of that very job in the output of `squeue --format=%A|%T|%U|%N`; None where it is over.

    Asked for the first job of an array or of a heterogeneous job, squeue tells of all tasks and parts.
    """
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|", 3)]
        if len(fields) == 4 and fields[0] == number and fields[1].upper() not in OVER:
            return Job(state=fields[1].upper(), user=fields[2], nodes=fields[3])
    return None


def job_now(number: str) -> Job | None:
    """The job, or None where it is over. Raises LaunchError where Slurm does not answer."""
    done = asked(argv.job_about(number))
    if done.ok or NO_SUCH_JOB in done.stderr:
        return parse_job(done.stdout, number)
    meaning, remedy = silence(done)
    raise LaunchError(f"How job {number} stands is not known, since Slurm does not answer: {meaning}", remedy)


def job_around(number: str) -> Job:
    """The job that this shell is in. Raises LaunchError where it is over, or another user's."""
    job = job_now(number)
    if job is None:
        raise LaunchError(f"SLURM_JOB_ID says that this is job {number}, and Slurm knows no such job any more.", FORGET)
    stranger = job.stranger(os.environ, os.geteuid())
    if stranger:
        raise LaunchError(f"SLURM_JOB_ID says that this is job {number}, and that is user {stranger}'s.", FORGET)
    return job


def refuse_over(number: str) -> None:
    """Raise LaunchError where nothing can be started in the job any more, or for the time being."""
    job = job_now(number)
    if job is None:
        raise LaunchError(
            f"Job {number} is over: it was cancelled, or Slurm ended it when a node failed.",
            "Run the check again; outside any job it makes an allocation that survives a failing node.",
        )
    if job.state in STANDING_STILL:
        raise LaunchError(
            f"Job {number} is suspended: others go first on its nodes, or it was told to (scontrol suspend).",
            "Run the check again on a partition whose jobs are not suspended (PreemptMode), or once it may go on.",
        )
