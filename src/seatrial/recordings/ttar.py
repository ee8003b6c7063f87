"""ttar, a plain-text archive format: "Path: p", "Lines: n", n lines, "Mode: m"; "SymlinkTo: t"; "Directory: p"."""

from collections.abc import Iterator

from seatrial.model.errors import UsageError
from seatrial.recordings.trees import TreeWriter

OPENINGS = (b"# Archive created by ttar", b"# ttar ", b"Directory: ", b"Path: ")
NO_NEWLINE = b"EOF"
NUL = b"NULLBYTE"


def is_ttar(beginning: bytes) -> bool:
    """Whether a file that begins so is one."""
    return beginning.startswith(OPENINGS)


def unpack_ttar(content: bytes, writer: TreeWriter) -> None:
    """Rebuild the tree. Raises UsageError for a line that does not belong there, with its number."""
    lines = iter(enumerate(content.split(b"\n"), start=1))
    path = ""
    for number, line in lines:
        keyword, _, rest = line.partition(b": ")
        text = rest.decode("utf-8", errors="surrogateescape")
        match keyword:
            case b"Path":
                path = text
            case b"Directory":
                path = ""
                writer.folder(text)
            case b"SymlinkTo" if path:
                writer.link(path, text)
            case b"Lines" if path and rest.isdigit() and len(rest) < 10:
                writer.file(path, _content(lines, int(rest)))
            case b"Mode":
                path = ""
            case _ if line and not line.startswith(b"#"):
                raise UsageError(
                    f"Line {number} of the ttar archive is {line[:60].decode('utf-8', errors='replace')!r}.",
                    "Path:, Lines:, Mode:, Directory: or SymlinkTo: was expected; it may have been cut or edited.",
                )


def _content(lines: Iterator[tuple[int, bytes]], count: int) -> Iterator[bytes]:
    """`count` lines as they were: a backslash keeps a literal NULLBYTE and a literal EOF apart from the marks."""
    for left in range(count, 0, -1):
        _, line = next(lines, (0, None))
        if line is None:
            return
        whole = left > 1 or not line.endswith(NO_NEWLINE) or line.endswith(b"\\" + NO_NEWLINE)
        line = line if whole else line.removesuffix(NO_NEWLINE)
        halves = (half.replace(NUL, b"\0") for half in line.split(b"\\" + NUL))
        yield NUL.join(halves).replace(b"\\" + NO_NEWLINE, NO_NEWLINE) + (b"\n" if whole else b"")
