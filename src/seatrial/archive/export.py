"""Samples of runs for other programs, and short tables of them, by DuckDB."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seatrial.archive import layout
from seatrial.archive.duck import opened
from seatrial.archive.layout import ExportFormat
from seatrial.archive.samples import exactly, query_samples, read_errors, system_errors, write_samples
from seatrial.archive.writer import ArchiveError, sentences
from seatrial.model.errors import SeatrialError


def samples_file(folder: Path) -> Path:
    """samples.parquet of a closed run, made anew from the journal if somebody deleted it."""
    if folder.name.endswith(layout.PARTIAL):
        raise SeatrialError(f"{folder} is still growing or was cut off.", "seatrial runs recover closes it.")
    path = folder / layout.SAMPLES_FILE
    if not path.exists():
        with sentences(folder):
            write_samples(folder, folder.name)
    return path


def export(folders: list[Path], target: Path, form: ExportFormat) -> int:
    """Write the samples of those runs into one file; how many. Raises ArchiveError."""
    files = [exactly(samples_file(folder)) for folder in folders]
    with opened() as connection:
        with read_errors():
            samples = connection.read_parquet(files, union_by_name=True)
        with _sentences(target), system_errors():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
            match form:
                case ExportFormat.CSV:
                    samples.write_csv(str(target))
                case ExportFormat.PARQUET:
                    samples.write_parquet(str(target), compression="zstd")
                case ExportFormat.JSONL:
                    connection.register("samples", samples)
                    quoted = str(target).replace("'", "''")
                    connection.execute(f"COPY samples TO '{quoted}' (FORMAT json)")
        with read_errors():
            count = connection.execute("SELECT count(*) FROM read_parquet(?)", [files]).fetchone()
    return int(count[0]) if count else 0


@contextmanager
def _sentences(target: Path) -> Iterator[None]:
    """Turn the system's errors while writing `target` into a sentence; half a file does not stay."""
    there = target.exists()
    try:
        yield
    except OSError as error:
        if not there and target.is_file():
            target.unlink(missing_ok=True)
        why = "there is no space left" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror or error)
        raise ArchiveError(
            f"{target} cannot be written: {why}.", "Name another file with --output; the run itself is whole."
        ) from error


def sample_counts(folders: list[Path]) -> dict[str, int]:
    """Timed samples by run."""
    files = [folder / layout.SAMPLES_FILE for folder in folders if (folder / layout.SAMPLES_FILE).exists()]
    if not files:
        return {}
    return dict(query_samples(files, "SELECT run, count(*) FROM samples WHERE NOT warm GROUP BY run"))


def kernel_table(folder: Path) -> list[tuple[Any, ...]]:
    """Of each kernel in a run: phase, kernel, message bytes, ordered pairs, samples, median seconds."""
    sql = """
    SELECT phase, kernel, message_bytes, count(DISTINCT (source, target)), count(*), median(time_s)
    FROM samples WHERE NOT warm GROUP BY ALL ORDER BY ALL
    """
    return query_samples([samples_file(folder)], sql)
