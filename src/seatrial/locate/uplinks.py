"""Slow uplinks between groups of nodes, in a nearly complete table, or on known cables."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec
import numpy as np

from seatrial.locate.evidence import Pair
from seatrial.locate.explanation import PartSuspect, Ways
from seatrial.locate.metric_result import MetricScene
from seatrial.locate.part_cover import explain
from seatrial.locate.rows import group_name, group_numbers
from seatrial.locate.significance import HALF_NORMAL, adjusted_p, critical_value, relative_scale
from seatrial.locate.thresholds import BEST_PAIRS, CLEAR, EFFECT, SCATTERS
from seatrial.model.fabric import Component, Wiring
from seatrial.model.pair_faults import LocatedFault, Undecided
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.model.subject import Direction, Subject, SubjectKind, link, uplink
from seatrial.statistics.estimates import FEWEST_ALIKE, MEDIAN_ERROR, array_median, robust_scale

FEWEST_NODES = 2
"""An uplink of a single node cannot be distinguished from the node."""
FEWEST_WAYS = 2
BETTER = 1.05
"""The reference is the best ways if they are this much better than the median: half of the uplinks may be bad."""
QUANTILE_ERROR = 1.6
"""Standard error of an upper quartile, in those of a mean; 1.36 for normal noise, and few cells scatter too little."""
FEWEST_PAIRS = 3
"""Pairs that show a cable's level: the best of them, since traffic of other jobs only takes from a pair."""
Own = Mapping[tuple[Direction, Component], Sequence[Pair]]
"""(Direction over the uplink, cable crossed) -> pairs on which no other suspect is."""


class Uplinks(msgspec.Struct, frozen=True, kw_only=True):
    """`explained[i, j]`: cells that a named or suspected uplink slows."""

    faults: tuple[LocatedFault, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    explained: Flags | None = None


def slow_uplinks(scene: MetricScene, y: Reals, *, mirrored: bool) -> Uplinks:
    """Uplinks that are slow, and those of which one is.

    `y[i, j]`: log, larger is better, NaN where unknown. `mirrored`: each cell of `y` is there twice.
    Every ordered pair of groups is one way over two uplinks; ways that are clearly bad convict, ways that are clearly
    good clear (`explain`); the median of all ways over an uplink must then be significant. A group that is slow
    within itself has slow nodes, and its uplink is not judged.
    """
    group = group_numbers(scene.nodes, scene.groups)
    sizes = np.bincount(group[group >= 0]) if (group >= 0).any() else np.zeros(0, dtype=np.intp)
    if len(sizes) < FEWEST_ALIKE:
        return Uplinks()
    source, target, pace, noise = _ways(y, group, len(sizes))
    if (far := source != target).sum() < FEWEST_ALIKE:
        return Uplinks()
    log = pace[far] - clearly_better(pace[far], pace[far])
    ratio = np.exp(log)
    scatter = max(half_scatter(ratio), array_median(noise[far]))
    lack = max(1 - np.exp(-scene.effects.chosen(scatter)), SCATTERS * scatter)
    count = len(sizes)
    ends = np.stack([source[far], target[far] + count], axis=1).ravel()
    owner = np.repeat(np.arange(int(far.sum())), 2)
    usable = ~(_slow_inside(source, target, pace, count, lack) | (sizes < FEWEST_NODES))
    keep = usable[ends % count]
    cover = explain(
        ratio, Ways(row=owner[keep], part=ends[keep], parts=2 * count), 1 - lack, 3 * scatter, good=1 - CLEAR * lack
    )
    blamed = [blame for blame in cover if len(blame.rows) >= FEWEST_WAYS]
    critical = critical_value(2 * count, len(log) - 1, scene.error_rate)
    naming = scene.naming
    faults, undecided, explained = [], [], np.zeros(y.shape, dtype=np.bool_)
    for numbers, direction, rows in _merged([blame.parts for blame in blamed], source[far], target[far], count):
        loss = float(-np.median(log[rows]))
        error = MEDIAN_ERROR * scatter / float(np.sqrt(len(rows)))
        if loss < critical * error:
            continue
        own = np.zeros(y.shape, dtype=np.bool_)
        for one, other in zip(source[far][rows].tolist(), target[far][rows].tolist(), strict=True):
            own[np.ix_(group == one, group == other)] = True
        explained |= own
        crossing = np.nonzero(np.triu(own | own.T) if mirrored else own)
        subjects = tuple(uplink(group_name(scene.groups[number])) for number in numbers)
        if len(subjects) > 1:
            undecided.append(naming.undecided(subjects, loss, crossing))
        else:
            p = float(adjusted_p(np.array([loss / error]), 2 * count, len(log) - 1)[0])
            faults.append(naming.fault(subjects[0], direction, loss, critical * error, p, crossing))
    return Uplinks(faults=tuple(faults), undecided=tuple(undecided), explained=explained if explained.any() else None)


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


def clearly_better(ways: Reals, logs: Reals) -> float:
    """The level of the best ways, if it is so clearly better than the median of `logs` that half of the groups may be
    bad: a quarter of the ways are between the others then, and the level is their median, or the second best way.
    """
    usual = array_median(logs)
    best = float(np.sort(ways)[-max(2, len(ways) // 12)])
    apart = max(float(np.log(BETTER)), SCATTERS * half_scatter(np.exp(logs - usual)))
    return best if best > usual + apart else usual


def half_scatter(ratio: Reals) -> float:
    """Robust scatter; of the better half where the worse half is slow. Half a normal distribution scatters less."""
    better = ratio[ratio >= np.median(ratio)]
    return min(relative_scale(ratio), HALF_NORMAL * relative_scale(better))


def _slow_inside(source: Indices, target: Indices, pace: Reals, count: int, lack: float) -> Flags:
    """Groups whose own nodes reach each other more slowly than those of other groups do."""
    slow = np.zeros(count, dtype=np.bool_)
    inside = source == target
    if inside.sum() >= FEWEST_ALIKE:
        slow[source[inside]] = pace[inside] < np.log1p(-min(lack, 0.99)) + np.median(pace[inside])
    return slow


def _merged(
    blamed: list[tuple[int, ...]], source: Indices, target: Indices, count: int
) -> list[tuple[tuple[int, ...], Direction, Indices]]:
    """Both directions of the same groups as one, with all ways that cross them, bad or not."""
    by_groups: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
    for alike in blamed:
        by_groups[tuple(sorted({part % count for part in alike}))] |= set(alike)
    merged = []
    for groups, parts in by_groups.items():
        out, into = any(part < count for part in parts), any(part >= count for part in parts)
        crossing = np.isin(source, groups) & out | np.isin(target, groups) & into
        direction = Direction.BOTH if out and into else Direction.OUT if out else Direction.IN
        merged.append((groups, direction, np.flatnonzero(crossing)))
    return merged


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
    levels = [
        max(over_peers(pair) for pair in pairs)
        for (over, _), pairs in own.items()
        if over is way and len(pairs) >= FEWEST_PAIRS
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
