"""DuckDB opened so that little memory and no room to spill end in a sentence, not in a crash."""

import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.model.errors import SeatrialError

if TYPE_CHECKING:
    import duckdb

NEEDS_BYTES = 1 << 30
"""Below it DuckDB is not tried: with 600 MiB of address space it refuses or crashes on a small run, 800 do."""
MIB = 1 << 20
LIMITS = ((resource.RLIMIT_AS, "ulimit -v"), (resource.RLIMIT_DATA, "ulimit -d"))
SAFE = "What was measured is safe in the journal."


class TooLittleMemory(SeatrialError):
    """DuckDB cannot have the memory that it needs; nothing that was measured is lost by that."""


@contextmanager
def opened(spill: Path | None = None) -> Iterator["duckdb.DuckDBPyConnection"]:
    """A connection of its own. What does not fit into memory goes to the folder `spill`, which is made when needed.

    `spill` None: a temporary folder of its own; where none can be made, to nowhere. Raises TooLittleMemory.
    """
    refuse_cramped()
    import duckdb

    with _folder(spill) as folder:
        try:
            with duckdb.connect(config={"temp_directory": folder}) as connection:
                yield connection
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise TooLittleMemory(
                f"There is too little memory to work on the samples ({_first_line(error)}). {SAFE}", _remedy("")
            ) from error


def refuse_cramped() -> None:
    """Raise TooLittleMemory where this process may not have what DuckDB takes for a start."""
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
    try:
        temporary = tempfile.TemporaryDirectory(prefix="seatrial-", ignore_cleanup_errors=True)
    except OSError:  # /tmp is full or cannot be written
        yield ""
        return
    with temporary as folder:
        yield folder


def _remedy(how: str) -> str:
    return f"Allow more ({how or 'ulimit -v'} unlimited, or --mem of the job), or work on the run on another machine."


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].removeprefix("Out of Memory Error: ").strip() or "nothing more to be had"
