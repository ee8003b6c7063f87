"""Closes the runs of an archive that no process writes any more; a failure for one does not stop the others.

Every sample that was delivered before a driver was killed is recovered.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from seatrial.archive import contents, layout
from seatrial.archive.contents import Tally, close_folder, sweep, tolerant
from seatrial.archive.journal import (
    Delivered,
    Entry,
    GroupDelivered,
    NodeLost,
    PairCapped,
    PairHung,
    SessionStarted,
    of_type,
)
from seatrial.archive.layout import read_inside
from seatrial.archive.lease import (
    Held,
    Hold,
    Holder,
    Lease,
    Life,
    OpenRun,
    Waiting,
    claim_of,
    examine,
    parse,
    proof,
    read_bytes,
)
from seatrial.archive.reader import has_run_file, read_info, run_folders
from seatrial.archive.samples import SamplesUnmade
from seatrial.archive.working_folder import parents_of, remove_leftovers
from seatrial.archive.writer import ArchiveError, sentences
from seatrial.files.inputs import JOURNAL_BYTES
from seatrial.files.owners import entries, is_own, owner_of
from seatrial.files.writing import Foreign, own_folder, rename_folder
from seatrial.model.errors import NoRun, SeatrialError
from seatrial.model.loss import unmeasured
from seatrial.model.measurement import Measurement
from seatrial.model.run import Ending, RunInfo
from seatrial.model.settings import Settings

TORN_FILE = "torn.jsonl"
ORIGINAL_FILE = "journal.original.jsonl"
"""The journal as its driver has it open, where that may still live."""
RECOVERED = "recovered"
"""Appended to a run's name that is taken."""
LARGEST = 2**63 - 1
"""The largest whole number that samples.parquet holds."""


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was closed: where it is, and how much was in it."""

    folder: str
    run: str
    measurements: int
    samples: int
    torn_lines: int


class ClosedByOther(ArchiveError):
    """The run no longer exists, or another process has begun to close it."""


def partial_folders(archive: Path) -> list[Path]:
    """Runs that were never closed; also those that have a journal and no run.json."""
    runs = [folder for folder in run_folders(archive) if layout.is_open(folder)]
    others = {path for path in entries(archive) if layout.is_open(path)}.difference(runs)
    return [*runs, *sorted(filter(_has_journal, others))]


def _has_journal(folder: Path) -> bool:
    try:
        return (folder / layout.JOURNAL_FILE).stat().st_size > 0
    except OSError:
        return False


def recover(folder: Path) -> Recovered:
    """Close the run in the folder of an open run, whether it is still written or not: `examine` finds that out.

    Invalid lines of the journal (cut off while written), and lines with numbers that no sample can have, go
    to logs/torn.jsonl. Raises ClosedByOther, DamagedRun where run.json itself is lost, ArchiveError where nothing can
    be written, TooLittleMemory. The run then is as it was, and can be recovered later.
    """
    with _claimed(folder) as (claim, before), sentences(folder):
        ended = before is not None and proof(before) is False
        return _close(claim, read_info(claim), ended=ended)


def refuse_foreign(folder: Path) -> None:
    """Raise ArchiveError for the run of another user: only who owns a run writes into it, root included."""
    try:
        with own_folder(folder):
            pass
    except Foreign as error:
        owner = owner_of(folder)
        raise ArchiveError(
            f"{folder} is not closed: {error.strerror}.",
            f"Only its owner closes a run: `seatrial runs recover` as {owner or 'that user'}"
            + (f", for root `runuser -u {owner} -- seatrial runs recover --archive …`." if os.geteuid() == 0 else "."),
        ) from error
    except OSError:
        return  # it is gone, or the system's error is that of the next step


@contextmanager
def _claimed(folder: Path) -> Iterator[tuple[Path, Lease | None]]:
    """The folder by its new name, and the lease that was in it.

    Rename the folder so that no other process can close it, too; where that fails later, give it back.

    A rename is atomic on every file system, NFS included: of several processes one succeeds.
    """
    refuse_foreign(folder)
    claim = claim_of(folder)
    try:
        rename_folder(folder, claim.name)
    except OSError as error:
        if not claim.exists():  # else NFS has done it, and only its answer was lost
            with _absence(folder), sentences(folder):
                raise error from None
    before: bytes | None = None
    with contextlib.suppress(OSError):
        before = read_bytes(claim)
    held: Hold | None = None
    try:
        with _absence(claim), sentences(folder):
            held = Hold(claim, Holder.RECOVER)
        with _absence(claim, held):
            yield claim, parse(before or b"")
    except BaseException:
        if held is None or held.look() is not Held.TAKEN:
            _give_back(claim, before)
        raise
    finally:
        if held is not None:
            held.release()


@contextmanager
def _absence(folder: Path, held: Hold | None = None) -> Iterator[None]:
    """Turn an error that comes of another process, which has closed the run or taken it over, into ClosedByOther."""
    try:
        yield
    except Exception as error:
        if folder.exists() and (held is None or held.look() is Held.OURS):
            raise
        raise ClosedByOther(f"{layout.run_of(folder)} is being closed by another process.") from error


def _give_back(claim: Path, lease: bytes | None) -> None:
    """Leave an open run as it was found, less what was half written."""
    with contextlib.suppress(OSError), own_folder(claim) as own:
        sweep(own)
        if lease is None:
            own.remove(layout.LEASE_FILE)
        else:
            own.replace(layout.LEASE_FILE, lease)
    with contextlib.suppress(OSError):
        rename_folder(claim, f"{layout.run_of(claim)}{layout.PARTIAL}")


def _close(claim: Path, info: RunInfo, *, ended: bool) -> Recovered:
    """Write what is missing into the claimed folder, and rename it. `ended`: its driver has ended for certain."""
    journal = claim / layout.JOURNAL_FILE
    tally = Tally()
    whole, torn = _sift(_content(journal))
    entries = list(tolerant(whole, tally))
    with own_folder(claim) as own:
        own.make_folder(layout.LOGS_FOLDER, exist_ok=True)
        if torn:
            own.replace(f"{layout.LOGS_FOLDER}/{TORN_FILE}", b"".join(torn))
        if torn or not ended or not journal.exists():
            with own.new_file(layout.JOURNAL_FILE) as repaired:
                repaired.writelines(whole)
                if not ended:  # lines that the driver may still append do not reach the closed run, and are not lost
                    with contextlib.suppress(OSError):
                        own.link(layout.JOURNAL_FILE, f"{layout.LOGS_FOLDER}/{ORIGINAL_FILE}")
    contents.add_files(claim, tally)
    final, closed = close_folder(claim, _closed(info, entries, tally), tally, RECOVERED, (SamplesUnmade,))
    return Recovered(
        folder=str(final), run=closed.run, measurements=tally.measurements, samples=tally.samples, torn_lines=len(torn)
    )


def _content(journal: Path) -> bytes:
    """The journal; empty where there is none. Raises DamagedRun where something else is in its place."""
    return read_inside(journal.parent, journal, JOURNAL_BYTES) if os.path.lexists(journal) else b""


def _sift(content: bytes) -> tuple[list[bytes], list[bytes]]:
    whole: list[bytes] = []
    torn: list[bytes] = []
    for line in content.splitlines(keepends=True):
        entry = next(tolerant([line], Tally()), None)
        (whole if entry is not None and _is_storable(entry) else torn).append(line)
    return whole, torn


def _is_storable(entry: Entry) -> bool:
    """Whether samples.parquet can hold its numbers; the probe cannot deliver any others."""
    if not isinstance(entry, Delivered | GroupDelivered):
        return True
    measurement = entry.measurement
    at_once = measurement.pairs_at_once if isinstance(measurement, Measurement) else measurement.groups_at_once
    shape = measurement.shape
    wrong = (number for one in measurement.corruptions for number in (one.wrong_bytes, one.first_byte))
    counts = (at_once, measurement.verified, measurement.errors, *wrong)
    numbers = (entry.number, measurement.repetition, *counts)
    sizes = (shape.message_bytes, shape.window, shape.warmup, shape.iterations)
    return all(-LARGEST <= number <= LARGEST for number in (*numbers, *sizes))


def _closed(info: RunInfo, entries: list[Entry], tally: Tally) -> RunInfo:
    """run.json as the driver would have written it, from the journal."""
    if info.contents is not None and info.contents.journal_sha256 == tally.journal_sha256:
        return info  # the driver was killed between its last write and the rename
    sessions = of_type(entries, SessionStarted)
    lost = (*info.lost, *(entry.state for entry in of_type(entries, NodeLost)))
    hung = (*info.hanging_pairs, *((entry.source, entry.target) for entry in of_type(entries, PairHung)))
    capped = (*info.capped_pairs, *(entry.pair for entry in of_type(entries, PairCapped)))
    measurements = (entry.measurement for entry in of_type(entries, Delivered))
    library = str(sessions[0].header.get("mpi_library", "")) if sessions else ""
    return msgspec.structs.replace(
        info,
        ending=Ending.RECOVERED,
        reason="The run was cut off; what had been delivered was recovered.",
        mpi_library=info.mpi_library or library,
        lost=tuple({state.node: state for state in lost}.values()),
        hanging_pairs=tuple(dict.fromkeys(hung)),
        capped_pairs=unmeasured(capped, measurements),
    )


ASIDE = "Its files are left as they were; move the folder out of the archive if it is not needed."


class LeftAlone(msgspec.Struct, frozen=True, kw_only=True):
    """An open run that a process still works on: which, where, since when; empty or 0 where it has no lease."""

    run: str
    folder: str
    host: str = ""
    pid: int = 0
    user: str = ""
    since: str = ""


class NotClosed(msgspec.Struct, frozen=True, kw_only=True):
    """A run that could not be closed: why, and what to do."""

    run: str
    folder: str
    what: str
    remedy: str


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the open runs of an archive; docs/commands.md describes each field."""

    recovered: tuple[Recovered, ...] = ()
    running: tuple[LeftAlone, ...] = ()
    """Their drivers still write them."""
    busy: tuple[LeftAlone, ...] = ()
    """Another process is closing them, or has closed them meanwhile."""
    others: tuple[LeftAlone, ...] = ()
    """They belong to other users, who alone can close them."""
    damaged: tuple[NotClosed, ...] = ()
    removed_folders: int = 0
    """Working folders that killed runs of this user had left."""


def watching(seconds: float, runs: int) -> str:
    """Why `recover_runs` waits, in a sentence."""
    what = "a run whose driver" if runs == 1 else f"{runs} runs whose drivers"
    return (
        f"Watching {what} cannot be seen from this host, for up to {seconds:.0f} s: if nothing is written it is cut off"
    )


def recover_runs(
    archive: Path, run: str = "", *, force: bool = False, waiting: Waiting = lambda _s, _n: None
) -> Recovery:
    """Close all runs that were cut off, or only `run`; with `force` also runs that are still being written.

    `waiting`: see `examine`. Raises NoRun for an unknown name, ArchiveError for the named run of another user.
    """
    folders = partial_folders(archive)
    if run:
        folders = [folder for folder in folders if run in (layout.run_of(folder), folder.name, str(folder))]
        if not folders:
            return _closed_already(archive, run)
    own = [*filter(is_own, folders)]
    foreign = (
        [] if run else sorted(filter(Path.exists, {*folders}.difference(own)))
    )  # others are closing those that are gone
    folders = own or folders if run else own  # others may give theirs the same name
    parents = parents_of(archive, _settings(folders))  # before they are closed and renamed
    cut_off = [OpenRun(folder=folder, life=Life.CUT_OFF) for folder in folders]
    recovered, damaged, left = [], [], []
    for folder in folders if run else ():
        refuse_foreign(folder)  # before it is watched
    for candidate in cut_off if force else examine(folders, waiting):
        try:
            if candidate.life is Life.CUT_OFF:
                recovered.append(recover(candidate.folder))
            else:
                left.append(candidate)
        except ClosedByOther:
            left.append(msgspec.structs.replace(candidate, life=Life.GONE))
        except Exception as error:
            damaged.append(_not_closed(candidate.folder, error))
    return Recovery(
        recovered=tuple(recovered),
        running=tuple(_left_alone(one) for one in left if one.life is Life.RUNNING),
        busy=tuple(_left_alone(one) for one in left if one.life in (Life.CLOSING, Life.GONE)),
        others=tuple(
            LeftAlone(run=layout.run_of(one), folder=str(one), user=owner_of(one, follow=False)) for one in foreign
        ),
        damaged=tuple(damaged),
        removed_folders=remove_leftovers(parents, lambda leased: examine(leased, waiting)),
    )


def _settings(folders: Sequence[Path]) -> Iterator[Settings | None]:
    """The settings with which runs were begun, of each run whose run.json can be read."""
    for folder in folders:
        with contextlib.suppress(SeatrialError):
            yield read_info(folder).settings


def _closed_already(archive: Path, run: str) -> Recovery:
    folder = archive / layout.run_of(Path(run))
    if not has_run_file(folder):
        raise NoRun(f"There is no run {run!r} in {archive}.", "`seatrial runs list` shows all runs.")
    return Recovery(busy=(LeftAlone(run=folder.name, folder=str(folder)),))


def _left_alone(found: OpenRun) -> LeftAlone:
    alone = LeftAlone(run=layout.run_of(found.folder), folder=str(found.folder))
    held = found.lease
    if held is None:
        return alone
    return msgspec.structs.replace(alone, host=held.host, pid=held.pid, user=held.user, since=held.since)


def _not_closed(folder: Path, error: Exception) -> NotClosed:
    run, place = layout.run_of(folder), str(folder)
    if isinstance(error, SeatrialError):
        return NotClosed(run=run, folder=place, what=error.what, remedy=error.remedy or ASIDE)
    what = f"It cannot be closed ({type(error).__name__}: {error})."
    return NotClosed(run=run, folder=place, what=what, remedy=f"This is a bug of seatrial; please report it. {ASIDE}")
