"""What one known way to fail looks like, what it means, and what to do."""

import re
from collections.abc import Iterable

import msgspec

from seatrial.failures.plain_text import plain

NODES = "the nodes"
MOST_NODES = 8
LONGEST_QUOTE = 240


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One known way to fail. All expressions look at text as `plain` leaves it."""

    look: str
    """A regular expression. Its first group that matched is what `\\1` stands for in the meaning."""
    meaning: str
    """A sentence without its capital. `{nodes}` stands for the nodes found by `where`, or "the nodes"."""
    remedy: str
    where: tuple[str, ...] = ()
    """Regular expressions whose only group is a node, or a set of them, that says so; the first to find one holds."""
    also: str = ""
    """A regular expression that has to be found as well, before or after."""
    unless: str = ""
    """A regular expression: what was said later, or elsewhere, by which the failure was overcome."""

    def meant(self, text: str) -> str | None:
        """The meaning in words, or None where `text` does not look like it."""
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


def first_cause(causes: Iterable[Cause], text: str) -> tuple[str, str] | None:
    """Meaning and remedy of the first cause that `text` looks like, whatever its launcher put around it."""
    return first_of(causes, plain(text))


def first_of(causes: Iterable[Cause], text: str) -> tuple[str, str] | None:
    """The same for text that is plain already."""
    for cause in causes:
        meaning = cause.meant(text)
        if meaning is not None:
            return meaning, cause.remedy
    return None


def wrapped(words: str) -> str:
    """An expression for words that a program breaks into lines wherever its box is full."""
    return r"\s+".join(words.split(" "))
