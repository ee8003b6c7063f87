"""Parts that change during a run: from good to bad, from bad to good, or repeatedly."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.locate.flapping import Flaps, flapping
from seatrial.locate.part_series import (
    RowSeries,
    apart_groups,
    centred,
    lacking,
    parts_of,
    scatter_of,
    without_common,
)
from seatrial.locate.significance import ERROR_RATE
from seatrial.locate.steps import FEWEST, LackTable, PartChange, steps
from seatrial.locate.thresholds import Effects, to_loss
from seatrial.locate.uplinks import FEWEST_GROUPS, FEWEST_NODES
from seatrial.model.pair_faults import Change, ChangeKind
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.model.subject import Direction, Subject
from seatrial.statistics.estimates import array_median

MOST_PASSES = 10
"""How often what is found is taken out and the rest looked at again."""
SHARED = 0.2
"""A part of which a larger share of the bad rows is explained already is looked at again without these."""
SECOND_SHARE = 0.1
"""What a second look at the same values, with one level for both directions of a part, adds to the error rate."""


def find_changes(
    series: RowSeries,
    nodes: Sequence[str],
    effects: Effects,
    groups: Mapping[str, Sequence[str]] | None = None,
    error_rate: float = ERROR_RATE,
) -> tuple[Change, ...]:
    """Parts that change by `effects.most` or more; in a run without a change any at all with `error_rate`.

    Each node and each group's uplink, outwards, inwards and both, is compared with itself at other times and with all
    others at the same time. What changes everywhere at once is the measuring machine and not reported. A step needs at
    least three good and three bad values of a part, and as many of others beside the bad ones; in tables of fewer than
    about 40 values it needs more (`steps`). `groups`: nodes by leaf, where known. The earliest change comes first.
    """
    known = np.isfinite(series.log) & np.isfinite(series.time_s) & (series.source != series.target)
    if int(known.sum()) < 2 * FEWEST:
        return ()
    alive = without_common(_selected(series, known), effects.most)
    names = {name: place for place, name in enumerate(nodes)}
    members = [tuple(names[name] for name in group if name in names) for group in (groups or {}).values()]
    group = apart_groups(members, len(nodes), FEWEST_GROUPS, FEWEST_NODES)
    labels = tuple(nodes), tuple(groups or ())
    found: list[Change] = []
    for _ in range(MOST_PASSES):
        if len(alive.log) < 2 * FEWEST:
            break
        for by_direction, share in ((True, 1.0), (False, SECOND_SHARE)):
            table = _table(alive, len(nodes), group, len(members), by_direction)
            fresh = _chosen(table, effects.most, error_rate * share)
            if fresh:
                break
        else:
            break
        found += [_change(table, one, alike, labels, effects.metric) for one, alike in fresh]
        keep = np.ones(len(alive.log), dtype=np.bool_)
        for one, _ in fresh:
            keep[one.bad] = False
        alive = _selected(alive, keep)
    return tuple(sorted(_merged(found), key=lambda one: (one.since_s, one.subject)))


def _selected(series: RowSeries, keep: Flags) -> RowSeries:
    return RowSeries(
        source=series.source[keep], target=series.target[keep], time_s=series.time_s[keep], log=series.log[keep]
    )


def _table(series: RowSeries, nodes: int, group: Indices, groups: int, by_direction: bool) -> LackTable:
    parts = parts_of(series, nodes, group, groups)
    lack: Reals = centred(lacking(series, parts, by_direction), series, parts)
    return LackTable(series=series, parts=parts, lack=lack, scatter=scatter_of(lack))


def _chosen(table: LackTable, effect: float, error_rate: float) -> list[tuple[PartChange | Flaps, list[int]]]:
    """Changes that share few bad rows, most significant first, and parts with the same bad rows as each."""
    stepping = steps(table, effect, error_rate / 2)
    stepped = {one.part for one in stepping}
    flaps = [one for one in flapping(table, effect, error_rate / 2) if one.part not in stepped]
    chosen: list[tuple[PartChange | Flaps, list[int]]] = []
    explained = np.zeros(len(table.lack), dtype=np.bool_)
    every: list[PartChange | Flaps] = [*stepping, *flaps]
    for one in sorted(every, key=lambda each: (each.p, -len(each.bad), each.part)):
        same = next((alike for other, alike in chosen if np.array_equal(np.sort(other.bad), np.sort(one.bad))), None)
        if same is not None:
            same.append(one.part)
        elif explained[one.bad].mean() <= SHARED:
            chosen.append((one, []))
            explained[one.bad] = True
    return chosen


def _change(
    table: LackTable,
    found: PartChange | Flaps,
    alike: list[int],
    labels: tuple[tuple[str, ...], tuple[str, ...]],
    metric: str,
) -> Change:
    """The record of one change."""
    series, names = table.series, labels[0]
    subject, direction = table.parts.subject(found.part, *labels)
    good, bad = (to_loss(-array_median(series.log[rows]), metric) for rows in (found.good, found.bad))
    ends = zip(series.source[found.bad].tolist(), series.target[found.bad].tolist(), strict=True)
    others = {table.parts.subject(part, *labels)[0] for part in alike}
    kind, since, (before, after) = ChangeKind.FLAPPING, _first_bad(series, found), (good, bad)
    if isinstance(found, PartChange):
        kind = ChangeKind.DROP if found.drop else ChangeKind.RECOVERY
        since = found.since_s, found.low_s, found.high_s
        before, after = (good, bad) if found.drop else (bad, good)
    return Change(
        subject=subject,
        direction=direction,
        kind=kind,
        p=min(found.p, 1.0),
        since_s=since[0],
        since_low_s=since[1],
        since_high_s=since[2],
        loss_before=before,
        loss_after=after,
        pairs=tuple(dict.fromkeys((names[here], names[there]) for here, there in ends)),
        bad_values=len(found.bad),
        good_values=len(found.good),
        spells=found.spells if isinstance(found, Flaps) else 1,
        period_s=found.period_s if isinstance(found, Flaps) else None,
        ambiguous_with=tuple(sorted(others - {subject})),
    )


def _first_bad(series: RowSeries, found: PartChange | Flaps) -> tuple[float, float, float]:
    """When it was first seen to be bad: half way from the good value before, and the times of both."""
    first = float(series.time_s[found.bad[0]])
    earlier = series.time_s[found.good][series.time_s[found.good] < first]
    low = float(earlier.max()) if len(earlier) else float(series.time_s.min())
    return (low + first) / 2, low, first


def _merged(changes: list[Change]) -> list[Change]:
    """One change of each subject and direction, found first; outwards and inwards at the same time are one in both.

    A later pass may find the rest of a change again.
    """
    merged: dict[Subject, list[Change]] = {}
    for one in changes:
        known = merged.setdefault(one.subject, [])
        other = next((each for each in known if _same(each, one)), None)
        if other is None:
            known.append(one)
        elif other.direction not in (one.direction, Direction.BOTH):
            known[known.index(other)] = _joined(other, one)
    return [one for known in merged.values() for one in known]


def _same(first: Change, second: Change) -> bool:
    """Whether the second change is the first one again, in the same or the other direction."""
    if Direction.BOTH in (first.direction, second.direction) or first.direction is second.direction:
        return True
    overlap = first.since_low_s <= second.since_high_s and second.since_low_s <= first.since_high_s
    return first.kind is second.kind and (overlap or first.kind is ChangeKind.FLAPPING)


def _joined(first: Change, second: Change) -> Change:
    return msgspec.structs.replace(
        first,
        direction=Direction.BOTH,
        pairs=tuple(dict.fromkeys((*first.pairs, *second.pairs))),
        bad_values=first.bad_values + second.bad_values,
        good_values=first.good_values + second.good_values,
    )
