"""A site is written beside the one that readers see, and takes its place in one step once it is complete.

Pages that did not change get a second name (hard link) in the new folder. A rendering that is killed leaves the old
site as it was; the next one removes what was left. Of two at a time the later one stays, whole. A folder that is not a
site of seatrial is never touched.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from seatrial import __version__
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.archive.writer import sentences_on
from seatrial.commands.site.addresses import FOLDERS, PAGE, TWIN
from seatrial.files.exchange import second_name, take_place
from seatrial.files.inputs import BadInput, decoded, open_regular, read_up_to
from seatrial.files.owners import is_ours
from seatrial.files.writing import OwnFolder, own_folder
from seatrial.model.errors import UsageError
from seatrial.render.json import json_text

MARKER = "seatrial-site.json"
"""The file that makes a folder a site of seatrial, and says what each of its pages was made from."""
MARKER_BYTES = 256 << 20
FORMAT = 1
REMEDY = "Free some space, or name another folder, in one that you may write to."
NEW, OLD = "new", "old"
"""Names in the working folder."""


class SiteState(msgspec.Struct, frozen=True, kw_only=True):
    """What the pages of a site were made from: a hash for each page, by its name without the ending."""

    format: int
    seatrial: str = ""
    sources: dict[str, str] = {}


EMPTY = SiteState(format=FORMAT)


class Generation:
    """The pages of the next site, in a folder beside the present one."""

    def __init__(
        self, place: Path, new: Mapping[str, OwnFolder], present: Mapping[str, OwnFolder], before: SiteState
    ) -> None:
        """`place`: where the site will be; `before`: what the present one was made from.

        `new`, `present`: the folders of both sites by their names, the site's own by the empty one, all open: a site
        has thousands of pages that stay. Folders that the present one lacks are not among them.
        """
        self.place = place
        self._new = new
        self._present = present
        self._before = before
        self._sources: dict[str, str] = {}
        self.written = self.kept = 0

    @property
    def removed(self) -> int:
        """How many pages of the present site are not in the new one."""
        return len(self._before.sources.keys() - self._sources.keys())

    def write(self, name: str, source: str, page: str, twin: str) -> None:
        """A page of the new site and its fields as JSON. `source`: what both were made from. Raises OSError."""
        folder, _, last = name.rpartition("/")
        with sentences_on(self.place, REMEDY):
            for ending, text in ((PAGE, page), (TWIN, twin)):
                self._new[folder].replace(last + ending, text.encode("utf-8", errors="replace"))
        self._sources[name] = source
        self.written += 1

    def names_below(self, folder: str) -> list[str]:
        """Pages of the present site in one of its folders."""
        return [name for name in self._before.sources if name.startswith(f"{folder}/")]

    def source(self, name: str) -> str:
        """What a page of the new site was made from; empty where there is no such page."""
        return self._sources.get(name, "")

    def read(self, name: str, most_bytes: int) -> bytes:
        """A file of the new site, at most of that size. Raises BadInput."""
        with open_regular(self._new[""].for_libraries / name, most_bytes) as stream:
            return read_up_to(stream, Path(name), most_bytes)

    def keep(self, name: str, source: str) -> bool:
        """Take a page over from the present site if it was made from the same; whether it was."""
        folder, _, last = name.rpartition("/")
        if folder not in self._present or self._before.sources.get(name) != source:
            return False
        try:
            for ending in (PAGE, TWIN):
                second_name(self._present[folder], self._new[folder], last + ending)
        except OSError:
            return False
        self._sources[name] = source
        self.kept += 1
        return True

    def finish(self) -> None:
        """Note what the pages were made from. Raises OSError."""
        state = SiteState(format=FORMAT, seatrial=__version__, sources=self._sources)
        self._new[""].replace(MARKER, json_text(state).encode())


@contextmanager
def next_generation(folder: Path) -> Iterator[Generation]:
    """The folder to render into, which takes the place of `folder` when the block ends without an error.

    Raises UsageError for a folder that is not a site, SeatrialError, OSError.
    """
    if folder.name in ("", ".."):
        raise UsageError(f"{folder} is not a folder for a site.", "Name a new folder.")
    with contextlib.ExitStack() as opened:
        try:
            present = opened.enter_context(own_folder(folder)) if os.path.lexists(folder) else None
        except OSError as error:
            raise UsageError(f"{folder} cannot be a site: {error.strerror}.", "Name another folder.") from error
        before = read_state(folder, present)
        with sentences_on(folder, REMEDY):
            folder.parent.mkdir(parents=True, exist_ok=True)
            beside = opened.enter_context(WorkingFolder(folder.parent.resolve(), Use.WHOLE))
            working = opened.enter_context(own_folder(beside.path))
            working.make_folder(NEW)
            new = opened.enter_context(working.below(NEW))
            for name in FOLDERS:
                new.make_folder(name)
        yield Generation(folder, _folders(new, opened), _folders(present, opened) if present else {}, before)
        with sentences_on(folder, REMEDY):  # another site may have taken the place meanwhile
            last = opened.enter_context(own_folder(folder)) if os.path.lexists(folder) else None
            if last is not None:
                _like(last, new)
            replaced = last is not None and bool(last.names())
            take_place(working.path / NEW, folder, working.path / OLD if replaced else None)


def _folders(site: OwnFolder, opened: contextlib.ExitStack) -> dict[str, OwnFolder]:
    """The folders that a site has, its own by the empty name; they are closed with the stack."""
    folders = {"": site}
    for name in FOLDERS:
        with contextlib.suppress(OSError):
            folders[name] = opened.enter_context(site.below(name))
    return folders


def read_state(folder: Path, present: OwnFolder | None) -> SiteState:
    """What the pages of the present site were made from; `EMPTY` for a new site, and for one of another version.

    Raises UsageError for a folder with anything but a site.
    """
    if present is None or not present.names():
        return EMPTY
    try:
        with open_regular(present.for_libraries / MARKER, MARKER_BYTES) as stream:
            if not is_ours(os.fstat(stream.fileno())):
                raise BadInput(f"{MARKER} belongs to another user.")
            state = decoded(read_up_to(stream, Path(MARKER), MARKER_BYTES), SiteState, Path(MARKER))
    except (BadInput, OSError) as error:
        what = f"{folder} is neither empty nor a site that seatrial wrote: it has no {MARKER} that can be read."
        raise UsageError(what, "Name another folder; if it is an old site, remove it.") from error
    return state if (state.format, state.seatrial) == (FORMAT, __version__) else EMPTY


def _like(present: OwnFolder, new: OwnFolder) -> None:
    """Give the new folder mode and group of the present one, and its files that are not pages, such as `.htaccess`."""
    for name in present.names():
        if not name.endswith((PAGE, TWIN)):
            with contextlib.suppress(OSError):
                second_name(present, new, name)
    status = os.fstat(present.handle)
    with contextlib.suppress(OSError):
        os.fchown(new.handle, -1, status.st_gid)
    os.fchmod(new.handle, stat.S_IMODE(status.st_mode))
