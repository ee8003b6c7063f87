"""Writes one run of the archive whose values another program measured."""

from collections.abc import Sequence
from pathlib import Path

from seatrial import __version__
from seatrial.archive.journal import ValuesImported
from seatrial.archive.writer import RunWriter, ended
from seatrial.model import formats
from seatrial.model.imported import Batch
from seatrial.model.run import Ending, RunInfo, RunKind


def write_batch(
    archive: Path, run: str, batch: Batch, started: str, *, cluster: str = "", command: Sequence[str] = ()
) -> Path:
    """The folder of the run. `started`: UTC, ISO 8601. Raises UsageError for a name that is taken, ArchiveError."""
    info = RunInfo(
        format=formats.RUN,
        run=run,
        kind=RunKind.IMPORT,
        seatrial=__version__,
        command=tuple(command),
        started=started,
        launcher="import",
        cluster=cluster,
        nodes=tuple(dict.fromkeys(value.node for value in batch.values)),
    )
    writer = RunWriter(archive, info)
    writer.append(ValuesImported(source=batch.source, label=batch.label, values=batch.values))
    return writer.close(ended(info, Ending.COMPLETE, started))
