"""Accounting as a cluster may have it: families with bursts, heavy tails and every state, and what is planted in it."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np

from seatrial.commands.jobs.families import Names
from seatrial.commands.jobs.job_table import job_table
from seatrial.commands.jobs.judge import JobsResult, judge_jobs
from seatrial.importers.accounting import read_accounting

BEGINNING = datetime(2026, 3, 2)
HEADER = (
    "JobID|User|Partition|NNodes|ReqCPUS|Submit|Start|End|ElapsedRaw|Suspended|Timelimit|State|ExitCode|NodeList|"
    "JobName|SubmitLine"
)
RECORDED = Path(__file__).resolve().parents[3] / "shared" / "data" / "accounting" / "eagle-1000-jobs.csv"
STATES = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 7", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "REQUEUED")
SHARES = (0.84, 0.06, 0.02, 0.05, 0.01, 0.005, 0.01, 0.005)


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A period of a cluster. `families`: how many; `jobs`: of all of them together."""

    nodes: int = 40
    families: int = 20
    jobs: int = 6000
    days: int = 60
    seed: int = 1
    slow_nodes: Mapping[str, float] = {}
    """How many times as long jobs take on a node."""
    slow_families: Mapping[int, float] = {}
    """How many times as long jobs of a family take from `changed` on."""
    changed: int = 30
    """Day of the period."""
    failing: Mapping[str, float] = {}
    """Share of jobs that crash on a node."""
    only: Mapping[str, int] = {}
    """Node that only ever gets the jobs of one family, which run nowhere else."""
    spreads: Sequence[Sequence[float]] = ()
    """Logarithms of run times of recorded families about their medians; none: heavy tails that are made up."""


def recorded_spreads(path: Path = RECORDED) -> list[list[float]]:
    """Run times of the families of a recorded history about their medians, of those with ten jobs at least."""
    by_family: dict[tuple[str, str], list[float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            seconds = float(row["run_time"] or 0)
            if row["state"] == "COMPLETED" and seconds > 0:
                by_family.setdefault((row["user"], row["nodes_req"]), []).append(math.log(seconds))
    return [[value - float(np.median(each)) for value in each] for each in by_family.values() if len(each) >= 10]


def sacct_text(history: History) -> str:
    """What `sacct --parsable2` would print of it."""
    random = np.random.default_rng(history.seed)
    families = [_family(random, history, number) for number in range(history.families)]
    weights = random.pareto(1.5, history.families) + 0.3
    lines = [HEADER]
    number = 0
    while number < history.jobs:
        family = int(random.choice(history.families, p=weights / weights.sum()))
        growing = random.random() ** (0.6 if family % 3 else 1.4)  # some families run more often later, others earlier
        day = min(int(growing * history.days), history.days - 1)
        burst = int(min(1 + random.pareto(0.9) * 3, 60, history.jobs - number))
        shared = 0.05 * random.standard_normal()  # jobs of a burst have one input
        for task in range(burst):
            number += 1
            lines.append(_record(random, history, families[family], (family, day, shared), (number, task)))
    return "\n".join(lines) + "\n"


class _Family(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    name: str
    median: float
    size: int
    spread: Sequence[float]


def _family(random: np.random.Generator, history: History, number: int) -> _Family:
    spread = history.spreads[int(random.integers(len(history.spreads)))] if history.spreads else ()
    sizes = [1, 1, 1, 2, 4, 8]
    return _Family(
        user=f"user{number % 7}",
        name=f"code{chr(97 + number % 26)}{'x' * (number // 26)}",
        median=float(random.uniform(math.log(900), math.log(40_000))),
        size=min(int(random.choice(sizes)), history.nodes),
        spread=spread,
    )


def _record(
    random: np.random.Generator, history: History, family: _Family, place: tuple[int, int, float], task: tuple[int, int]
) -> str:
    number, day, shared = place
    only = [node for node, one in history.only.items() if one == number]
    others = [f"n{at}" for at in range(1, history.nodes + 1) if f"n{at}" not in history.only]
    size = 1 if only else family.size
    nodes = only or [str(name) for name in random.choice(others, size, replace=False)]
    scatter = float(random.choice(family.spread)) if family.spread else 0.12 * float(random.standard_t(3))
    log = family.median + shared + scatter
    log += max(math.log(history.slow_nodes.get(node, 1.0)) for node in nodes)
    if day >= history.changed:
        log += math.log(history.slow_families.get(number, 1.0))
    limit_s = 48 * 3600
    seconds = min(max(int(math.exp(min(log, 20.0))), 2), limit_s)
    state = "TIMEOUT" if seconds == limit_s else str(random.choice(STATES, p=np.array(SHARES) / sum(SHARES)))
    if state == "TIMEOUT":
        seconds = limit_s
    exit_code = "1:0" if state == "FAILED" else "0:0"
    if any(random.random() < history.failing.get(node, 0.0) for node in nodes):
        state, exit_code, seconds = "FAILED", "0:11", max(seconds // 3, 1)
    begun = BEGINNING + timedelta(days=day, seconds=int(random.integers(0, 80_000)))
    submitted = begun - timedelta(seconds=int(random.integers(0, 3600)))
    fields = (
        f"{1000 + task[0]}" if task[1] == 0 else f"{1000 + task[0] - task[1]}_{task[1]}",
        family.user,
        "main",
        size,
        size * 32,
        submitted.isoformat(),
        begun.isoformat(),
        (begun + timedelta(seconds=seconds)).isoformat(),
        seconds,
        "00:00:00",
        "2-00:00:00",
        state,
        exit_code,
        ",".join(sorted(nodes)),
        f"{family.name}-{task[0]}",
        f"sbatch -n {size * 32} /home/{family.user}/run{task[0]}/{family.name}.sh",
    )
    return "|".join(map(str, fields))


def judged_records(records: Iterable[str]) -> JobsResult:
    """The judgement on jobs, from lines of sacct below `HEADER`."""
    lines = [f"{line}\n".encode() for line in (HEADER, *records)]
    return judge_jobs(job_table(read_accounting(lines), Names()), changed=None)


def record_of(number: int, node: object, name: str, *, user: str = "u", time: str, seconds: float, ended: str) -> str:
    """A line of a job of one node, which a user submitted and Slurm started at that time; `ended`: state and code."""
    times = f"{time}|" * 3
    return f"{number}|{user}|main|1|2|{times}{seconds:.0f}|00:00:00|1:00:00|{ended}|n{node}|{name}|sbatch {name}"
