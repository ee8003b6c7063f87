"""Samples of runs for other programs, and short tables of them, by DuckDB."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.archive import layout
from seatrial.archive.layout import DamagedRun, ExportFormat, kept_file, opened_inside
from seatrial.archive.reader import read_info
from seatrial.archive.samples import (
    NoDuckdb,
    journals_of,
    opened,
    parquet,
    query_samples,
    read_errors,
    system_errors,
    write_samples,
)
from seatrial.archive.writer import sentences, sentences_on
from seatrial.files.inputs import ANY_SIZE
from seatrial.files.named import named_file
from seatrial.files.writing import descriptor_path
from seatrial.model.errors import SeatrialError

if TYPE_CHECKING:
    import duckdb

PARQUET = b"PAR1"
"""The first and the last bytes of every Parquet file."""
FOOTER_BYTES = 8
"""Bytes at the end of a file: the length of the description before it, and PARQUET."""
OPTIONS = {
    ExportFormat.CSV: "FORMAT csv, HEADER true",
    ExportFormat.PARQUET: "FORMAT parquet, COMPRESSION zstd",
    ExportFormat.JSONL: "FORMAT json",
}
"""The options of DuckDB's COPY for each format."""
PLAIN = ("BOOLEAN", "INTEGER", "BIGINT", "UBIGINT", "HUGEINT", "FLOAT", "DOUBLE")
"""Types of columns whose cells no program takes for anything but a value."""
LONGEST_TEXT = 4096
"""Names of nodes have 253 letters at most (RFC 1035), settings that are compared some more."""
CELL = r"""
CREATE MACRO one_line(words) AS regexp_replace(
  regexp_replace(words, '[\t-\r\x{85}\x{2028}\x{2029}]', ' ', 'g'), '[\p{Cc}\p{Cf}]', '', 'g');
CREATE MACRO cell(words) AS CASE
  WHEN regexp_full_match(words, '(\w[ -:<-~]*)?') THEN words
  WHEN try_cast(one_line(words) AS DOUBLE) IS NOT NULL THEN one_line(words)
  ELSE regexp_replace(one_line(words), '(^|;)(\s*[=+@＝＋＠－-])', concat('\1', chr(39), '\2'), 'g') END
"""
"""Text as a cell of CSV. A terminal executes escape sequences, a spreadsheet what begins like a formula, in many
countries also behind a semicolon, unless an apostrophe (39) is in front, which marks a text
(https://owasp.org/www-community/attacks/CSV_Injection).
"""
REMEDY = "Name another file with --output; the run itself is whole."
KERNEL_TABLE = """
WITH rounds AS (
  SELECT phase, kernel, message_bytes, window_messages, source, target, round, median(time_s) AS time_s
  FROM samples WHERE NOT warm GROUP BY ALL
), pairs AS (
  SELECT phase, kernel, message_bytes,
         median(CASE kernel WHEN 'pingpong' THEN time_s / 2 END) AS latency_s,
         median(CASE WHEN kernel <> 'pingpong' THEN message_bytes * window_messages / greatest(time_s, 1e-12) END)
           AS bytes_per_s
  FROM rounds
  GROUP BY phase, kernel, message_bytes,
           CASE WHEN kernel = 'pingpong' AND target < source THEN target ELSE source END,
           CASE WHEN kernel = 'pingpong' AND target < source THEN source ELSE target END
), kernels AS (
  SELECT phase, kernel, message_bytes, median(latency_s) AS latency_s, median(bytes_per_s) AS bytes_per_s
  FROM pairs GROUP BY ALL
), counts AS (
  SELECT phase, kernel, message_bytes, count(DISTINCT (source, target)) AS ordered_pairs, count(*) AS samples,
         median(time_s) AS time_s
  FROM samples WHERE NOT warm GROUP BY ALL
)
SELECT phase, kernel, message_bytes, ordered_pairs, samples, latency_s, bytes_per_s, time_s
FROM kernels JOIN counts USING (phase, kernel, message_bytes) ORDER BY ALL
"""


def samples_file(folder: Path) -> Path:
    """samples.parquet of a closed run, made from the journal where it is missing or of another journal."""
    return samples_files([folder])[0]


def samples_files(folders: Sequence[Path]) -> list[Path]:
    """The files samples.parquet of several closed runs. Raises the first problem of any of them."""
    found = samples_or_problems(folders)
    for problem in found.values():
        if isinstance(problem, SeatrialError):
            raise problem
    return [path for path in found.values() if isinstance(path, Path)]


def samples_or_problems(folders: Sequence[Path]) -> dict[Path, Path | SeatrialError]:
    """Find the samples.parquet of each run's folder, or why the run has none. Raises NoDuckdb."""
    present = [folder / layout.SAMPLES_FILE for folder in folders if os.path.lexists(folder / layout.SAMPLES_FILE)]
    made_from = journals_of(present)
    return {folder: _samples_or_problem(folder, made_from) for folder in folders}


def _samples_or_problem(folder: Path, made_from: Mapping[Path, str]) -> Path | SeatrialError:
    path = folder / layout.SAMPLES_FILE
    try:
        if layout.is_open(folder):
            raise SeatrialError(f"{folder} is still growing or was cut off.", "seatrial runs recover closes it.")
        return path if path in made_from and _belongs(folder, made_from[path]) else _made(folder)
    except NoDuckdb:
        raise
    except SeatrialError as error:
        return error


def _made(folder: Path) -> Path:
    """samples.parquet made from the journal: in the run's folder; of another user's run in this user's cache."""
    target = kept_file(folder, layout.SAMPLES_FILE)
    if target is None:
        raise SeatrialError(
            f"{folder / layout.SAMPLES_FILE} must be made, which is not done in another user's run.",
            "Set XDG_CACHE_HOME to a folder of yours with enough space.",
        )
    if target.parent == folder or not target.exists() or not _belongs(folder, journals_of([target])[target]):
        with sentences(target.parent):
            write_samples(folder, folder.name, target)
    return target


def _belongs(folder: Path, made_from: str) -> bool:
    """Whether samples.parquet was made from the run's journal."""
    contents = read_info(folder).contents
    return contents is not None and made_from == contents.journal_sha256


def export(folders: list[Path], target: Path, form: ExportFormat) -> int:
    """Write the samples of those runs into one file; returns their number. Raises ArchiveError."""
    paths = samples_files(folders)
    with opened() as connection, ExitStack() as held:
        with read_errors():
            files = [held.enter_context(parquet(connection, path)) for path in paths]
            samples = connection.read_parquet(files, union_by_name=True)
            _refuse_long_texts(samples)
        with read_errors(), sentences_on(target, REMEDY), system_errors():
            target.parent.mkdir(parents=True, exist_ok=True)
            connection.register("samples", samples)
            with named_file(target) as stream:
                path = descriptor_path(stream.fileno())
                rows = _table(connection, samples) if form is ExportFormat.CSV else "FROM samples"
                connection.execute(f"COPY ({rows}) TO '{path}' ({OPTIONS[form]}, USE_TMP_FILE false)")
        with read_errors():
            count = connection.execute("SELECT count(*) FROM read_parquet(?)", [files]).fetchone()
    return int(count[0]) if count else 0


def _refuse_long_texts(samples: "duckdb.DuckDBPyRelation") -> None:
    """Raise DamagedRun for long texts: repeated in each row, they would fill a disk."""
    columns = zip(samples.columns, map(str, samples.types), strict=True)
    texts = [_quoted(name) for name, kind in columns if kind not in PLAIN and not kind.endswith("[]")]
    longest = ", ".join(f"coalesce(max(strlen({text}::VARCHAR)), 0)" for text in texts)
    if texts and max(samples.aggregate(longest).fetchall()[0]) > LONGEST_TEXT:
        raise DamagedRun(f"Its samples have texts of more than {LONGEST_TEXT} letters.")


def _table(connection: "duckdb.DuckDBPyConnection", samples: "duckdb.DuckDBPyRelation") -> str:
    """A query for what people open with a spreadsheet or show in a terminal; the owner of a run chose its texts."""
    connection.execute(CELL)
    cells = []
    for name, kind in zip(samples.columns, samples.types, strict=True):
        column = _quoted(name)
        head = re.sub(r"[^A-Za-z0-9_]", "_", name)
        cells.append(f'{column if str(kind) in PLAIN else f"cell({column}::VARCHAR)"} AS "{head}"')
    return f"FROM samples SELECT {', '.join(cells)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def samples_problem(folder: Path) -> DamagedRun | None:
    """What is wrong with the run's samples.parquet, as its ends show; None where it is intact or missing."""
    path = folder / layout.SAMPLES_FILE
    try:
        if os.path.lexists(path):
            _check_ends(folder, path)
    except DamagedRun as error:
        return error
    return None


def _check_ends(folder: Path, path: Path) -> None:
    """Raise DamagedRun for a file that does not begin and end as Parquet does: cut off, empty, or something else."""
    with opened_inside(folder, path, ANY_SIZE) as stream:
        first = stream.read(len(PARQUET))
        length = stream.seek(0, os.SEEK_END)
        stream.seek(max(length - FOOTER_BYTES, 0))
        last = stream.read(FOOTER_BYTES)
    described = int.from_bytes(last[:4], "little")
    ends = first == PARQUET and last[4:] == PARQUET
    if not ends or not 0 < described <= length - FOOTER_BYTES - len(PARQUET):
        remedy = "`seatrial runs show` makes it again from the journal."
        raise DamagedRun(f"{path} is not a whole Parquet file.", remedy)


def kernel_table(folder: Path) -> list[tuple[Any, ...]]:
    """A row for each kernel in a run: phase, kernel, message bytes, ordered pairs, samples, one-way latency in seconds,
    bandwidth in bytes per second (one of them None), and the median of the raw times in seconds.

    Latency and bandwidth are what reports mean by them (`locate.evidence.run_value`): in each round the median over
    iterations, of that the median over the rounds of a pair, of that the median over pairs.
    """
    return query_samples([samples_file(folder)], KERNEL_TABLE)
