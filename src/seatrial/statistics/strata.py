"""Effects of members on jobs that are alike within strata: on times by ranks, on failures by exact counts.

A stratum holds jobs that are alike (one family, one day), and each job has one or more members (its nodes). Members are
compared within strata only, so that neither the mix of families nor the time of a job is taken for an effect.

Times: the ranks of a member's jobs among the others of their stratum, strata weighted by 1/(jobs + 1) (van Elteren,
Bull. Inst. Int. Stat. 37, 1960). Times that were cut off at a limit are greater than all others. The size of an effect
is the shift of logarithms at which the ranks show nothing, its interval that at which they show too little (Hodges and
Lehmann, Ann. Math. Stat. 34, 1963). It is drawn towards nothing by the non-negative garrote (Breiman, Technometrics 37,
1995): by the share of its square that chance explains.

Failures: how many of a member's jobs failed, compared with the sum of hypergeometric counts of its strata (the exact
test of Mantel and Haenszel's strata: Agresti, Categorical Data Analysis, 2002, 6.7).
"""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import MAD_TO_DEVIATION, MOST_LOG, TINY

MOST_STEPS = 2_000_000
"""Steps of the exact count; beyond it the normal approximation is used, which errs upwards in the tail."""
"""Above it a number of subsets is no longer a double."""


def log_choose(total: int, size: int) -> float:
    """Logarithm of the number of subsets of that size."""
    return math.lgamma(total + 1) - math.lgamma(size + 1) - math.lgamma(total - size + 1)


def rank_sum_test(values: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Probability that as many of all numbers, drawn at random, are as large as `values`; equal ones share a rank."""
    _, place, count = np.unique(-np.concatenate([values, others]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    return rank_sum_tail(float(ranks[: len(values)].sum()), len(values), len(ranks))


def rank_sum_tail(rank_sum: float, size: int, total: int) -> float:
    """Probability that `size` of the ranks 1 to `total`, drawn without replacement, sum to `rank_sum` or less.

    Mann and Whitney, Ann. Math. Stat. 18 (1947): exact, by counting partitions, while that is affordable; otherwise the
    normal approximation or, where smaller, the bound s^k / (k!^2 C(n, k)) on the number of k-subsets with sum s.
    """
    other = total - size
    if size <= 0 or other <= 0:
        return 1.0
    beyond = math.floor(rank_sum - size * (size + 1) / 2 + 1e-9)
    if beyond < 0:
        return 0.0
    if beyond >= size * other:
        return 1.0
    subsets = log_choose(total, size)
    few = min(size, other)
    deviation = math.sqrt(size * other * (total + 1) / 12)
    normal = 0.5 * math.erfc((size * other / 2 - beyond - 0.5) / deviation / math.sqrt(2))
    if few * (beyond + 1) <= MOST_STEPS and subsets < MOST_LOG:
        return min(float(_partitions(few, max(size, other), beyond).sum()) / math.exp(subsets), 1.0)
    volume = size * math.log(rank_sum) - 2 * math.lgamma(size + 1) - subsets
    return min(normal, math.exp(min(volume, 0.0)))


def _partitions(parts: int, largest: int, most: int) -> NDArray[np.float64]:
    """How many partitions into at most `parts` parts, none above `largest`, each number from 0 to `most` has."""
    count = np.zeros(most + 1)
    count[0] = 1
    for part in range(1, min(parts, most) + 1):
        padded = np.zeros(-(-(most + 1) // part) * part)
        padded[: most + 1] = count
        count = np.cumsum(padded.reshape(-1, part), axis=0).ravel()[: most + 1]
    for part in range(1, parts + 1):
        if largest + part > most:
            break
        count[largest + part :] -= count[: most + 1 - largest - part].copy()
    return np.maximum(count, 0.0)


def count_tail(found: int, drawn: int, marked: int, total: int) -> float:
    """Probability of `found` or more marked ones among `drawn` of `total`, of which `marked` are: hypergeometric."""
    most = min(drawn, marked)
    if found <= max(0, drawn + marked - total):
        return 1.0
    everything = log_choose(total, drawn)
    logs = [
        log_choose(marked, hits) + log_choose(total - marked, drawn - hits) - everything
        for hits in range(found, most + 1)
        if drawn - hits <= total - marked
    ]
    return min(math.fsum(math.exp(one) for one in logs), 1.0)


def adjusted(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least share of false discoveries at which the test of each p-value is named; NaN where it is NaN.

    Benjamini and Hochberg, Controlling the false discovery rate, J. R. Stat. Soc. B 57 (1995). It holds for tests that
    are independent or depend on each other positively, as those do that share the deviation of a whole run (Benjamini
    and Yekutieli, Ann. Stat. 29, 2001).
    """
    p_values = np.asarray(p_values, float)
    shares = np.full(p_values.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    if not len(tested):
        return shares
    order = tested[np.argsort(p_values[tested], kind="stable")]
    scaled = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    shares[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return shares


def adjusted_together(families: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Adjusted p-values of several columns that are judged as one family; columns of the same lengths."""
    if not families:
        return []
    everything = adjusted(np.concatenate(families))
    ends = np.cumsum([len(column) for column in families])[:-1]
    return list(np.split(everything, ends))


Places = NDArray[np.intp]

ENDLESS = 60.0
"""Logarithm that stands for a time that was cut off; e^60 s is more than the age of the universe."""
APART = 1000.0
"""Distance of strata on one axis, on which all of them are searched at once."""
LARGEST_SHIFT = 12.0
HALVINGS = 40


class Members(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs by stratum, and the members of each job: `job` and `member` have one entry for each of both."""

    stratum: Places
    """The stratum of each job; all from 0 to the number of strata."""
    job: Places
    member: Places
    count: int
    """Number of members."""

    @property
    def sizes(self) -> Places:
        """Jobs of each stratum."""
        sizes: Places = np.bincount(self.stratum, minlength=int(self.stratum.max(initial=-1)) + 1)
        return sizes

    def without(self, left: NDArray[np.bool_]) -> "Members":
        """The members without the jobs that are left out; the others keep their numbers, in a stratum of nobody."""
        kept = ~left[self.job]
        stratum = np.where(left, int(self.stratum.max(initial=-1)) + 1, self.stratum)
        return Members(stratum=stratum, job=self.job[kept], member=self.member[kept], count=self.count)

    def apart_from(self, *others: int) -> "Members":
        """The members without the jobs of these."""
        left = np.zeros(len(self.stratum), bool)
        left[self.job[np.isin(self.member, others)]] = True
        return self.without(left)

    def jobs_of(self, member: int) -> Places:
        """The jobs of a member."""
        jobs: Places = self.job[self.member == member]
        return jobs


def present(places: Places) -> Places:
    """The different ones in order; faster than `numpy.unique` where few are above their number."""
    return np.flatnonzero(np.bincount(places))


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """How much longer the jobs of a member take, as a logarithm with its interval."""

    value: float
    low: float
    high: float
    shrunk: float
    longer: int
    """Families in which its jobs take longer."""
    groups: int
    """Families that could be compared."""


def midranks(values: Reals, stratum: Places, order: Places | None = None) -> Reals:
    """Ranks within strata from 1 on; equal values share the mean of their ranks.

    `order`: the order of strata, and of values within them, if it is known already.
    """
    order = np.lexsort((values, stratum)) if order is None else order
    ordered, groups = values[order], stratum[order]
    begins = np.r_[True, (ordered[1:] != ordered[:-1]) | (groups[1:] != groups[:-1])]
    first = np.flatnonzero(begins)
    last = np.r_[first[1:], len(order)] - 1
    run = np.cumsum(begins) - 1
    stratum_begins = np.r_[True, groups[1:] != groups[:-1]]
    offset = np.flatnonzero(stratum_begins)[np.cumsum(stratum_begins) - 1]
    ranks = np.empty(len(order))
    ranks[order] = (first + last)[run] / 2 - offset + 1
    return ranks


class Shares(msgspec.Struct, frozen=True):
    """Strata and members that meet, and in how many jobs; only where the stratum has other jobs, too."""

    stratum: Places
    member: Places
    number: Places
    whole: tuple[Places, Places]
    """Strata and members that meet in all jobs of the stratum."""


def shares_of(members: Members) -> Shares:
    """What strata and members have in common."""
    key, number = np.unique(members.stratum[members.job] * members.count + members.member, return_counts=True)
    stratum, member = np.divmod(key, members.count)
    some = number < members.sizes[stratum]
    return Shares(stratum[some], member[some], number[some], (stratum[~some], member[~some]))


def slowness(logs: Reals, members: Members, shares: Shares | None = None) -> tuple[Reals, Reals]:
    """Standard deviations by which each member's jobs rank above the others, and the standard error of a shift.

    NaN for a member that no stratum compares with others. `shares`: those of these members, if they are known already.
    """
    sizes = members.sizes
    order = np.lexsort((logs, members.stratum))
    ranks = midranks(logs, members.stratum, order)
    size = sizes[members.stratum]
    scores = (ranks - (size + 1) / 2) / (size + 1)
    spread = np.bincount(members.stratum, scores * scores, len(sizes)) / np.maximum(sizes - 1, 1)
    scale = _scales(logs[order], sizes)
    shares = shares or shares_of(members)
    stratum, member, number = shares.stratum, shares.member, shares.number
    sums = np.bincount(members.member, scores[members.job], members.count)  # all jobs of a stratum sum to nothing
    chance = number * (sizes[stratum] - number) / sizes[stratum]
    variance = np.bincount(member, chance * spread[stratum], members.count)
    information = np.bincount(member, chance / scale[stratum] ** 2, members.count)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = np.where(variance > 0, sums / np.sqrt(variance), np.nan)
        error = np.where(information > 0, 1 / np.sqrt(information), np.nan)
    return deviations, error


def attainable(members: Members, shares: Shares) -> Reals:
    """The deviations of `slowness` of each member if all its jobs took longer than all others: few jobs show little.

    A stratum of s jobs, n of them the member's, adds n(s-n)/(2(s+1)) to the sum and n(s-n)/(12(s+1)) to its variance.
    """
    size = members.sizes[shares.stratum]
    chance = shares.number * (size - shares.number) / (size + 1)
    most: Reals = np.sqrt(3 * np.bincount(shares.member, chance, members.count))
    return most


def _scales(ordered: Reals, sizes: Places) -> Reals:
    """Standard deviation of each stratum by its quartiles; at least a thousandth. `ordered`: stratum by stratum."""
    begin = np.r_[0, np.cumsum(sizes)[:-1]]
    ordered = np.r_[np.minimum(ordered, ENDLESS), 0.0]
    quarter = np.maximum(sizes - 1, 0) // 4
    spread = ordered[begin + np.maximum(sizes - 1, 0) - quarter] - ordered[begin + quarter]
    # Of two or three normal values the range is 1.1 to 1.7 deviations.
    normal = np.where(sizes < FEW, 1.13, 2 / MAD_TO_DEVIATION)
    scales: Reals = np.maximum(spread / normal, LEAST_SCALE)
    return scales


FEW, LEAST_SCALE = 4, 1e-3
"""Between its quartiles a normal distribution has 1.349 standard deviations."""


class _MemberComparison:
    """The jobs of one member and the others of the same strata, on one axis."""

    def __init__(self, logs: Reals, members: Members, member: int) -> None:
        jobs = members.jobs_of(member)
        sizes = members.sizes
        own = np.bincount(members.stratum[jobs], minlength=len(sizes))
        both = (own > 0) & (own < sizes)
        jobs = jobs[both[members.stratum[jobs]]]
        rest = both[members.stratum]
        rest[members.jobs_of(member)] = False
        self.stratum = members.stratum[jobs]
        self._own = np.minimum(logs[jobs], ENDLESS)
        others = np.flatnonzero(rest)
        self._axis = np.sort(members.stratum[others] * APART + np.minimum(logs[others], ENDLESS))
        self._begins = np.searchsorted(self._axis, self.stratum * APART - APART / 2)
        self._others = (sizes - own)[self.stratum]
        self._weight = 1.0 / (sizes + 1.0)[self.stratum]
        used = np.flatnonzero(both)
        variance = own[used] * (sizes - own)[used] / (12.0 * (sizes[used] + 1.0))
        self._deviation = math.sqrt(float(variance.sum()))

    def excess(self, shift: float) -> Reals:
        """Excess of each job of the member: weighted number of others below it, less half of all, after the shift."""
        moved = np.where(self._own >= ENDLESS, ENDLESS, self._own - shift) + self.stratum * APART
        below = np.searchsorted(self._axis, moved, "left") + np.searchsorted(self._axis, moved, "right")
        excess: Reals = self._weight * (below / 2 - self._begins - self._others / 2)
        return excess

    def at(self, deviations: float) -> float:
        """The shift at which the jobs rank that many standard deviations above the others."""
        low, high = -LARGEST_SHIFT, LARGEST_SHIFT
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if float(self.excess(middle).sum()) > deviations * self._deviation:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def shift_of(logs: Reals, members: Members, member: int, deviations: float, group: Places) -> Shift:
    """The effect of one member. `deviations`: half of the interval; `group`: the family of each stratum."""
    comparison = _MemberComparison(logs, members, member)
    value, low, high = (comparison.at(distance) for distance in (0.0, deviations, -deviations))
    error = (high - low) / (2 * deviations)
    kept = max(1 - (error / value) ** 2, 0.0) if value else 0.0
    families = group[comparison.stratum]
    by_family = np.bincount(families, comparison.excess(0.0))
    compared = np.unique(families)
    return Shift(
        value=value,
        low=low,
        high=high,
        shrunk=kept * value,
        longer=int((by_family[compared] > 0).sum()),
        groups=len(compared),
    )


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs of each member failed, how many would have by chance, and with which probability as many do."""

    jobs: Places
    failed: Places
    expected: Reals
    deviations: Reals
    """Excess in standard deviations; NaN where nothing varies."""
    p_value: Reals


def failures_of(
    failed: NDArray[np.bool_], members: Members, shares: Shares | None = None, suspicious: float = 2.0
) -> Failures:
    """Failures of members. One alone, and an excess below `suspicious` standard deviations, are not tested (p = 1).
    `shares`: those of these members, if they are known already.
    """
    sizes = members.sizes
    marked = np.bincount(members.stratum, failed, len(sizes)).astype(np.intp)
    shares = shares or shares_of(members)
    touched = marked[shares.stratum] > 0
    stratum, member, number = shares.stratum[touched], shares.member[touched], shares.number[touched]
    observed = np.bincount(members.member[failed[members.job]], minlength=members.count)
    observed -= np.bincount(shares.whole[1], marked[shares.whole[0]], members.count).astype(np.intp)
    share = marked[stratum] / sizes[stratum]
    expected = np.bincount(member, number * share, members.count)
    left = (sizes[stratum] - number) / np.maximum(sizes[stratum] - 1, 1)
    variance = np.bincount(member, number * share * (1 - share) * left, members.count)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = np.where(variance > 0, (observed - expected) / np.sqrt(variance), np.nan)
    p_value = np.ones(members.count)
    for place in np.flatnonzero((deviations > suspicious) & (observed > 1)):
        at = np.flatnonzero(member == place)
        draws = [(int(number[row]), int(marked[stratum[row]]), int(sizes[stratum[row]])) for row in at]
        p_value[place] = tail_of_sum(int(observed[place]), draws)
    jobs = np.bincount(shares.member, shares.number, members.count).astype(np.intp)
    return Failures(jobs=jobs, failed=observed, expected=expected.astype(float), deviations=deviations, p_value=p_value)


def tail_of_sum(found: int, draws: list[tuple[int, int, int]]) -> float:
    """Probability that the counts sum to `found` or more. `draws`: drawn, marked and total of each."""
    chances, certain = np.ones(1), 0
    for drawn, marked, total in draws:
        least, most = max(drawn + marked - total, 0), min(drawn, marked)
        whole = log_choose(total, drawn)
        parts = [
            math.exp(log_choose(marked, hits) + log_choose(total - marked, drawn - hits) - whole)
            for hits in range(least, most + 1)
        ]
        chances = np.convolve(chances, parts)
        certain += least
    return float(min(max(chances[max(found - certain, 0) :].sum(), TINY), 1.0))
