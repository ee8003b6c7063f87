"""Pieces of a round whose pairs take nothing from each other: no common node, no common direction of a cable."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

from seatrial.pairs.complete import Pair


def pieces(pairs: Sequence[Pair], paths: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    """Places of the pairs, in as many pieces as a greedy colouring needs; `paths[p]` is what pair p crosses.

    Two pairs of one piece share neither a node nor anything on their paths. Each pair goes into the first piece that
    has room for it (greedy colouring: Welsh and Powell, Comput. J. 10, 1967); at worst that takes as many pieces as the
    busiest node or cable has pairs, times the things on a way. A pair without a path is taken to cross nothing.
    """
    taken: defaultdict[Hashable, int] = defaultdict(int)
    found: list[list[int]] = []
    for place, (pair, path) in enumerate(zip(pairs, paths, strict=True)):
        wanted: list[Hashable] = [("node", pair[0]), ("node", pair[1]), *path]
        full = 0
        for thing in wanted:
            full |= taken[thing]
        free = ~full & (full + 1)
        number = free.bit_length() - 1
        for thing in wanted:
            taken[thing] |= free
        if number == len(found):
            found.append([])
        found[number].append(place)
    return found
