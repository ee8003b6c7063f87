"""A known way to fail: the message, its meaning, and what to do."""

import re
from collections.abc import Iterable

import msgspec

from seatrial.failures.plain_text import plain

NODES = "the nodes"
MOST_NODES = 8
LONGEST_QUOTE = 240


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One known way to fail. All expressions are searched in text as `plain` returns it."""

    look: str
    """A regular expression. Its first group that matched is what `\\1` stands for in the meaning."""
    meaning: str
    """A sentence without its capital. `{nodes}` stands for the nodes found by `where`, or "the nodes"."""
    remedy: str
    where: tuple[str, ...] = ()
    """Regular expressions whose only group is a node, or a node set, that reports it; the first that matches counts."""
    also: str = ""
    """A regular expression that must match as well, before or after."""
    unless: str = ""
    """A regular expression for output that shows that the failure was overcome."""
    transient: bool = False
    """Another start may succeed: the message does not state the cause exactly, or the cause may be transient."""
    other_mpi_type: bool = False
    """The remedy proposes another `srun --mpi`."""

    def meant(self, text: str) -> str | None:
        """The meaning in words, or None if `text` does not match."""
        match = re.search(self.look, text)
        if match is None or not re.search(self.also, text) or (self.unless and re.search(self.unless, text)):
            return None
        shown = next((group for group in match.groups() if group), "").strip()
        if len(shown) > LONGEST_QUOTE:
            shown = f"{shown[:LONGEST_QUOTE]}..."
        said = self.meaning.replace("{nodes}", self._nodes(text)).replace(r"\1", " ".join(shown.split()))
        return said.replace(" ()", "")

    def _nodes(self, text: str) -> str:
        for where in self.where:
            found = list(dict.fromkeys(re.findall(where, text)))
            if found:
                more = f" and {len(found) - MOST_NODES} more" if len(found) > MOST_NODES else ""
                return ", ".join(found[:MOST_NODES]) + more
        return NODES


def first_match(causes: Iterable[Cause], text: str) -> tuple[str, Cause] | None:
    """The first cause that matches plain text, and its meaning with the details of the text filled in."""
    for cause in causes:
        meaning = cause.meant(text)
        if meaning is not None:
            return meaning, cause
    return None


def first_cause(causes: Iterable[Cause], text: str) -> tuple[str, str] | None:
    """Meaning and remedy of the first cause that matches `text`, whatever its launcher put around it."""
    match = first_match(causes, plain(text))
    return (match[0], match[1].remedy) if match is not None else None


def wrapped(words: str) -> str:
    """An expression for words that a program breaks into lines wherever its box is full."""
    return r"\s+".join(words.split(" "))
