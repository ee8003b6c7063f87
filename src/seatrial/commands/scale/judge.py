"""Judges one scaling curve: speed-up and efficiency with intervals, modes, gates, fits, and where more do not pay."""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.scale.evidence import MOST_BY_CACHE, cache_explanation, work_breaches
from seatrial.commands.scale.points import LeftOut, ScaleCurve, ScaleRun
from seatrial.model.benchmark import Better, Breach
from seatrial.model.measurement import Estimate
from seatrial.model.units import prefixed, share
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count, natural_key, some, verb
from seatrial.statistics.estimates import (
    CONFIDENCE,
    ERROR_RATE,
    FEWEST_ALIKE,
    LEAST_SCATTER,
    MEDIAN_ERROR,
    median_estimate,
    runs_to_detect,
    student_quantile,
    two_groups,
)
from seatrial.statistics.scaling import ScalingFit, fit_amdahl, fit_universal

SUPERLINEAR, SUSPECT = 1.02, 1.05
"""Efficiency from which on a point is faster than linear, if it exceeds that by more than the noise of the curve; and
from which on it is suspected to be, as a fall by that factor is suspected."""
PAYS = 0.5
"""A step to more pays if at least this share of what is added becomes speed."""
GAP = 0.08
"""Two modes differ by this share of the median or more."""
FEWEST_OF_MODE = 2
MOST_LEFT_OUT = 8
"""Rows that a note lists; the JSON object has all."""
LEAST, MOST = 1e-100, 1e100
"""Numbers beyond these are none that anybody measured, and their quotients would be 0 or infinite."""


class ScalePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One size. `speedup` and `efficiency` are relative to the smallest size."""

    size: float
    value: Estimate
    speedup: Estimate
    efficiency: Estimate
    per_result: float
    """Size times time for the same work, relative to the smallest size: node-hours per result."""
    of_own: float | None = None
    """Rate as a share of the sum of the rates that its nodes have alone."""
    own_bound: float | None = None
    """The most of that sum that is possible where each node has the same work: all wait for the slowest."""
    balance: float | None = None
    """Mean over largest share of the work of a rank: the most efficiency that the division of the mesh permits."""
    marks: tuple[str, ...] = ()
    explanation: str = ""
    """Why it is faster than linear."""


class CurveNoise(msgspec.Struct, frozen=True, kw_only=True):
    """Scatter of the logarithms of single runs, and by which factor two medians differ beyond it."""

    deviation: float = math.inf
    """The pooled scatter of the runs of each size; of single runs that about a law of scaling, if one was fitted."""
    degrees: int = 1
    repeated: bool = False
    """Whether it is that of repeated runs. The other one is too large for a curve that follows no law."""
    chance: float
    """Probability with which noise alone may exceed one of the bounds of a curve."""

    def beyond(self, first: Estimate, second: Estimate, *, power: float = 0.5) -> float:
        """The factor that shows a difference; without repeated runs at most the one that caches cannot explain.

        `power`: the factor by which both must differ in truth to exceed the bound with this probability.
        """
        deviations = student_quantile(1 - self.chance, self.degrees) + student_quantile(power, self.degrees)
        most = MOST if self.repeated else MOST_BY_CACHE
        return math.exp(min(deviations * self._error(first, second), math.log(most)))

    def suspicious(self, first: Estimate, second: Estimate) -> float:
        """The factor from which on more runs are needed; repeated runs exceed it in one of twenty comparisons."""
        if not self.repeated:
            return SUSPECT
        return max(math.exp(student_quantile(CONFIDENCE, self.degrees) * self._error(first, second)), SUSPECT)

    def remedy(self, factor: float, first: Estimate, second: Estimate) -> str:
        """How many runs of each size decide whether two medians differ, if they do by this factor."""
        if not self.repeated:
            return f"single runs, measure each size {FEWEST_ALIKE} times"
        runs = min(first.runs, second.runs) + 1
        deviation, confidence = MEDIAN_ERROR * self.deviation, 1 - 2 * self.chance
        needed = runs_to_detect(1 - 1 / factor, deviation, confidence=confidence)
        return f"{max(needed or runs, runs)} runs of each size decide"

    def _error(self, first: Estimate, second: Estimate) -> float:
        shares = [(MEDIAN_ERROR**2 if item.runs > 2 else 1) / item.runs for item in (first, second)]
        return self.deviation * math.sqrt(sum(shares))


class JudgedCurve(msgspec.Struct, frozen=True, kw_only=True):
    """A curve with its points and what is wrong with them."""

    curve: ScaleCurve
    weak: bool
    points: tuple[ScalePoint, ...]
    breaches: tuple[tuple[str, Breach], ...]
    """Which size or file, and what is wrong."""
    fits: tuple[ScalingFit, ...]
    pays_up_to: float | None
    """The size beyond which more do not pay; None: they pay as far as measured."""
    undecided: tuple[tuple[str, str], ...] = ()
    """Which size may be faster than linear or slower than a smaller one, and how many runs decide."""
    detectable: float | None = None
    """The smallest loss of speed of the largest size against a smaller one that these runs would have shown."""
    notes: tuple[str, ...] = ()
    lost: tuple[float, ...] = ()
    """Sizes of which no run has a positive number."""
    left_out: tuple[LeftOut, ...] = ()
    """Rows and files that are not part of the curve."""
    memory: str = ""
    """Whether memory is why more do not pay, where a run that measured it was named."""


def _usable(run: ScaleRun) -> bool:
    return LEAST < run.value < MOST and LEAST < run.size < MOST


def values_at(curve: ScaleCurve, size: float) -> list[float]:
    """The values of all runs of one size that can be used."""
    return [run.value for run in curve.runs if run.size == size and _usable(run)]


def judge_curve(curve: ScaleCurve, *, weak: bool, own_rates: Mapping[str, float] | None = None) -> JudgedCurve:
    """The judgement of one curve. `own_rates`: the rate or time of each node alone, in the metric of the curve."""
    by_size: defaultdict[float, list[ScaleRun]] = defaultdict(list)
    for run in sorted(filter(_usable, curve.runs), key=lambda run: run.size):
        by_size[run.size].append(run)
    base = next(iter(by_size.values()), [])
    points = [_point(curve, runs, base, weak, own_rates or {}) for runs in by_size.values()]
    sizes, rates = [point.size for point in points], [point.speedup.value for point in points]
    fits = (fit_amdahl(sizes, rates), fit_universal(sizes, rates)) if points else ()
    noise = _noise(by_size, fits)
    breaches = work_breaches(curve, weak=weak)
    undecided: list[tuple[str, str]] = []
    for place, runs in enumerate(by_size.values()):
        points[place] = _marked(curve, points[place], runs, base, noise, breaches, undecided)
    _slower_with_more(curve, points, noise, breaches, undecided)
    left_out = [*curve.left_out, *(_without_value(curve, run) for run in curve.runs if not _usable(run))]
    left_out.sort(key=lambda item: natural_key(item.source))
    return JudgedCurve(
        curve=curve,
        weak=weak,
        points=tuple(points),
        breaches=tuple(breaches),
        fits=fits,
        pays_up_to=_pays_up_to(points),
        undecided=tuple(undecided),
        detectable=_detectable(points, noise),
        notes=_notes(curve, by_size, left_out),
        lost=tuple(sorted({run.size for run in curve.runs} - by_size.keys())),
        left_out=tuple(left_out),
    )


def _noise(by_size: Mapping[float, Sequence[ScaleRun]], fits: Sequence[ScalingFit]) -> CurveNoise:
    """The noise of the runs of each size; if most sizes have one run, also that about each law: the least one."""
    chance = ERROR_RATE / max(2 * (len(by_size) - 1), 1)
    logs = [[math.log(run.value) for run in runs] for runs in by_size.values()]
    degrees = sum(len(items) - 1 for items in logs)
    noises = [CurveNoise(chance=chance)]
    if degrees:
        squares = sum((item - sum(items) / len(items)) ** 2 for items in logs for item in items)
        deviation = max(math.sqrt(squares / degrees), LEAST_SCATTER)
        noises.append(CurveNoise(deviation=deviation, degrees=degrees, repeated=True, chance=chance))
    if degrees < len(logs):
        noises += [
            CurveNoise(deviation=max(fit.scatter, LEAST_SCATTER), degrees=len(logs) - parameters, chance=chance)
            for parameters, fit in enumerate(fits, 2)
            if fit.scatter is not None
        ]
    return min(noises, key=lambda noise: noise.deviation * student_quantile(1 - chance, noise.degrees))


def _marked(
    curve: ScaleCurve,
    point: ScalePoint,
    runs: Sequence[ScaleRun],
    base: Sequence[ScaleRun],
    noise: CurveNoise,
    breaches: list[tuple[str, Breach]],
    undecided: list[tuple[str, str]],
) -> ScalePoint:
    """The point with its marks; what is wrong with it is added to `breaches` or `undecided`."""
    where, part = f"{curve.name} at {point.size:g}", point.efficiency
    marks, explanation = [], ""
    compared = point.value, median_estimate([run.value for run in base])
    shown = part.value > SUPERLINEAR * noise.beyond(*compared)
    if runs[0].size > base[0].size and (shown or part.value > noise.suspicious(*compared)):
        marks.append("superlinear")
        explanation, doubt = cache_explanation(base, runs, part.value)
        reason = f"efficiency {share(part.value)}"
        if doubt and shown:
            breaches.append((where, Breach(kind=FindingKind.SUPERLINEAR, reason=f"{reason}: {doubt}")))
        elif doubt:
            undecided.append((where, f"{reason}; {noise.remedy(part.value / SUPERLINEAR, *compared)}"))
    if modes := _modes([run.value for run in runs]):
        marks.append("bimodal")
        breaches.append((where, Breach(kind=FindingKind.BIMODAL, reason=modes)))
    return msgspec.structs.replace(point, marks=tuple(marks), explanation=explanation)


def _slower_with_more(
    curve: ScaleCurve,
    points: Sequence[ScalePoint],
    noise: CurveNoise,
    breaches: list[tuple[str, Breach]],
    undecided: list[tuple[str, str]],
) -> None:
    """The largest size, where a smaller one is faster: beyond the noise of the curve, or perhaps."""
    last = points[-1] if points else None
    best = max(points, key=lambda point: point.speedup.value, default=None)
    if last is None or best is None or best is last:
        return
    factor = best.speedup.value / last.speedup.value
    where = f"{curve.name} at {last.size:g}"
    reason = (
        f"speed-up {last.speedup.value:.3g} with {last.size:g} {curve.over}, "
        f"{best.speedup.value:.3g} with {best.size:g}"
    )
    if factor >= noise.beyond(best.value, last.value):
        breaches.append((where, Breach(kind=FindingKind.SLOWER_WITH_MORE, reason=reason)))
    elif factor > noise.suspicious(best.value, last.value):
        undecided.append((where, f"{reason}; {noise.remedy(factor, best.value, last.value)}"))


def _detectable(points: Sequence[ScalePoint], noise: CurveNoise) -> float | None:
    if len(points) < 2:
        return None
    best = max(points[:-1], key=lambda point: point.speedup.value)
    return 1 - 1 / noise.beyond(best.value, points[-1].value, power=CONFIDENCE)


def _point(
    curve: ScaleCurve, runs: Sequence[ScaleRun], base: Sequence[ScaleRun], weak: bool, own_rates: Mapping[str, float]
) -> ScalePoint:
    value = median_estimate([run.value for run in runs])
    start = median_estimate([run.value for run in base])
    size, first = runs[0].size, base[0].size
    grown = size / first
    gain = _ratio(value, start) if curve.better is Better.MORE else _ratio(start, value)
    if weak and (curve.better is Better.LESS or curve.of_problem):
        gain = _times(gain, grown)
    if runs[0].size == first:
        gain = msgspec.structs.replace(gain, value=1.0, low=1.0, high=1.0)  # by definition
    efficiency = _times(gain, 1 / grown)
    return ScalePoint(
        size=size,
        value=value,
        speedup=gain,
        efficiency=efficiency,
        per_result=1 / efficiency.value,
        of_own=_of_own(curve, runs, value, own_rates, grown if weak else 1.0),
        own_bound=next((run.own_bound for run in runs if run.own_bound), None),
        balance=next((share for run in runs if (share := _balance(run)) is not None), None),
    )


def _ratio(upper: Estimate, lower: Estimate) -> Estimate:
    """Quotient of two medians: from the least to the largest that both intervals permit."""
    return Estimate(
        value=upper.value / lower.value,
        low=upper.low / lower.high,
        high=upper.high / lower.low,
        confidence=max(upper.confidence + lower.confidence - 1, 0.0),
        runs=min(upper.runs, lower.runs),
        method="quotient of medians, Bonferroni",
    )


def _times(estimate: Estimate, factor: float) -> Estimate:
    return msgspec.structs.replace(
        estimate, value=estimate.value * factor, low=estimate.low * factor, high=estimate.high * factor
    )


def _balance(run: ScaleRun) -> float | None:
    balance = run.work.get("balance")
    return balance if isinstance(balance, float) else None


def _of_own(
    curve: ScaleCurve, runs: Sequence[ScaleRun], value: Estimate, own_rates: Mapping[str, float], grown: float
) -> float | None:
    """The share of the sum of the nodes' own rates, where each of them is known. `grown`: how much more work."""
    rate = value.value if curve.better is Better.MORE else 1 / value.value
    if curve.better is Better.LESS or curve.of_problem:
        rate *= grown
    given = [run.own_rate for run in runs if run.own_rate]
    if given:
        return rate / (sum(given) / len(given))
    hosts = str(runs[0].work.get("hosts", "")).split(",")
    if not all(host in own_rates for host in hosts):
        return None
    alone = [own_rates[host] if curve.better is Better.MORE else 1 / own_rates[host] for host in hosts]
    return rate / sum(alone)


def _modes(values: Sequence[float]) -> str:
    """Two kinds of runs, with how many each and their medians; empty where there is one kind."""
    ordered = sorted(values)
    cut = two_groups(ordered, GAP * ordered[len(ordered) // 2], lower=FEWEST_OF_MODE, upper=FEWEST_OF_MODE)
    parts = (ordered[:cut], ordered[cut:]) if cut else ()
    return " and ".join(f"{len(part)} of {len(ordered)} runs near {prefixed(part[len(part) // 2])}" for part in parts)


def _pays_up_to(points: Sequence[ScalePoint]) -> float | None:
    """The last size before the first step of which less than PAYS becomes speed."""
    for before, after in itertools.pairwise(points):
        added = after.size / before.size - 1
        gained = after.speedup.value / before.speedup.value - 1
        if gained < PAYS * added:
            return before.size
    return None


def _without_value(curve: ScaleCurve, run: ScaleRun) -> LeftOut:
    """Why a run is not part of its curve."""
    reason = f"{curve.metric} is {run.value:g}" if LEAST < run.size < MOST else f"{curve.over} is {run.size:g}"
    return LeftOut(source=run.source, reason=run.missing or reason)


def _notes(
    curve: ScaleCurve, by_size: Mapping[float, Sequence[ScaleRun]], left_out: Sequence[LeftOut]
) -> tuple[str, ...]:
    notes = []
    if curve.repeated:
        number = curve.repeated
        rows = f"{count(number, 'row')} {verb(number, 'repeats', 'repeat')} another run in every number"
        notes.append(f"{rows}; {verb(number, 'it is', 'they are')} counted once.")
    if left_out:
        listed = some([f"{item.source} ({item.reason})" for item in left_out], MOST_LEFT_OUT)
        runs = f"{count(len(left_out), 'run')} {verb(len(left_out), 'has', 'have')} no positive number"
        notes.append(f"{runs} and {verb(len(left_out))} left out: {listed}.")
    if curve.others:
        notes.append(f"No numbers of {curve.metric} in {some(curve.others, MOST_LEFT_OUT)}.")
    if len(by_size) < 2:
        notes.append("One size is not a curve.")
    return tuple(notes)
