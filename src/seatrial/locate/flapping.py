"""Unstable parts: they vary between good and bad while the others are good."""

import math

import msgspec
import numpy as np

from seatrial.locate.steps import ERRORS, SLACK_BAD, LackTable, partners, raw_gap
from seatrial.model.pair_table import Flags, Indices, Reals
from seatrial.statistics.estimates import array_median
from seatrial.statistics.rank_sum import count_tail

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
    found = []
    for part in np.flatnonzero((found_bad >= FEWEST_BAD) & (count - found_bad >= FEWEST_GOOD)).tolist():
        p = tests * count_tail(int(found_bad[part]), int(count[part]), marked, total)
        rows = table.parts.rows(part)
        rows = rows[changing[rows]]
        if p <= error_rate and _comes_and_goes(table, part, rows, bad):
            found.append(
                Flaps(
                    part=part, p=p, bad=rows[bad[rows]], good=rows[~bad[rows]], spells=_spells(bad[rows]),
                    period_s=period(table.series.time_s[rows], bad[rows]),
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: (one.p, -len(one.bad), one.part))


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
    here, there = rows[bad[rows]], rows[~bad[rows]]
    if 2 * raw_gap(table, here, there) < float(np.median(table.lack[there]) - np.median(table.lack[here])):
        return False
    duty = float(bad[rows].mean())
    for ends in partners(table, part, rows):
        _, which, size = np.unique(ends, return_inverse=True, return_counts=True)
        if len(size) < 2:
            return False
        never = np.bincount(which, weights=bad[rows]) == 0
        likely = (1 - duty) ** size
        allowed = likely.sum() + ERRORS * math.sqrt(float((likely * (1 - likely)).sum())) + SLACK_BAD * len(size)
        if int(never.sum()) > allowed:
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
