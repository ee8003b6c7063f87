"""Pairs of adapters whose path crosses a given hop."""

import random

import numpy as np

from seatrial.fabric.routes import Hop, Route, Routes
from seatrial.fabric.switch_graph import Numbers

TRIES = (192, 3072)
"""Pairs looked at, and looked at when those hold too few."""


def pairs_across(
    routes: Routes, hop: Hop, wanted: int, seed: int, among: Numbers | None = None
) -> list[tuple[tuple[str, str], Route]]:
    """At most `wanted` different random ordered pairs that cross `hop`, each with its whole path; empty where no pair
    does.

    Sources are drawn from adapters whose leaf is nearer to where the hop begins than to where it ends, targets from
    those to which its switch sends over it; the routes then decide. A hop that few pairs cross may end with fewer pairs
    than there are. Half of an adapter's own pairs stay below its leaf switch, as far as there are any: under D-mod-K
    one cable from a spine may lead to that adapter alone, and only they distinguish the two. `among`: numbers of the
    adapters to draw from; None: all.
    """
    sources, targets = source_side(routes, hop), target_side(routes, hop)
    if among is not None:
        sources, targets = (np.intersect1d(side, among, assume_unique=True) for side in (sources, targets))
    if not sources.size or not targets.size:
        return []
    draw = random.Random(seed)
    near = _near(routes, sources, targets)
    pairs = [
        (routes.adapters[one], routes.adapters[other]) for one, other in draw.sample(near, min(wanted // 2, len(near)))
    ]
    close = list(zip(pairs, routes.paths(pairs), strict=True))
    wanted -= len(close)
    paths: dict[tuple[str, str], Route] = {}
    for tries in TRIES:
        drawn = _draw(routes, sources, targets, tries, draw)
        for pair, path in zip(drawn, routes.paths(drawn), strict=True):
            if hop in path and pair not in pairs:
                paths[pair] = path
        if len(paths) >= wanted:
            break
    chosen = draw.sample(sorted(paths), min(wanted, len(paths)))
    return close + [(pair, paths[pair]) for pair in chosen]


def _near(routes: Routes, sources: Numbers, targets: Numbers) -> list[tuple[int, int]]:
    """Of a hop of an adapter, its pairs with the others at the same leaf switch."""
    if len(sources) > 1 and len(targets) > 1:
        return []
    alone = routes.adapters[int((sources if len(sources) == 1 else targets)[0])]
    same = routes.leaf_of[alone]
    return [
        (one, other)
        for one in sources.tolist()
        for other in targets.tolist()
        if one != other and routes.leaf_of[routes.adapters[one]] == routes.leaf_of[routes.adapters[other]] == same
    ]


def source_side(routes: Routes, hop: Hop) -> Numbers:
    """Numbers of the adapters from which data can come over the hop."""
    begin, end = _ends(routes, hop)
    if not begin or not end:
        return np.array([], dtype=np.intp)
    if begin in routes.number:
        return np.array([routes.number[begin]], dtype=np.intp)
    if end in routes.number:
        return np.arange(len(routes.adapters), dtype=np.intp)
    return np.flatnonzero(routes.distances(begin) < routes.distances(end))


def target_side(routes: Routes, hop: Hop) -> Numbers:
    """Numbers of the adapters to which data can go over the hop."""
    begin, end = _ends(routes, hop)
    if not begin or not end:
        return np.array([], dtype=np.intp)
    sent = routes.sent_by(hop)
    if begin in routes.number or end in routes.number:
        return sent
    return sent[routes.distances(end)[sent] < routes.distances(begin)[sent]]


def _ends(routes: Routes, hop: Hop) -> tuple[str, str]:
    """Devices at both ends; empty for one that takes no part, as a switch's own aggregation node."""
    names = tuple(end.device for end in routes.ends(hop))
    begin, end = (name if name in routes.number or name in routes.graph.place else "" for name in names)
    return begin, end


def _draw(routes: Routes, sources: Numbers, targets: Numbers, tries: int, draw: random.Random) -> list[tuple[str, str]]:
    """Different pairs, all of them where there are no more than that."""
    if len(sources) * len(targets) <= tries:
        drawn = [(one, other) for one in sources.tolist() for other in targets.tolist()]
    else:
        both = zip(draw.choices(sources.tolist(), k=tries), draw.choices(targets.tolist(), k=tries), strict=True)
        drawn = list(dict.fromkeys(both))
    return [(routes.adapters[one], routes.adapters[other]) for one, other in drawn if one != other]
