"""Nodes, uplinks and cables at fault, from a table of pairs and what is known of who is near whom, or of routes."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from seatrial.diagnosis.locate import MAKERS
from seatrial.diagnosis.pairwise.bottleneck import Explanation, Ways, best_through, explain
from seatrial.diagnosis.pairwise.peers import Ratios, ratios
from seatrial.model.fabric import Component, Wiring
from seatrial.model.pair_faults import Located, LocatedFault, Undecided, Unstable
from seatrial.model.pair_table import Indices, PairTable, Places, Reals
from seatrial.model.subject import Direction, Subject, node, pair, uplink
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.pairing.sparse import wrongly_left
from seatrial.pairing.survey import FAULT_SHARE
from seatrial.statistics.median import median_estimate

TOLD = 12
"""Pairs shown as evidence."""
UNSTABLE_SHOWN = 1000
"""Pairs of each metric that are listed one by one; of more, their number is given."""
Part = tuple[Subject, Direction]


def locate_in_table(
    table: PairTable,
    groups: Sequence[Sequence[str]] = (),
    wiring: Wiring | None = None,
    *,
    fault_share: float = FAULT_SHARE,
) -> Located:
    """Parts that explain the slow and the late pairs of a table.

    `groups`: nodes near each other (leaf switches, or topology classes); a pair's peers are pairs of its own distance,
    and from three groups on a group's uplink can be at fault. A part is named on two bad pairs or more that no
    acquitted part explains; where two parts explain the same pairs both are undecided. `wiring`: the parts are its
    cables and bundles, in place of the groups' uplinks. `fault_share`: of slow nodes, up to which `wrongly_left` holds.
    """
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    faults: list[LocatedFault] = []
    ambiguous: list[Undecided] = []
    unstable: list[Unstable] = []
    lines: dict[str, float] = {}
    partners: list[int] = []
    unstable_pairs = 0
    for metric in (BANDWIDTH, LATENCY):
        rows = ratios(table, metric, group_of if len(groups) > 1 else None)
        if rows is None:
            continue
        lines[metric] = rows.line
        partners.append(int(np.median(np.bincount(rows.source, minlength=len(table.nodes)))))
        best = None
        if wiring is not None:
            parts, ways = _wired_ways(table.nodes, rows, wiring)
        else:
            parts, ways, best = _ways(table.nodes, rows, group_of if len(groups) > 2 else {}, groups)
        found = explain(rows.ratio, ways, rows.line, rows.tolerance, best)
        named, left = _named(table.nodes, rows, metric, parts, found)
        faults += named
        ambiguous += left
        shown, number = _unstable(table.nodes, rows, metric, found, ways)
        unstable += shown
        unstable_pairs += number
        del rows, ways, found  # of 25 million pairs they take as much as the table's own numbers
    count = len(table.nodes)
    faulty = max(math.ceil(count * fault_share), 1)
    return Located(
        faults=tuple(sorted(faults, key=lambda fault: -fault.loss_ratio)),
        ambiguous=tuple(ambiguous),
        unstable=tuple(unstable),
        unstable_pairs=unstable_pairs,
        lines=lines,
        wrongly_left=wrongly_left(count, faulty, min(partners)) if partners else None,
    )


def _ways(
    nodes: Sequence[str], rows: Ratios, group_of: Mapping[str, int], groups: Sequence[Sequence[str]]
) -> tuple[list[Part], Ways, Reals]:
    """Both ends of every bad row, and the two uplinks of rows between groups; by part, the best ratio through it.

    The ways of good rows are not made: of 25 million they would take more memory than all the rest.
    """
    count = len(nodes)
    bad = np.flatnonzero(rows.ratio < rows.line)
    source, target = rows.source[bad].astype(np.intp), rows.target[bad].astype(np.intp)
    parts: list[Part] = [(node(name), Direction.OUT) for name in nodes]
    parts += [(node(name), Direction.IN) for name in nodes]
    crossed = [np.stack([source, target + count], axis=1).ravel()]
    owner = [np.repeat(bad, 2)]
    through: list[tuple[Indices | None, Places | Indices]] = [(None, rows.source), (None, rows.target + count)]
    if group_of:
        group = np.array([group_of.get(name, -1) for name in nodes], dtype=np.int32)
        here, there = group[rows.source], group[rows.target]
        between = (here != there) & (here >= 0) & (there >= 0)
        far = np.flatnonzero(between)
        through += [(far, here[far] + 2 * count), (far, there[far] + 2 * count + len(groups))]
        far = bad[between[bad]]
        parts += [(uplink(_group_name(members)), Direction.OUT) for members in groups]
        parts += [(uplink(_group_name(members)), Direction.IN) for members in groups]
        crossed.append(np.stack([here[far] + 2 * count, there[far] + 2 * count + len(groups)], axis=1).ravel())
        owner.append(np.repeat(far, 2))
    row, part = np.concatenate(owner), np.concatenate(crossed)
    order = np.argsort(row, kind="stable")
    ways = Ways(row=row[order], part=part[order], parts=len(parts))
    return parts, ways, best_through(rows.ratio, through, len(parts))


def _wired_ways(nodes: Sequence[str], rows: Ratios, wiring: Wiring) -> tuple[list[Part], Ways]:
    """What every row crosses by the fabric's own routes."""
    pairs = [_ends(nodes, rows, row) for row in range(len(rows.ratio))]
    known = wiring.measured(pairs)
    number: dict[Component, int] = {}
    crossed = [[number.setdefault(part, len(number)) for part in known.path(*one)] for one in pairs]
    parts = [(MAKERS[part.kind](part.name), part.direction) for part in number]
    row = np.repeat(np.arange(len(pairs)), [len(each) for each in crossed])
    part = np.array([one for each in crossed for one in each], dtype=np.intp)
    return parts, Ways(row=row, part=part, parts=len(parts))


def _group_name(members: Sequence[str]) -> str:
    return f"group of {members[0]}"


def _named(
    nodes: Sequence[str], rows: Ratios, metric: str, parts: Sequence[Part], found: Explanation
) -> tuple[list[LocatedFault], list[Undecided]]:
    sure: defaultdict[Subject, dict[Direction, Indices]] = defaultdict(dict)
    ambiguous = []
    for blame in found.blamed:
        subjects = list(dict.fromkeys(parts[part][0] for part in blame.parts))
        if len(subjects) == 1 and len(blame.rows) > 1:
            for part in blame.parts:
                sure[subjects[0]][parts[part][1]] = blame.rows
            continue
        lone = [pair(*_ends(nodes, rows, row)) for row in blame.rows.tolist()] if len(blame.rows) == 1 else []
        loss = float(np.median(_loss(rows, metric, blame.rows)))
        told = _told(nodes, rows, blame.rows)
        ambiguous.append(Undecided(subjects=(*subjects, *lone), metric=metric, loss_ratio=loss, evidence=told))
    faults = []
    for subject, ways in sure.items():
        explained = np.unique(np.concatenate(list(ways.values())))
        estimate = median_estimate(_loss(rows, metric, explained).tolist())
        direction = next(iter(ways)) if len(ways) == 1 else Direction.BOTH
        faults.append(
            LocatedFault(
                subject=subject,
                metric=metric,
                direction=direction,
                loss_ratio=estimate.value,
                low=estimate.low,
                high=estimate.high,
                evidence=_told(nodes, rows, explained),
            )
        )
    return faults, ambiguous


def _loss(rows: Ratios, metric: str, chosen: Indices) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    ratio = rows.ratio[chosen]
    return np.asarray(1 / ratio - 1 if metric == LATENCY else 1 - ratio)


def _ends(nodes: Sequence[str], rows: Ratios, row: int) -> tuple[str, str]:
    return nodes[int(rows.source[row])], nodes[int(rows.target[row])]


def _told(nodes: Sequence[str], rows: Ratios, chosen: Indices) -> tuple[str, ...]:
    return tuple(">".join(_ends(nodes, rows, row)) for row in chosen[:TOLD].tolist())


def _unstable(
    nodes: Sequence[str], rows: Ratios, metric: str, found: Explanation, ways: Ways
) -> tuple[list[Unstable], int]:
    """Pairs that are good and bad in turn, and bad ones that nothing explains: seen once, they prove nothing.

    The first UNSTABLE_SHOWN of them, and how many there are.
    """
    guilty = np.zeros(ways.parts, dtype=np.bool_)
    guilty[[part for blame in found.blamed for part in blame.parts]] = True
    excused = ways.row[guilty[ways.part]]
    lonely = found.unexplained[rows.best[found.unexplained] < rows.line]
    lonely = lonely[~np.isin(lonely, excused)]
    varying = np.flatnonzero((rows.worst < rows.line) & (rows.best >= rows.line))
    reasons = [
        (row, f"good and bad in turn over {rows.repetitions[row]} measurements")
        for row in varying[:UNSTABLE_SHOWN].tolist()
    ]
    reasons += [
        (row, f"bad in {rows.repetitions[row]} of {rows.repetitions[row]}, though both ends are good")
        for row in lonely[: UNSTABLE_SHOWN - len(reasons)].tolist()
    ]
    shown = [
        Unstable(
            subject=pair(*_ends(nodes, rows, row)), metric=metric, why=why, evidence=_told(nodes, rows, np.array([row]))
        )
        for row, why in reasons
    ]
    return shown, len(varying) + len(lonely)
