"""samples.parquet: one row for each sample, made from the journal by DuckDB; it can be deleted and made again."""

import contextlib
import errno
import hashlib
import os
import resource
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from seatrial.archive import layout
from seatrial.archive.layout import DamagedRun, damage, opened_inside, refuse_many
from seatrial.files.inputs import ANY_SIZE, journal_lines
from seatrial.files.owners import is_ours, temporary_folder
from seatrial.files.writing import descriptor_path, own_folder
from seatrial.model.errors import SeatrialError
from seatrial.process.process import unbroken
from seatrial.process.time_limit import due

if TYPE_CHECKING:
    import duckdb

NEEDS_BYTES = 1 << 30
"""Below it DuckDB is not tried: with 600 MiB of address space it refuses or crashes on a small run, 800 do."""
MIB = 1 << 20
UNCACHED = "SET enable_external_file_cache = false"
"""Files are opened by the names of descriptors, which soon belong to other files."""
INTERRUPTED = "Query interrupted"
"""What DuckDB makes of the exception of a handler of signals, which it loses."""
LIMITS = ((resource.RLIMIT_AS, "ulimit -v"), (resource.RLIMIT_DATA, "ulimit -d"))
SAFE = "What was measured is safe in the journal."


class NoDuckdb(SeatrialError):
    """DuckDB cannot be used here; no measurement is lost."""


class TooLittleMemory(NoDuckdb):
    """DuckDB cannot get the memory that it needs."""


class NotInstalled(NoDuckdb):
    """DuckDB, an optional part of an installation, is not there."""


def library() -> Any:  # noqa: ANN401 - mypy has no type for the module of a library
    """The module duckdb, loaded when it is used first. Raises NotInstalled."""
    try:
        with unbroken():  # what a handler raises meanwhile, it answers with abort(3)
            import duckdb
    except ModuleNotFoundError as error:
        raise NotInstalled(
            f"{layout.SAMPLES_FILE} needs DuckDB, which is not installed. {SAFE}",
            f"Install it: {sys.executable} -m pip install duckdb",
        ) from error
    return duckdb


@contextmanager
def opened(spill: Path | None = None) -> Iterator["duckdb.DuckDBPyConnection"]:
    """A separate connection. What does not fit into memory goes to the folder `spill`, which is created when needed.

    `spill` None: a temporary folder, or no spilling where none can be created. Raises NoDuckdb.
    """
    refuse_cramped()
    duckdb = library()
    with _folder(spill) as folder:
        try:
            with duckdb.connect(config={"temp_directory": folder}) as connection:
                with contextlib.suppress(duckdb.CatalogException):  # before 1.3
                    connection.execute(UNCACHED)
                yield connection
        except RuntimeError as error:
            if str(error) != INTERRUPTED:
                raise
            raise due() or KeyboardInterrupt from error
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise TooLittleMemory(
                f"There is too little memory to work on the samples ({_first_line(error)}). {SAFE}", _remedy("")
            ) from error


def require() -> None:
    """Raise NoDuckdb where values of runs cannot be read, before anything is asked for that others could use."""
    refuse_cramped()
    library()


def refuse_cramped() -> None:
    """Raise TooLittleMemory where this process may not have the memory that DuckDB needs to start."""
    for which, how in LIMITS:
        limit, _ = resource.getrlimit(which)
        if limit != resource.RLIM_INFINITY and limit < NEEDS_BYTES:
            allowed = f"This shell allows {limit // MIB} MiB of memory ({how})"
            raise TooLittleMemory(f"{allowed}, and samples take {NEEDS_BYTES // MIB}. {SAFE}", _remedy(how))


@contextmanager
def _folder(spill: Path | None) -> Iterator[str]:
    if spill is not None:
        yield str(spill)
        return
    with ExitStack() as held:
        folder = ""
        with contextlib.suppress(OSError):  # /tmp is full or cannot be written
            folder = str(held.enter_context(temporary_folder()))
        yield folder


def _remedy(how: str) -> str:
    return f"Allow more ({how or 'ulimit -v'} unlimited, or --mem of the job), or work on the run on another machine."


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].removeprefix("Out of Memory Error: ").strip() or "nothing more to be had"


SPILL_FOLDER = "samples.spill"
"""Next to the samples, where there must be space anyway; /tmp may be full."""
LEAST_LINE_BYTES = 1 << 20
MADE_FROM = "journal_sha256"
"""Key in the file's own metadata."""
COLUMNS = {
    "entry": "VARCHAR",
    "number": "BIGINT",
    "measurement": (
        "STRUCT(phase VARCHAR, repetition BIGINT, shape STRUCT(kernel VARCHAR, message_bytes BIGINT, "
        '"window" BIGINT, warmup BIGINT, iterations BIGINT), source VARCHAR, target VARCHAR, times_s DOUBLE[], '
        "warmup_times_s DOUBLE[], pairs_at_once BIGINT, verified BIGINT, errors BIGINT, "
        "corruptions STRUCT(source VARCHAR, target VARCHAR, wrong_bytes BIGINT, first_byte BIGINT)[], "
        "variant VARCHAR, at_s DOUBLE, nodes VARCHAR[], groups_at_once BIGINT, waited_s DOUBLE[])"
    ),
}

ROWS = """
SELECT coalesce(sum(rows), 0)::HUGEINT FROM (
  SELECT greatest(max(row_group_num_rows), max(num_values)) AS rows FROM parquet_metadata(?) GROUP BY row_group_id
)
"""
ALWAYS_ROWS = 5_000_000
"""Read within a second."""
ROWS_PER_BYTE = 16
"""Times that were measured take a byte or more each, also compressed."""
BLOCK_BYTES = 512
"""Unit of st_blocks (stat(2)); a file may have holes."""
QUERY = """
WITH sorted AS (
  SELECT number, measurement FROM journal WHERE entry IN ('measurement', 'group-measurement')
  ORDER BY number, measurement.source, measurement.target, measurement.nodes
), delivered AS (
  SELECT number, unnest(measurement), coalesce(len(measurement.warmup_times_s), 0) AS warmups,
         unnest(list_concat(measurement.warmup_times_s, measurement.times_s)) AS time_s,
         generate_subscripts(list_concat(measurement.warmup_times_s, measurement.times_s), 1) - 1 AS place
  FROM sorted
)
SELECT run_name() AS run, number AS round, phase, repetition, shape.kernel AS kernel, source, target,
       shape.message_bytes AS message_bytes, shape."window" AS window_messages, pairs_at_once, place < warmups AS warm,
       CASE WHEN place < warmups THEN place ELSE place - warmups END AS iteration, time_s,
       coalesce(verified, 0) AS verified, errors, corruptions, coalesce(variant, '') AS variant, at_s, nodes,
       groups_at_once, waited_s
FROM delivered
"""
"""Sorts measurements instead of their many samples, and unnests them in that order: a third of the time and memory."""
SETTINGS = ("SET threads = 1", "SET preserve_insertion_order = true", "SET enable_progress_bar = false")
"""A second thread takes 600 MB more, for row groups of its own. A Python without a script would show a bar."""


class SamplesUnmade(SeatrialError):
    """The samples cannot be made from this journal; no measurement is lost."""


def write_samples(folder: Path, run: str, target: Path | None = None) -> None:
    """Make samples.parquet from the journal of the run in `folder`, whole or not at all.

    `target`: where it is written, in a folder of this user's; by default in that of the run. The file names the
    journal that it was made from (`journals_of`). Raises OSError, NoDuckdb, SamplesUnmade, and DamagedRun for a
    journal that is not a regular file of the run.
    """
    target = target or folder / layout.SAMPLES_FILE
    path = folder / layout.JOURNAL_FILE
    with opened_inside(folder, path, ANY_SIZE) as journal:
        refuse_many(journal, path)
        refuse_cramped()  # before DuckDB is loaded
        with damage():
            longest, digest = _measured(journal_lines(journal, path))
        with own_folder(target.parent) as into, into.new_file(target.name) as new:
            _convert(journal, new, run, into.for_libraries / SPILL_FOLDER, longest, digest)


def _convert(journal_file: IO[bytes], new: IO[bytes], run: str, spill: Path, longest: int, digest: str) -> None:
    """DuckDB gets descriptors: no other file can take the place of the journal or of the new file meanwhile."""
    with _refusals(), system_errors(), opened(spill=spill) as connection:
        for setting in SETTINGS:
            connection.execute(setting)
        connection.execute(f"CREATE MACRO run_name() AS {_quoted(run)}")  # a macro takes no parameter
        journal = connection.read_json(
            str(descriptor_path(journal_file.fileno())),
            columns=COLUMNS,
            format="newline_delimited",
            maximum_object_size=longest,
        )
        connection.register("journal", journal)
        options = f"FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, KV_METADATA {{{MADE_FROM}: '{digest}'}}"
        connection.execute(f"COPY ({QUERY}) TO {_quoted(str(descriptor_path(new.fileno())))} ({options})")


def journals_of(paths: Sequence[Path]) -> dict[Path, str]:
    """SHA-256 of the journal that each samples.parquet was made from; empty where it has none, or is not such a file.

    Raises NoDuckdb.
    """
    if not paths:
        return {}
    with opened() as connection:  # for all of them, because this takes longer than to ask
        return {path: _journal_of(connection, path) for path in paths}


def _journal_of(connection: "duckdb.DuckDBPyConnection", path: Path) -> str:
    duckdb = library()
    try:
        with parquet(connection, path) as name:
            rows = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [name]).fetchall()
    except duckdb.OutOfMemoryException:
        raise
    except (duckdb.Error, DamagedRun):
        return ""
    return next((value.decode("ascii", "replace") for key, value in rows if key == MADE_FROM.encode()), "")


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn DuckDB's errors on the lines of the journal, or of a file system without locks, into a sentence."""
    duckdb = library()
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise SamplesUnmade(f"{layout.SAMPLES_FILE} cannot be written ({error.strerror}).") from error
    except duckdb.Error as error:
        first_line = str(error).partition("\n")[0]
        raise SamplesUnmade(f"{layout.SAMPLES_FILE} cannot be made from the journal ({first_line}).") from error


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _measured(journal: Iterable[bytes]) -> tuple[int, str]:
    """How long a line may be, and the journal's SHA-256.

    Bytes; at least enough that most journals are read in the same way. DuckDB takes twice as much memory at once.
    """
    longest, digest = 0, hashlib.sha256()
    for line in journal:
        longest = max(longest, len(line))
        digest.update(line)
    return longest + LEAST_LINE_BYTES, digest.hexdigest()


@contextmanager
def parquet(connection: "duckdb.DuckDBPyConnection", path: Path) -> Iterator[str]:
    """The name by which DuckDB opens a Parquet file: that of a descriptor. Raises DamagedRun, and DuckDB's errors.

    Nobody can exchange what was opened for a pipe, or for a file elsewhere, and the name is never taken for a pattern.
    A file of another user that has more rows than were ever measured is refused: a few bytes can stand for any number.
    """
    with opened_inside(path.parent, path, ANY_SIZE) as stream:
        name = str(descriptor_path(stream.fileno()))
        status = os.fstat(stream.fileno())
        if not is_ours(status):
            ((rows,),) = connection.execute(ROWS, [name]).fetchall()
            if rows > max(ALWAYS_ROWS, ROWS_PER_BYTE * status.st_blocks * BLOCK_BYTES):
                raise DamagedRun(f"{path} has {rows} rows, which its {status.st_size} bytes cannot hold.")
        yield name


@contextmanager
def system_errors() -> Iterator[None]:
    """Turn DuckDB's errors of the file system into the system's own error."""
    duckdb = library()
    try:
        yield
    except duckdb.IOException as error:
        number = next((each for each in errno.errorcode if os.strerror(each) in str(error)), errno.EIO)
        raise OSError(number, str(error) if number == errno.EIO else os.strerror(number)) from error


def query_samples(files: list[Path], sql: str) -> list[tuple[Any, ...]]:
    """Run `sql` over a table `samples` made of those Parquet files. Raises DamagedRun."""
    with read_errors(), opened() as connection:
        return query(connection, files, sql)


def query(connection: "duckdb.DuckDBPyConnection", files: Sequence[Path], sql: str) -> list[tuple[Any, ...]]:
    """Run a query on an open connection, as `query_samples` does. Raises DamagedRun, and DuckDB's errors."""
    with ExitStack() as held:
        names = [held.enter_context(parquet(connection, file)) for file in files]
        connection.register("samples", connection.read_parquet(names, union_by_name=True))
        return connection.sql(sql).fetchall()


@contextmanager
def read_errors() -> Iterator[None]:
    """Turn DuckDB's errors on damaged samples into a sentence; `opened` has one for too little memory."""
    duckdb = library()
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise DamagedRun(
            f"Samples cannot be read: {error}.", f"Delete the {layout.SAMPLES_FILE}: it is made again from the journal."
        ) from error
