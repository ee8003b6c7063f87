"""Outputs of several nodes that a loop put into one file, each below a line with the name of its node."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from seatrial.importers.headed_text import are_sizes, may_be_node
from seatrial.importers.output_names import ADDRESS

AROUND = "=<>#*-~+()[]:;,.'\""
"""What is written around the name of a node."""
MOST_WORDS = 12
MOST_LINES = 20
"""Lines above the first output that may name its node."""
MOST_FRAMES = 8
"""Words above the first output that are tried as its name; each takes a pass over all lines."""
NAME = re.compile(r"[A-Za-z][\w.-]{0,99}\d[\w.-]{0,99}")


def by_heading(text: str, begins: "re.Pattern[str]") -> dict[str, str]:
    """Node, or its file, -> what it printed, of outputs below lines that differ in that: `=== n1 ===`, `Host: n1`.

    `begins`: what a line matches with which an output begins. The first name is above all outputs; all names with an
    output have as many below them. Empty where that does not hold, and where the names are not those of nodes.
    """
    lines = text.splitlines()
    first = [number for number, line in enumerate(lines) if begins.match(line)]
    if len(first) < 2:
        return {}
    for heading in islice(_frames(lines[max(first[0] - MOST_LINES, 0) : first[0]]), MOST_FRAMES):
        named = [(number, match[1]) for number, line in enumerate(lines) if (match := heading.fullmatch(line))]
        places, names = [number for number, _ in named], [name for _, name in named]
        ends = [*places[1:], len(lines)]
        counts = {bisect_left(first, end) - bisect_left(first, place) for place, end in zip(places, ends, strict=True)}
        if len({*names}) < 2 or places[0] > first[0] or len(counts - {0}) != 1:
            continue
        blocks = ["\n".join((*lines[place + 1 : end], "")) for place, end in zip(places, ends, strict=True)]
        if not are_sizes(names, blocks):
            parts: defaultdict[str, str] = defaultdict(str)
            for name, block in zip(names, blocks, strict=True):
                parts[name] += block
            return dict(parts)
    return {}


def _frames(lines: Sequence[str]) -> "Iterator[re.Pattern[str]]":
    """What the other lines with a name are like, for each name in these lines, the nearest to the output first."""
    for line in reversed(lines):
        words = [word.strip(AROUND) for word in line.split(maxsplit=MOST_WORDS)]
        for word in words if len(words) <= MOST_WORDS else ():
            if not ADDRESS.fullmatch(word) and not (NAME.fullmatch(word) and may_be_node(word)):
                continue
            before, _, behind = line.partition(word)
            # A name alone: others have the same letters.
            name = r"[\w.-]{1,200}" if before.strip() or behind.strip() else _with_any_numbers(word)
            yield re.compile(f"{_with_any_numbers(before)}({name}){_with_any_numbers(behind)}")


def _with_any_numbers(text: str) -> str:
    """The expression for this text with other numbers in it, such as those of a date and a time."""
    return r"\d{1,18}+".join(map(re.escape, re.split(r"\d+", text)))
