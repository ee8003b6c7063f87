"""The evidence on each pair: one value for each run, separately for survey and retest."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec

from seatrial.locate.thresholds import EXPLAINED, STALL_S
from seatrial.model.measurement import Estimate, Kernel, Measurement, Phase
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.statistics.estimates import median, median_estimate

Pair = tuple[str, str]
T = TypeVar("T")

LONGEST_WAIT = 0.99
"""Share of the time: ranks that waited longer hardly ran at all."""
SHORTEST_S = 1e-12
"""Shorter than any clock resolves; a coarse clock may report that no time passed."""

TELLING = (Phase.RETEST, Phase.NEXT, Phase.SURVEY, Phase.LAST)
"""Phases by weight: the runs of the first one present decide. In the survey, pairs may have shared cables."""

APART = (Phase.PILOT, Phase.VARIANT, Phase.LOADED, Phase.SATURATION)
"""Phases that say nothing of a single pair under the site's own settings."""


FIRST = (Phase.LAST, Phase.NEXT, Phase.SURVEY, Phase.RETEST)
"""What suspects come from, the latest first: a retest says nothing of the pairs that it left out."""
AVERAGED = (Phase.NEXT, Phase.SURVEY)
"""What averages over all pairs of a node are taken from."""


class RunSeries(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value a run (bytes per second or seconds), and how many of how many round trips stalled."""

    runs: tuple[float, ...] = ()
    stalls: int = 0
    excused_stalls: int = 0
    """Round trips that took as long, while their ranks waited for a processor."""
    trips: tuple[tuple[int, int, int], ...] = ()
    """Each run of round trips: its place among all measurements, how many of both kinds it has, and of how many."""
    slowest_window_bytes_per_s: float | None = None
    """The slowest window of all runs; None for latency."""
    waited: tuple[tuple[float, float], ...] = ()
    """Shares of each run's time for which the ranks of source and target had no processor; 0: not known."""
    numbers: tuple[int, ...] = ()
    """The number of each run among those of all retests: runs of different pairs that have the same number
    were measured in the same minute."""
    since: int = 0
    """The first number that counts: what came before was overtaken by the last look."""

    def by_number(self, values: Sequence[T]) -> dict[int, T]:
        """One value of each run, by the number of the run; of round trips from both ends in one run the later."""
        return dict(zip(self.numbers or range(len(values)), values, strict=True))

    @property
    def current(self) -> "RunSeries":
        """The series without the runs before `since`."""
        if not self.since:
            return self
        kept = [place for place, number in enumerate(self.numbers) if number >= self.since]
        return msgspec.structs.replace(
            self,
            runs=tuple(self.runs[place] for place in kept),
            waited=tuple(self.waited[place] for place in kept),
            numbers=tuple(self.numbers[place] for place in kept),
        )


NO_SERIES = RunSeries()


class MeasuredPair(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is known of one ordered pair. Latency is one way and holds for both directions.

    What is derived from it is derived once: a check judges each pair several times.
    """

    bandwidth: Mapping[Phase, RunSeries]
    latency: Mapping[Phase, RunSeries]
    pairs_at_once: int = 1

    @property
    def retested(self) -> bool:
        """Whether anything of it was measured again."""
        return self.retests(BANDWIDTH) + self.retests(LATENCY) > 0

    def of(self, metric: str) -> Mapping[Phase, RunSeries]:
        """The bandwidth of the pair, or its latency."""
        return self.bandwidth if metric == BANDWIDTH else self.latency

    def retests(self, metric: str) -> int:
        """Runs of the retest, of bandwidth or of latency."""
        by_phase = self.of(metric)
        return len(by_phase[Phase.RETEST].runs) if Phase.RETEST in by_phase else 0

    def retested_since(self, metric: str, number: int) -> "MeasuredPair":
        """This pair with only those runs of the retest that have this number or a later one."""
        again = self.of(metric)[Phase.RETEST]
        series = {**self.of(metric), Phase.RETEST: msgspec.structs.replace(again, since=number)}
        if again.numbers[-1] < number:
            del series[Phase.RETEST]
        bandwidth, latency = (series, self.latency) if metric == BANDWIDTH else (self.bandwidth, series)
        return MeasuredPair(bandwidth=bandwidth, latency=latency, pairs_at_once=self.pairs_at_once)

    @cached_property
    def stalls(self) -> int:
        """Round trips that waited for a retransmission, in all phases."""
        return sum(series.stalls for series in self.latency.values())

    @cached_property
    def bandwidth_estimate(self) -> Estimate | None:
        """The median of the runs that decide; None if there are none."""
        runs = deciding(self.bandwidth)
        return median_estimate(runs) if runs else None

    @cached_property
    def late_trips(self) -> int:
        """Round trips that took as long, whether or not their ranks waited for a processor, in all phases."""
        return self.trips_since(0)[0]

    @property
    def first_late(self) -> float:
        """The place of the first run with such a round trip; infinite for none."""
        return min(
            (place for series in self.latency.values() for place, late, _ in series.trips if late), default=math.inf
        )

    def trips_since(self, first: float) -> tuple[int, int]:
        """Late round trips and all round trips of the runs from this place on."""
        since = [run for series in self.latency.values() for run in series.trips if run[0] >= first]
        return sum(late for _, late, _ in since), sum(of for _, _, of in since)

    @property
    def waits(self) -> list[float]:
        """The time for which the rank that waited longer had no processor, as a multiple of that for which it ran: for
        each run of round trips.

        Without runs in which it waited for longer than all of them took: these count waits outside of the round trips,
        such as those of a packet that was lost before the first of them.
        """
        shares = [max(ends) for series in self.latency.values() for ends in series.waited]
        return [min(share, LONGEST_WAIT) / (1 - min(share, LONGEST_WAIT)) for share in shares if share < 1]

    @property
    def lost_at_last(self) -> bool:
        """Whether round trips stalled in the last look, and none did in the survey or when measured again."""
        before = [self.latency[phase] for phase in (*AVERAGED, Phase.RETEST) if phase in self.latency]
        return self.latency[Phase.LAST].stalls > 0 and any(not series.stalls for series in before)

    @cached_property
    def first_bandwidth(self) -> float | None:
        """Median run of bandwidth without the retest; of the retest where there is nothing else."""
        runs = first_series(self.bandwidth).runs
        return median(runs) if runs else None

    @cached_property
    def first_speed(self) -> float | None:
        """Reciprocal of the median latency, likewise."""
        runs = first_series(self.latency).runs
        return 1 / max(median(runs), SHORTEST_S) if runs else None

    @property
    def slowest_window_bytes_per_s(self) -> float | None:
        """The slowest window of the runs that decide; None if it is not known."""
        return deciding_series(self.bandwidth).slowest_window_bytes_per_s

    @cached_property
    def latency_estimate(self) -> Estimate | None:
        """Seconds of the runs that decide; None if there are none."""
        runs = deciding(self.latency)
        return median_estimate(runs) if runs else None


def deciding(by_phase: Mapping[Phase, RunSeries]) -> tuple[float, ...]:
    """The runs to judge by, of the phase that says most; never a mixture."""
    return deciding_series(by_phase).runs


def first_series(by_phase: Mapping[Phase, RunSeries]) -> RunSeries:
    """The series without the retest; the retest where there is nothing else, and an empty one where not even that."""
    return next((by_phase[phase] for phase in FIRST if phase in by_phase), NO_SERIES)


def deciding_series(by_phase: Mapping[Phase, RunSeries]) -> RunSeries:
    """The series to judge by, of the phase that says most; an empty one where there is none."""
    return next((by_phase[phase].current for phase in TELLING if phase in by_phase), NO_SERIES)


def run_value(measurement: Measurement) -> float:
    """One number for one round of one pair: one-way latency in seconds, or bandwidth in bytes per second.

    The median over the iterations, so that one interrupted iteration does not count.
    """
    typical = max(median(measurement.times_s), SHORTEST_S)
    return typical / 2 if measurement.shape.kernel is Kernel.PINGPONG else _rate(measurement, typical)


def waits_of(measurement: Measurement) -> tuple[float, float]:
    """Shares of its time for which the ranks of source and target had no processor; 0 where that is not known."""
    source_s, target_s = (*measurement.waited_s, 0.0, 0.0)[:2]  # a journal may have any number of them
    whole_s = max(sum(measurement.times_s), SHORTEST_S)
    return source_s / whole_s, target_s / whole_s


def stalls_of(measurement: Measurement, times_s: Sequence[float]) -> tuple[int, int]:
    """Round trips among these, of this measurement, that waited for a retransmission, and those that may not have.

    A rank that waits for a processor delays a round trip as long. Such waits excuse as many stalls as there is room
    for in them: each takes `EXPLAINED` of the timer's time at least.
    """
    stalled = sum(time_s >= STALL_S for time_s in times_s) if max(times_s) >= STALL_S else 0
    excused = min(int(sum(measurement.waited_s) / (EXPLAINED * STALL_S)), stalled) if stalled else 0
    return stalled - excused, excused


def _rate(measurement: Measurement, window_s: float) -> float:
    return measurement.shape.window_bytes / max(window_s, SHORTEST_S)


class _PairRun(msgspec.Struct, frozen=True, gc=False):
    value: float
    stalls: tuple[int, int]
    place: int
    round_trips: int
    pairs_at_once: int
    slowest_window_bytes_per_s: float | None
    waited: tuple[float, float]
    number: int


Runs = dict[Phase, list[_PairRun]]


class Fresh(msgspec.Struct, frozen=True, kw_only=True):
    """What a step of a growing run added: the pairs whose evidence it changed, and whether any of them is new."""

    pairs: frozenset[Pair] = frozenset()
    sources: frozenset[tuple[Kernel, Phase]] = frozenset()
    """Kernels and phases of the measurements that were added."""
    has_new_pairs: bool = False
    first_after_last_look: int = 0
    """The number of the first run of a retest after the last look; 0 where there was no retest before it."""


class PairEvidence:
    """Evidence of one run that grows. Each measurement is read once; only the pairs that it concerns are renewed."""

    def __init__(self) -> None:
        self.by_pair: dict[Pair, MeasuredPair] = {}
        """Every ordered pair of which anything was measured, sorted by name."""
        self.without_waits = False
        """Whether nobody knows of some runs how long their ranks waited for a processor."""
        self._taken = 0
        self._bandwidth: defaultdict[Pair, Runs] = defaultdict(dict)
        self._latency: defaultdict[Pair, Runs] = defaultdict(dict)
        """Pair in the order of its names -> its runs."""
        self._retests = _RetestNumbers()

    def take(self, measurements: Sequence[Measurement]) -> Fresh:
        """Read the measurements that were added since the last call.

        Rounds of phases in `APART` do not count, nor do those whose data arrived wrong: they say nothing of speed.

        `measurements`: all of the run until now, those of the last call first.
        """
        changed: set[Pair] = set()
        sources: set[tuple[Kernel, Phase]] = set()
        for place, measurement in enumerate(measurements[self._taken :], self._taken):
            if measurement.phase in APART or not measurement.times_s or measurement.errors:
                continue
            source, target = pair = measurement.pair
            number = self._retests.number(measurement)
            if measurement.shape.kernel is Kernel.PINGPONG:
                _add(self._latency[_in_order(pair)], measurement, number, place)
                changed |= {pair, (target, source)}
            elif measurement.shape.kernel is Kernel.ONEWAY:
                _add(self._bandwidth[pair], measurement, number, place)
                changed.add(pair)
            sources.add((measurement.shape.kernel, measurement.phase))
            self.without_waits |= not measurement.waited_s
        self._taken = len(measurements)
        before = len(self.by_pair)
        shared: dict[Pair, dict[Phase, RunSeries]] = {}
        for pair in changed:
            self.by_pair[pair] = self._of(pair, shared)
        has_new_pairs = len(self.by_pair) > before
        if has_new_pairs:
            self.by_pair = dict(sorted(self.by_pair.items()))
        return Fresh(
            pairs=frozenset(changed),
            sources=frozenset(sources),
            has_new_pairs=has_new_pairs,
            first_after_last_look=self._retests.after_last_look,
        )

    def _of(self, pair: Pair, shared: dict[Pair, dict[Phase, RunSeries]]) -> MeasuredPair:
        """`shared`: latency holds for both directions."""
        both = _in_order(pair)
        if both not in shared:
            shared[both] = self._by_phase(self._latency.get(both, {}))
        bandwidth = self._bandwidth.get(pair, {})
        return MeasuredPair(
            bandwidth=self._by_phase({phase: _least_disturbed(phase, runs) for phase, runs in bandwidth.items()}),
            latency=shared[both],
            pairs_at_once=max((run.pairs_at_once for runs in bandwidth.values() for run in runs), default=1),
        )

    def _by_phase(self, runs: Runs) -> dict[Phase, RunSeries]:
        return {phase: _series(of_phase) for phase, of_phase in runs.items()}


class _RetestNumbers:
    """Numbers of the runs of all retests of one check: each retest counts its own repetitions from zero."""

    def __init__(self) -> None:
        self._before = 0
        """Runs of the retests before this one."""
        self._runs = 0
        """Runs of this retest so far."""
        self.after_last_look = 0

    def number(self, one: Measurement) -> int:
        """Number of the run that a measurement belongs to; 0 outside of retests, which end with it."""
        if one.phase is not Phase.RETEST or one.repetition < self._runs - 1:
            self._before, self._runs = self._before + self._runs, 0
        if one.phase is Phase.LAST:
            self.after_last_look = self._before
        if one.phase is not Phase.RETEST:
            return 0
        self._runs = one.repetition + 1
        return self._before + one.repetition


def in_one_direction(pairs: Iterable[Pair]) -> list[Pair]:
    """Each pair in the order of its names: a round trip holds for both directions, and crosses the same parts."""
    return [pair for pair in pairs if pair == _in_order(pair)]


def _in_order(pair: Pair) -> Pair:
    return pair if pair[0] < pair[1] else (pair[1], pair[0])


def _add(runs: Runs, one: Measurement, number: int, place: int) -> None:
    slowest = _rate(one, max(one.times_s)) if one.shape.kernel is Kernel.ONEWAY else None
    stalls, trips = stalls_of(one, one.times_s), len(one.times_s)
    run = _PairRun(run_value(one), stalls, place, trips, one.pairs_at_once, slowest, waits_of(one), number)
    runs.setdefault(one.phase, []).append(run)


def _least_disturbed(phase: Phase, runs: list[_PairRun]) -> list[_PairRun]:
    """A slow pair is measured again with ever fewer at once, until it is good: the last run with the fewest counts."""
    if phase is not Phase.NEXT or len(runs) == 1:
        return runs
    fewest = min(run.pairs_at_once for run in runs)
    return [run for run in runs if run.pairs_at_once == fewest][-1:]


def _series(runs: list[_PairRun]) -> RunSeries:
    slowest = [run.slowest_window_bytes_per_s for run in runs if run.slowest_window_bytes_per_s is not None]
    return RunSeries(
        runs=tuple([run.value for run in runs]),
        stalls=sum([run.stalls[0] for run in runs]),
        excused_stalls=sum([run.stalls[1] for run in runs]),
        trips=() if slowest else tuple([(run.place, sum(run.stalls), run.round_trips) for run in runs]),
        slowest_window_bytes_per_s=min(slowest, default=None),
        waited=tuple([run.waited for run in runs]),
        numbers=tuple([run.number for run in runs]),
    )
