"""The files that MPI's programs are made of, from a frame; and which of them are the same build."""

from collections.abc import Mapping

from seatrial.model.system import MpiFile
from seatrial.node.frame import Frame, whole_number

FILES = "cksum mpi-files"
ASKED = "mpi-files"
Build = tuple[int, int | None]
"""Bytes, and the checksum where all that are compared tell one."""


def read_mpi_files(frame: Frame) -> tuple[MpiFile, ...]:
    """Each once by its name, in the stream's order; lines that are none are passed over."""
    output = frame.commands.get(FILES)
    found: dict[str, MpiFile] = {}
    for line in output.lines if output is not None else ():
        name, _, rest = line.partition(" ")
        file = parse_file(rest, name)
        if name and file is not None and file.size_bytes is not None:
            found.setdefault(name, file)
    return tuple(found.values())


def why_no_files(frame: Frame) -> str:
    """Why none are told."""
    return frame.reason(ASKED)


def parse_file(text: str, name: str = "") -> MpiFile | None:
    """`CHECKSUM BYTES PATH`, as cksum prints it; None without a path. What is no number is not known."""
    checksum, _, rest = text.partition(" ")
    size, _, path = rest.partition(" ")
    if not path.startswith("/"):
        path = rest if rest.startswith("/") else ""
    numbers = _natural(checksum), _natural(size)
    return MpiFile(name=name, path=path, checksum=numbers[0], size_bytes=numbers[1]) if path else None


def builds(files: Mapping[str, MpiFile]) -> dict[str, Build]:
    """Node -> what tells one build of a file from another; nodes that do not tell its size are left out.

    Where it lies does not count. By size alone where some node told no checksum.
    """
    sized = {node: file for node, file in files.items() if file.size_bytes is not None}
    summed = all(file.checksum is not None for file in sized.values())
    return {
        node: (file.size_bytes, file.checksum if summed else None)
        for node, file in sized.items()
        if file.size_bytes is not None
    }


def told(file: MpiFile) -> str:
    """Path, size and checksum for a reader."""
    marks = [f"{file.size_bytes} bytes"] if file.size_bytes is not None else []
    marks += [f"checksum {file.checksum}"] if file.checksum is not None else []
    return f"{file.path} ({', '.join(marks)})" if marks else file.path


def told_apart(files: Mapping[str, MpiFile]) -> dict[str, list[str]]:
    """What each build is, as `told`, and who has it: one entry where all have the same."""
    found: dict[Build, list[str]] = {}
    for node, build in builds(files).items():
        found.setdefault(build, []).append(node)
    return {told(files[nodes[0]]): nodes for nodes in found.values()}


def _natural(text: str) -> int | None:
    number = whole_number(text)
    return number if number is not None and number >= 0 else None
