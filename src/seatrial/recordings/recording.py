"""Recorded machines: what a file or folder holds, recognised by its content; and how one is written."""

import enum
import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import TypeVar
from urllib.parse import unquote

import msgspec

from seatrial.archive import layout
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.archive.writer import sentences_on
from seatrial.files.inputs import ALL_FACTS_BYTES, DESCRIPTION_BYTES, Allowance, BadInput, as_text, decoded, read_input
from seatrial.files.owners import temporary_folder
from seatrial.files.writing import opened_folder, own_folder, rename_folder, replace_file
from seatrial.importers.other_outputs import JSON_TEXT, other_output
from seatrial.importers.printed_text import by_node, plain
from seatrial.model import formats
from seatrial.model.errors import UsageError
from seatrial.model.words import natural_key
from seatrial.node.frame import OPENING
from seatrial.recordings.command_text import IN_ENGLISH, commands_in, is_translated, texts_by_node
from seatrial.recordings.machine_files import entries, machine_files
from seatrial.recordings.tarballs import beginning, is_tar, is_ttar, unpack_tar, unpack_ttar, whole
from seatrial.recordings.trees import TreeWriter, rebuild

_Record = TypeVar("_Record")
GATHER_FILE = "gather.json"
STREAM_SUFFIX = ".facts"
RAW_FOLDER = "raw"
REMEDY = "Choose another --output."
DEEPEST_LOOK = 3
MOST_FOLDERS = 10_000
EXPECTED = (
    "A recording is a folder or tar archive of NODE.facts streams or of a machine's sys and proc, one such stream, "
    "a ttar archive, hwloc's XML, a text of lscpu, dmidecode or lstopo, a folder of these, or a sysinfo JSON file."
)
LIVE = "seatrial facts --output FILE records this machine."


class Form(enum.Enum):
    """What a file is."""

    TAR = "tar"
    TTAR = "ttar"
    STREAM = "stream"
    XML = "XML"
    TEXT = "text of lscpu, dmidecode or lstopo"
    JSON = "JSON"


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """gather.json: what a recording is."""

    format: int = formats.RECORDING
    seatrial: str = ""
    at: str = ""
    """UTC, ISO 8601."""
    launcher: str = ""
    cluster: str = ""
    nodes: tuple[str, ...] = ()
    silent: dict[str, str] = {}
    """Node that did not answer -> what was seen of it."""
    features: dict[str, tuple[str, ...]] = {}
    """Node -> its features in the scheduler."""
    scrubbed: bool = False


def read_gathered(folder: Path) -> Gathered | None:
    """gather.json of a recording's folder; None where it is missing or unreadable."""
    try:
        return _description(folder / GATHER_FILE, Gathered)
    except BadInput:
        return None


class _Described(msgspec.Struct, frozen=True, kw_only=True):
    """The features in gather.json and run.json."""

    features: dict[str, tuple[str, ...]] = {}


class FolderContents(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a folder: streams by node, those of a run's second reading, trees by the name of their folder.

    Other files that describe a machine count only where there are no streams and trees.
    """

    streams: dict[str, str] = {}
    after: dict[str, str] = {}
    trees: dict[str, Path] = {}
    files: dict[str, tuple[Path, ...]] = {}
    """Node -> exports of hwloc and texts of commands."""
    features: dict[str, tuple[str, ...]] = {}
    """Node -> its features in the scheduler."""


def form_of(path: Path) -> Form:
    """The kind of a file, by its first bytes. Raises UsageError for anything but a recording."""
    first = beginning(path)
    words = first.lstrip(b"\xef\xbb\xbf \t\r\n")
    if is_tar(first):
        return Form.TAR
    if words.startswith(OPENING.encode()):
        return Form.STREAM
    if is_ttar(words):
        return Form.TTAR
    if words.startswith((b"<?xml", b"<!DOCTYPE topology", b"<topology", b"<nvidia_smi_log", b"<system ", b"<!--")):
        return Form.XML
    if words.startswith(b"{"):
        return Form.JSON
    text = words.decode("utf-8", errors="replace")
    if any(map(commands_in, texts_by_node(text.rpartition("\n")[0] or text, "").values())):
        return Form.TEXT
    if is_translated(text):
        raise UsageError(f"{path} looks like lscpu's output in another language than English.", IN_ENGLISH)
    printed = (text, dedent(plain(text)), *by_node(text).values())
    if (other := next(filter(None, map(other_output, printed)), None)) and other.name != JSON_TEXT:
        raise UsageError(f"{path} is not a recording: it looks like {other.name}.", other.remedy)
    shown = words[:40].decode("utf-8", errors="replace")
    raise UsageError(
        f"{path} is not a recording: it begins with {shown!r}." if shown else f"{path} is empty.", EXPECTED
    )


@contextmanager
def unpacked(path: Path, form: Form) -> Iterator[Path]:
    """A tar or ttar archive in a folder of its own, which is removed afterwards. Raises UsageError, SeatrialError."""
    with _empty_tree() as (root, writer):
        if form is Form.TAR:
            unpack_tar(path, writer)
        else:
            unpack_ttar(whole(path), writer)
        writer.finish()
        yield root


@contextmanager
def rebuilt(folder: Path) -> Iterator[Path]:
    """The tree in a folder, as if it had been in an archive: programs that read it follow no link out of it.

    Raises UsageError, SeatrialError.
    """
    with _empty_tree() as (root, writer):
        try:
            rebuild(folder, writer)
        except OSError as error:
            raise UsageError(f"{folder} cannot be read: {error.strerror}.") from error
        yield root


@contextmanager
def _empty_tree() -> Iterator[tuple[Path, TreeWriter]]:
    with temporary_folder() as folder:
        root = folder / "tree"
        root.mkdir()
        yield root, TreeWriter(root)


def contents(folder: Path, label: object) -> FolderContents:
    """The recordings at the highest level of a folder; a run's raw facts count as one.

    `label`: the name of the folder in messages. Raises UsageError without recordings, and for a link out of the folder.
    """
    level = [folder]
    together = Allowance(ALL_FACTS_BYTES, label)
    for _ in range(DEEPEST_LOOK):
        found = [_own_contents(each, folder, together) for each in level]
        streams = {name: text for one in found for name, text in one.streams.items()}
        trees = {name: path for one in found for name, path in one.trees.items()}
        files = {name: paths for one in found for name, paths in one.files.items()}
        if streams or trees or files:
            return FolderContents(
                streams=streams,
                after={name: text for one in found for name, text in one.after.items()},
                trees=trees,
                files={} if streams or trees else files,
                features={name: words for one in found for name, words in one.features.items()},
            )
        level = [inner for each in level for inner in _folders(each)][:MOST_FOLDERS]
    raise UsageError(f"{label} contains no recording.", EXPECTED)


def _own_contents(folder: Path, top: Path, together: Allowance) -> FolderContents:
    """`top`: the folder of the whole recording."""
    for place in (folder, folder / layout.FACTS_FOLDER):
        before = _streams(place, f".{layout.BEFORE}.txt", top, together)
        before = before or _streams(place, STREAM_SUFFIX, top, together)
        if before:
            after = _streams(place, f".{layout.AFTER}.txt", top, together)
            return FolderContents(streams=before, after=after, features=_features(folder))
    if any((folder / part).is_dir() for part in ("sys", "proc")):
        if _is_running(folder):
            raise UsageError(f"{folder} is this machine itself, not a recording of one.", LIVE)
        return FolderContents(trees={folder.name: folder})
    return FolderContents(files=machine_files(folder, top))


def _is_running(folder: Path) -> bool:
    """Whether its proc is the kernel's, so that a copy would take every file that this machine has."""
    try:
        return (folder / "proc" / "self").readlink() == Path(str(os.getpid()))
    except OSError:
        return False


def _description(path: Path, kind: type[_Record]) -> _Record:
    return decoded(read_input(path, DESCRIPTION_BYTES, path.parent), kind, path)


def _features(folder: Path) -> dict[str, tuple[str, ...]]:
    """Features that gather.json or run.json has; none if neither can be read."""
    for file in (GATHER_FILE, layout.RUN_FILE):
        try:
            return _description(folder / file, _Described).features
        except BadInput:
            continue
    return {}


def _streams(folder: Path, suffix: str, top: Path, together: Allowance) -> dict[str, str]:
    """Node -> its stream, in the order of the files' names."""
    files = (path for path in entries(folder) if path.name.endswith(suffix) and path.is_file())
    paths = sorted(files, key=lambda path: natural_key(path.name))
    texts = ((unquote(path.name.removesuffix(suffix)), text_of(path, top, together)) for path in paths)
    return {name: text for name, text in texts if text.startswith(OPENING)}


def _folders(folder: Path) -> list[Path]:
    return [path for path in entries(folder) if path.is_dir() and not path.is_symlink()]


def text_of(path: Path, folder: Path | None = None, together: Allowance | None = None) -> str:
    """A text file, without its compression; invalid bytes are replaced. Raises UsageError, also for a link out of the
    folder.
    """
    return as_text(whole(path, folder, together), path)


def stream_node(path: Path) -> str:
    """The node of a NODE.facts, else ""."""
    return unquote(path.name.removesuffix(STREAM_SUFFIX)) if path.name.endswith(STREAM_SUFFIX) else ""


def stream_name(node: str) -> str:
    """NODE.facts."""
    return f"{layout.file_name(node)}{STREAM_SUFFIX}"


def gathered_text(gathered: Gathered) -> str:
    """gather.json."""
    return msgspec.json.format(msgspec.json.encode(gathered), indent=1).decode() + "\n"


def write_recording(target: Path, files: Mapping[str, str]) -> None:
    """Write a recording: a tar.gz where the name ends so, else a folder. It appears whole, or not at all.

    Raises UsageError where there is something of that name, ArchiveError where it cannot be written.
    """
    refuse_taken(target)
    with sentences_on(target, REMEDY):
        target.parent.mkdir(parents=True, exist_ok=True)
        above = target.parent.resolve()
        if target.name.endswith((".tar.gz", ".tgz")):
            replace_file(above / target.name, _tarball(target, files))
            return
        with WorkingFolder(above, Use.WHOLE) as working, own_folder(working.path) as own, opened_folder(above) as into:
            for name, text in files.items():
                for part in Path(name).parent.parts:
                    own.make_folder(part, exist_ok=True)
                own.replace(name, text.encode())
            refuse_taken(target)
            rename_folder(working.path, target.name, into)


def refuse_taken(target: Path) -> None:
    """Raises UsageError where there is something of that name already."""
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists already.", REMEDY)


def _tarball(target: Path, files: Mapping[str, str]) -> bytes:
    folder = target.name.removesuffix(".tgz").removesuffix(".tar.gz")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            data = text.encode("utf-8")
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(data)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
