"""What one known way to fail looks like, what it means, and what to do."""

import re
from collections.abc import Iterable

import msgspec

NODES = "the nodes"


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One known way to fail."""

    look: str
    """A regular expression. Its first group that matched is what `\\1` stands for in the meaning."""
    meaning: str
    """A sentence without its capital. `{nodes}` stands for the nodes found by `where`, or "the nodes"."""
    remedy: str
    where: str = ""
    """A regular expression whose only group is a node, or a set of them, that says so."""

    def meant(self, text: str) -> str | None:
        """The meaning in words, or None where `text` does not look like it."""
        match = re.search(self.look, text)
        if match is None:
            return None
        shown = next((group for group in match.groups() if group), "")
        nodes = ", ".join(dict.fromkeys(re.findall(self.where, text))) if self.where else ""
        return self.meaning.replace("{nodes}", nodes or NODES).replace(r"\1", shown)


def first_cause(causes: Iterable[Cause], text: str) -> tuple[str, str] | None:
    """Meaning and remedy of the first cause that `text` looks like."""
    for cause in causes:
        meaning = cause.meant(text)
        if meaning is not None:
            return meaning, cause.remedy
    return None
