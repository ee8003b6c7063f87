"""Reads accounting, from a file or from Slurm day by day, and judges it."""

import os
import pwd
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec

from seatrial.commands.jobs.families import JobStandIns, Names
from seatrial.commands.jobs.job_table import JobTable, job_table
from seatrial.commands.jobs.judge import JobsResult, judge_jobs
from seatrial.commands.jobs.single_family import FamilyTimes, family_named, family_times, job_numbered
from seatrial.driver.clock import monotonic_s
from seatrial.driver.progress import Progress
from seatrial.files.inputs import MATRIX_BYTES, open_argument
from seatrial.importers.accounting import AccountedJobs, clock_jumps, read_accounting, together
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.words import count
from seatrial.process.process import NOT_STARTED, Completed, run
from seatrial.slurm import argv
from seatrial.slurm.presence import silence

DAY_TIMEOUT_S = 300.0
"""slurmdbd answers for a busy day in seconds; a server that swaps takes minutes."""
DEFAULT_DAYS = 14
MOST_DAYS = 1100
NO_COLUMN = "Invalid field requested"
NO_DATABASE = re.compile(r"(?:Problem talking to the database|failed to open persistent connection)[^\n]*")
UTC = {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}


class JobsWanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    source: Path | None
    """A file in place of Slurm."""
    since: date | None
    until: date
    partition: str
    changed: date | None
    effect: float
    family: str
    job: str
    patterns: tuple[re.Pattern[str], ...]
    """What names and submit lines of one family differ in, besides numbers and folders."""
    scrub: bool


class DayCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of sacct: the day that it asked for, how long it took, and its records."""

    day: str
    seconds: float
    records: int


class JobsOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was read, and the judgement."""

    table: JobTable
    result: JobsResult
    patterns: tuple[str, ...]
    calls: tuple[DayCall, ...]
    clock_jumps: int
    own_only: str
    """The user, where accounting shows the jobs of this user alone; else empty."""
    family: FamilyTimes | None


def read_jobs(wanted: JobsWanted, progress: Progress, waiting: Callable[[str], None]) -> JobsOutcome:
    """Read and judge. Raises UsageError for a file of another kind, LaunchError where Slurm does not answer."""
    calls: tuple[DayCall, ...] = ()
    if wanted.source:
        with open_argument(wanted.source, MATRIX_BYTES, waiting) as stream:
            accounted = read_accounting(stream)
    else:
        accounted, calls = _from_slurm(wanted, progress)
    accounted = _within(accounted, wanted)
    names = JobStandIns() if wanted.scrub else Names()
    table = job_table(accounted, names, wanted.patterns)
    family = job = None
    if wanted.job:
        job = job_numbered(table, wanted.job)
        family = int(table.family[job])
    elif wanted.family:
        family = family_named(table, wanted.family)
    return JobsOutcome(
        table=table,
        result=judge_jobs(table, changed=wanted.changed, effect=wanted.effect),
        patterns=tuple(pattern.pattern for pattern in wanted.patterns),
        calls=calls,
        clock_jumps=clock_jumps(table.jobs),
        own_only="" if wanted.source else _alone(table, names),
        family=None if family is None else family_times(table, family, job),
    )


def _from_slurm(wanted: JobsWanted, progress: Progress) -> tuple[AccountedJobs, tuple[DayCall, ...]]:
    """One call for each day, so that the database is never asked for a long period at once."""
    since = wanted.since or wanted.until - timedelta(days=DEFAULT_DAYS - 1)
    days = (wanted.until - since).days + 1
    if not 0 < days <= MOST_DAYS:
        raise UsageError(
            f"From {since} to {wanted.until} are {count(days, 'day')}; 1 to {MOST_DAYS} can be read.",
            "Give another --since or --until.",
        )
    progress.stage(f"Reading accounting of {count(days, 'day')}")
    parts, calls = [], []
    submit_line = True
    for number in range(days):
        day = since + timedelta(days=number)
        began = monotonic_s()
        done = _asked(day, wanted.partition, submit_line=submit_line)
        if submit_line and NO_COLUMN in done.stderr:
            submit_line = False
            done = _asked(day, wanted.partition, submit_line=False)
        part = read_accounting(_lines(done, day))
        parts.append(part)
        calls.append(DayCall(day=day.isoformat(), seconds=monotonic_s() - began, records=part.records))
    return together(parts), tuple(calls)


def _asked(day: date, partition: str, *, submit_line: bool) -> Completed:
    """The answer of sacct for one day in UTC."""
    words = argv.accounting(day.isoformat(), (day + timedelta(days=1)).isoformat(), partition, submit_line=submit_line)
    return run(words, timeout_s=DAY_TIMEOUT_S, extra_environment=UTC)


def _lines(done: Completed, day: date) -> Sequence[bytes]:
    """The lines that sacct printed. Raises LaunchError where it could not."""
    if done.ok:
        return [f"{line}\n".encode() for line in done.stdout.removesuffix("\n").split("\n")]
    if done.returncode == NOT_STARTED:
        raise LaunchError("sacct is not here.", "Run this where sacct works, or give its output with --from FILE.")
    if done.timed_out:
        raise LaunchError(
            f"The accounting database did not answer for {day} within {DAY_TIMEOUT_S:.0f} s.",
            "Ask by hand: sacctmgr ping; or give the output of sacct with --from FILE.",
        )
    if silent := NO_DATABASE.search(done.stderr):
        raise LaunchError(
            f"The accounting database does not answer for {day}: {silent.group()}.",
            "See whether slurmdbd runs: sacctmgr ping; or give the output of sacct with --from FILE.",
        )
    meaning, remedy = silence(done)
    raise LaunchError(f"The accounting database does not answer for {day}: {meaning}", remedy)


def _within(accounted: AccountedJobs, wanted: JobsWanted) -> AccountedJobs:
    """The jobs of the partition and period that are wanted; others are counted."""
    since = wanted.since.isoformat() if wanted.since and wanted.source else ""
    until = (wanted.until + timedelta(days=1)).isoformat() if wanted.source else ""
    left_out = dict(accounted.left_out)
    jobs = []
    for job in accounted.jobs:
        began = next((time for time in (job.started, job.submitted) if time[:1].isdigit()), "")
        outside = bool(began) and ((since and began < since) or (until and began >= until))
        if outside or (wanted.partition and job.partition != wanted.partition):
            reason = "outside of the period" if outside else "in another partition"
            left_out[reason] = left_out.get(reason, 0) + 1
        else:
            jobs.append(job)
    return msgspec.structs.replace(accounted, jobs=tuple(jobs), left_out=left_out)


def _alone(table: JobTable, names: Names) -> str:
    """This user, where no job is another's: accounting may hide those of others (PrivateData of slurmdbd.conf).

    Root sees all jobs; where there is none, there is none.
    """
    users = {family.user for family in table.families}
    try:
        user = names.user(pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        return ""
    return user if users == {user} or (not users and os.geteuid() != 0) else ""
