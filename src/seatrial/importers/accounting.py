"""Jobs of a scheduler's accounting: `sacct` as text or JSON, a database of slurm2sql, or CSV with named columns."""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import IO

import msgspec

from seatrial.importers.accounting_documents import (
    cells_of,
    is_json,
    is_rule,
    is_sqlite,
    rows_of_json,
    rows_of_sqlite,
    rows_of_widths,
)
from seatrial.importers.accounting_fields import (
    COLUMN_NAMES,
    FORMS,
    FREE_TEXTS,
    JOB,
    MOST_JOINED,
    NEEDED,
    STEP,
    header_at,
    limit_text,
    node_names,
    signal_of,
    span_s,
    state_word,
    ways_to_join,
    whole,
)
from seatrial.importers.fields import LONGEST_LINE_BYTES, text_lines
from seatrial.model.errors import UsageError
from seatrial.model.words import count

LONGEST_RECORD = 1 << 18
"""Characters of a record; a file that is not accounting must not be collected as one."""
MOST_COLUMNS = 1000
TRIES, TRIES_OF_RECORD = 10_000, 8
"""How often lines and separators may be joined, and how much more often for each record: a file that is made to fit
nowhere must not take long."""


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
    """NaN where it is not known."""
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
MOST_REFUSED = 100_000
"""Records that cannot be read; a text of which more than half is such has something else."""
STEPS, UNREADABLE, TWICE, HETEROGENEOUS = (
    "step of a job",
    "line that cannot be read",
    "record that appears twice",
    "part of a heterogeneous job",
)


def read_accounting(stream: IO[bytes] | Sequence[bytes]) -> AccountedJobs:
    """The jobs of a file. Raises UsageError where it lacks a column that is needed, or is of another kind."""
    source = io.BytesIO(b"".join(stream)) if isinstance(stream, Sequence) else stream
    source.seek(header_at(source.read(LONGEST_RECORD)))
    first = source.readline(LONGEST_LINE_BYTES)
    if is_sqlite(first) or is_json(first):
        source.seek(0)
        reading = _Reading(*(rows_of_sqlite if is_sqlite(first) else rows_of_json)(source.read()))
        return _jobs_of(reading, reading.plain_rows())
    lines = text_lines(source)
    header = first.decode("utf-8", errors="replace").rstrip("\r\n")
    texts = (  # several files may follow each other, each with its header
        "" if (text := str(line, "utf-8", "replace").rstrip("\r\n")) == header else text for line in lines
    )
    separator = next((mark for mark in "|\t" if mark in header), ",")
    rule = next(texts, "") if separator not in header and first.endswith(b"\n") else ""
    if is_rule(rule):
        reading = _Reading(cells_of(header, rule), rows_of_widths(header, rule, texts))
        return _jobs_of(reading, reading.plain_rows())
    reading = _Reading([title.strip().strip('"') for title in header.lstrip("\ufeff").split(separator)])
    return _jobs_of(reading, reading.rows(texts) if separator == "|" else reading.csv_rows(texts, separator))


def _jobs_of(reading: "_Reading", rows: Iterable[list[str]]) -> AccountedJobs:
    jobs, twice = _once(filter(None, map(reading.job, rows)))
    reading.left_out[TWICE] += twice
    return AccountedJobs(
        jobs=jobs,
        records=reading.records,
        left_out={reason: number for reason, number in reading.left_out.items() if number},
        unreadable=tuple(reading.unreadable),
    )


def _once(records: Iterable[AccountedJob]) -> tuple[tuple[AccountedJob, ...], int]:
    """The last record of each run of a job, and how many others there were."""
    jobs: dict[str | RecordKey, AccountedJob] = {}
    number = 0
    for number, job in enumerate(records, 1):  # noqa: B007 - used behind the loop
        first = jobs.setdefault(job.job, job)  # most jobs have one record, for which a short key will do
        if first is not job:
            jobs[job.job if first.key == job.key else job.key] = job
    return tuple(jobs.values()), number - len(jobs)


def together(parts: Sequence[AccountedJobs]) -> AccountedJobs:
    """The records of several days; a job that ran on two of them counts once."""
    left_out: Counter[str] = Counter()
    for part in parts:
        left_out.update(part.left_out)
    jobs, twice = _once(job for part in parts for job in part.jobs)
    left_out[TWICE] += twice
    return AccountedJobs(
        jobs=jobs,
        records=sum(part.records for part in parts),
        left_out={reason: number for reason, number in left_out.items() if number},
        unreadable=tuple(number for part in parts for number in part.unreadable)[:MOST_UNREADABLE],
    )


class _Reading:
    """The reading of one text, with the count of what is left out."""

    def __init__(self, header: Sequence[str], documents: Iterable[list[str]] = ()) -> None:
        """`documents`: the records of what is not lines. Raises UsageError where a needed column is missing."""
        if len(header) > MOST_COLUMNS:
            raise UsageError(
                f"The first line names {count(len(header), 'column')}; accounting has at most {MOST_COLUMNS}.",
                "Give fewer columns, as with sacct --format.",
            )
        titles = [title.lower().replace("_", "") for title in header]
        places = {
            field: next(titles.index(name) for name in names if name in titles)
            for field, names in COLUMN_NAMES.items()
            if any(name in titles for name in names)
        }
        lacking = [COLUMN_NAMES[field][0] for field in NEEDED if field not in places]
        lacking += [] if "state" in places or "exit_code" in places else ["state"]
        if lacking:
            raise UsageError(
                f"The first line names no column {', '.join(lacking)}.",
                "Give the output of sacct --parsable2 with its header, or a CSV file whose first line names its "
                "columns.",
            )
        self._places = places
        self._width = len(titles)
        self._free = tuple(titles.index(title) for title in FREE_TEXTS if title in titles)
        last = next((field for field, place in places.items() if place == self._width - 1), "")
        self._last = FORMS.get(last)
        self._forms = [(places[name], form.fullmatch) for name, form in FORMS.items() if name in places]
        self._documents = documents
        self._chosen = itemgetter(*(places.get(field, -1) for field in COLUMN_NAMES if field != "job"))
        self._words: dict[str, str] = {}
        self.left_out: Counter[str] = Counter()
        self.unreadable: list[int] = []
        self.records = 0
        self._tries = 0

    def rows(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """The fields of each record of `sacct --parsable2`; one with line breaks is joined again."""
        closed: list[str] = []
        tail: list[str] = []
        """Fields of a record that goes on, and the lines of the last one."""
        begun = length = 0
        for number, text in self._closed(enumerate(texts, 2)):
            if not text and not tail:
                continue
            fields = text.split("|")
            if not tail and len(fields) == self._width and self._complete(fields):
                self.records += 1
                yield fields
                continue
            first, *others = fields
            full = len(closed) + 1 >= self._width
            starts_record = len(fields) >= self._width and (full or self._complete(fields))
            if tail and (starts_record or length > LONGEST_RECORD):
                self._refuse(begun)
                closed, tail = [], []
            if not tail:
                begun, length = number, 0
            length += len(text) + 1
            tail.append(first)
            if others:
                closed += ["\n".join(tail), *others[:-1]]
                tail = others[-1:]
            if 0 <= len(closed) + 1 - self._width <= MOST_JOINED and (
                joined := self._joined([*closed, "\n".join(tail)])
            ):
                self.records += 1
                yield joined
                closed, tail = [], []
        if tail:
            self._refuse(begun)

    def _closed(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The numbered lines. Where a text of users is the last column, those that go on with it are joined to it."""
        if self._width - 1 not in self._free:
            yield from lines
            return
        begun, separators, length = 0, 0, 0
        held: list[str] = []
        for number, text in lines:
            further = text.count("|")
            ended = separators >= self._width - 1
            if any(held) and ended and further < self._width - 1 and not (further and self._begins(text)):
                length += len(text) + 1
                if length <= LONGEST_RECORD:
                    held.append(text)
                continue
            if any(held):
                yield begun, "\n".join(held).rstrip("\n")
            begun, held, length, separators = number, [text], len(text), further + (0 if ended else separators)
        yield begun, "\n".join(held).rstrip("\n")

    def _begins(self, text: str) -> bool:
        """Whether the number of a job is where a record has it."""
        fields, place = text.split("|"), self._places["job"]
        return place < len(fields) and JOB.fullmatch(fields[place]) is not None

    def plain_rows(self) -> Iterator[list[str]]:
        """The fields of each record of a document; one that is none counts with its number."""
        for number, fields in enumerate(self._documents, 1):
            if self._valid(fields):
                self.records += 1
                yield fields
            else:
                self._refuse(number)

    def csv_rows(self, texts: Iterable[str], separator: str) -> Iterator[list[str]]:
        """The fields of each row of a CSV file."""
        reader = csv.reader((f"{text}\n" for text in texts), delimiter=separator)
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

    def _joined(self, fields: list[str]) -> list[str]:
        """The fields of a record, in which texts of users may have separators; empty where no way of joining fits."""
        more = len(fields) - self._width
        for way in ways_to_join(self._free, more) if more else ((),):
            self._tries += 1
            if self._tries > TRIES + TRIES_OF_RECORD * self.records:
                return []
            joined = fields
            for place, separators in way:
                end = place + separators + 1
                joined = [*joined[:place], "|".join(joined[place:end]), *joined[end:]]
            if self._complete(joined) and (not more or self._plausible(joined)):
                return joined
        return []

    def _complete(self, fields: Sequence[str]) -> bool:
        """Whether these are the fields of a record, and the last one is what it should be."""
        return self._valid(fields) and (self._last is None or self._last.fullmatch(fields[-1]) is not None)

    def _plausible(self, fields: Sequence[str]) -> bool:
        """Whether columns that no text of a user fills have what they should have."""
        return all(matches(fields[place]) for place, matches in self._forms)

    def _valid(self, fields: Sequence[str]) -> bool:
        """Whether number, state and run time of the job are what they should be."""
        places = self._places
        state, elapsed = fields[places["state"]] if "state" in places else "F", fields[places["elapsed"]]
        return (
            bool(JOB.fullmatch(fields[places["job"]]))
            and state[:1].isalpha()
            and (not elapsed or span_s(elapsed) is not None)
        )

    def _refuse(self, number: int) -> None:
        """Count an unreadable record. Raises UsageError for a text that hardly has others."""
        self.records += 1
        self.left_out[UNREADABLE] += 1
        if self.left_out[UNREADABLE] > max(MOST_REFUSED, self.records / 2):
            raise UsageError(
                f"{self.left_out[UNREADABLE]:,} of the first {self.records:,} records cannot be read.",
                "Give the output of sacct --parsable2 with its header.",
            )
        if len(self.unreadable) < MOST_UNREADABLE:
            self.unreadable.append(number)

    def job(self, fields: list[str]) -> AccountedJob | None:
        """The job of a record; None for one that is counted as left out."""
        number = fields[self._places["job"]]
        if "." in number or "+" in number:
            step = STEP.search(number)
            if step or "+" in number:
                self.left_out[STEPS if step else HETEROGENEOUS] += 1
                return None
        fields.append("")  # what a column has that the header does not name
        kept = self._words.setdefault
        (user, name, submit_line, partition, nodes, size, processors, submitted, started, ended, elapsed, suspended,
         limit, state, exit_code) = self._chosen(fields)  # fmt: skip
        return AccountedJob(
            job=number,
            user=kept(user, user),
            name=name,
            submit_line=submit_line,
            partition=kept(partition, partition),
            nodes=node_names(nodes),
            size=whole(size),
            processors=whole(processors),
            submitted=submitted,
            started=started,
            ended=ended,
            elapsed_s=math.nan if (lasted := span_s(elapsed)) is None else lasted,
            suspended_s=span_s(suspended) or 0.0,
            limit=limit_text(limit),
            state=state_word(state, exit_code),
            signal=signal_of(exit_code),
        )


def moment(text: str) -> datetime | None:
    """A time as accounting prints it, without its zone; None where there is none."""
    if not text[:1].isdigit():
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.replace(tzinfo=None) if time.tzinfo else time


def clock_jumps(jobs: Iterable[AccountedJob]) -> int:
    """Jobs whose end minus start is off their run time by half an hour or more: a time zone or clock changed."""
    number = 0
    for job in jobs:
        began, ended = moment(job.started), moment(job.ended)
        if began and ended and job.elapsed_s:
            off_s = (ended - began).total_seconds() - job.elapsed_s - job.suspended_s
            number += abs(off_s) >= CLOCK_JUMP_S
    return number


CLOCK_JUMP_S = 1800.0
"""Time zones differ by half hours at least."""
