"""One step: parts whose values are good up to some time and bad from then on, or the reverse."""

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from seatrial.locate.part_series import RowParts, RowSeries, is_later
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.statistics.estimates import MEDIAN_ERROR, array_median
from seatrial.statistics.rank_sum import counted_tests, rank_sum_tail

FEWEST = 3
"""Rows on either side of a change; one or two bad values are outliers."""
WITHIN_P = 0.02
"""Level at which a part's own rows must show a change, so that a part that scatters more does not seem to change."""
CONTROL_P = 0.05
"""Level at which the comparison with the other parts' rows of the same time must show a change, too, else the measuring
machine changed."""
FEWEST_CONTROLS = 3
NEIGHBOURS = 3
"""Rows of other parts, before and after, that each row is compared with."""
SLACK_BAD, SLACK_GOOD = 0.15, 0.25
"""Shares of rows or partners that may be on the wrong side, beside what noise puts there: a fault of one pair."""
ERRORS = 2.5
SCREEN = 2.4
"""Standard errors below which no test can be significant; three rows reach 3 at most."""
LIKELIHOOD_DROP = 6.0
"""Cuts whose cost is larger by up to this belong to the interval: twice the log-likelihood ratio, 98 to 99 %."""
COST_CAP = 9.0
"""One outlier costs no more than three scatters."""


class PartChange(msgspec.Struct, frozen=True, kw_only=True):
    """A part that changed: its bad rows, its good rows, ascending in time. `p` is family-wise."""

    part: int
    p: float
    bad: Indices
    good: Indices
    since_s: float
    low_s: float
    high_s: float
    drop: bool


class LackTable(msgspec.Struct, frozen=True, kw_only=True):
    """Rows, their parts, what each row lacks (log, negative), and the scatter of that."""

    series: RowSeries
    parts: RowParts
    lack: Reals
    scatter: float


def steps(table: LackTable, effect: float, error_rate: float) -> list[PartChange]:
    """Every part with a significant step by at least `effect`, alone and beside the others; most significant first.

    Null hypothesis: a part's rows are drawn from those of the whole table. Each cut of each part makes two or three
    rank-sum tests, of the rows on one side with all others; Bonferroni over all cuts of all parts. Steps of parts that
    share rows are all returned: the first explains the others, or they must be looked for again without its bad rows.
    """
    if len(table.lack) < 2 * FEWEST:
        return []
    rank = _ranks(table.lack)
    tests = counted_tests(_tests_by_size(table.parts), len(rank), error_rate)
    changes = []
    for part, cut in _screened(table, rank):
        step = _judged(table, rank, part, cut, effect, error_rate, tests)
        if step is not None:
            changes.append(step)
    return sorted(changes, key=lambda one: (one.p, -len(one.bad), one.part))


def _ranks(values: Reals) -> Reals:
    """1 for the smallest; equal values share their mean rank."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ends = np.append(starts[1:], len(values))
    rank = np.empty(len(values))
    rank[order] = np.repeat((starts + ends + 1) / 2, ends - starts)
    return rank


def _tests_by_size(parts: RowParts) -> Indices:
    """How many tests of k rows all cuts of all parts make: each side may be bad, and the smaller one good."""
    count = np.bincount(np.diff(parts.first))
    longer = np.append(np.cumsum(count[::-1])[::-1], np.zeros(len(count), dtype=np.intp))
    tests = np.zeros(max(len(count) - FEWEST, 1), dtype=np.intp)
    sizes = np.arange(FEWEST, len(tests))
    tests[sizes] = 2 * longer[sizes + FEWEST] + 2 * longer[np.maximum(2 * sizes, sizes + FEWEST)]
    return tests


def _screened(table: LackTable, rank: Reals) -> Iterator[tuple[int, int]]:
    """Parts that might have a step, each with the number of rows before its most likely cut."""
    parts, total = table.parts, len(rank)
    size = np.diff(parts.first)
    value = rank[parts.row] - (total + 1) / 2
    run = np.concatenate(([0.0], np.cumsum(value)))
    before = run[1:] - run[parts.first[parts.part]]
    whole = (run[parts.first[1:]] - run[parts.first[:-1]])[parts.part]
    left = np.arange(1, len(value) + 1) - parts.first[parts.part]
    right = size[parts.part] - left
    usable = (left >= FEWEST) & (right >= FEWEST) & is_later(parts, table.series.time_s)
    if not usable.any():
        return
    left, right = np.maximum(left, 1), np.maximum(right, 1)
    contrast = np.where(usable, np.abs(before - whole * left / (left + right)) / np.sqrt(left * right), 0.0)
    one_side = np.abs(before) / np.sqrt(left * np.maximum(total - left, 1) * (total + 1) / 12)
    other_side = np.abs(whole - before) / np.sqrt(right * np.maximum(total - right, 1) * (total + 1) / 12)
    contrast[~usable | (np.maximum(one_side, other_side) < SCREEN)] = 0.0
    best = np.zeros(parts.count)
    filled = size > 0
    best[filled] = np.maximum.reduceat(contrast, parts.first[:-1][filled])
    chosen = np.flatnonzero((contrast > 0) & (contrast == best[parts.part]))
    _, once = np.unique(parts.part[chosen], return_index=True)
    for entry in chosen[once].tolist():
        part = int(parts.part[entry])
        yield part, entry + 1 - int(parts.first[part])


def _judged(
    table: LackTable, rank: Reals, part: int, cut: int, effect: float, error_rate: float, tests: int
) -> PartChange | None:
    rows = table.parts.rows(part)
    time_s = table.series.time_s[rows]
    cost = _costs(time_s, table.lack[rows], cut, table.scatter)
    cut = int(np.argmin(cost[FEWEST - 1 : len(rows) - FEWEST])) + FEWEST
    first, second = rows[:cut], rows[cut:]
    drop = bool(np.median(table.lack[first]) > np.median(table.lack[second]))
    good, bad = (first, second) if drop else (second, first)
    gap = float(np.median(table.lack[good]) - np.median(table.lack[bad]))
    if gap < effect or raw_gap(table, bad, good) < gap / 2:
        return None
    p = tests * _tail(rank, bad, good, error_rate / tests)
    if p > error_rate or _lower(_ranks(table.lack[rows]), np.isin(rows, bad)) > WITHIN_P:
        return None
    if not (_consistent(table, bad, good, gap) and _all_partners(table, part, bad, gap)):
        return None
    during = table.series.time_s >= time_s[cut] if drop else table.series.time_s <= time_s[cut - 1]
    if not _worse_than_others(table, part, bad, good, during):
        return None
    likely = np.flatnonzero(cost <= cost[cut - 1] + LIKELIHOOD_DROP)
    return PartChange(
        part=part, p=p, bad=bad, good=good, drop=drop, since_s=float(time_s[cut - 1] + time_s[cut]) / 2,
        low_s=float(time_s[likely[0]]), high_s=float(time_s[likely[-1] + 1]),
    )  # fmt: skip


def _lower(rank: Reals, rows: Indices | Flags, most: float = 1.0) -> float:
    chosen = rank[rows]
    return rank_sum_tail(float(chosen.sum()), len(chosen), len(rank), most)


def _tail(rank: Reals, bad: Indices, good: Indices, most: float) -> float:
    """Chance of the bad rows being so low among all or, if they are the majority, of the good ones being so high."""
    low = _lower(rank, bad, most)
    return min(low, _lower(len(rank) + 1 - rank, good, most)) if len(good) <= len(bad) else low


def _wrong_side(gap: float, scatter: float, rows: Reals) -> Reals:
    """Probability that noise puts the median of this many rows beyond the middle of the gap."""
    error = np.where(rows > 1, MEDIAN_ERROR, 1.0) * scatter / np.sqrt(rows)
    return np.array([0.5 * math.erfc(gap / 2 / one / math.sqrt(2)) for one in np.atleast_1d(error).tolist()])


def too_many(wrong: int, likely: Reals, slack: float) -> bool:
    """Whether more rows are wrong than their probabilities and a share `slack` of them allow."""
    allowed = likely.sum() + ERRORS * math.sqrt(float((likely * (1 - likely)).sum())) + slack * len(likely)
    return wrong > float(allowed)


def _consistent(table: LackTable, bad: Indices, good: Indices, gap: float) -> bool:
    """Whether nearly all rows are on their side of the middle, as far as noise lets them."""
    middle = (np.median(table.lack[good]) + np.median(table.lack[bad])) / 2
    likely = float(_wrong_side(gap, table.scatter, np.ones(1))[0])
    high = int((table.lack[bad] > middle).sum())
    low = int((table.lack[good] < middle).sum())
    return not (
        too_many(high, np.full(len(bad), likely), SLACK_BAD) or too_many(low, np.full(len(good), likely), SLACK_GOOD)
    )


def _all_partners(table: LackTable, part: int, bad: Indices, gap: float) -> bool:
    """Whether it is bad towards nearly every partner, of two at least; an uplink also for nearly every node behind it.

    Otherwise a single pair, or another part that some of these rows cross, explains it.
    """
    middle = array_median(table.lack[bad]) + gap / 2
    for ends in partners(table, part, bad):
        names, which = np.unique(ends, return_inverse=True)
        if len(names) < 2:
            return False
        values = [table.lack[bad][which == place] for place in range(len(names))]
        likely = _wrong_side(gap, table.scatter, np.array([float(len(one)) for one in values]))
        if too_many(sum(array_median(one) > middle for one in values), likely, SLACK_BAD):
            return False
    return True


def partners(table: LackTable, part: int, rows: Indices) -> list[Indices]:
    """What is at the other end of each row; of an uplink the groups there, and the nodes at its own end."""
    place, _ = table.parts.place(part)
    source, target = table.series.source[rows], table.series.target[rows]
    if not table.parts.is_uplink(part):
        return [np.where(source == place, target, source)]
    mine = table.parts.group[source] == place
    own, other = np.where(mine, source, target), np.where(mine, target, source)
    return [own, other]


def _worse_than_others(table: LackTable, part: int, bad: Indices, good: Indices, during: Flags) -> bool:
    """Whether the bad rows lost more than those of other parts `during` the same time, each beside its own other rows.

    They must be worse by half at least of what they lost.
    """
    mine = np.zeros(len(during), dtype=np.bool_)
    mine[table.parts.rows(part)] = True
    beside, otherwise = table.lack[~mine & during], table.lack[~mine & ~during]
    if len(beside) < FEWEST_CONTROLS:
        return False
    lost = table.lack[bad] - np.median(table.lack[good])
    beside = beside - np.median(otherwise if len(otherwise) >= FEWEST_CONTROLS else table.lack[~mine])
    both = _ranks(np.concatenate([lost, beside]))
    likely = rank_sum_tail(float(both[: len(bad)].sum()), len(bad), len(both))
    if likely > CONTROL_P or array_median(beside) < array_median(lost) / 2:
        return False
    gap = float(np.median(table.lack[good]) - np.median(table.lack[bad]))
    apart = np.median(_beside(table, ~mine, good)) - np.median(_beside(table, ~mine, bad))
    return bool(apart >= gap / 2)


def _beside(table: LackTable, others: Flags, rows: Indices) -> Reals:
    """Difference of rows from the median of the nearest ones of other parts; a drift of all is in both."""
    beside = np.flatnonzero(others)
    beside = beside[np.argsort(table.series.time_s[beside], kind="stable")]
    place = np.searchsorted(table.series.time_s[beside], table.series.time_s[rows])
    window = np.clip(place[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS), 0, len(beside) - 1)
    differ: Reals = table.lack[rows] - np.median(table.lack[beside][window], axis=1)
    return differ


def raw_gap(table: LackTable, bad: Indices, good: Indices) -> float:
    """Measured difference of the bad rows from the good ones, whatever was expected of them."""
    return float(np.median(table.series.log[good]) - np.median(table.series.log[bad]))


def _costs(time_s: Reals, value: Reals, cut: int, scatter: float) -> Reals:
    """What it costs to cut after each row but the last, with the levels on either side of `cut`.

    Squared residuals in scatters, capped; infinite where the next row is of the same time.
    """
    first, second = np.median(value[:cut]), np.median(value[cut:])
    extra = np.minimum(((value - first) / scatter) ** 2, COST_CAP)
    extra -= np.minimum(((value - second) / scatter) ** 2, COST_CAP)
    return np.where(time_s[1:] > time_s[:-1], np.cumsum(extra)[:-1], np.inf)
