"""Rebuilds a recorded tree of files in an empty folder; nothing in it can be written or point outside."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from seatrial.files.owners import FILE, FOLDER, open_given
from seatrial.model.errors import SeatrialError, UsageError

LARGEST_BYTES = 1 << 30
MOST_MEMBERS = 2_000_000
LONGEST_NAME = 1000
LONGEST_PART = 255
DEEPEST = 100
CHUNK = 1 << 16
MOST_HOPS = 40
"""Links that Linux follows for one path (path_resolution(7))."""
ONE_MACHINE = "Record sys and proc of one machine."
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags of open(2); the path is a string and not a Path, for recordings have hundreds of thousands of files."""


class TreeWriter:
    """Writes folders and files first and links at the end, when nothing can be written through them."""

    def __init__(self, root: Path, *, largest_bytes: int = LARGEST_BYTES, most_members: int = MOST_MEMBERS) -> None:
        """`root`: an empty folder of our own. An archive with more bytes or members is refused."""
        self._root = root
        self.largest_bytes = largest_bytes
        self._most_members = most_members
        self._bytes = 0
        self._members = 0
        self._folders = {""}
        self._links: dict[str, str] = {}
        self.dropped = 0
        """Members left out: devices, names that sysfs does not have, links that lead outside."""

    def folder(self, name: str) -> None:
        """Make a folder and those above it. A file that has its name stays."""
        path = self._admit(name)
        if not self._make(path) or (not path and name.strip("./")):
            self.dropped += 1

    def file(self, name: str, content: Iterable[bytes]) -> None:
        """Write a file from its chunks; of two with one name the later one stays. Raises UsageError beyond the cap."""
        path = self._admit(name)
        if not path or not self._make(path.rpartition("/")[0]) or path in self._folders:
            self.dropped += 1
            return
        with self._on_disk():
            handle = os.open(f"{self._root}/{path}", NEW_FILE, 0o666)
        try:
            for chunk in content:  # an error here is the archive's fault, not the disk's
                self._grow(len(chunk))
                with self._on_disk():
                    _write(handle, chunk)
        finally:
            os.close(handle)

    def same_file(self, name: str, earlier: str) -> None:
        """A hard link: the content of a file written before. One to anything else is left out."""
        source = plain_name(earlier)
        if source and source != plain_name(name) and (self._root / source).is_file():
            with (self._root / source).open("rb") as stream:
                self.file(name, iter(lambda: stream.read(CHUNK), b""))
        else:
            self.drop()

    def link(self, name: str, target: str) -> None:
        """Remember a symbolic link for `finish`."""
        path = self._admit(name)
        if path and len(target) <= LONGEST_NAME and target.isprintable():
            self._links[path] = target
        else:
            self.dropped += 1

    def drop(self) -> None:
        """Count a member that is left out."""
        self._count()
        self.dropped += 1

    def finish(self) -> None:
        """Make the links that stay inside the tree, and only those."""
        new = {
            name: target
            for name, target in self._links.items()
            if not (self._root / name).exists() and not any(above in self._links for above in _above(name))
        }
        kept = {name: target for name, target in new.items() if leads_inside(name, new)}
        for name, target in kept.items():
            if self._make(name.rpartition("/")[0]):
                with self._on_disk():
                    (self._root / name).symlink_to(target)
        self.dropped += len(self._links) - len(kept)

    def _admit(self, name: str) -> str:
        self._count()
        return plain_name(name)

    def _count(self) -> None:
        self._members += 1
        if self._members > self._most_members:
            raise UsageError(f"The recording has more than {self._most_members} members.", ONE_MACHINE)

    def _grow(self, count: int) -> None:
        self._bytes += count
        if self._bytes > self.largest_bytes:
            raise too_large(self.largest_bytes)

    def _make(self, path: str) -> bool:
        """Whether the folder is there now; false where a file is in its place."""
        if path in self._folders:
            return True
        above = path.rpartition("/")[0]
        if not self._make(above):
            return False
        with self._on_disk():
            if (self._root / path).exists():
                return False
            (self._root / path).mkdir()
        self._folders.add(path)
        return True

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = self._root.parent
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise SeatrialError(f"No space left in {where} to unpack the recording.", "Set TMPDIR.") from error
            raise SeatrialError(f"The recording cannot be unpacked in {where}: {error.strerror or error}.") from error


def rebuild(folder: Path, writer: TreeWriter) -> None:
    """The tree in a folder, by descriptors: no link is followed, and what cannot be read is left out. Raises OSError,
    and UsageError beyond the caps of the writer.
    """
    handle = open_given(folder, FOLDER)
    try:
        _rebuild(handle, "", writer)
    finally:
        os.close(handle)
    writer.finish()


def _rebuild(folder: int, above: str, writer: TreeWriter) -> None:
    for name in sorted(os.listdir(folder)):
        try:
            _rebuild_member(folder, name, f"{above}{name}", writer)
        except OSError:
            writer.drop()


def _rebuild_member(folder: int, name: str, path: str, writer: TreeWriter) -> None:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        writer.link(path, os.readlink(name, dir_fd=folder))
        return
    is_folder = stat.S_ISDIR(mode) and path.count("/") < DEEPEST
    if not is_folder and not stat.S_ISREG(mode):
        writer.drop()
        return
    handle = os.open(name, (FOLDER if is_folder else FILE) | os.O_NOFOLLOW, dir_fd=folder)
    try:
        if is_folder:
            writer.folder(path)
            _rebuild(handle, f"{path}/", writer)
        elif stat.S_ISREG(os.fstat(handle).st_mode):  # and not exchanged just now
            writer.file(path, iter(lambda: os.read(handle, CHUNK), b""))
        else:
            writer.drop()
    finally:
        os.close(handle)


def _write(handle: int, content: bytes) -> None:
    """All of it: write(2) may take a part."""
    while content:
        content = content[os.write(handle, content) :]


def too_large(most_bytes: int) -> UsageError:
    """The error for a recording that unpacks to more bytes than the limit."""
    return UsageError(f"The recording unpacks to more than {most_bytes >> 20} MiB.", ONE_MACHINE)


def _above(name: str) -> Iterator[str]:
    """a/b/c -> a/b, a."""
    while name := name.rpartition("/")[0]:
        yield name


def plain_name(name: str) -> str:
    """a//./b/ -> a/b; "" for the tree itself and for names sysfs does not have: unprintable, overlong, too deep.

    Raises UsageError for a name that is absolute or climbs with "..": whoever made it meant another place.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise UsageError(
            f"The recording's member {name[:80]!r} would be outside of it.", "Use relative names like sys/devices."
        )
    whole = "/".join(parts)
    longest = max((len(part) for part in parts), default=0)
    odd = not whole.isprintable() or len(whole) > LONGEST_NAME or longest > LONGEST_PART or len(parts) > DEEPEST
    return "" if odd else whole


def leads_inside(name: str, links: Mapping[str, str]) -> bool:
    """Whether following the link `name` never leaves the tree, whatever `links` (place -> target) are met on the way.

    Absolute targets leave it, and so does what the kernel would not follow to its end.
    """
    at: list[str] = []
    pending = [*name.split("/")][::-1]
    hops = 0
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return False
            at.pop()
            continue
        at.append(part)
        target = links.get("/".join(at))
        if target is None:
            continue
        hops += 1
        if hops > MOST_HOPS or target.startswith("/"):
            return False
        at.pop()
        pending.extend(reversed(target.split("/")))
    return True
