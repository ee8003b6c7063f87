"""A folder for files that a run needs only while it goes on: made before, removed after, also what killed runs left.

`PARENT/.seatrial-USE-<16 hexadecimal digits>/` belongs to the user alone and has two entries: `lease.json`, by which
others see that the run still lives, and the folder `files`, in which programs may write and delete what they like.
"""

import enum
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from seatrial.archive import lease
from seatrial.archive.layout import FACTS_FOLDER, LEASE_FILE, LOGS_FOLDER, RUN_FILE
from seatrial.archive.lease import LATELY_S, Life, OpenRun
from seatrial.files.owners import FOLDER, entries, is_own, open_given
from seatrial.files.writing import UNFINISHED, descriptor_path, new_folder, own_folder, sweep
from seatrial.model.settings import CheckSettings, NodesSettings, RunSettings, Settings

FILES = "files"
PATIENCE_S = 5.0
"""Patience with ranks that still hold files: NFS keeps these under another name until they are closed."""
SCRATCH = ".scratch-{}"
"""A folder in the archive, which the nodes see where its driver does; one for each user, by number, and private."""


class Use(enum.StrEnum):
    """What such a folder is for."""

    SCRATCH = "scratch"
    """The programs of a benchmark run in it."""
    STORAGE = "storage"
    """Storage is tried in it."""
    WHOLE = "whole"
    """What is to appear whole, or to go as a whole, is in it meanwhile: an import, a baseline, a recording."""


OURS = re.compile(rf"\.seatrial-(?:{'|'.join(Use)})-[0-9a-f]{{16}}|{UNFINISHED.pattern}")
"""Names of working folders, and of runs that have no journal yet."""
TEMPORARY = {LEASE_FILE, FILES, RUN_FILE, FACTS_FOLDER, LOGS_FOLDER}
"""Names of what is in them; a run that measured has more."""


class WorkingFolder:
    """A new one in `parent`, with a lease."""

    def __init__(self, parent: Path, use: Use) -> None:
        """Remove what killed runs of this user left in `parent`, and make the folder.

        Raises OSError, also where `parent` is a link of another user to what is not theirs.
        """
        os.close(open_given(parent, FOLDER))
        self.removed = remove_leftovers([parent])
        """Folders of killed runs that were removed."""
        self._home = parent / f".seatrial-{use}-{secrets.token_hex(8)}"
        self.path = self._home / FILES
        """The folder in which programs write, which may be on other nodes."""
        self._handle = -1
        self._hold: lease.Hold | None = None
        try:
            with new_folder(self._home, mode=0o700, parents=False) as own:
                self._hold = lease.Hold(self._home, lease.Holder.DRIVER)
                own.make_folder(FILES)
                with own.below(FILES) as files:
                    self._handle = os.dup(files.handle)
        except BaseException:
            self.remove(patience_s=0.0)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.remove(patience_s=0.0)
        except BaseException:  # a signal, after which no other one interrupts
            self.remove(patience_s=0.0)
            raise

    @property
    def place(self) -> Path:
        """The folder's path for this process, whatever has taken the place of the folder since."""
        return descriptor_path(self._handle)

    def remove(self, patience_s: float = PATIENCE_S) -> bool:
        """Remove it with all that is in it; False where something of it is still there."""
        if self._hold is not None:
            self._hold.release()
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)
        deadline = time.monotonic() + patience_s
        while not remove(self._home):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True


def scratch_parent(archive: Path) -> Path:
    """The folder for the scratch folders of runs of an archive, unless --scratch names another place."""
    return archive / SCRATCH.format(os.geteuid())


def parents_of(archive: Path, runs: Iterable[Settings | None]) -> list[Path]:
    """The folders in which runs of an archive with these settings may have had working folders, each once."""
    parents = [archive, *filter(is_own, [scratch_parent(archive)])]  # not a link that others put there
    for settings in runs:
        if isinstance(settings, RunSettings) and settings.scratch is not None:
            parents.append(settings.scratch)
        elif isinstance(settings, CheckSettings | NodesSettings) and settings.storage is not None:
            parents.append(settings.storage)
    return list(dict.fromkeys(parent.absolute() for parent in parents))


def _glances(folders: Iterable[Path]) -> list[OpenRun]:
    return [found for folder in folders if (found := lease.glance(folder)) is not None]


def remove_leftovers(parents: Iterable[Path], examine: Callable[[list[Path]], Iterable[OpenRun]] = _glances) -> int:
    """Remove the working folders of this user there whose run has certainly ended; how many.

    `examine`: how the runs of folders with a lease are. Without it the folders whose runs would have to be watched are
    left alone.
    """
    leased, abandoned = [], []
    for folder in (folder for parent in parents for folder in _own_folders(parent)):
        with suppress(FileNotFoundError):  # its run, or another one, has just removed it
            if (folder / LEASE_FILE).exists():
                leased.append(folder)
            elif abs(time.time() - folder.lstat().st_mtime) > LATELY_S:  # else its lease may just be being written
                abandoned.append(folder)
    if leased:
        abandoned += [found.folder for found in examine(leased) if found.life is Life.CUT_OFF]
    return sum(map(remove, abandoned))


def _own_folders(parent: Path) -> list[Path]:
    """The folders of this user that have the name of a working folder."""
    with suppress(OSError):
        return [entry for entry in sorted(entries(parent)) if OURS.fullmatch(entry.name) and is_own(entry)]
    return []


def remove(folder: Path) -> bool:
    """Remove a working folder of this user, its lease at last. True where it is gone.

    No link is followed, nothing of another file system that is mounted in it is removed, and what cannot be removed
    stays, with the lease, so that a later command can try again. Whoever may write to the folder above can give such a
    name to any folder of this user: one without a lease is removed only if nothing is in it.
    """
    with suppress(OSError), own_folder(folder) as own:
        names = own.names()
        if LEASE_FILE not in names or any(name not in TEMPORARY and name[0] != "." for name in names):
            sweep(own.handle)
        else:
            os.close(own.open_file(LEASE_FILE, os.O_RDONLY))
            own.empty(kept=LEASE_FILE)
            if own.names() == [LEASE_FILE]:
                own.remove(LEASE_FILE)
    with suppress(OSError):
        folder.rmdir()
    return not os.path.lexists(folder)
