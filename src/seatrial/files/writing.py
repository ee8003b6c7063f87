"""Writes files so that nothing another user planted in a shared folder is followed, opened or overwritten.

Every write is relative to the descriptor of a folder that was opened without following a link. A new file has a
random name, which nobody else can have taken, until it is renamed. `OwnFolder` writes only below a folder of this user.
"""

import contextlib
import os
import re
import secrets
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from seatrial.files.owners import is_ours, note_owner, owner_of

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OLD = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
DESCRIPTORS = Path("/proc/self/fd")
FOLDER_MODE, FILE_MODE = 0o755, 0o644
"""Less the umask. Nobody else may write into a folder of this user's, whatever the umask."""
SHARED_BITS = 0o7777
UNFINISHED = re.compile(r"\.(?P<home>[0-9a-f]{8})-(?P<pid>[0-9]{1,10})-[0-9a-f]{16}\.new")
"""The name of a file or folder until it is whole: who writes it where, and what nobody else can have taken."""
STALE_S = 86400.0
"""What was not written to for this long is not being written: its process was killed, maybe on another machine."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_swept: set[tuple[int, int]] = set()
"""Device and number of the folders that this process swept."""


def boot_id() -> str:
    """Differs after every boot and on every machine; the same in all containers of one machine. Empty: not known."""
    with contextlib.suppress(OSError):
        return BOOT_ID.read_text(encoding="ascii").strip()
    return ""


def pid_namespace() -> str:
    """The namespace in which the process numbers that this process sees are valid. Empty: unknown."""
    with contextlib.suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return ""


def unfinished() -> str:
    """A name for what is not whole yet, which nobody else can have taken."""
    return f".{home_of_processes()}-{os.getpid()}-{secrets.token_hex(8)}.new"


def home_of_processes() -> str:
    """A short name of the boot and the namespace in which the numbers of processes are valid."""
    return f"{zlib.crc32(f'{boot_id()} {pid_namespace()}'.encode()):08x}"


def sweep(folder: int, older_s: float = 0.0) -> None:
    """Remove files of this user in a folder whose writers have certainly ended, or that are so old."""
    home = home_of_processes() if boot_id() and pid_namespace() else ""
    for match in filter(None, map(UNFINISHED.fullmatch, os.listdir(folder))):
        with contextlib.suppress(OSError):
            status = os.stat(match[0], dir_fd=folder, follow_symlinks=False)
            ended = match["home"] == home and not is_process(int(match["pid"]))
            old = time.time() - status.st_mtime >= older_s
            if stat.S_ISREG(status.st_mode) and is_ours(status) and (ended or old):
                os.unlink(match[0], dir_fd=folder)


def is_process(number: int) -> bool:
    """Whether a process of this namespace has that number."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's, or no number of a process
        return True
    return True


class Foreign(PermissionError):
    """A folder or file of another user, or a link or a pipe, where a folder or file of this user should be."""


def replace_file(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file in one step: readers see the old content or the new one, and a link at `path` is replaced itself.

    The new content is written under a random name beside `path`. Raises OSError, and leaves nothing behind.
    """
    with opened_folder(path.parent) as folder, whole_file(folder, path.name, mode) as stream:
        stream.write(content)


@contextmanager
def opened_folder(path: Path | str, above: int | None = None, flags: int = FOLDER) -> Iterator[int]:
    """The descriptor of a folder, which must not be a link; `above`: that of the folder it is in. Raises OSError."""
    handle = os.open(path, flags, dir_fd=above)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def whole_file(folder: int, name: str, mode: int, *, through: bool = False, new: bool = False) -> Iterator[IO[bytes]]:
    """A file in the folder of that descriptor, which gets its name when the block ends without an error.

    `through`: what was written is on the disk by then, so that a machine that fails leaves no empty file.
    `new`: FileExistsError where the name is taken, also by whoever writes at the same time.
    """
    temporary = unfinished()
    status = os.fstat(folder)
    if (status.st_dev, status.st_ino) not in _swept:
        _swept.add((status.st_dev, status.st_ino))
        sweep(folder, STALE_S)
    try:
        with os.fdopen(os.open(temporary, NEW, mode, dir_fd=folder), "wb") as stream:
            yield stream
            if through:
                stream.flush()
                os.fsync(stream.fileno())
        if new:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(temporary, dir_fd=folder)
        else:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


class OwnFolder:
    """A folder of this user's, by its descriptor. Names may lead into sub-folders (`facts/n1.txt`), never by a link.

    Every method raises OSError; Foreign where something belongs to another user or is not what it should be.
    """

    def __init__(self, handle: int, path: Path) -> None:
        """`handle` stays open as long as this object is used; `path` is for messages."""
        self.handle = handle
        self.path = path

    @property
    def for_libraries(self) -> Path:
        """A path that leads to this folder whatever its name has become, for a library that takes paths only."""
        return descriptor_path(self.handle)

    def replace(self, name: str, content: bytes, mode: int = FILE_MODE) -> None:
        """Write a file in one step: readers see the old content or the new one."""
        with self.new_file(name, mode) as stream:
            stream.write(content)

    @contextmanager
    def new_file(self, name: str, mode: int = FILE_MODE, *, through: bool = False) -> Iterator[IO[bytes]]:
        """A file that appears under its name, in place of what is there, when the block ends without an error."""
        with self._place(name) as (folder, last), whole_file(folder, last, mode, through=through) as stream:
            yield stream

    def create(self, name: str) -> IO[bytes]:
        """A file that did not exist, open for unbuffered writing at its end."""
        with self._place(name) as (folder, last):
            handle = os.open(last, NEW | os.O_APPEND, FILE_MODE, dir_fd=folder)
        return os.fdopen(handle, "wb", buffering=0)

    def open_file(self, name: str, flags: int) -> int:
        """The descriptor of a regular file of this user's that has no other name (hard link). `flags`: of open(2)."""
        with self._place(name) as (folder, last):
            return _own_file(last, flags, folder)

    def make_folder(self, name: str, *, exist_ok: bool = False) -> None:
        """Create a sub-folder."""
        with contextlib.suppress(*((FileExistsError,) if exist_ok else ())):
            os.mkdir(name, FOLDER_MODE, dir_fd=self.handle)
        with self.below(name):
            pass

    @contextmanager
    def below(self, name: str) -> "Iterator[OwnFolder]":
        """A sub-folder, which is this user's, too."""
        with _owned(os.open(name, FOLDER, dir_fd=self.handle), self.path / name) as folder:
            yield folder

    def link(self, name: str, other: str) -> None:
        """Give a file a second name."""
        with self._place(name) as (before, old), self._place(other) as (after, last):
            os.link(old, last, src_dir_fd=before, dst_dir_fd=after, follow_symlinks=False)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself, unless it is missing."""
        with contextlib.suppress(FileNotFoundError), self._place(name) as (folder, last):
            os.unlink(last, dir_fd=folder)

    def empty(self, kept: str = "") -> None:
        """Remove what is in the folder but `kept`, as far as that is possible, whatever its name has become.

        No link is followed, and nothing of another file system that is mounted in it is removed.
        """
        _empty(self.handle, os.fstat(self.handle).st_dev, kept)

    def time_of_new_file_s(self) -> float:
        """When a file that is made and removed now was made, by the clock of its file server: seconds since 1970."""
        name = unfinished()
        with os.fdopen(os.open(name, NEW, FILE_MODE, dir_fd=self.handle), "wb") as stream:
            self.remove(name)
            return os.fstat(stream.fileno()).st_mtime

    def names(self) -> list[str]:
        """What is in the folder."""
        return os.listdir(self.handle)  # noqa: PTH208 - by its descriptor

    @contextmanager
    def _place(self, name: str) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that a name leads to, and its last part."""
        first, _, rest = name.partition("/")
        if not rest:
            yield self.handle, first
            return
        with self.below(first) as folder, folder._place(rest) as place:
            yield place


@contextmanager
def own_folder(path: Path) -> Iterator[OwnFolder]:
    """A folder of this user's. Raises Foreign for that of another user and for a link, OSError."""
    try:
        handle = os.open(path, FOLDER)
    except OSError as error:
        if path.is_symlink():
            raise Foreign(1, f"{path} is a link, which is not followed") from error
        raise
    with _owned(handle, path) as folder:
        yield folder


@contextmanager
def new_folder(path: Path, mode: int = FOLDER_MODE, *, parents: bool = True) -> Iterator[OwnFolder]:
    """A folder that did not exist. `parents`: create those above it that are missing. Raises OSError."""
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    with opened_directory(path.parent) as parent:
        os.mkdir(path.name, mode, dir_fd=parent)
        handle = os.open(path.name, FOLDER, dir_fd=parent)
    _learn_owner(handle)
    with _owned(handle, path) as folder:
        yield folder


@contextmanager
def tentative_folder(path: Path) -> Iterator[OwnFolder]:
    """A folder that did not exist, removed again with all that is in it if the block fails. Raises OSError."""
    with new_folder(path) as own:
        try:
            yield own
        except BaseException:
            with contextlib.suppress(OSError):
                if os.path.samestat(path.lstat(), os.fstat(own.handle)):  # else it has got its name, or others moved it
                    own.empty()
                    path.rmdir()
            raise


@contextmanager
def opened_directory(path: Path) -> Iterator[int]:
    """The descriptor of a folder that the user named, who may have named a link. Raises OSError."""
    with opened_folder(path, flags=FOLDER & ~os.O_NOFOLLOW) as handle:
        yield handle


@contextmanager
def shared_folder(path: Path) -> Iterator[Path]:
    """A folder in an archive into which whoever may write to the archive puts entries: it has its mode and group.

    It is made if need be. The path that is given leads to it whatever is put in its place meanwhile. Raises OSError,
    NotADirectoryError for a link.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with opened_directory(path.parent) as parent:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path.name, FOLDER_MODE, dir_fd=parent)
        try:
            handle = os.open(path.name, FOLDER, dir_fd=parent)
        except OSError as error:
            raise NotADirectoryError(error.errno, f"{path} is a link or a file, not a folder") from error
        try:
            above, status = os.fstat(parent), os.fstat(handle)
            if is_ours(status) and not os.listdir(handle):  # noqa: PTH208 - by its descriptor
                with contextlib.suppress(OSError):
                    os.fchown(handle, -1, above.st_gid)
                os.fchmod(handle, above.st_mode & SHARED_BITS)
            yield descriptor_path(handle)
        finally:
            os.close(handle)


def open_own(path: Path, flags: int) -> int:
    """The descriptor of a regular file of this user's without another name, which may be created by `flags`.

    Raises Foreign for a file of another user, a link, a hard link and a pipe, which is not waited for; OSError.
    """
    return _own_file(str(path), flags, None)


def rename_folder(path: Path, name: str, into: int | None = None) -> None:
    """Give a folder another name, beside its old one or in the folder of a descriptor. Raises OSError."""
    with opened_directory(path.parent) as parent:
        os.rename(path.name, name, src_dir_fd=parent, dst_dir_fd=parent if into is None else into)


def replace_own_file(path: Path, content: bytes, *, new: bool = False) -> None:
    """Write a file through to the disk, in a folder that others share. Raises OSError; Foreign if it is another's.

    `new`: as for `whole_file`.
    """
    with opened_folder(path.parent) as folder:
        with contextlib.suppress(FileNotFoundError):
            if not new and not is_ours(os.stat(path.name, dir_fd=folder, follow_symlinks=False)):
                raise Foreign(1, f"it belongs to {owner_of(path)}")
        with whole_file(folder, path.name, FILE_MODE, through=True, new=new) as stream:
            stream.write(content)


def refuse_other_names(handle: int, name: str, folder: int | None) -> None:
    """Raise Foreign for an open regular file that has another name than the one by which it was opened.

    One look at the name shows both: a name that is taken away after the opening no longer counts in the file itself.
    """
    ours, named = os.fstat(handle), os.stat(name, dir_fd=folder, follow_symlinks=False)
    same = (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
    if stat.S_ISREG(ours.st_mode) and (not same or named.st_nlink > 1):
        raise Foreign(1, f"{name} is a file with several names")


def descriptor_path(handle: int) -> Path:
    """A path that leads to an open file or folder, for a library that takes paths only."""
    return DESCRIPTORS / str(handle)


def _own_file(name: str, flags: int, folder: int | None) -> int:
    handle = os.open(name, OLD | flags & ~os.O_TRUNC, FILE_MODE, dir_fd=folder)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not is_ours(status):
            raise Foreign(1, f"{name} is not a file of this user alone")
        refuse_other_names(handle, name, folder)
        os.set_blocking(handle, True)
        if flags & os.O_TRUNC:
            os.ftruncate(handle, 0)
    except BaseException:
        os.close(handle)
        raise
    return handle


@contextmanager
def _owned(handle: int, path: Path) -> Iterator[OwnFolder]:
    try:
        status = os.fstat(handle)
        if not is_ours(status):
            raise Foreign(1, f"{path} belongs to another user (uid {status.st_uid})")
        yield OwnFolder(handle, path)
    finally:
        os.close(handle)


def _empty(handle: int, device: int, kept: str = "") -> None:
    for name in set(os.listdir(handle)) - {kept}:
        with contextlib.suppress(OSError, RecursionError):  # folders may be as deep as a program likes
            if not stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=handle)
                continue
            with opened_folder(name, handle) as inner:
                if os.fstat(inner).st_dev == device:
                    os.fchmod(inner, 0o700)  # a program may have made it unwritable
                    _empty(inner, device)
            os.rmdir(name, dir_fd=handle)


def _learn_owner(handle: int) -> None:
    """Find out whether the file server gives what this user creates to another one: it does for root on most NFS."""
    if is_ours(os.fstat(handle)):
        return
    name = unfinished()
    with os.fdopen(os.open(name, NEW, FILE_MODE, dir_fd=handle), "wb") as stream:
        note_owner(os.fstat(handle), os.fstat(stream.fileno()))
    os.unlink(name, dir_fd=handle)
