"""Which few pairs tell the remaining suspects apart."""

import random
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from seatrial.pairing.complete import Pair

Candidates = Callable[[int], Sequence[tuple[Pair, Sequence[int]]]]
"""Thing on the way (a hop) -> pairs that cross it, each with its whole path."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Members of which at least one is at fault. A member is what is blamed as one: a hop, or a bundle of hops."""

    members: tuple[frozenset[int], ...]


class NextPairs(msgspec.Struct, frozen=True, kw_only=True):
    """`pairs` to measure alone, with their paths; `stuck`: numbers of the questions that no known pair splits."""

    pairs: tuple[tuple[Pair, tuple[int, ...]], ...]
    stuck: tuple[int, ...]


def next_best(
    questions: Sequence[Question],
    acquitted: Collection[int],
    candidates: Candidates,
    *,
    neutral: Collection[int] = (),
    known: Collection[Pair],
    limit: int,
    seed: int,
) -> NextPairs:
    """For each question the pair that splits its members most evenly, at most `limit` pairs.

    A pair tells of the members that it crosses, and of nothing else, if all else on its way is acquitted. Where there
    is no such pair, one will do on whose way are hops that are merely `neutral` (nothing speaks for or against them):
    good, it acquits them too. It must cross at least one member and, where there are several, not all. Halving is what
    tells n members apart with the fewest answers (binary splitting: Aldridge, Johnson and Scarlett, Found. Trends
    Commun. Inf. Theory 15, 2019, section 1.7). A pair of `known` has been measured and is not asked again.
    """
    good, open_ones = frozenset(acquitted), frozenset(neutral)
    taken = set(known)
    found: list[tuple[Pair, tuple[int, ...]]] = []
    stuck = []
    draw = random.Random(seed)
    for number, question in enumerate(questions):
        if len(found) >= limit:
            break
        best = _best(question, (good, open_ones), candidates, taken, draw)
        if best is None:
            stuck.append(number)
            continue
        taken.add(best[0])
        found.append(best)
    return NextPairs(pairs=tuple(found), stuck=tuple(stuck))


def _best(
    question: Question,
    harmless: tuple[frozenset[int], frozenset[int]],
    candidates: Candidates,
    taken: Collection[Pair],
    draw: random.Random,
) -> tuple[Pair, tuple[int, ...]] | None:
    """The fewest neutral hops first, then the most even split. `harmless`: acquitted hops, and neutral ones."""
    good, neutral = harmless
    everything = frozenset[int]().union(*question.members)
    half = len(question.members) / 2
    best: tuple[tuple[float, float], Pair, tuple[int, ...]] | None = None
    for pair, path in _offered(question, candidates, draw):
        crossed = sum(not member.isdisjoint(path) for member in question.members)
        of_use = crossed > 0 and (crossed < len(question.members) or crossed == 1)
        beside = [hop for hop in path if hop not in good and hop not in everything]
        if pair in taken or not of_use or not neutral.issuperset(beside):
            continue
        rank = float(len(beside)), abs(crossed - half)
        if best is None or rank < best[0]:
            best = rank, pair, tuple(path)
            if not beside and rank[1] < 1:
                break
    return None if best is None else (best[1], best[2])


def _offered(question: Question, candidates: Candidates, draw: random.Random) -> Iterable[tuple[Pair, Sequence[int]]]:
    """Pairs across each member, members in random order; of a bundle across one of its hops."""
    for member in draw.sample(question.members, len(question.members)):
        yield from candidates(draw.choice(sorted(member)))
