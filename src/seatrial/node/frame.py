"""The stream of collect/facts.sh, line by line, into one frozen record; docs/facts.md describes the format."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from seatrial.model import formats
from seatrial.model.errors import SeatrialError
from seatrial.model.facts import NodeFacts

OPENING = "#seatrial-facts "
CLOSING = "#end "
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
HEX = re.compile(r"(?:[0-9a-f]{2})*")


def whole_number(text: str) -> int | None:
    """A text that is a whole number of at most 18 digits, and nothing else; None for any other."""
    return int(text) if WHOLE_NUMBER.fullmatch(text) else None


@lru_cache(maxsize=256)
def labelled(lines: tuple[str, ...], mark: str = ":") -> Mapping[str, str]:
    """Label -> content of lines such as "model name : Xeon"; the last line of a label counts."""
    pairs = (line.partition(mark) for line in lines)
    return {label.strip(): content.strip() for label, _, content in pairs}


def natural_number(text: str) -> int | None:
    """A whole number that is not negative; None for any other text."""
    number = whole_number(text)
    return number if number is not None and number >= 0 else None


class FactsFormatError(SeatrialError):
    """The text is not a stream of facts that this version can read."""


class CommandOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The first lines a command printed, both of its outputs together, and how it ended."""

    status: int
    lines: tuple[str, ...]


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One node's stream, split into items that are not yet interpreted."""

    hostname: str
    complete: bool
    """False where the stream ended before its closing line."""
    values: dict[str, str] = {}
    """Path -> its one line, or for a link the last component of where it leads."""
    lists: dict[str, tuple[str, ...]] = {}
    """Pattern with one star -> what the star stood for."""
    files: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[dict[str, str], ...]] = {}
    """Pattern -> a row for each match: what the star stood for under "*", then the files of the columns."""
    columns: dict[tuple[str, str], dict[str, str]] = {}
    """Pattern, file -> what the star stood for -> the file's one line; what could not be read is left out."""
    real: dict[str, str] = {}
    """Path of a folder or a link to one -> where it really lies."""
    raw: dict[str, bytes] = {}
    """Path of a binary file -> its first bytes."""
    commands: dict[str, CommandOutput] = {}
    absent: dict[str, str] = {}
    """Path, pattern or command -> why it is not there."""
    unknown: tuple[str, ...] = ()
    """Lines unknown to this version."""

    def integer(self, path: str) -> int | None:
        """The value at `path` as a whole number of at most 18 digits, or None; `reason` then explains why."""
        return whole_number(self.values.get(path, "").strip())

    def reason(self, item: str) -> str:
        """Why `item` has no usable value."""
        if item in self.values:
            return f"{item} contains {self.values[item]!r}"
        if item in self.absent:
            return f"{item}: {self.absent[item]}"
        if any(item in known for known in (self.files, self.tables, self.lists, self.commands, self.real, self.raw)):
            return f"{item}: present, but without the expected content"
        return f"{item}: not in the facts" if self.complete else f"{item}: the facts end before it"


Reader = Callable[[Frame], tuple[Any, dict[str, str]]]
"""What reads a group of facts: the group, and name of a fact -> why it is not known."""


class FrameBlock(NamedTuple):
    """The lines between an opening word and its @end."""

    lines: tuple[str, ...]
    ending: str
    ended: bool


def parse_frame(text: str) -> Frame:
    """Parse the output of collect/facts.sh.

    Every proper prefix of a good stream gives a frame that is not `complete`; a last line without its newline
    is ignored. Raises FactsFormatError for text that is not such a stream, for another version, and for the streams
    of two nodes mixed in one text.
    """
    *lines, rest = text.split("\n")
    if not lines and (OPENING.startswith(rest) or rest.startswith(OPENING)):
        return Frame(hostname="", complete=False)
    hostname = _hostname(lines[0] if lines else rest)
    last = text.count("\n", 0, text.find("\n" + CLOSING) + 1)
    if not 0 < last < len(lines):
        return _content(hostname, lines[1:], complete=False)
    if lines[last] != CLOSING + hostname or any(line.strip() for line in (*lines[last + 1 :], rest)):
        wrong = lines[last] if lines[last] != CLOSING + hostname else "more text after the closing line"
        raise FactsFormatError(
            f"The facts of {hostname} end with {wrong[:80]!r}.",
            "The facts of two nodes are mixed: collect each into a separate file.",
        )
    return _content(hostname, lines[1:last], complete=True)


def _hostname(opening: str) -> str:
    words = opening.split()
    if not opening.startswith(OPENING) or len(words) != 3:
        raise FactsFormatError(
            f"These are not facts: the first line is {opening[:80]!r}, not '{OPENING}{formats.FACTS_STREAM} HOSTNAME'.",
            "Run collect/facts.sh with a POSIX shell on the node; nothing may be printed before it.",
        )
    if words[1] != str(formats.FACTS_STREAM):
        raise FactsFormatError(
            f"The facts of {words[2]} are of version {words[1][:20]!r}; "
            f"this seatrial reads version {formats.FACTS_STREAM}.",
            "Collect them again with the facts.sh of this version.",
        )
    return words[2]


def _content(hostname: str, lines: list[str], *, complete: bool) -> Frame:
    frame = Frame(hostname=hostname, complete=complete)
    unknown: list[str] = []
    at, count = 0, len(lines)
    while at < count:
        line = lines[at]
        at += 1
        word, _, content = line.partition(" ")
        subject, bar, value = content.partition("|")
        if word in BLOCKS and content:
            block, at = _block(lines, at)
            _add_block(frame, word, content, block)
        elif not (bar and _add_line(frame, word, subject, value)):
            unknown.append(line)
    return msgspec.structs.replace(frame, unknown=tuple(unknown))


def _add_line(frame: Frame, word: str, subject: str, value: str) -> bool:
    """Whether the line has a known form and was added."""
    match word:
        case "@value" | "@link":
            frame.values[subject] = value
        case "@list":
            frame.lists[subject] = tuple(value.split())
        case "@absent":
            frame.absent[subject] = value
        case "@real":
            frame.real[subject] = value
        case "@column":
            return _add_column(frame, subject, value)
        case "@hex" if HEX.fullmatch(value):
            frame.raw[subject] = bytes.fromhex(value)
        case _:
            return False
    return True


def _add_column(frame: Frame, subject: str, line: str) -> bool:
    """Whether the line was one: it needs the list of its pattern before it, and a cell for each entry."""
    pattern, _, file = subject.partition(" ")
    column = _column(frame.lists.get(pattern, ()), line)
    if not file or column is None:
        return False
    frame.columns[pattern, file] = column
    return True


@lru_cache(maxsize=1024)
def _column(names: tuple[str, ...], line: str) -> dict[str, str] | None:
    """Name -> cell, without the unread ones; the nodes of a cluster share most of their columns."""
    cells = line.split("\t") if line else []
    if len(cells) != len(names):
        return None
    return {name: cell for name, cell in zip(names, cells, strict=True) if cell != "?"}


@lru_cache(maxsize=256)
def _table(columns: tuple[str, ...], lines: tuple[str, ...]) -> tuple[dict[str, str], ...]:
    """A dict for each row; rows of another length are left out. Shared between equal nodes: must not be modified."""
    rows = [line.split(" ") for line in lines]
    return tuple(dict(zip(columns, row, strict=True)) for row in rows if len(row) == len(columns))


def _block(lines: list[str], at: int) -> tuple[FrameBlock, int]:
    """The content up to @end, or up to the first line that cannot belong to it, which is lost with it; what follows."""
    end, count = at, len(lines)
    while end < count and lines[end][:1] == "|":
        end += 1
    content = tuple([line[1:] for line in lines[at:end]])
    if end == count:
        return FrameBlock(content, "", False), end
    word, _, ending = lines[end].partition(" ")
    return FrameBlock(content, ending, word == "@end"), end + 1


def _add_block(frame: Frame, word: str, content: str, block: FrameBlock) -> None:
    name, *columns = content.split(" ")
    if not block.ended:
        frame.absent[name if word == "@table" else content] = "broken off"
    elif word == "@file":
        frame.files[content] = block.lines
    elif word == "@table":
        frame.tables[name] = _table(("*", *columns), block.lines)
    elif (status := whole_number(block.ending)) is not None:
        frame.commands[content] = CommandOutput(status=status, lines=block.lines)
    else:
        frame.absent[content] = f"ended with the unknown status {block.ending!r}"


PLAIN_FACTS = (
    "kernel", "boot_id", "cpu_model", "processors", "cores", "sockets", "numa_nodes", "memory_bytes", "interfaces",
    "hcas", "pci", "mpi_versions", "tcp_segments_sent", "tcp_segments_resent", "oom_kills",
)  # fmt: skip
"""Facts outside the groups, whose lack needs a reason."""


def without_value(facts: NodeFacts) -> Iterator[str]:
    """The facts that have no value: the plain ones, and those of the groups that recordings of a machine have."""
    yield from (name for name in PLAIN_FACTS if not getattr(facts, name))
    groups: Mapping[str, msgspec.Struct] = {
        "topology": facts.topology, "processor": facts.processor, "memory": facts.memory,
        "system.firmware": facts.system.firmware,
    }  # fmt: skip
    for group, record in groups.items():
        empty = (name for name in record.__struct_fields__ if getattr(record, name) in (None, "", (), {}))
        yield from (f"{group}.{name}" for name in empty if name != "source")


BLOCKS = frozenset(("@file", "@table", "@command"))
NO_ANSWER = 124
"""Status with which `timeout` ends a command that took longer than the collector waits."""


def answer(frame: Frame, command: str) -> tuple[str, ...]:
    """What a command printed; nothing where it was not there or failed."""
    output = frame.commands.get(command)
    return output.lines if output is not None and output.status == 0 else ()


def why_no_answer(frame: Frame, *commands: str) -> str:
    """Why none of the commands gave an answer."""
    return "; ".join(_why_silent(frame, command) for command in commands)


def _why_silent(frame: Frame, command: str) -> str:
    output = frame.commands.get(command)
    if output is None:
        return frame.reason(command)
    if output.status == NO_ANSWER:
        return f"{command}: no answer in 5 s"
    last_line = output.lines[-1].strip() if output.lines else "nothing"
    return f"{command}: exit status {output.status}, printed {last_line[:120]!r}"
