"""One family, or the family of one job: what share ended, how run times are distributed, and how a job compares."""

import math

import msgspec
import numpy as np

from seatrial.commands.jobs.families import JobFamily
from seatrial.commands.jobs.job_table import ORDER, JobEnding, JobTable
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import Reals
from seatrial.model.words import natural_key, some
from seatrial.statistics.strata import Places

MOST_BINS = 12
MOST_TASKS = 5
FEWEST_ON_NODE = 2
"""Jobs on a node of which a median is shown."""


class TimeBin(msgspec.Struct, frozen=True, kw_only=True):
    """Run times from `low_s` to below `high_s`, and how many jobs have one."""

    low_s: float
    high_s: float
    jobs: int


class NodeTime(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of the family on one node, and their median over that of the family."""

    node: str
    jobs: int
    """How many completed."""
    failed: int
    """How many failed or were cut off, on this node or on another of their nodes."""
    ratio: float


class NodeBin(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes whose median is `low` to below `high` times that of the family, and how many there are."""

    low: float
    high: float
    nodes: int


class JobPlace(msgspec.Struct, frozen=True, kw_only=True):
    """One job among its peers."""

    job: str
    elapsed_s: float
    ending: JobEnding
    longer_than: float
    """Share of the family's completed jobs that took less time."""
    ratio: float
    """Run time over the family's median."""
    nodes: tuple[str, ...]


class FamilyTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one family."""

    family: JobFamily
    endings: dict[str, int]
    completed: float
    """Share of the jobs that completed."""
    median_s: float
    quartiles_s: tuple[float, float]
    bins: tuple[TimeBin, ...]
    nodes: tuple[NodeTime, ...]
    """The slowest first."""
    node_bins: tuple[NodeBin, ...]
    job: JobPlace | None = None


def family_named(table: JobTable, label: str) -> int:
    """The number of a family. Raises UsageError where there is none, or several begin so."""
    labels = [family.label for family in table.families]
    if label in labels:
        return labels.index(label)
    similar = [other for other in labels if other.startswith(label) or other.partition("/")[2].startswith(label)]
    if len(similar) == 1:
        return labels.index(similar[0])
    have = f"These begin so: {', '.join(similar[:5])}." if similar else "seatrial jobs --families lists them."
    raise UsageError(f"--family {label!r} is {'not unique' if similar else 'no family of this period'}.", have)


def job_numbered(table: JobTable, number: str) -> int:
    """The place of a job; if it ran several times, that of the last run. Raises UsageError where none ended."""
    for place in reversed(range(len(table.jobs))):
        if table.jobs[place].job == number:
            return place
    tasks = [job.job for job in table.jobs if job.job.startswith(f"{number}_")]
    raise UsageError(
        f"--job {number!r} is not among the jobs of this period that ended.",
        f"It is an array; name one of its tasks: {some(tasks, MOST_TASKS)}."
        if tasks
        else "Name the day on which it began with --since. Accounting may hide the jobs of other users.",
    )


def family_times(table: JobTable, family: int, job: int | None = None) -> FamilyTimes:
    """The family with that number. `job`: the place of a job whose rank is wanted, too."""
    jobs = np.flatnonzero(table.family == family)
    endings = {ending.value: int((table.ending[jobs] == place).sum()) for ending, place in ORDER.items()}
    completed = jobs[table.ending[jobs] == ORDER[JobEnding.COMPLETED]]
    logs = table.logs[completed]
    quartiles = np.exp(np.percentile(logs, [25, 50, 75])) if len(logs) else np.full(3, math.nan)
    nodes = _nodes(table, jobs, float(quartiles[1]))
    times = np.array([table.jobs[place].elapsed_s for place in completed])
    return FamilyTimes(
        family=table.families[family],
        endings={ending: number for ending, number in endings.items() if number},
        completed=len(completed) / len(jobs),
        median_s=float(quartiles[1]),
        quartiles_s=(float(quartiles[0]), float(quartiles[2])),
        bins=tuple(TimeBin(low_s=low, high_s=high, jobs=number) for low, high, number in _bins(times)),
        nodes=nodes,
        node_bins=tuple(
            NodeBin(low=low, high=high, nodes=number)
            for low, high, number in _bins(np.array([node.ratio for node in nodes]))
        ),
        job=None if job is None else _place(table, job, completed, float(quartiles[1])),
    )


def _bins(values: Reals) -> list[tuple[float, float, int]]:
    """Ends and number of the values of each bar of a histogram."""
    if not len(values):
        return []
    number = min(MOST_BINS, max(1, math.ceil(2 * len(values) ** (1 / 3))))  # Rice's rule
    counts, edges = np.histogram(values, number)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True))


def _nodes(table: JobTable, family: Places, median_s: float) -> tuple[NodeTime, ...]:
    """The nodes with enough jobs of the family that completed."""
    chosen = np.isin(table.job, family)
    members, jobs = table.member[chosen], table.job[chosen]
    order = np.argsort(members, kind="stable")
    members, jobs = members[order], jobs[order]
    nodes, begins = np.unique(members, return_index=True)
    ended = table.ending == ORDER[JobEnding.COMPLETED]
    times = [
        NodeTime(
            node=table.nodes[node],
            jobs=int(ended[own].sum()),
            failed=int((~ended[own]).sum()),
            ratio=float(np.exp(np.median(table.logs[own[ended[own]]])) / median_s),
        )
        for node, own in zip(nodes, np.split(jobs, begins[1:]), strict=False)
        if ended[own].sum() >= FEWEST_ON_NODE
    ]
    return tuple(sorted(times, key=lambda each: (-each.ratio, natural_key(each.node))))


def _place(table: JobTable, job: int, completed: Places, median_s: float) -> JobPlace:
    peers = table.logs[completed[completed != job]]
    return JobPlace(
        job=table.jobs[job].job,
        elapsed_s=table.jobs[job].elapsed_s,
        ending=list(JobEnding)[table.ending[job]],
        longer_than=float((peers < table.logs[job]).mean()) if len(peers) else math.nan,
        ratio=float(np.exp(table.logs[job])) / median_s,
        nodes=tuple(table.nodes[node] for node in table.member[table.job == job]),
    )
