"""Which two nodes an output belongs to: from a heading above it, or from the names of all files together."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from seatrial.importers.pair_lines import Pair
from seatrial.model.errors import UsageError

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


Pieces = tuple[str, ...]
"""Words and the separators between them: word, separator, word, ... word."""

STRONG = re.compile(r"[-_. ](?:to|vs|and)[-_. ]|<?->|=>|→|--+|__+|\.\.+|[~+,@]")
"""A separator between two names, rarely part of one."""
SEPARATOR = re.compile(rf"({STRONG.pattern}|[-_. ])")
TEST_WORDS = ("osu", "omb", "mpi", "bw", "bibw", "bandwidth", "latency", "lat", "mbw", "mr", "multi")
TOOL_WORDS = frozenset({*TEST_WORDS, "result", "results", "output", "out", "log", "txt", "dat", "res"})
COUNTED = re.compile(r"(?:run|rep|iter|try|job)\d*", re.IGNORECASE)
"""The tool's name, an ending, the number of a repetition: part of no node's name."""
MOST_COMMON = 6
"""Words common to all names that may be tried as no part of a node's name, at either end."""


def pairs_of_names(files: Sequence[str]) -> dict[str, Pair]:
    """File name -> the two nodes in it, in order. Raises UsageError where the names permit two readings, or none.

    A node's name may hold separators itself (gpu-01-gpu-02.out). Of all ways to cut the names that one is taken in
    which the ends recur in most files, then the one in which the two ends of a file look alike but for their digits.
    """
    stems = {file: _pieces(file) for file in files}
    readings = [reading for common in _commons(list(stems.values())) if (reading := _reading(stems, *common))]
    best = max((score for score, _ in readings), default=None)
    best_pairs = [pairs for score, pairs in readings if score == best]
    if (
        not best_pairs
        or any(pairs != best_pairs[0] for pairs in best_pairs)
        or not _trusted(best_pairs[0], len(readings))
    ):
        raise UsageError(
            f"The file names ({len(stems)}) do not show which two nodes each file belongs to, such as {files[0]!r}.",
            "Name them NODE--NODE.out, or put all in one file, each table under a line '# NODE NODE'.",
        )
    return best_pairs[0]


def _pieces(file: str) -> Pieces:
    """The name's words without the tool's words and endings on either side."""
    pieces = SEPARATOR.split(file)
    first, last = 0, len(pieces)
    while first < last and _no_name(pieces[first]):
        first += 2
    while first < last and _no_name(pieces[last - 1]):
        last -= 2
    return tuple(pieces[first:last])


def _no_name(word: str) -> bool:
    return not word or word.lower() in TOOL_WORDS or COUNTED.fullmatch(word) is not None


def _commons(stems: Sequence[Pieces]) -> Iterator[tuple[int, int]]:
    """How many words at the front and at the back may not belong to a name: those that all files share."""
    if len(stems) < 2:
        yield 0, 0
        return
    yield from itertools.product(_shared(stems), _shared([stem[::-1] for stem in stems]))


def _shared(stems: Sequence[Pieces]) -> range:
    words = zip(*(stem[::2] for stem in stems), strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, words))
    return range(min(same, MOST_COMMON) + 1)


def _reading(stems: Mapping[str, Pieces], front: int, back: int) -> tuple[tuple[int, int], dict[str, Pair]] | None:
    """The best cut of each name without `front` and `back` words, and how well the cuts agree; None for no cut."""
    options = {file: _cuts(stem[2 * front : len(stem) - 2 * back]) for file, stem in stems.items()}
    support = Counter(name for cuts in options.values() for name in {name for cut in cuts for name in cut})
    total, alike, pairs = 0, 0, {}
    for file, cuts in options.items():
        ranked = sorted(((min(support[a], support[b]), _alike(a, b)), (a, b)) for a, b in cuts)
        if not ranked or (len(ranked) > 1 and ranked[-1][0] == ranked[-2][0]):
            return None
        (shared, same), pairs[file] = ranked[-1]
        total, alike = total + shared, alike + same
    return (total, alike), pairs


def _cuts(pieces: Pieces) -> list[Pair]:
    """All ways to cut one name in two different ones, at its one strong separator where there is just one."""
    places = range(1, len(pieces), 2)
    strong = [place for place in places if STRONG.fullmatch(pieces[place])]
    cuts = [
        ("".join(pieces[:place]), "".join(pieces[place + 1 :])) for place in (strong if len(strong) == 1 else places)
    ]
    return [(left, right) for left, right in cuts if left and right and left != right]


def _alike(left: str, right: str) -> bool:
    return re.sub(r"\d+", "0", left) == re.sub(r"\d+", "0", right)


def _trusted(pairs: Mapping[str, Pair], readings: int) -> bool:
    """Similar ends, or names that occur on both sides, or no other way to read them."""
    left, right = ({pair[side] for pair in pairs.values()} for side in (0, 1))
    return readings == 1 or bool(left & right) or all(_alike(*pair) for pair in pairs.values())
