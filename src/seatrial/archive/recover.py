"""Closes runs whose driver was killed: every sample that was delivered is given back."""

from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import Delivered, Entry, NodeLost, PairHung, SessionStarted, decode, of_type
from seatrial.archive.reader import read_info, run_folders
from seatrial.archive.samples import write_samples
from seatrial.archive.writer import sentences, write_run_file
from seatrial.model.run import Ending, RunInfo

TORN_FILE = "torn.jsonl"


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was closed: where it is, and how much was in it."""

    folder: str
    run: str
    measurements: int
    samples: int
    torn_lines: int


def partial_folders(archive: Path) -> list[Path]:
    """Runs that were never closed."""
    return [folder for folder in run_folders(archive) if folder.name.endswith(layout.PARTIAL)]


def recover(folder: Path) -> Recovered:
    """Close the run in a `.partial` folder.

    Lines of the journal that are no entries (cut off in mid-write) go to logs/torn.jsonl. Raises DamagedRun where
    run.json itself is lost, ArchiveError where nothing can be written.
    """
    info = read_info(folder)
    journal = folder / layout.JOURNAL_FILE
    with sentences(folder):
        whole, torn = _sift(journal.read_bytes() if journal.exists() else b"")
        if torn:
            (folder / layout.LOGS_FOLDER / TORN_FILE).write_bytes(b"".join(torn))
        repaired = journal.with_suffix(".new")
        repaired.write_bytes(b"".join(whole))
        repaired.rename(journal)
        entries = list(decode(whole))
        write_samples(folder, info.run)
        write_run_file(folder, _closed(info, entries))
        final = folder.with_name(folder.name.removesuffix(layout.PARTIAL))
        folder.rename(final)
    delivered = of_type(entries, Delivered)
    return Recovered(
        folder=str(final),
        run=info.run,
        measurements=len(delivered),
        samples=sum(len(entry.measurement.times_s) for entry in delivered),
        torn_lines=len(torn),
    )


def _sift(content: bytes) -> tuple[list[bytes], list[bytes]]:
    whole: list[bytes] = []
    torn: list[bytes] = []
    for line in content.splitlines(keepends=True):
        try:
            good = bool(list(decode([line])))
        except msgspec.DecodeError:
            good = False
        (whole if good else torn).append(line)
    return whole, torn


def _closed(info: RunInfo, entries: list[Entry]) -> RunInfo:
    """run.json as the driver would have written it, from what the journal says."""
    sessions = of_type(entries, SessionStarted)
    lost = (*info.lost, *(entry.state for entry in of_type(entries, NodeLost)))
    hung = (*info.hanging_pairs, *((entry.source, entry.target) for entry in of_type(entries, PairHung)))
    library = str(sessions[0].header.get("mpi_library", "")) if sessions else ""
    return msgspec.structs.replace(
        info,
        ending=Ending.RECOVERED,
        reason="The run was cut off; what had been delivered was recovered.",
        mpi_library=info.mpi_library or library,
        lost=tuple({state.node: state for state in lost}.values()),
        hanging_pairs=tuple(dict.fromkeys(hung)),
    )
