"""Numbers far off those beside them: message sizes of a table, repetitions, kernels, tests of one problem size."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import accumulate, pairwise
from typing import NamedTuple

from seatrial.benchmarks.declaration import AlikeNumbers, Benchmark
from seatrial.model import units
from seatrial.model.benchmark import Better, Breach, Label, Metric, Output, Result
from seatrial.model.unit_text import number_of
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

OFF = 3.0
"""How far off a size is named. Where protocols change, a bandwidth loses a third and seldom half of itself, and a
latency rises two or three times and stays there; beyond caches a rate falls by half from one size to the next.
Repetitions of transfers on shared file systems, which scatter most, seldom differ by as much."""
OFF_SMALL, SMALL_BYTES = 8.0, 1 << 12
"""How far below this size, where a few repetitions take so little time that one interruption shows."""
NEAR = 4
"""The most by which neighbouring sizes differ for a peak or a fall: a smooth curve may have one between others."""
STEPS = {1: 1.0, 2: 4 / 3, 3: 4 / 3}
"""Over which steps a fall is looked for, and how much larger its bound is: several caches may end there."""
FEWEST = 3
"""Rows of a table, and rows at its beginning that do not show one interruption."""
TYPICAL = ("average", "mean", "p50", "median")
"""Statistics that are judged: extremes scatter."""
MESSAGES = "1/s"
UNITS = ("B/s", MESSAGES, "s")
RATES = ("flop/s", *UNITS)


REPETITIONS = AlikeNumbers((), OFF)


class SizePoint(NamedTuple):
    """One row: the least and the most that its number may mean before it was rounded, more being better.

    `size`: in bytes, or such that `OFF` holds.
    """

    size: int
    least: float
    most: float
    result: Result

    @property
    def flow(self) -> "SizePoint":
        """Bytes in the printed time, in place of its inverse."""
        return self._replace(least=self.least * self.size, most=self.most * self.size)

    @property
    def pace(self) -> "SizePoint":
        """Messages in the printed time, of a bandwidth."""
        return self._replace(least=self.least / self.size, most=self.most / self.size)

    @property
    def off(self) -> float:
        """The factor from which on this size is named."""
        return OFF if self.size >= SMALL_BYTES else OFF_SMALL


class Uneven(NamedTuple):
    """What is uneven in a table: by which factor, the number, one beside it, and a sentence without its end."""

    factor: float
    result: Result
    other: Result | None
    reason: str

    def breach(self, metric: Metric) -> Breach:
        """It as a note; in a first line the two numbers are enough."""
        size = f" at {_size(self.result)}" if self.result.labels.get("bytes") else ""
        values = [units.in_unit(each.value, metric.unit) for each in (self.result, self.other) if each]
        return Breach(
            kind=FindingKind.UNEVEN_NUMBERS,
            reason=self.reason,
            brief=f"{_name(metric)} {values[0]}{size}, beside {values[1]}" if self.other else "",
            line=self.result.line,
            text=self.result.printed,
        )


def uneven_numbers(benchmark: Benchmark, output: Output) -> list[Breach]:
    """The worst number of each table, of the metric that is declared first; a size with two rows comes before."""
    uneven: dict[object, Breach] = {}
    for metric in benchmark.metrics:
        for key, table in _tables(metric, output):
            for part in (*_repeated(table), *sorted(_off(metric, table), key=lambda part: -part.factor)):
                uneven.setdefault(key, part.breach(metric))
        for group, part in _uneven_groups(benchmark, metric, output):
            uneven.setdefault(group, part.breach(metric))
    breaches = {(breach.line, breach.reason): breach for breach in uneven.values()}
    return sorted(breaches.values(), key=lambda breach: breach.line)


def _uneven_groups(benchmark: Benchmark, metric: Metric, output: Output) -> Iterator[tuple[object, Uneven]]:
    """Repetitions far apart, and those of the main metric that are alike by declaration, the worst of a table first."""
    results = [
        result
        for result in (output.results if metric.unit in RATES else ())
        if result.metric == metric.name and 0 < result.value < math.inf
    ]
    of_table = {"bytes", *(name for alike in benchmark.alike for name in alike.labels)}
    for alike in (REPETITIONS, *(each for each in benchmark.alike if each.in_turn or metric == benchmark.main)):
        groups: defaultdict[tuple[object, ...], list[Result]] = defaultdict(list)
        times: Counter[tuple[object, ...]] = Counter()
        for result in results:
            typical = "statistic" in alike.labels or result.labels.get("statistic", TYPICAL[0]) in TYPICAL
            if not typical or alike.in_turn == bool(result.setting):
                continue
            labels = ("", result.setting), *sorted(result.labels.items())
            times[labels] += 1 if alike.labels else 0
            groups[(times[labels], *(label for label in labels if label[0] not in alike.labels))].append(result)
        look = _worse_for_a_time if alike.in_turn else _apart
        apart = [part for group in groups.values() for part in look(metric, alike, group)]
        for part in sorted(apart, key=lambda part: -part.factor):
            of_part = (label for label in sorted(part.result.labels.items()) if label[0] not in of_table)
            yield (alike.labels, part.result.setting, *of_part), part


def _apart(metric: Metric, alike: AlikeNumbers, group: Sequence[Result], repetitions: int = 0) -> Iterator[Uneven]:
    """The least and the greatest of several numbers that are farther apart than they may be, the odd one first."""
    extremes = [extreme(group, key=lambda result: result.value) for extreme in (min, max)]
    worst, best = sorted(_points(metric, extremes), key=lambda point: point.most)
    most = alike.most if alike.labels else worst.off
    if not 0 < worst.most * most <= best.least:
        return
    middle = sorted(result.value for result in group)[len(group) // 2] if len(group) > 2 else best.result.value
    nearer = best if abs(math.log(middle / best.result.value)) <= abs(math.log(middle / worst.result.value)) else worst
    odd, other = (worst, best) if nearer is best else (best, worst)
    values = [units.in_unit(point.result.value, metric.unit) for point in (odd, other)]
    if alike.labels:
        names = [" ".join(str(point.result.labels[name]) for name in alike.labels) for point in (odd, other)]
        ends = f"{values[0]} ({names[0]}), beside {values[1]} ({names[1]})"
    else:
        labels = {name: label for name, label in odd.result.labels.items() if label != "" and name != "statistic"}
        where = ", ".join(_size(odd.result) if name == "bytes" else f"{name} {label}" for name, label in labels.items())
        of = f" ({where})" if where else ""
        ends = f"{values[0]} in one of {count(repetitions or len(group), 'repetition')}{of}, beside {values[1]}"
    reason = f"{_name(metric)} is {ends}: the most expected is {most:g} times"
    yield Uneven(best.least / worst.most, odd.result, other.result, reason)


def _worse_for_a_time(metric: Metric, alike: AlikeNumbers, group: Sequence[Result]) -> Iterator[Uneven]:
    """The number that is worst beside better ones before and behind it, as no growing number of ranks makes it."""
    points = _points(metric, group)
    reached = map(min, _best_before(points), _best_before(points[::-1])[::-1])
    factors = [better / point.most if point.most else 0.0 for better, point in zip(reached, points, strict=True)]
    worst = factors.index(max(factors))
    if factors[worst] >= points[worst].off:
        before, behind = (max(part, key=lambda point: point.least) for part in (points[:worst], points[worst + 1 :]))
        three = [point.result for point in (before, points[worst], behind)]
        yield from _apart(metric, alike, three, repetitions=len(group))


def _tables(metric: Metric, output: Output) -> Iterator[tuple[tuple[object, ...], list[Result]]]:
    """The numbers of a metric over rising sizes, with what is the same for all metrics of that table."""
    tables: defaultdict[tuple[tuple[str, Label], ...], list[list[Result]]] = defaultdict(list)
    for result in output.results if metric.unit in UNITS else ():
        size = result.labels.get("bytes")
        if result.metric != metric.name or not isinstance(size, int) or size <= 0 or not math.isfinite(result.value):
            continue
        if result.labels.get("statistic", TYPICAL[0]) not in TYPICAL:
            continue
        group = tuple((name, label) for name, label in result.labels.items() if name not in ("bytes", "statistic"))
        of_group = tables[group]
        if of_group and _follows(of_group[-1][-1], result, size):
            of_group[-1].append(result)
        else:
            of_group.append([result])
    for group, of_group in tables.items():
        yield from (((*group, place), table) for place, table in enumerate(of_group) if len(table) >= FEWEST)


def _follows(before: Result, result: Result, size: int) -> bool:
    """Whether a row belongs to the table of the row before: its size is larger, or the same in the next line."""
    last = before.labels["bytes"]
    return isinstance(last, int) and (size > last or (size == last and result.line == before.line + 1))


def _repeated(table: Sequence[Result]) -> Iterator[Uneven]:
    """Sizes with several rows, beside others: a program prints each once."""
    again = [after for before, after in pairwise(table) if before.labels["bytes"] == after.labels["bytes"]]
    if again and len(again) < len(table) - 1:
        more = f", and {count(len(again) - 1, 'more row')} of that kind" if len(again) > 1 else ""
        yield Uneven(math.inf, again[0], None, f"{_size(again[0])} has two rows{more}")


def _off(metric: Metric, table: Sequence[Result]) -> Iterator[Uneven]:
    """Sizes that are worse than smaller and larger ones, and those better than both neighbours."""
    points = _points(metric, table)
    below, above = _best_before(points), _best_before(points[::-1])[::-1]
    for place, point in enumerate(points):
        if 0 < point.most * point.off <= (reached := min(below[place], above[place])):
            better = [one for one in points if point.most * point.off <= one.least]
            smaller = next(one for one in reversed(better) if one.size <= point.size)
            larger = next(one for one in better if one.size > point.size)
            yield _beside(metric, point, (smaller, larger), reached / point.most)
    for before, point, after in zip(points, points[1:], points[2:], strict=False):
        best = max(before.most, after.most)
        if 0 < best * point.off <= point.least and max(point.size / before.size, after.size / point.size) <= NEAR:
            yield _beside(metric, point, (before, after), point.least / best)
    if metric.unit != MESSAGES:
        yield from _falls(metric, points)
        yield from _slow_beginning(metric, [point for point in points if point.result.value])  # 0 is rounded there


def _falls(metric: Metric, points: Sequence[SizePoint]) -> Iterator[Uneven]:
    """Sizes from which on less flows than for a size shortly before: bandwidths, and sizes over times."""
    flows = [point.flow if metric.better is Better.LESS else point for point in points]
    rest = list(accumulate((flow.most for flow in reversed(flows)), max))[::-1]
    for steps, wider in STEPS.items():
        for before, point, left in zip(flows, flows[steps:], rest[steps:], strict=False):
            if 0 < left * point.off * wider <= before.least and point.size <= NEAR**steps * before.size:
                ends = f"{_at(metric, before)} to {_at(metric, point)}"
                within = "at once" if steps == 1 else f"within {count(steps, 'size')}"
                reason = f"{_name(metric)} changes from {ends} {within}, and larger messages do not recover"
                yield Uneven(before.least / left, point.result, before.result, reason)


def _slow_beginning(metric: Metric, points: Sequence[SizePoint]) -> Iterator[Uneven]:
    """The last of several sizes from the smallest on that take longer than a larger one."""
    paces = points if metric.better is Better.LESS else [point.pace for point in points]
    best = _best_before(paces[::-1])[::-1]
    quickest = list(accumulate((pace.most for pace in paces), max))
    slow = [place for place, most in enumerate(quickest) if 0 < most * points[place].off <= best[place]]
    if slow and (place := slow[-1]) + 1 >= FEWEST:
        faster = next(later for later in paces[place + 1 :] if later.least == best[place])
        ends = f"{_at(metric, points[place])}, beside {_at(metric, faster)}"
        reason = f"{_name(metric)} is {ends}: all smaller messages take as long"
        yield Uneven(best[place] / quickest[place], points[place].result, faster.result, reason)


def _best_before(points: Sequence[SizePoint]) -> list[float]:
    """The best of all points before each; 0 for the first."""
    return list(accumulate((point.least for point in points), max, initial=0.0))[:-1]


def _points(metric: Metric, table: Sequence[Result]) -> list[SizePoint]:
    """The rows with what their numbers may mean; of times the inverse, so that more is better."""
    scale = 0.0  # of a row of 0 that of the row before
    points = []
    for result in table:
        number = number_of(result.printed)
        scale = result.value / number if number else scale
        half = _half_digit(result.printed) * abs(scale) if result.line else 0.0  # JSON has all digits
        least, most = max(result.value - half, 0.0), max(result.value + half, 0.0)
        if metric.better is Better.LESS:
            least, most = 1 / most if most else math.inf, 1 / least if least else math.inf
        points.append(SizePoint(int(result.labels.get("bytes", SMALL_BYTES)), least, most, result))
    return points


def _half_digit(printed: str) -> float:
    """Half of the last digit of a number: 0.005 for 12.30."""
    try:
        exponent = Decimal(printed).as_tuple().exponent
    except InvalidOperation:
        return 0.0
    return 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0


def _beside(metric: Metric, point: SizePoint, others: Sequence[SizePoint], factor: float) -> Uneven:
    """What one size reaches, and what the others do."""
    beside = " and ".join(_at(metric, other) for other in others)
    return Uneven(factor, point.result, others[0].result, f"{_name(metric)} is {_at(metric, point)}, beside {beside}")


def _at(metric: Metric, point: SizePoint) -> str:
    """`61.2 GB/s at 256 MiB`."""
    return f"{units.in_unit(point.result.value, metric.unit)} at {_size(point.result)}"


def _size(result: Result) -> str:
    return units.size(int(result.labels["bytes"]))


def _name(metric: Metric) -> str:
    """`bus bandwidth` for `bus_bandwidth_bytes_per_s`."""
    return re.sub(r"(?:_bytes|_flops)?(?:_per)?_s$", "", metric.name).replace("_", " ")
