"""Runs of the archive whose values another program measured: when they began, and how they are written."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from seatrial import __version__
from seatrial.archive.journal import ValuesImported
from seatrial.archive.writer import RunWriter, ended
from seatrial.model import formats
from seatrial.model.imported import Batch
from seatrial.model.run import Ending, RunInfo, RunKind


def write_batch(
    archive: Path, run: str, batches: Sequence[Batch], started: str, *, cluster: str = "", command: Sequence[str] = ()
) -> Path:
    """The folder of the run, which has the values of all batches. `started`: UTC, ISO 8601.

    Raises UsageError for a name that is taken, ArchiveError.
    """
    info = RunInfo(
        format=formats.RUN,
        run=run,
        kind=RunKind.IMPORT,
        seatrial=__version__,
        command=tuple(command),
        started=started,
        launcher="import",
        cluster=cluster,
        nodes=tuple(dict.fromkeys(value.node for batch in batches for value in batch.values)),
    )
    writer = RunWriter(archive, info)
    for batch in batches:
        writer.append(ValuesImported(source=batch.source, label=batch.label, values=batch.values))
    return writer.close(ended(info, Ending.COMPLETE, started))


def times_of(batches: Sequence[Batch]) -> list[str]:
    """When each run began: as its label says; else in their order, a second apart, up to now."""
    moments = [_moment(batch.label) for batch in batches]
    if any(moment is None for moment in moments):
        latest = datetime.now(UTC).replace(microsecond=0)
        moments = [latest - timedelta(seconds=len(batches) - place) for place in range(len(batches))]
    return [moment.isoformat().replace("+00:00", "Z") for moment in moments if moment is not None]


def _moment(label: str) -> datetime | None:
    """A date or a time in ISO 8601; UTC where it does not say."""
    try:
        moment = datetime.fromisoformat(label)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
