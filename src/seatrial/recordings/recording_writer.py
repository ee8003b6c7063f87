"""Writes recordings of machines: a folder, or one tar.gz."""

import io
import secrets
import tarfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.writer import sentences_on
from seatrial.files.writing import rename_folder, replace_file, tentative_folder
from seatrial.model.errors import UsageError
from seatrial.recordings.recording import STREAM_SUFFIX, Gathered

REMEDY = "Choose another --output."


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
        if is_tar_name(target):
            replace_file(target.parent.resolve() / target.name, _tarball(target, files))
            return
        partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}{layout.PARTIAL}")
        with tentative_folder(partial) as own:
            for name, text in files.items():
                for above in Path(name).parent.parts:
                    own.make_folder(above, exist_ok=True)
                own.replace(name, text.encode())
            refuse_taken(target)
            rename_folder(partial, target.name)


def refuse_taken(target: Path) -> None:
    """Raises UsageError where there is something of that name already."""
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists already.", REMEDY)


def is_tar_name(target: Path) -> bool:
    """Whether a recording of that name is to be one file."""
    return target.name.endswith((".tar.gz", ".tgz"))


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
