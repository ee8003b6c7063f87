"""Closes the runs of an archive that no process writes any more; a failure for one does not stop the others."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.lease import Life, OpenRun, Waiting, examine
from seatrial.archive.reader import has_run_file, read_info
from seatrial.archive.run_recovery import ClosedByOther, Recovered, partial_folders, recover, refuse_foreign
from seatrial.archive.working_folder import parents_of, remove_leftovers
from seatrial.files.owners import is_own, owner_of
from seatrial.model.errors import NoRun, SeatrialError
from seatrial.model.settings import Settings

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
