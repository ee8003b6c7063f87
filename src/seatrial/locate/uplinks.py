"""Slow uplinks between groups of nodes, in a nearly complete table, or on known cables."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec
import numpy as np

from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import PartSuspect, Ways
from seatrial.locate.metric_result import Ends, MetricScene, end_parts, part_faults
from seatrial.locate.rows import group_name, group_numbers
from seatrial.locate.slow_parts import FEW_NODES, FEWEST_ROWS, slow_parts
from seatrial.locate.thresholds import BEST_PAIRS, EFFECT, SCATTERS, half_scatter
from seatrial.model.fabric import Component, Wiring
from seatrial.model.pair_faults import LocatedFault, Undecided
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.model.subject import Direction, Subject, SubjectKind, link, uplink
from seatrial.statistics.estimates import FEWEST_ALIKE, array_median, robust_scale

FEWEST_NODES = 2
"""One node alone is not a group: its uplink cannot be distinguished from it."""
BETTER = 1.05
"""The reference is the best ways if they are this much better than the median: half of the uplinks may be bad."""
QUANTILE_ERROR = 1.6
"""Standard error of an upper quartile, in those of a mean; 1.36 for normal noise, and few cells scatter too little."""
Own = Mapping[tuple[Direction, Component], Sequence[Pair]]
"""(Direction over the uplink, cable crossed) -> pairs on which no other suspect is."""


def slow_uplinks(
    scene: MetricScene, y: Reals, *, mirrored: bool
) -> tuple[tuple[LocatedFault, ...], tuple[Undecided, ...]]:
    """Uplinks that are slow, and those of which one is; what these explain leaves `y`.

    `y[i, j]`: log, larger is better, NaN where unknown. `mirrored`: each cell of `y` is there twice.
    Every ordered pair of groups is one way over two uplinks. A group that is slow within itself has slow nodes, and its
    uplink is not judged.
    """
    group = group_numbers(scene.nodes, scene.groups)
    sizes = np.bincount(group[group >= 0]) if (group >= 0).any() else np.zeros(0, dtype=np.intp)
    if len(sizes) < FEWEST_ALIKE:
        return (), ()
    source, target, pace, errors = _ways(y, group, len(sizes))
    if (far := source != target).sum() < FEWEST_ALIKE:
        return (), ()
    log = pace[far] - clearly_better(pace[far])
    count = len(sizes)
    subjects = [uplink(group_name(members)) for members in scene.groups]
    parts, ways = end_parts(subjects, source[far], target[far])
    scatter = max(half_scatter(np.exp(log)), noise := array_median(errors[far]))
    lack = max(scene.effects.chosen(scatter), SCATTERS * scatter)
    keep = ~(_slow_inside(source, target, pace, count, lack) | (sizes < FEWEST_NODES))[ways.part % count]
    ways = Ways(row=ways.row[keep], part=ways.part[keep], parts=ways.parts, subject=ways.subject)
    # Of a median absolute deviation, a third of all values are degrees of freedom.
    freedom = np.count_nonzero(np.isfinite(y[group[:, None] != group])) / (6 if mirrored else 3)
    slow = slow_parts(log, ways, scene.effects, scene.error_rate, few=count <= FEW_NODES, least=noise, freedom=freedom)

    def crossed(rows: Indices) -> Flags:
        crossing = np.zeros(y.shape, dtype=np.bool_)
        for way in np.flatnonzero(far)[rows].tolist():
            crossing[np.ix_(group == source[way], group == target[way])] = True
        return crossing

    def ends_of(rows: Indices) -> Ends:
        cells = crossed(rows)
        return np.nonzero(np.triu(cells | cells.T) if mirrored else cells)

    judged = part_faults(scene, log - array_median(log[slow.rest]), parts, slow, ends_of)
    undecided = [either for either in judged.undecided if len(either[1]) >= FEWEST_ROWS]
    for _, rows in (*judged.named, *undecided):
        y[crossed(rows)] = np.nan
    return tuple(fault for fault, _ in judged.named), tuple(either for either, _ in undecided)


def _ways(y: Reals, group: Indices, count: int) -> tuple[Indices, Indices, Reals, Reals]:
    """Every ordered pair of groups, and each group, with a known cell; its BEST_PAIRS quantile and error."""
    members = [np.flatnonzero(group == number) for number in range(count)]
    ways = []
    for source in range(count):
        rows = y[members[source]]
        for target in range(count):
            cells = rows[:, members[target]]
            cells = cells[np.isfinite(cells)]
            if cells.size:
                best, error = float(np.quantile(cells, BEST_PAIRS)), QUANTILE_ERROR / np.sqrt(len(cells))
                ways.append((source, target, best, error * robust_scale(cells)))
    here_of, there_of, pace, noise = (np.array(column) for column in zip(*ways, strict=True))
    return here_of, there_of, pace, noise


def clearly_better(logs: Reals) -> float:
    """The level of the best where they are clearly better than the median, so that half of the groups may be bad: a
    quarter of all ways are between the others then, and the level is their median, or the second best way."""
    usual = array_median(logs)
    best = float(np.sort(logs)[-max(2, len(logs) // 12)])
    apart = max(float(np.log(BETTER)), SCATTERS * half_scatter(np.exp(logs - usual)))
    return best if best > usual + apart else usual


def _slow_inside(source: Indices, target: Indices, pace: Reals, count: int, lack: float) -> Flags:
    """Groups whose own nodes reach each other more slowly than those of other groups do."""
    slow = np.zeros(count, dtype=np.bool_)
    inside = source == target
    if inside.sum() >= FEWEST_ALIKE:
        slow[source[inside]] = pace[inside] < np.median(pace[inside]) - lack
    return slow


def by_cables(
    suspects: Sequence[PartSuspect], fabric: Wiring, over_peers: Callable[[Pair], float], apart: float = EFFECT
) -> list[PartSuspect]:
    """`suspects`; an uplink whose cables are slow to a different degree is replaced by them.

    An uplink with only one cable that no other suspect touches is ambiguous with it: of three cables of a leaf one is
    slow inwards, one leads to a slow spine, and the third is slow outwards. All pairs outwards are slow then, and the
    uplink explains them with as many parts as the third cable does.

    `over_peers`: logarithm of a pair's bandwidth over what its peers give. `apart`: cables whose
    levels differ by more are not slow for one reason.
    """
    by_subject: dict[Subject, PartSuspect] = {}
    for suspect in suspects:
        parts = [suspect]
        if suspect.subject.kind is SubjectKind.UPLINK and not suspect.ambiguous_with:
            others = {other.subject for other in suspects if other is not suspect}
            parts = _by_cables(suspect, others, fabric, over_peers, apart)
        for part in parts:
            earlier = by_subject.get(part.subject)
            by_subject[part.subject] = _together(earlier, part) if earlier else part
    return list(by_subject.values())


def _by_cables(
    suspect: PartSuspect,
    others: Collection[Subject],
    fabric: Wiring,
    over_peers: Callable[[Pair], float],
    apart: float,
) -> list[PartSuspect]:
    own, cables = _own_pairs(suspect, others, fabric)
    if len(cables) < 2:
        return [suspect]
    if any(_unlike(own, way, over_peers, apart) for way in (Direction.OUT, Direction.IN)):
        return [_cable(cable, own) for cable in dict.fromkeys(part.name for _, part in own)]
    left = {part.name for _, part in own}
    if len(left) == 1 and suspect.direction is not Direction.BOTH:
        return [msgspec.structs.replace(suspect, ambiguous_with=(link(left.pop()),))]
    return [suspect]


def _own_pairs(suspect: PartSuspect, others: Collection[Subject], fabric: Wiring) -> tuple[Own, set[str]]:
    """Pairs that no other suspect explains, and all cables of the uplink that its pairs cross."""
    names = {(other.kind.value, other.name) for other in others}
    own: defaultdict[tuple[Direction, Component], list[Pair]] = defaultdict(list)
    cables = set()
    for pair in suspect.pairs:
        path = list(fabric.path(*pair))
        crossed = [part for part in path if part.kind == SubjectKind.LINK]
        ways = [part.direction for part in path if (part.kind, part.name) == ("uplink", suspect.subject.name)]
        if not crossed or len(ways) != 1:
            continue
        cable = crossed[0] if ways[0] is Direction.OUT else crossed[-1]
        cables.add(cable.name)
        if names.isdisjoint((str(part.kind), part.name) for part in path):
            own[ways[0], cable].append(pair)
    return own, cables


def _unlike(own: Own, way: Direction, over_peers: Callable[[Pair], float], apart: float) -> bool:
    """Whether cables differ by the best of their pairs: traffic of other jobs only takes from a pair."""
    levels = [
        max(over_peers(pair) for pair in pairs)
        for (over, _), pairs in own.items()
        if over is way and len(pairs) >= FEWEST_ALIKE
    ]
    return len(levels) > 1 and max(levels) - min(levels) > apart


def _cable(cable: str, own: Own) -> PartSuspect:
    """One cable of the uplink, by its own pairs."""
    crossed = {part: pairs for (_, part), pairs in own.items() if part.name == cable}
    ways = {part.direction for part in crossed}
    return PartSuspect(
        subject=link(cable),
        direction=ways.pop() if len(ways) == 1 else Direction.BOTH,
        ambiguous_with=(),
        pairs=tuple(sorted(pair for pairs in crossed.values() for pair in pairs)),
    )


def _together(first: PartSuspect, second: PartSuspect) -> PartSuspect:
    """Two suspects of one part."""
    return msgspec.structs.replace(
        first,
        direction=first.direction if first.direction is second.direction else Direction.BOTH,
        pairs=tuple(sorted({*first.pairs, *second.pairs})),
    )
