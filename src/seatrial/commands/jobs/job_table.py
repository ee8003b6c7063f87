"""The jobs of a period as columns: family, day, run time, ending and nodes; and which are left out, by reason."""

import enum
import math
import re
from collections import Counter
from collections.abc import Sequence, Set
from datetime import date, datetime

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.commands.jobs.families import Grouping, JobFamily, Names
from seatrial.importers.accounting import AccountedJob, AccountedJobs, moment
from seatrial.model.errors import UsageError
from seatrial.model.node_list import expand
from seatrial.model.pair_table import Reals
from seatrial.statistics.strata import ENDLESS, Members, Places

PLAIN_NAMES = re.compile(r"[A-Za-z0-9._,-]+")
"""Nodes that are not folded."""
NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*+")
"""A name of a node; reports print it in commands, which people paste."""
MOST_EXPANDED, MOST_PLACES = 1 << 21, 1 << 24
"""Nodes in all lists that differ, and in the lists of all jobs."""
FEWEST_OF_DAY = 4
"""Jobs of a family on one day that are compared with each other; fewer are compared with its other small days."""


class JobEnding(enum.StrEnum):
    """How a job ended, in the words of reports; COMPLETED is a success."""

    COMPLETED = "completed"
    CRASHED = "crashed"
    FAILED = "failed"
    NODE_FAILED = "lost a node"
    OUT_OF_MEMORY = "ran out of memory"
    TIMED_OUT = "reached the time limit"


FAILURES = tuple(ending for ending in JobEnding if ending is not JobEnding.COMPLETED)
ENDINGS = {
    "COMPLETED": JobEnding.COMPLETED,
    "FAILED": JobEnding.FAILED,
    "NODE_FAIL": JobEnding.NODE_FAILED,
    "BOOT_FAIL": JobEnding.NODE_FAILED,
    "OUT_OF_MEMORY": JobEnding.OUT_OF_MEMORY,
    "TIMEOUT": JobEnding.TIMED_OUT,
}
UNUSED = {
    "PENDING": "not begun",
    "RUNNING": "still running",
    "SUSPENDED": "still running",
    "COMPLETING": "still running",
    "CANCELLED": "cancelled",
    "PREEMPTED": "pre-empted",
    "REQUEUED": "requeued",
    "DEADLINE": "ended at a deadline",
    "REVOKED": "revoked",
    "RESIZING": "resized",
}
SUSPENDED = "suspended for some time"
NO_TIME = "ended without a run time"


class JobTable(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that ended by themselves or failed; arrays have one entry for each, `job` and `member` one for each node."""

    jobs: tuple[AccountedJob, ...]
    families: tuple[JobFamily, ...]
    family: Places
    day: Places
    """Ordinal of the day on which it began; 0: unknown."""
    logs: Reals
    """Logarithm of the run time in seconds; of a job at its time limit that of the limit."""
    ending: NDArray[np.int8]
    """Place in `JobEnding`."""
    nodes: tuple[str, ...]
    job: Places
    member: Places
    records: int
    left_out: dict[str, int]
    unreadable: tuple[int, ...]
    without_nodes: int
    """Jobs of which the nodes are not known."""

    @property
    def timed(self) -> NDArray[np.bool_]:
        """Jobs that show a run time: completed, or cut off at the limit."""
        timed: NDArray[np.bool_] = (self.ending == ORDER[JobEnding.COMPLETED]) | self.cut_off
        return timed

    @property
    def cut_off(self) -> NDArray[np.bool_]:
        """Jobs that reached their time limit."""
        cut_off: NDArray[np.bool_] = self.ending == ORDER[JobEnding.TIMED_OUT]
        return cut_off

    def began(self, jobs: Places) -> Reals:
        """When these jobs began, in seconds from some time on; 0: unknown."""
        texts, place = np.unique(
            [self.jobs[job].started or self.jobs[job].submitted for job in jobs], return_inverse=True
        )
        times = ((time - datetime.min).total_seconds() if (time := moment(text)) else 0.0 for text in texts.tolist())
        return np.fromiter(times, float, len(texts))[place]

    def times(self) -> Reals:
        """Logarithms, endless where a job reached its limit."""
        return np.where(self.cut_off, ENDLESS, self.logs)

    def on_nodes(self, names: Set[str]) -> NDArray[np.bool_]:
        """Jobs that ran on any of these nodes."""
        places = [place for place, name in enumerate(self.nodes) if name in names]
        on_any = np.zeros(len(self.jobs), bool)
        on_any[self.job[np.isin(self.member, places)]] = True
        return on_any

    def node_time(self, names: Set[str]) -> float:
        """Share of the time of all nodes in all jobs that is that of these nodes; NaN: no job has known nodes."""
        times = np.bincount(self.member, np.exp(self.logs)[self.job], len(self.nodes))
        of_these = np.array([name in names for name in self.nodes], bool)
        return float(times[of_these].sum() / times.sum()) if len(times) else math.nan

    def members(self, chosen: NDArray[np.bool_], since: int = 0) -> tuple[Members, Places, Places]:
        """The chosen jobs with known nodes by stratum, the family of each stratum, and the number of each job.

        A stratum is a family on one day; small days of a family are one, on either side of the day `since`.
        """
        with_nodes = np.zeros(len(self.jobs), bool)
        with_nodes[self.job] = True
        jobs = np.flatnonzero(chosen & with_nodes)
        family, day = self.family[jobs], self.day[jobs]
        _, place, sizes = np.unique(family * MOST_DAYS + day, return_inverse=True, return_counts=True)
        day = np.where(sizes[place] < FEWEST_OF_DAY, np.where(day >= since, 1, 0), day)
        keys, stratum = np.unique(family * MOST_DAYS + day, return_inverse=True)
        number = np.full(len(self.jobs), -1)
        number[jobs] = np.arange(len(jobs))
        kept = number[self.job] >= 0
        members = Members(
            stratum=stratum, job=number[self.job[kept]], member=self.member[kept], count=max(len(self.nodes), 1)
        )
        return members, keys // MOST_DAYS, jobs


MOST_DAYS = 10_000_000
"""More than the ordinal of any date that Python has."""


def job_table(accounted: AccountedJobs, names: Names, patterns: Sequence[re.Pattern[str]] = ()) -> JobTable:
    """The columns of jobs. `names`: how users, jobs and nodes are printed; `patterns`: those of `Grouping`."""
    left_out = Counter(accounted.left_out)
    grouping, days, expanded = Grouping(patterns), _Days(), _Nodes()
    jobs, family, day, logs, ending, lists = [], [], [], [], [], []
    for job in accounted.jobs:
        if reason := _unused(job):
            left_out[reason] += 1
            continue
        lists.append(expanded.number(job.nodes))
        jobs.append(job)
        family.append(grouping.number(job))
        day.append(days.ordinal(job.started) or days.ordinal(job.submitted))
        logs.append(job.elapsed_s)
        ending.append(ORDER[_ending(job)])
    member, counts = expanded.members(np.array(lists, np.intp))
    return JobTable(
        jobs=tuple(jobs),
        families=grouping.families(names),
        family=np.array(family, np.intp),
        day=np.array(day, np.intp),
        logs=np.log(np.maximum(np.array(logs, float), LEAST_S)),
        ending=np.array(ending, np.int8),
        nodes=tuple(names.node(name) for name in expanded.number_of),
        job=np.repeat(np.arange(len(jobs)), counts),
        member=member,
        records=accounted.records,
        left_out=dict(left_out.most_common()),
        unreadable=accounted.unreadable,
        without_nodes=int((counts == 0).sum()),
    )


LEAST_S = 1.0
"""Accounting counts whole seconds."""
ORDER = {ending: place for place, ending in enumerate(JobEnding)}


def _unused(job: AccountedJob) -> str:
    """Why a job shows nothing; empty where it does."""
    if job.state not in ENDINGS:
        return UNUSED.get(job.state, "in an unknown state")
    if job.suspended_s:
        return SUSPENDED
    lasted = job.elapsed_s > 0 or (job.elapsed_s == 0 and job.nodes)  # a node that swallows jobs ends them at once
    return "" if lasted else NO_TIME


def _ending(job: AccountedJob) -> JobEnding:
    ending = ENDINGS[job.state]
    return JobEnding.CRASHED if ending is JobEnding.FAILED and job.signal else ending


class _Days:
    """Ordinals of the days in times, each day read once."""

    def __init__(self) -> None:
        self._ordinals: dict[str, int] = {}

    def ordinal(self, time: str) -> int:
        """0 where the time is unknown."""
        day = time[: len("2026-11-26")]
        if day not in self._ordinals:
            began = moment(day)
            self._ordinals[day] = date.toordinal(began) if began else 0
        return self._ordinals[day]


class _Nodes:
    """Lists of nodes, each expanded once and numbered as it appears, and their nodes by number."""

    def __init__(self) -> None:
        self._lists: dict[str, int] = {}
        self._ends = [0]
        self._members: list[int] = []
        self.number_of: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a list. Raises UsageError where the lists have too many nodes."""
        number = self._lists.setdefault(text, len(self._lists))
        if number + 1 == len(self._ends):
            self._members += (self.number_of.setdefault(name, len(self.number_of)) for name in _expanded(text))
            self._ends.append(len(self._members))
            _bound(len(self._members), MOST_EXPANDED)
        return number

    def members(self, lists: Places) -> tuple[Places, Places]:
        """The nodes of all jobs, one after the other, and how many each has. `lists`: the number of each job's list."""
        begins, counts = np.array(self._ends, np.intp)[lists], np.diff(self._ends).astype(np.intp)[lists]
        _bound(int(counts.sum()), MOST_PLACES)
        places = np.arange(counts.sum()) + np.repeat(begins - np.cumsum(counts) + counts, counts)
        return np.array(self._members, np.intp)[places], counts


def _bound(number: int, most: int) -> None:
    """Raise UsageError where lists of nodes are too long."""
    if number > most:
        raise UsageError(
            "The lists of nodes of these jobs are too long to compare them.",
            "Give a shorter period (--since, --until) or one partition (--partition).",
        )


def _expanded(text: str) -> tuple[str, ...]:
    """The nodes of a list; none where it is not one."""
    try:
        names = filter(None, text.split(",")) if PLAIN_NAMES.fullmatch(text) else expand(text)
    except ValueError:
        return ()
    nodes = tuple(dict.fromkeys(names))
    return nodes if all(map(NODE.fullmatch, nodes)) else ()
