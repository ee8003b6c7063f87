"""What Slurm's queue reports: jobs that were submitted, jobs of one node each, and jobs that wait for nodes."""

import os
import re
import secrets
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.failures.cause import Pending, why_pending
from seatrial.model.settings import SlurmRequest
from seatrial.process.keeper import Duty, EndProcesses, KeeperCommand
from seatrial.process.process import run
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text as slurm_text
from seatrial.slurm.allocation import refused
from seatrial.slurm.presence import COMMAND_TIMEOUT_S, queue_answer
from seatrial.slurm.text import NodeLine

COMMENT = "seatrial-qualify"
"""Comment of the jobs of qualify, which give way to all others."""
WAITING = ("squeue", "--all", "--noheader", "--states=PENDING", "--format=%D|%P|%r|%k")
STARTABLE = ("", "None", "Resources", "Priority")
"""Reasons of jobs that begin as soon as there are nodes for them; a job that was just submitted has none yet."""
BOOT = re.compile(r"^NodeName=(\S+) .*?\bBootTime=(\d{1,12})\b", re.MULTILINE)
FAILED = (
    "sacct", "--allusers", "--allocations", "--noheader", "--parsable2", "--state=NODE_FAIL", "--starttime=now-7days",
    "--endtime=now", "--format=End,NodeList",
)  # fmt: skip
"""Jobs of the last week that ended because a node failed; other failures are mostly the user's own."""


class WaitingJob(msgspec.Struct, frozen=True, kw_only=True):
    """A pending job. `nodes`: how many it needs at least."""

    nodes: int
    partitions: tuple[str, ...]
    reason: str
    comment: str


def parse_waiting(text: str) -> tuple[WaitingJob, ...]:
    """The jobs in the output of WAITING that could begin and are not of qualify; other lines are passed over."""
    fields = [[field.strip() for field in line.split("|", 3)] for line in text.splitlines()]
    jobs = (
        WaitingJob(nodes=int(words[0]), partitions=tuple(words[1].split(",")), reason=words[2], comment=words[3])
        for words in fields
        if len(words) == 4 and re.fullmatch(r"[0-9]{1,9}", words[0])
    )
    return tuple(job for job in jobs if job.reason in STARTABLE and job.comment != COMMENT)


def job_in_need(jobs: Sequence[WaitingJob], lines: Sequence[NodeLine], ours: Collection[str]) -> WaitingJob | None:
    """The first job that the idle nodes of its partition are enough for, together with ours."""
    free = Counter(line.partition for line in lines if line.idle or line.node in ours)
    return next((job for job in jobs if any(job.nodes <= free[name] for name in job.partitions)), None)


def parse_boots(text: str) -> Mapping[str, float]:
    """Node -> when it booted, in seconds since 1970 (SLURM_TIME_FORMAT=%s), from `scontrol --oneliner show nodes`."""
    return {node: float(time_s) for node, time_s in BOOT.findall(text)}


def parse_failed(text: str) -> tuple[tuple[float, str], ...]:
    """When a job failed, in seconds since 1970, and its nodes in Slurm's notation, from the output of FAILED."""
    fields = (line.split("|", 1) for line in text.splitlines())
    return tuple((float(words[0]), words[1]) for words in fields if len(words) == 2 and words[0].isdecimal())


ENDED = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    ]
)
CANCEL_TRIES = 60
"""Five minutes of a controller that does not answer."""
LATE_JOB_S = 3.0
HANGING_S = 5.0
"""Seconds for salloc to notice that its job is gone."""
MEMORY = "MEMORY"
"""Part of SelectTypeParameters: Slurm hands out memory, and a job that asks for none may get all of a node's."""


class QueueLine(msgspec.Struct, frozen=True, kw_only=True):
    """One job, as squeue has it; ended ones stay there for Slurm's MinJobAge, 5 minutes where it is not set."""

    job: str
    state: str
    """Slurm's word for the state, in capitals."""
    reason: str = ""
    asked: str = ""
    """The nodes it asks for by name, as Slurm writes them."""

    @property
    def ended(self) -> bool:
        """Whether it has left the queue; an unknown state does not count as an end."""
        return self.state in ENDED

    @property
    def why(self) -> str:
        """PENDING: the nodes are in use by others (Resources)."""
        if not self.reason:
            return self.state
        pending = self._known
        return f"{self.state}: {pending.meaning} ({self.reason})" if pending else f"{self.state} ({self.reason})"

    @property
    def hopeless(self) -> str:
        """What to do about a job that can never start; empty for all others."""
        pending = self._known
        if pending is None or not pending.hopeless or self.state != "PENDING":
            return ""
        return f"This job can never start. {pending.remedy} To cancel it: {shlex.join(slurm_argv.cancel(self.job))}"

    @property
    def _known(self) -> Pending | None:
        return None if self.ended else why_pending(self.reason)


def jobs_by_number(job: str) -> tuple[QueueLine, ...]:
    """The job, or nothing where Slurm no longer knows it. Raises LaunchError where Slurm does not answer."""
    return _lines(slurm_argv.queue_of(job))


def jobs_by_name(name: str, user: str) -> tuple[QueueLine, ...]:
    """The user's jobs of that name. Raises LaunchError where Slurm does not answer."""
    return _lines(slurm_argv.queue_of_name(name, user))


def parse_queue(text: str) -> tuple[QueueLine, ...]:
    """Lines of `squeue --format=%i|%T|%n|%r`; lines of another form are passed over."""
    fields = (line.split("|", 3) for line in text.splitlines())
    return tuple(
        QueueLine(job=job, state=state.upper(), asked=asked, reason="" if reason == "None" else reason)
        for job, state, asked, reason in (map(str.strip, each) for each in fields if len(each) == 4)
    )  # None: it waits for nothing


def submit(
    nodes: Sequence[str],
    seconds: float,
    partition: str,
    name: str,
    output: Path,
    script: Path,
    argv: Sequence[str],
    request: SlurmRequest = slurm_argv.ANY,
) -> str:
    """Hand `script argv...` to the queue; the job's number. Raises LaunchError."""
    return _handed_in(slurm_argv.sbatch(nodes, seconds, partition, name, str(output), str(script), argv, request))


def submit_alone(
    node: str,
    partition: str,
    name: str,
    script: str,
    argv: Sequence[str],
    *,
    memory: bool,
    request: SlurmRequest = slurm_argv.ANY,
) -> str:
    """A short job of one core of this node, beside whatever others run there; its number. Raises LaunchError."""
    return _handed_in(slurm_argv.sbatch_alone(node, partition, name, script, argv, memory=memory, request=request))


def _handed_in(argv: Sequence[str]) -> str:
    done = run(argv, timeout_s=COMMAND_TIMEOUT_S)
    job = slurm_text.submitted_job(done.stdout)
    if not done.ok or not job:
        raise refused(done.stderr, "Slurm accepts no job")
    return job


def gives_out_memory() -> bool:
    """Whether jobs are given memory by the scheduler, so that one has to say how little it needs."""
    done = run(slurm_argv.CONFIG, timeout_s=COMMAND_TIMEOUT_S)
    return MEMORY in slurm_text.config_value(done.stdout, "SelectTypeParameters").upper()


def cancel_named(name: str, user: str) -> None:
    """End the user's jobs of that name."""
    run(slurm_argv.cancel_named(name, user), timeout_s=COMMAND_TIMEOUT_S)


def this_user() -> str:
    """Whose the jobs are that we submit, by number; Slurm's commands take it for a name."""
    return str(os.geteuid())


def new_job_name() -> str:
    """A name that no other job has: a job may be granted when nobody is left to read its number."""
    return f"seatrial-{secrets.token_hex(4)}"


def job_ending(name: str) -> tuple[Duty, ...]:
    """What a keeper does to end all jobs of a name.

    A controller that is just restarting is asked until it hears; and once more, since a job that was asked for at the
    last moment comes into the queue after that. The programs that asked for the job and that hold it end by themselves
    once it is gone; those that hang at their end are killed.
    """
    cancel = KeeperCommand(argv=tuple(slurm_argv.cancel_named(name, this_user())), tries=CANCEL_TRIES)
    once_more = KeeperCommand(argv=cancel.argv, after_s=LATE_JOB_S)
    return (
        cancel,
        once_more,
        EndProcesses(words=(slurm_argv.named(name), f"SLURM_JOB_NAME={name}"), patience_s=HANGING_S),
    )


def _lines(argv: Sequence[str]) -> tuple[QueueLine, ...]:
    return parse_queue(queue_answer(argv, "the job"))
