"""Jobs of a scheduler's accounting: `sacct --parsable2` with the header that names its columns, or CSV."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter

import msgspec

from seatrial.model.errors import UsageError

COLUMN_NAMES = {
    "job": ("jobid", "jobidraw", "id"),
    "user": ("user", "account"),
    "name": ("jobname", "name"),
    "submit_line": ("submitline", "command"),
    "partition": ("partition", "queue"),
    "nodes": ("nodelist", "nodes"),
    "size": ("nnodes", "allocnodes", "nodesreq", "reqnodes"),
    "processors": ("reqcpus", "ncpus", "processorsreq"),
    "submitted": ("submit", "submittime"),
    "started": ("start", "starttime"),
    "ended": ("end", "endtime"),
    "elapsed": ("elapsedraw", "elapsed", "runtime"),
    "suspended": ("suspended",),
    "limit": ("timelimit", "wallclockreq"),
    "state": ("state",),
    "exit_code": ("exitcode",),
}
"""What each column is called, in lower case without underscores; the first that the header has is taken."""
NEEDED = ("job", "state", "elapsed")
FREE_TEXTS = ("jobname", "name", "submitline", "comment", "admincomment", "systemcomment", "workdir")
"""Columns that users fill, and that may hold the separator and line breaks."""
JOB = re.compile(r"[0-9]{1,18}(?:_(?:[0-9]{1,18}|\[[^\]]*\]?[^.+]*))?(?:\+[0-9]{1,9})?(?:\.[\w+-]+)?")
SPAN = re.compile(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})(?:\.[0-9]{1,9})?")
NO_SPAN = "00:00:00"
PLAIN = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
UNKNOWN_NODES = ("", "none assigned", "unknown", "(null)")
LONGEST_RECORD = 1 << 20
"""Characters of a record; a file that is not accounting must not be collected as one."""


class AccountedJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record of accounting: a job, or one task of a job array."""

    job: str
    user: str
    name: str
    submit_line: str
    partition: str
    nodes: str
    """Nodes in Slurm's notation; empty where they are not known."""
    size: int
    processors: int
    submitted: str
    started: str
    ended: str
    elapsed_s: float
    suspended_s: float
    limit: str
    state: str
    """The first word of its state, in capitals."""
    signal: int
    """The signal that ended it; 0: none."""

    @property
    def key(self) -> "RecordKey":
        """What two records of one run of a job have in common; requeued jobs run several times."""
        return self.job, self.submitted, self.started, self.ended, self.nodes


RecordKey = tuple[str, str, str, str, str]


class AccountedJobs(msgspec.Struct, frozen=True, kw_only=True):
    """The records of a text, how many there were, and why others are left out."""

    jobs: tuple[AccountedJob, ...]
    records: int
    left_out: dict[str, int]
    unreadable: tuple[int, ...] = ()
    """Numbers of the lines that cannot be read, the first of them."""


MOST_UNREADABLE = 20
"""Line numbers that are kept."""
STEPS, UNREADABLE, TWICE, HETEROGENEOUS = (
    "step of a job",
    "line that cannot be read",
    "record that appears twice",
    "part of a heterogeneous job",
)


def read_accounting(lines: Iterable[bytes]) -> AccountedJobs:
    """The jobs of a text. Raises UsageError where its header lacks a column that is needed."""
    texts = (line.decode("utf-8", errors="replace").rstrip("\r\n") for line in lines)
    header = next(texts, "")
    separator = "|" if "|" in header else ","
    titles = [title.strip().lower().replace("_", "") for title in header.lstrip("\ufeff").split(separator)]
    places = {
        field: next(titles.index(name) for name in names if name in titles)
        for field, names in COLUMN_NAMES.items()
        if any(name in titles for name in names)
    }
    if lacking := [field for field in NEEDED if field not in places]:
        wanted = ", ".join(COLUMN_NAMES[field][0] for field in lacking)
        raise UsageError(
            f"The first line names no column {wanted}.",
            "Give the output of sacct --parsable2 with its header, or a CSV file whose first line names its columns.",
        )
    free = [place for place, title in enumerate(titles) if title in FREE_TEXTS]
    reading = _Reading(places, len(titles), free)
    rows = reading.rows(texts) if separator == "|" else reading.csv_rows(texts)
    jobs: dict[RecordKey, AccountedJob] = {}
    for row in rows:
        if job := reading.job(row):
            key = job.key
            reading.left_out[TWICE] += key in jobs
            jobs[key] = job
    return AccountedJobs(
        jobs=tuple(jobs.values()),
        records=reading.records,
        left_out={reason: number for reason, number in reading.left_out.items() if number},
        unreadable=tuple(reading.unreadable),
    )


def together(parts: Sequence[AccountedJobs]) -> AccountedJobs:
    """The records of several days; a job that ran on two of them counts once."""
    left_out: Counter[str] = Counter()
    jobs: dict[RecordKey, AccountedJob] = {}
    for part in parts:
        left_out.update(part.left_out)
        for job in part.jobs:
            left_out[TWICE] += job.key in jobs
            jobs[job.key] = job
    return AccountedJobs(
        jobs=tuple(jobs.values()),
        records=sum(part.records for part in parts),
        left_out={reason: number for reason, number in left_out.items() if number},
        unreadable=tuple(number for part in parts for number in part.unreadable)[:MOST_UNREADABLE],
    )


class _Reading:
    """The reading of one text, with the count of what is left out."""

    def __init__(self, places: dict[str, int], width: int, free: Sequence[int]) -> None:
        self._places = places
        self._width = width
        self._free = free
        self._chosen = itemgetter(*(places.get(field, -1) for field in COLUMN_NAMES if field != "job"))
        self._words: dict[str, str] = {}
        self.left_out: Counter[str] = Counter()
        self.unreadable: list[int] = []
        self.records = 0

    def rows(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """The fields of each record of `sacct --parsable2`; one with line breaks is joined again."""
        pending, begun = "", 0
        for number, text in enumerate(texts, 2):
            if not text and not pending:
                continue
            alone = text.split("|")
            if pending:
                fields = f"{pending}\n{text}".split("|")
                if (len(alone) >= self._width and self._valid(alone)) or len(pending) > LONGEST_RECORD:
                    self._refuse(begun)
                    fields, begun = alone, number
            else:
                fields, begun = alone, number
            if len(fields) < self._width:
                pending = "|".join(fields)
                continue
            pending = ""
            if len(fields) > self._width:
                fields = self._without_separators(fields)
            if len(fields) == self._width and self._valid(fields):
                self.records += 1
                yield fields
            else:
                self._refuse(begun)
        if pending:
            self._refuse(begun)

    def csv_rows(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """The fields of each row of a CSV file."""
        reader = csv.reader(f"{text}\n" for text in texts)
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error:
                self._refuse(reader.line_num + 1)
                continue
            if len(fields) == self._width and self._valid(fields):
                self.records += 1
                yield fields
            elif fields:
                self._refuse(reader.line_num + 1)

    def _without_separators(self, fields: list[str]) -> list[str]:
        """The fields of a record in which one text of a user has separators; empty where no way of joining fits."""
        more = len(fields) - self._width
        for place in reversed(self._free):
            joined = [*fields[:place], "|".join(fields[place : place + more + 1]), *fields[place + more + 1 :]]
            if self._valid(joined):
                return joined
        return []

    def _valid(self, fields: Sequence[str]) -> bool:
        """Whether number, state and run time of the job are what they should be."""
        places = self._places
        state, elapsed = fields[places["state"]], fields[places["elapsed"]]
        return (
            bool(JOB.fullmatch(fields[places["job"]]))
            and state[:1].isupper()
            and (not elapsed or span_s(elapsed) is not None)
        )

    def _refuse(self, number: int) -> None:
        self.records += 1
        self.left_out[UNREADABLE] += 1
        if len(self.unreadable) < MOST_UNREADABLE:
            self.unreadable.append(number)

    def job(self, fields: list[str]) -> AccountedJob | None:
        """The job of a record; None for one that is counted as left out."""
        number = fields[self._places["job"]]
        if "." in number or "+" in number:
            self.left_out[STEPS if "." in number else HETEROGENEOUS] += 1
            return None
        fields.append("")  # what a column has that the header does not name
        known = self._words.setdefault
        (user, name, submit_line, partition, nodes, size, processors, submitted, started, ended, elapsed, suspended,
         limit, state, exit_code) = self._chosen(fields)  # fmt: skip
        return AccountedJob(
            job=number,
            user=known(user, user),
            name=name,
            submit_line=submit_line,
            partition=known(partition, partition),
            nodes="" if nodes.lower() in UNKNOWN_NODES or nodes.isdigit() else known(nodes, nodes),
            size=_whole(size),
            processors=_whole(processors),
            submitted=submitted,
            started=started,
            ended=ended,
            elapsed_s=span_s(elapsed) or 0.0,
            suspended_s=span_s(suspended) or 0.0,
            limit=known(limit, limit),
            state=state.partition(" ")[0].upper(),
            signal=_signal(exit_code),
        )


def _signal(exit_code: str) -> int:
    """`0:11` -> 11, and so `139:0`: a shell adds 128 to the signal that ended its program (POSIX, 2.8.2)."""
    if exit_code == SUCCESS:
        return 0
    code, _, signal = exit_code.partition(":")
    return _whole(signal) or max(_whole(code) - SHELL_SIGNALS, 0)


SHELL_SIGNALS = 128
SUCCESS = "0:0"


def span_s(text: str) -> float | None:
    """`1-02:03:04`, `03:04` or `184` in seconds; None for anything else."""
    if text == NO_SPAN:
        return 0.0
    if PLAIN.fullmatch(text):
        return float(text)
    match = SPAN.fullmatch(text)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def moment(text: str) -> datetime | None:
    """A time as accounting prints it, without its zone; None where there is none."""
    if not text[:1].isdigit():
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.replace(tzinfo=None) if time.tzinfo else time


def clock_jumps(jobs: Iterable[AccountedJob], read: Callable[[str], datetime | None] = moment) -> int:
    """Jobs whose end minus start is off their run time by half an hour or more: a time zone or clock changed."""
    number = 0
    for job in jobs:
        began, ended = read(job.started), read(job.ended)
        if began and ended and job.elapsed_s:
            off_s = (ended - began).total_seconds() - job.elapsed_s - job.suspended_s
            number += abs(off_s) >= CLOCK_JUMP_S
    return number


CLOCK_JUMP_S = 1800.0
"""Time zones differ by half hours at least."""


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0


MOST_DIGITS = 9
