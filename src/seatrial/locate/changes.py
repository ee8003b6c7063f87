"""Parts that change during a run: from good to bad, from bad to good, or repeatedly."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

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
from seatrial.locate.steps import FEWEST, SLACK_BAD, LackTable, PartChange, partners, raw_gap, steps, too_many
from seatrial.locate.thresholds import Effects, to_loss
from seatrial.locate.uplinks import FEWEST_GROUPS, FEWEST_NODES
from seatrial.model.pair_faults import Change, ChangeKind
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.model.subject import Direction, Subject
from seatrial.statistics.estimates import array_median
from seatrial.statistics.rank_sum import count_tail

MOST_PASSES = 10
"""How often what is found is taken out and the rest looked at again."""
SHARED = 0.2
"""A part of which a larger share of the bad rows is explained already is looked at again without these."""
SECOND_SHARE = 0.1
"""What a second look at the same values, with one level for both directions of a part, adds to the error rate."""
SCATTERS = 4.0
"""A row is bad from this many scatters, and from the practical effect on."""
FEWEST_BAD, FEWEST_GOOD = 4, 3
FEWEST_MIXED_PAIRS = 2
"""Ordered pairs that were good at one time and bad at another; else some pairs are bad, and nothing changes."""
BESIDE_P = 0.05
FEWEST_SPELLS = 2
MOST_MISFITS = 0.15
"""Share of the rows that may contradict a period."""
GAPS = 2.5
"""A period of two gaps is the shortest that any sampling shows (Nyquist), and noise in time hides it."""
FINENESS = 12
"""Frequencies are tried in steps of 1 / (FINENESS * length of the run)."""


class Flaps(msgspec.Struct, frozen=True, kw_only=True):
    """A part that came and went: its bad and good rows, ascending in time. `spells`: how often it was seen to be bad.

    `period_s`: None where there is no rhythm, or the rows are too far apart to show one.
    """

    part: int
    p: float
    bad: Indices
    good: Indices
    spells: int
    period_s: float | None


def flapping(table: LackTable, effect: float, error_rate: float) -> list[Flaps]:
    """Every part with more bad rows than the table's bad rows would give it by chance; most significant first.

    Hypergeometric, Bonferroni over parts. Pairs that are always bad have a fault of their own and are left out.
    """
    bad = table.lack < -max(effect, SCATTERS * table.scatter)
    changing = ~_always_bad(table, bad)
    kept = changing[table.parts.row]
    count = np.bincount(table.parts.part[kept], minlength=table.parts.count)
    found_bad = np.bincount(table.parts.part[kept & bad[table.parts.row]], minlength=table.parts.count)
    total, marked = int(changing.sum()), int((bad & changing).sum())
    tests = int((count >= FEWEST_BAD + FEWEST_GOOD).sum())
    flaps = []
    for part in np.flatnonzero((found_bad >= FEWEST_BAD) & (count - found_bad >= FEWEST_GOOD)).tolist():
        p = tests * count_tail(int(found_bad[part]), int(count[part]), marked, total)
        rows = table.parts.rows(part)
        rows = rows[changing[rows]]
        if p <= error_rate and _comes_and_goes(table, part, rows, bad):
            flaps.append(
                Flaps(
                    part=part, p=p, bad=rows[bad[rows]], good=rows[~bad[rows]], spells=_spells(bad[rows]),
                    period_s=period(table.series.time_s[rows], bad[rows]),
                )
            )  # fmt: skip
    return sorted(flaps, key=lambda one: (one.p, -len(one.bad), one.part))


def _always_bad(table: LackTable, bad: Flags) -> Flags:
    """Rows whose ordered pair was measured more than once and was bad every time."""
    where, count, often = _by_pair(table, bad)
    always: Flags = (count > 1) & (often == count)
    return always[where]


def _by_pair(table: LackTable, bad: Flags) -> tuple[Indices, Indices, Indices]:
    key = table.series.source * np.int64(table.parts.nodes) + table.series.target
    _, where, count = np.unique(key, return_inverse=True, return_counts=True)
    return where, count, np.bincount(where, weights=bad).astype(np.intp)


def _comes_and_goes(table: LackTable, part: int, rows: Indices, bad: Flags) -> bool:
    """Whether several of its pairs change, with nearly every partner, while the others beside it are good."""
    where, count, often = _by_pair(table, bad)
    mixed = np.unique(where[rows][((often > 0) & (often < count))[where[rows]]])
    if len(mixed) < FEWEST_MIXED_PAIRS or _spells(bad[rows]) < FEWEST_SPELLS:
        return False
    bad_rows, good_rows = rows[bad[rows]], rows[~bad[rows]]
    if 2 * raw_gap(table, bad_rows, good_rows) < float(
        np.median(table.lack[good_rows]) - np.median(table.lack[bad_rows])
    ):
        return False
    duty = float(bad[rows].mean())
    for ends in partners(table, part, rows):
        _, which, size = np.unique(ends, return_inverse=True, return_counts=True)
        if len(size) < 2:
            return False
        never = np.bincount(which, weights=bad[rows]) == 0
        likely = (1 - duty) ** size.astype(np.float64)
        if too_many(int(never.sum()), likely, SLACK_BAD):
            return False
    return _good_beside(table, part, rows, bad)


def _good_beside(table: LackTable, part: int, rows: Indices, bad: Flags) -> bool:
    """Sign test of its rows with the nearest row of other parts: the measuring machine would slow both."""
    others = np.ones(len(bad), dtype=np.bool_)
    others[table.parts.rows(part)] = False
    beside = np.flatnonzero(others)
    if not len(beside):
        return False
    beside = beside[np.argsort(table.series.time_s[beside], kind="stable")]
    times, at = table.series.time_s[beside], table.series.time_s[rows]
    after = np.clip(np.searchsorted(times, at), 0, len(times) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(times[after] - at) < np.abs(times[before] - at), after, before)
    near_bad = bad[beside[nearest]]
    alone, reverse = int((bad[rows] & ~near_bad).sum()), int((~bad[rows] & near_bad).sum())
    tosses = alone + reverse
    return sum(math.comb(tosses, hits) for hits in range(alone, tosses + 1)) <= BESIDE_P * 2.0**tosses


def _spells(bad: Flags) -> int:
    """Runs of bad rows in the order of time."""
    return int(bad[0]) + int((bad[1:] & ~bad[:-1]).sum())


def period(time_s: Reals, bad: Flags) -> float | None:
    """The period of a part that is bad for one stretch of each period, at the times of its rows; None: none fits.

    Periods between GAPS median gaps of the rows and half the length of the run can be seen. Of those that fit
    equally well the longest is taken, since shorter ones fit anything.
    """
    span = float(time_s[-1] - time_s[0])
    gaps = np.diff(np.unique(time_s))
    if span <= 0 or not len(gaps):
        return None
    shortest, longest = GAPS * array_median(gaps), span / 2
    if shortest >= longest:
        return None
    steps = np.arange(1 / longest, 1 / shortest, 1 / (FINENESS * span))
    misfits = np.array([_misfits(time_s * frequency % 1.0, bad) for frequency in steps.tolist()])
    least = int(misfits.min())
    if least > MOST_MISFITS * len(bad):
        return None
    first = int(np.flatnonzero(misfits == least)[0])
    end = first
    while end + 1 < len(misfits) and misfits[end + 1] == least:
        end += 1
    return 2.0 / float(steps[first] + steps[end])


def _misfits(phase: Reals, bad: Flags) -> int:
    """Rows on the wrong side where one stretch of the circle is bad and the rest is good, at best."""
    gain = np.where(bad[np.argsort(phase, kind="stable")], 1, -1)
    run = np.concatenate(([0], np.cumsum(gain)))
    inside = int((run - np.minimum.accumulate(run)).max())
    around = int(run[-1]) + int((np.maximum.accumulate(run) - run).max())
    return int(bad.sum()) - max(inside, around)


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
    changes: list[Change] = []
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
        changes += [_change(table, one, alike, labels, effects.metric) for one, alike in fresh]
        keep = np.ones(len(alive.log), dtype=np.bool_)
        for one, _ in fresh:
            keep[one.bad] = False
        alive = _selected(alive, keep)
    return tuple(sorted(_merged(changes), key=lambda one: (one.since_s, one.subject)))


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
    stepped = {change.part for change in stepping}
    flaps = [change for change in flapping(table, effect, error_rate / 2) if change.part not in stepped]
    chosen: list[tuple[PartChange | Flaps, list[int]]] = []
    explained = np.zeros(len(table.lack), dtype=np.bool_)
    every: list[PartChange | Flaps] = [*stepping, *flaps]
    for change in sorted(every, key=lambda each: (each.p, -len(each.bad), each.part)):
        same = next((alike for other, alike in chosen if np.array_equal(np.sort(other.bad), np.sort(change.bad))), None)
        if same is not None:
            same.append(change.part)
        elif explained[change.bad].mean() <= SHARED:
            chosen.append((change, []))
            explained[change.bad] = True
    return chosen


def _change(
    table: LackTable,
    shift: PartChange | Flaps,
    alike: list[int],
    labels: tuple[tuple[str, ...], tuple[str, ...]],
    metric: str,
) -> Change:
    """The record of one change."""
    series, names = table.series, labels[0]
    subject, direction = table.parts.subject(shift.part, *labels)
    good, bad = (to_loss(-array_median(series.log[rows]), metric) for rows in (shift.good, shift.bad))
    ends = zip(series.source[shift.bad].tolist(), series.target[shift.bad].tolist(), strict=True)
    others = {table.parts.subject(part, *labels)[0] for part in alike}
    kind, since, (before, after) = ChangeKind.FLAPPING, _first_bad(series, shift), (good, bad)
    if isinstance(shift, PartChange):
        kind = ChangeKind.DROP if shift.drop else ChangeKind.RECOVERY
        since = shift.since_s, shift.low_s, shift.high_s
        before, after = (good, bad) if shift.drop else (bad, good)
    return Change(
        subject=subject,
        direction=direction,
        kind=kind,
        p=min(shift.p, 1.0),
        since_s=since[0],
        since_low_s=since[1],
        since_high_s=since[2],
        loss_before=before,
        loss_after=after,
        pairs=tuple(dict.fromkeys((names[here], names[there]) for here, there in ends)),
        bad_values=len(shift.bad),
        good_values=len(shift.good),
        spells=shift.spells if isinstance(shift, Flaps) else 1,
        period_s=shift.period_s if isinstance(shift, Flaps) else None,
        ambiguous_with=tuple(sorted(others - {subject})),
    )


def _first_bad(series: RowSeries, shift: PartChange | Flaps) -> tuple[float, float, float]:
    """When it was first seen to be bad: half way from the good value before, and the times of both."""
    first = float(series.time_s[shift.bad[0]])
    earlier = series.time_s[shift.good][series.time_s[shift.good] < first]
    low = float(earlier.max()) if len(earlier) else float(series.time_s.min())
    return (low + first) / 2, low, first


def _merged(changes: list[Change]) -> list[Change]:
    """One change of each subject and direction, found first; outwards and inwards at the same time are one in both.

    A later pass may find the rest of a change again.
    """
    merged: dict[Subject, list[Change]] = {}
    for change in changes:
        same_subject = merged.setdefault(change.subject, [])
        other = next((each for each in same_subject if _same(each, change)), None)
        if other is None:
            same_subject.append(change)
        elif other.direction not in (change.direction, Direction.BOTH):
            same_subject[same_subject.index(other)] = _joined(other, change)
    return [change for same_subject in merged.values() for change in same_subject]


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
