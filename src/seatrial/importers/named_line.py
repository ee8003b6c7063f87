"""A line that a script printed above a tool's output, to say between which two nodes it runs."""

import re
from collections.abc import Sequence

from seatrial.importers.pair_lines import Pair

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")
BETWEEN = re.compile(r"\s*(?:<?->|<?=>|→|↔|,|\s)\s*")
ORNAMENT = "#=*-+<>|~:[](){} \t"
BETWEEN_WORDS = ("from", "to", "between", "and", "vs", "versus", "on", "with")
FILLERS = frozenset({*BETWEEN_WORDS, "pair", "node", "nodes", "host", "hosts", "running", "run", "testing", "test"})


def pair_above(lines: Sequence[str]) -> Pair | None:
    """The nearest line with just two names and a mark that it is a heading; else the last line, if two words.

    A mark is `#`, `===`, an arrow, or a word such as "between".
    """
    written = [line for line in lines if line.strip()]
    for line in reversed(written):
        pair, marked = named_pair(line)
        if pair is not None and (marked or line is written[-1]):
            return pair
    return None


def named_pair(line: str) -> tuple[Pair | None, bool]:
    """The two different names of a line that has no third word, and whether it is marked as a heading."""
    bare = line.strip().strip(ORNAMENT)
    words = [re.sub(r"^\w+=", "", word).strip(ORNAMENT) for word in BETWEEN.split(bare)]
    names = [word for word in words if word and word.lower() not in FILLERS]
    marked = bare != line.strip() or bare.split() != names
    if len(names) != 2 or names[0] == names[1] or not all(NAME.fullmatch(name) for name in names):
        return None, False
    return (names[0], names[1]), marked
