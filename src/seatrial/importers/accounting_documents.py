"""Accounting in other forms: `sacct --json` of Slurm 21.08 and later, a SQLite database of slurm2sql, fixed widths.

All give a header and rows of text as `sacct --parsable2` would print them; of the first two, times are in UTC.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from seatrial.importers.accounting_fields import COLUMN_NAMES
from seatrial.model.errors import UsageError

Rows = tuple[Sequence[str], Iterator[list[str]]]
SQLITE_MAGIC = b"SQLite format 3\0"
LATEST_S = 1 << 36
"""Seconds since 1970 of a time that a calendar has."""
JSON_TITLES = (
    "JobID",
    "User",
    "JobName",
    "SubmitLine",
    "Partition",
    "NodeList",
    "NNodes",
    "ReqCPUS",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "Suspended",
    "Timelimit",
    "State",
    "ExitCode",
)
TITLES = frozenset(name for names in COLUMN_NAMES.values() for name in names)
TIMES = ("Submit", "Start", "End")
ROWS_AT_ONCE = 100
WRITE_VERSION = 18
"""Place of the version with which a database is written and read; that of a database with a log (2) cannot be opened
in memory."""
LONGEST_VALUE = 1 << 20
LEAST_ROW = 4
"""Bytes of a row: its place in the page, its length and number (SQLite's file format, 1.6)."""


class _Number(msgspec.Struct):
    """A number that may not be set, as Slurm writes it since 23.02."""

    set: bool = False
    infinite: bool = False
    number: float = 0


Number = int | float | _Number | None


class _Array(msgspec.Struct):
    job_id: Number = None
    task_id: Number = None


class _Parts(msgspec.Struct):
    """A heterogeneous job has a number of its own."""

    job_id: Number = None


class _Times(msgspec.Struct):
    elapsed: Number = None
    start: Number = None
    end: Number = None
    submission: Number = None
    suspended: Number = None
    limit: Number = None


class _Signal(msgspec.Struct):
    id: Number = None
    signal_id: Number = None


class _ExitCode(msgspec.Struct):
    return_code: Number = None
    signal: _Signal | None = None


class _Required(msgspec.Struct):
    CPUs: Number = None


class _State(msgspec.Struct):
    current: str | list[str] = ""


class _Job(msgspec.Struct):
    job_id: int
    state: _State
    time: _Times
    user: str | None = None
    name: str | None = None
    submit_line: str | None = None
    partition: str | None = None
    nodes: str | None = None
    allocation_nodes: Number = None
    array: _Array = msgspec.field(default_factory=_Array)
    het: _Parts = msgspec.field(default_factory=_Parts)
    exit_code: _ExitCode | None = None
    required: _Required = msgspec.field(default_factory=_Required)


class _Answer(msgspec.Struct):
    jobs: list[msgspec.Raw]


def is_json(first: bytes) -> bool:
    """Whether the first line of a file begins an object of JSON."""
    return first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def is_sqlite(first: bytes) -> bool:
    """Whether a file begins as a database of SQLite does."""
    return first.startswith(SQLITE_MAGIC)


def rows_of_json(content: bytes) -> Rows:
    """The records of `sacct --json`. Raises UsageError for another document."""
    try:
        answer = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"), type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"This JSON is not the output of sacct: {error}.", "Give the output of sacct --allusers --json."
        ) from error
    return JSON_TITLES, map(_row_of_json, answer.jobs)


def _row_of_json(raw: msgspec.Raw) -> list[str]:
    """The fields of a record; empty ones for anything but a job."""
    try:
        job = _READER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [""] * len(JSON_TITLES)
    time = job.time
    limit_min = _number(time.limit)
    state = job.state.current if isinstance(job.state.current, str) else next(iter(job.state.current), "")
    return [
        _job_number(job),
        job.user or "",
        job.name or "",
        job.submit_line or "",
        job.partition or "",
        job.nodes or "",
        _whole(job.allocation_nodes),
        _whole(job.required.CPUs),
        _moment(_number(time.submission)),
        _moment(_number(time.start)),
        _moment(_number(time.end)),
        _whole(time.elapsed),
        _whole(time.suspended),
        f"{limit_min * 60:.0f}" if limit_min else "",
        state,
        _exit_code(job.exit_code),
    ]


_READER = msgspec.json.Decoder(_Job)


def _number(value: Number) -> float:
    if isinstance(value, _Number):
        return value.number if value.set and not value.infinite else 0
    return value or 0


def _whole(value: Number) -> str:
    return f"{_number(value):.0f}"


def _job_number(job: _Job) -> str:
    """`7`, `5_2` for a task of an array, `9+1` for a part of a heterogeneous job."""
    array, whole = _number(job.array.job_id), _number(job.het.job_id)
    if whole:
        return f"{whole:.0f}+{job.job_id - whole:.0f}"
    task = job.array.task_id
    if not array or task is None or (isinstance(task, _Number) and not task.set):
        return str(job.job_id)
    return f"{array:.0f}_{_number(task):.0f}"


def _exit_code(code: _ExitCode | None) -> str:
    if code is None:
        return ""
    signal = code.signal or _Signal()
    return f"{_number(code.return_code):.0f}:{_number(signal.id) or _number(signal.signal_id):.0f}"


def _moment(seconds: float) -> str:
    """A time in UTC as sacct prints it."""
    if not 0 < seconds < LATEST_S:
        return "Unknown"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def rows_of_sqlite(content: bytes) -> Rows:
    """The records of a database of slurm2sql. Raises UsageError for another database.

    What would be computed (views, generated columns, modules) is not read: its expressions can take for ever.
    """
    try:
        base = sqlite3.connect(":memory:")
        base.deserialize(content[:WRITE_VERSION] + b"\1\1" + content[WRITE_VERSION + 2 :])
        base.text_factory = lambda text: text.decode("utf-8", errors="replace")
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        base.execute("PRAGMA trusted_schema=OFF")
        if ("table",) not in base.execute("SELECT type FROM pragma_table_list('slurm') WHERE schema = 'main'"):
            raise UsageError("This database has no table slurm.", "Give one that slurm2sql wrote.")
        stored = base.execute("SELECT name FROM pragma_table_xinfo('slurm') WHERE hidden = 0")
        titles = [name for (name,) in stored if name.lower().replace("_", "") in TITLES]
        chosen = ", ".join('"' + title.replace('"', '""') + '"' for title in titles) or "NULL"
        rows = base.execute(f"SELECT {chosen} FROM slurm")  # noqa: S608 - names of its own columns, in quotes
    except sqlite3.Error as error:
        raise _unreadable(str(error)) from error
    return titles, _rows_of_sqlite(rows, titles, len(content))


def _unreadable(why: str) -> UsageError:
    return UsageError(f"This database cannot be read: {why}.", "Give one that slurm2sql wrote.")


def _rows_of_sqlite(rows: sqlite3.Cursor, titles: Sequence[str], size: int) -> Iterator[list[str]]:
    """`size`: bytes of the database, which hold no more rows and letters; pages that lead in a circle give more."""
    times = {place for place, title in enumerate(titles) if title in TIMES}
    number = letters = 0
    while True:
        try:
            some = rows.fetchmany(ROWS_AT_ONCE)
        except sqlite3.Error as error:
            raise _unreadable(str(error)) from error
        if not some:
            return
        number += len(some)
        letters += sum(len(value) for row in some for value in row if isinstance(value, str | bytes))
        if number * LEAST_ROW > size or letters > size:
            raise _unreadable("it has more rows than its bytes can hold")
        for row in some:
            yield [
                _moment(value or 0) if place in times and not isinstance(value, str | bytes) else _text(value)
                for place, value in enumerate(row)
            ]


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}"
    return "" if value is None else str(value)


RULE = re.compile(r"-+(?: +-+)+ *")
CUT = "+"
"""What sacct writes in a column of fixed width in place of the rest of a cell."""
CUT_STEP = re.compile(r"(?<=\d)\.[a-z0-9]{0,20}\+$")
"""The step of a job, whose name does not matter."""
CUT_STATES = {"CANCELLED+": "CANCELLED", "OUT_OF_ME+": "OUT_OF_MEMORY"}
WHOLE = frozenset((*COLUMN_NAMES["job"], *COLUMN_NAMES["nodes"]))
"""Columns of which a part is another job, or other nodes."""


def is_rule(text: str) -> bool:
    """Whether a line is a rule below the names of columns of fixed width, as sacct prints without `--parsable2`."""
    return RULE.fullmatch(text) is not None


def cells_of(text: str, rule: str) -> list[str]:
    """The cells of a line, one above or below each part of the rule."""
    return [text[part.start() : part.end()].strip() for part in re.finditer("-+", rule)]


def rows_of_widths(header: str, rule: str, texts: Iterable[str]) -> Iterator[list[str]]:
    """The cells of each record. Raises UsageError where a number of a job or a list of nodes is cut off."""
    titles = [title.lower().replace("_", "") for title in cells_of(header, rule)]
    for text in texts:
        if not text.strip() or text == rule:
            continue
        cells = [CUT_STEP.sub(".batch", CUT_STATES.get(cell, cell)) for cell in cells_of(text, rule)]
        for title, cell in zip(titles, cells, strict=True):
            if title in WHOLE and cell.endswith(CUT):
                raise UsageError(f"Cells of the column {title} are cut off ({cell}).", "Add --parsable2 to sacct.")
        yield [cell.removesuffix(CUT) for cell in cells]
