"""Jobs that wait for nodes, and boots and failures of nodes; parsed from squeue(1), scontrol(1) and sacct(1), pure."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

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
