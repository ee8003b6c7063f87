"""One benchmark's values from many nodes: which are slow, which had a bad run, and what the data could have shown.

All on logarithms, so that a share is a share at any level. The peers of a node are the other nodes; centre and scale
are those of medians, which bad nodes hardly move. A node is slow if its median is low beyond chance among all nodes
(Bonferroni) and by the practical effect; unstable if a single run of it is grossly low and its median is not.
"""

import bisect
import functools
import math
import statistics
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Reals
from seatrial.statistics.estimates import (
    CONFIDENCE,
    FEWEST_ALIKE,
    GROUP_SHARE,
    LEAST_SCATTER,
    MAD_EFFICIENCY,
    MEDIAN_ERROR,
    NORMAL_95,
    TINY,
    last_digit,
    robust_scale,
    student_quantile,
    two_groups,
)

ERROR_RATE = 0.02
"""Share of fleets without a slow node in which one may be named; half of it for each tail."""
EFFECT = 0.02
GROSS_EFFECTS = 4.0
"""A single run is bad if it loses this many practical effects, and GROSS_SCALES."""
GROSS_SCALES = 8.0
"""A single run is bad if it loses this many standard deviations of a run, and GROSS_EFFECTS."""
MOST_DEGREES = 15
"""Real fleets have heavier tails than a normal distribution, however many nodes they have."""
HIDDEN_EFFECTS = 5.0
"""A scatter that hides a loss of more than this many practical effects leaves the fleet undecided."""
LOG_OF_NOTHING = math.log(1e9)
"""A value of 0 counts as this much below the fleet: lower than any that was delivered."""
SEQUENCE_ERROR_RATE = 1 - CONFIDENCE


class NodeRuns(msgspec.Struct, frozen=True, kw_only=True):
    """One node: its median, and what is unusual about it. Losses are shares, positive where it is worse."""

    node: str
    values: tuple[float, ...]
    median: float
    loss: float
    deviations: float
    """Distance of its median from that of its peers, in standard deviations of healthy nodes."""
    slow: bool
    suspected: bool
    """Low enough to be slow, with too few runs to confirm it."""
    detectable: float
    """Loss of this node, with the runs that it has, that is found in 95 % of cases."""
    bad_runs: tuple[int, ...]
    """Places of single runs that are grossly low."""
    worst_run_loss: float
    """Loss of the lowest run against the node's own median."""
    evidence: float
    """e-value that its median is below its peers', valid however often it is examined (`sign_evidence`)."""
    low: float
    high: float
    """95 % interval of its median that holds after every run; infinite with few runs."""


class FleetResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the values of a fleet show."""

    nodes: tuple[NodeRuns, ...]
    median: float
    run_scatter: float
    """Standard deviation of one run of a node, a share."""
    node_scatter: float
    """Standard deviation of healthy nodes' medians, a share."""
    threshold: float
    """Loss from which a node is slow."""
    detectable: float
    """Loss of one node that is found in 95 % of cases, whichever node it is: that of the node with least power."""
    intraclass: float | None
    """Share of the variance that is between nodes, None with fewer than two runs of a node."""
    reliability: float | None
    """Share of the variance of a node's mean that is the node's own."""
    populations: tuple[tuple[str, ...], ...]
    """Two groups of unlike nodes, the slower one first; empty for one population."""
    enough: bool
    rounded: bool
    """Whether the last digit of the values is coarser than healthy nodes scatter."""


def judge_fleet(
    values: Mapping[str, Sequence[float]],
    *,
    higher_is_better: bool = True,
    effect: float = EFFECT,
    comparisons: int = 1,
) -> FleetResult:
    """Judge the nodes. `values`: of each node its runs; positive numbers, or 0 where higher is better.

    `comparisons`: how many fleets share the error rate, of which this is one.
    A node whose values are all 0 delivers nothing: it is slow, whatever the others do, and nothing is compared with
    it. Raises ValueError where there is no other node.
    """
    names = [name for name, runs in values.items() if any(runs)]
    if not names:
        raise ValueError("no values of no node")
    sign = 1.0 if higher_is_better else -1.0
    usual = float(np.median([value for runs in values.values() for value in runs if value > 0]))
    logs = [sign * np.log(np.maximum(values[name], usual * math.exp(-LOG_OF_NOTHING))) for name in names]
    medians = np.array([statistics.median(runs.tolist()) for runs in logs])  # numpy takes 30 times as long for few
    run_scatter = _run_scatter(logs)
    step = -math.log1p(-min(last_digit([value for name in names for value in values[name]]) / usual, 0.9))
    groups = populations(medians, -math.expm1(math.log1p(-effect) - step))
    tail = ERROR_RATE / 2 / len(names) / comparisons
    scales = _scales(medians, groups, run_scatter, [len(runs) for runs in logs], tail=tail, effect=effect, step=step)
    gross = max(_gross(logs, comparisons) * max(run_scatter, LEAST_SCATTER),
                step - math.log1p(-min(GROSS_EFFECTS * effect, 0.9)))  # fmt: skip
    alive = {
        name: _node(
            name,
            values[name],
            medians[place] - logs[place],
            median=math.exp(sign * medians[place]),
            low=float(scales.centres[place] - medians[place]),
            scatter=float(scales.scatters[place]),
            limits=(float(scales.limits[place]), gross),
            detectable=_share(float(scales.detectable[place])),
        )
        for place, name in enumerate(names)
    }
    nodes = tuple(alive.get(name) or _dead_node(name, runs, scales) for name, runs in values.items())
    intraclass, reliability = _intraclass(logs, gross)
    return FleetResult(
        nodes=nodes,
        median=math.exp(sign * float(np.median(medians))),
        run_scatter=run_scatter,
        node_scatter=scales.scatter,
        threshold=_share(scales.threshold),
        detectable=_share(float(scales.detectable.max())),
        intraclass=intraclass,
        reliability=reliability,
        populations=tuple(tuple(names[place] for place in group) for group in groups) if len(groups) > 1 else (),
        enough=len(names) >= FEWEST_ALIKE,
        rounded=step > scales.scatter,
    )


class _Scales(msgspec.Struct, frozen=True, kw_only=True):
    """Centre and scatter of each node's peers, the loss from which the node is low, and the loss that is found."""

    centres: Reals
    scatters: Reals
    limits: Reals
    detectable: Reals
    scatter: float
    """Scatter of nodes with the usual number of runs."""
    threshold: float
    """Loss from which a node with the usual number of runs is low."""


def _scales(
    medians: Reals,
    groups: Sequence[NDArray[np.intp]],
    run_scatter: float,
    runs: Sequence[int],
    *,
    tail: float,
    effect: float,
    step: float,
) -> _Scales:
    """Scales of the nodes. `runs`: of each node; one that has fewer than is usual scatters by more than its peers.

    `step`: the last digit of the values. A node one step lower may lose next to nothing, or nearly two.
    """
    usual = statistics.median_high(runs)
    run_error = run_scatter / math.sqrt(usual)
    errors = run_scatter * np.array([_median_error(number) for number in runs])
    excess = np.maximum(errors**2 - (run_scatter * _median_error(usual)) ** 2, 0)
    centres, scatters, beside_others = (np.empty(len(medians)) for _ in range(3))
    for group in groups:
        centre = float(np.median(medians[group]))
        spread = robust_scale(medians[group], centre)
        centres[group] = centre
        scatters[group] = max(spread, run_scatter * _median_error(usual), LEAST_SCATTER)
        beside_others[group] = _limits_beside_others(
            medians[group], centre, max(run_error, LEAST_SCATTER), tail, excess[group]
        )
    critical = _critical(tail, min(len(group) for group in groups))
    least = step - math.log1p(-effect)
    scatter = float(scatters.max())
    threshold = max(min(critical * scatter, float(np.median(beside_others))), least)
    scatters = np.sqrt(scatters**2 + excess)
    limits = np.maximum(np.minimum(critical * scatters, beside_others), least)
    usually = threshold + NORMAL_95 * scatter + step
    return _Scales(
        centres=centres,
        scatters=scatters,
        limits=limits,
        detectable=np.where(excess > 0, np.maximum(limits + NORMAL_95 * scatters, usually), usually),
        scatter=scatter,
        threshold=threshold,
    )


def _median_error(runs: int) -> float:
    """Standard error of a median of `runs` runs, in standard deviations of a run; of one or two it is their mean."""
    return (1.0 if runs <= 2 else MEDIAN_ERROR) / math.sqrt(runs)


def _dead_node(name: str, values: Sequence[float], scales: _Scales) -> NodeRuns:
    """A node that delivered nothing in any run: slow, however few these are."""
    nothing = _node(
        name, values, np.zeros(len(values)), median=0.0, low=LOG_OF_NOTHING, scatter=scales.scatter, limits=(0.0, 0.0),
        detectable=_share(float(scales.detectable.max())),
    )  # fmt: skip
    return msgspec.structs.replace(nothing, slow=True, suspected=False, loss=1.0)


def _node(
    name: str, values: Sequence[float], below: Reals, *, median: float, low: float, scatter: float,
    limits: tuple[float, float], detectable: float,
) -> NodeRuns:  # fmt: skip
    """One node. `below`: its runs below its median; `low`: that below its peers; `limits` of both, last for runs."""
    is_low = low >= limits[0]
    ends = median_sequence(values)
    return NodeRuns(
        node=name,
        values=tuple(float(value) for value in values),
        median=median,
        loss=_share(low),
        deviations=-low / scatter,
        slow=is_low and len(values) >= FEWEST_ALIKE,
        suspected=is_low and len(values) < FEWEST_ALIKE,
        detectable=detectable,
        bad_runs=() if is_low else tuple(int(run) for run in np.flatnonzero(below > limits[1])),
        worst_run_loss=_share(float(below.max())),
        evidence=sign_evidence(int((below + low > 0).sum()), len(values)),
        low=ends[0],
        high=ends[1],
    )


def _share(log_loss: float) -> float:
    """A loss on logarithms as a share."""
    return -math.expm1(-log_loss)


def _run_scatter(logs: Sequence[Reals]) -> float:
    """Scatter of one run, from differences of neighbouring runs, which a node's own level does not enter."""
    differences = [np.abs(np.diff(runs)) for runs in logs if len(runs) > 1]
    if not differences:
        return 0.0
    return robust_scale(np.concatenate(differences), 0.0) / math.sqrt(2)


def _critical(tail: float, peers: int) -> float:
    """Deviations that a healthy node exceeds with probability `tail`.

    The scale comes from few nodes where there are few: Student's quantile with the degrees of freedom of a median
    absolute deviation.
    """
    degrees = int(MAD_EFFICIENCY * (peers - 1))
    return student_quantile(1 - tail, min(max(degrees, 1), MOST_DEGREES))


def _limits_beside_others(medians: Reals, centre: float, floor: float, tail: float, excess: Reals) -> Reals:
    """The loss below `centre` that each node shows with probability `tail` if it is one of the others.

    The others' own mean and standard deviation: of few nodes they show more than a median absolute deviation, and one
    bad node does not enter them. Externally studentised residuals; Cook and Weisberg, Residuals and Influence (1982).
    Several bad nodes would hide each other: of as many as cannot be a population, the most first, the others are those
    above them; Rosner, Technometrics 25 (1983). `excess`: variance that a node with fewer runs has beyond the others.
    """
    limits = np.full(len(medians), np.inf)
    order = np.argsort(medians, kind="stable")
    most = min(_least_of_population(len(medians)) - 1, len(medians) - FEWEST_ALIKE)
    for low, last in ((order[:few], order[few - 1]) for few in range(most, 0, -1)):
        above = medians[order[len(low) :]]
        beside = _beside(centre - above.mean(), above.std(ddof=1), len(above), floor, tail, excess)
        if centre - medians[last] >= beside[last]:
            limits[low], order = beside[low], order[len(low) :]
            break
    left = medians[order]
    count = len(left) - 1
    if count >= FEWEST_ALIKE:
        mean = (left.sum() - left) / count
        squares = (left**2).sum() - left**2 - count * mean**2
        deviation = np.sqrt(np.maximum(squares, 0) / (count - 1))
        limits[order] = _beside(centre - mean, deviation, count, floor, tail, excess[order])
    return limits


def _beside(ahead: Reals, deviation: Reals, count: int, floor: float, tail: float, excess: Reals) -> Reals:
    """The loss that a node shows with probability `tail` beside `count` others. `ahead`: all nodes, of their mean."""
    scale = np.sqrt(np.maximum(deviation, floor) ** 2 * (1 + 1 / count) + excess)
    limits: Reals = student_quantile(1 - tail, min(count - 1, FEWEST_ALIKE + 1)) * scale + ahead
    return limits


def _gross(logs: Sequence[Reals], comparisons: int) -> float:
    """Deviations of a run below its node's median that no healthy run reaches."""
    differences = sum(len(runs) - 1 for runs in logs)
    tail = ERROR_RATE / 2 / sum(map(len, logs)) / comparisons
    degrees = min(max(int(MAD_EFFICIENCY * differences), 1), MOST_DEGREES)
    return max(GROSS_SCALES, student_quantile(1 - tail, degrees))


def _least_of_population(nodes: int, share: float = GROUP_SHARE) -> int:
    """Fewest nodes that are a population of their own."""
    return max(math.ceil(share * nodes), FEWEST_ALIKE)


def populations(medians: Reals, effect: float, share: float = GROUP_SHARE) -> list[NDArray[np.intp]]:
    """Places of the logarithms of one population, or of two, the lower one first: each has this share of them."""
    order = np.argsort(medians, kind="stable")
    least = _least_of_population(len(order), share)
    cut = two_groups(medians[order], effect, lower=least, upper=least)
    return [np.sort(group) for group in (order[:cut], order[cut:]) if len(group)]


def _intraclass(logs: Sequence[Reals], gross: float) -> tuple[float | None, float | None]:
    """ICC(1) and the reliability of a node's mean, grossly low runs left out.

    Shrout and Fleiss, Intraclass correlations, Psychological Bulletin 86 (1979).
    """
    kept = [runs[statistics.median(runs.tolist()) - runs <= gross] for runs in logs if len(runs) > 1]
    kept = [runs for runs in kept if len(runs) > 1]
    if len(kept) < 2:
        return None, None
    counts = np.array([len(runs) for runs in kept], dtype=np.float64)
    means = np.array([float(runs.mean()) for runs in kept])
    total = float(counts.sum())
    between = float((counts * (means - (counts * means).sum() / total) ** 2).sum()) / (len(kept) - 1)
    within = sum(float(((runs - runs.mean()) ** 2).sum()) for runs in kept) / (total - len(kept))
    usual = (total - float((counts**2).sum()) / total) / (len(kept) - 1)
    own = max(between - within, 0.0) / usual
    if own + within <= 0:
        return None, None
    return own / (own + within), own / (own + within / usual)


def sign_evidence(below: int, runs: int) -> float:
    """The e-value that the median is below a limit, with `below` of the `runs` below it. 20 is evidence at 5 %.

    The likelihood ratio of the share p of runs below the limit against 1/2, averaged over p from 1/2 to 1:
    2^(n+1) times the integral of p^k (1-p)^(n-k), which is a sum of binomial coefficients.
    """
    if not 0 <= below <= runs:
        raise ValueError(f"{below} of {runs} runs is not possible")
    term = total = math.comb(runs + 1, below)
    for fewer in range(below, 0, -1):
        term = term * fewer // (runs + 2 - fewer)
        total += term
        if total.bit_length() - term.bit_length() > NEGLIGIBLE_BITS:
            break
    try:
        return min(total / ((runs + 1) * math.comb(runs, below)), MOST_EVIDENCE)
    except OverflowError:
        return MOST_EVIDENCE


NEGLIGIBLE_BITS = 80
"""A term of a decreasing series that is smaller by this many bits is less than what a number keeps of the sum."""
MOST_EVIDENCE = 1 / TINY
"""Thousands of runs have more than a number can hold."""


@functools.lru_cache(maxsize=4096)
def alarm_count(runs: int, error_rate: float = SEQUENCE_ERROR_RATE) -> int:
    """The fewest of the `runs` below a limit that are evidence at `error_rate`; more than `runs` if none is.

    A test that is repeated after every run rejects too often. The evidence here is an e-value: the probability that it
    ever exceeds 1 / alpha is at most alpha, however often it is examined (Ville's inequality; Ramdas et al.,
    Statistical Science 38, 2023). It assumes nothing of the values but that runs are independent.
    """
    return bisect.bisect_left(range(runs + 1), 1 / error_rate, key=lambda below: sign_evidence(below, runs))


def median_sequence(values: Sequence[float]) -> tuple[float, float]:
    """An interval for the median that holds after every run at once, with probability 1 - `SEQUENCE_ERROR_RATE`.

    Values for which neither direction of the sign test has evidence at half the error rate (the quantile sequences of
    Howard and Ramdas, Bernoulli 28, 2022, with this e-process). Infinite ends with few runs.
    """
    ordered = sorted(values)
    runs = len(ordered)
    rank = alarm_count(runs, SEQUENCE_ERROR_RATE / 2)
    if rank > runs:
        return -math.inf, math.inf
    return ordered[runs - rank], ordered[rank - 1]
