"""What the advised placement gains over the requested one, launch by launch."""

import enum
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.experiment.controls import above, below, median_ratio, too_few
from seatrial.locate.evidence import run_value
from seatrial.model.measurement import Estimate, Kernel, Measurement, Phase
from seatrial.model.units import BANDWIDTH, LATENCY, share
from seatrial.statistics.concurrent_flows import together_s
from seatrial.statistics.estimates import CONFIDENCE, median, median_estimate

ASKED, ADVISED = "asked", "advised"
PRACTICAL = 1.02
"""A gain below two hundredths is not worth a longer command line."""

MUCH = 2.0
"""The factor from which a gain is shown as a factor, since large percentages are hard to read."""


DEFECT = "ranks that share a core are at fault whatever the times say"


class GainOutcome(enum.StrEnum):
    """Result of a comparison: all of the interval beyond `PRACTICAL`, or on this side of it, or neither."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference shown"


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """One metric under both placements; `ratio` is above 1 where the advised one is better, whatever the metric."""

    metric: str
    asked: Estimate
    advised: Estimate
    ratio: Estimate

    @property
    def outcome(self) -> GainOutcome:
        """The result by the whole interval."""
        if above(self.ratio, PRACTICAL):
            return GainOutcome.BETTER
        return GainOutcome.WORSE if below(self.ratio, 1 / PRACTICAL) else GainOutcome.NO_DIFFERENCE

    @property
    def worse(self) -> bool:
        """Whether it measured worse in the median, shown by the interval or not: nobody wants to be advised that."""
        return self.ratio.value < 1 / PRACTICAL

    @property
    def text(self) -> str:
        """bandwidth +12 % [+8 % to +15 %]; of more than that: latency 2.9 times lower [1.5–7.6]."""
        name = "bandwidth" if self.metric == BANDWIDTH else "latency"
        numbers = (self.ratio.value, self.ratio.low, self.ratio.high)
        if all(1 / MUCH < ratio < MUCH for ratio in numbers):
            value, *ends = (_signed(self._change(ratio)) for ratio in numbers)
            first, last = ends if self.metric == BANDWIDTH else reversed(ends)
            return f"{name} {value}" + (f" [{first} to {last}]" if self.ratio.runs > 1 else "")
        better = self.ratio.value >= 1
        factors = numbers if better else (1 / ratio for ratio in (numbers[0], *numbers[:0:-1]))
        value, low, high = (f"{factor:.3g}" if factor < 100 else f"{factor:.0f}" for factor in factors)
        higher = better is (self.metric == BANDWIDTH)
        interval = f" [{low}–{high}]" if self.ratio.runs > 1 else ""
        return f"{name} {value} times {'higher' if higher else 'lower'}{interval}"

    def _change(self, ratio: float) -> float:
        """The change of the metric itself: a latency that is better is lower."""
        return ratio - 1 if self.metric == BANDWIDTH else 1 / ratio - 1


def _signed(change: float) -> str:
    """+12 %, -3 %; no sign before 0 %."""
    return f"{change:+.0%}".replace("%", " %") if round(change, 2) else "0 %"


def gains_of(measurements: Iterable[Measurement]) -> tuple[Gain, ...]:
    """Bandwidth and latency, as far as both placements were measured in the same repetitions.

    Ratios of launches that followed one another: what drifts slowly falls on both (Hahn and Meeker, 1991, 5.2).
    """
    launches: dict[tuple[Kernel, int, str], list[Measurement]] = defaultdict(list)
    for one in measurements:
        if one.phase is Phase.VARIANT and one.times_s:
            launches[one.shape.kernel, one.repetition, one.variant].append(one)
    found = []
    for metric, kernel in ((BANDWIDTH, Kernel.ONEWAY), (LATENCY, Kernel.PINGPONG)):
        values = {
            (repetition, variant): median([_value(some) for some in _rounds(all_of_it)])
            for (which, repetition, variant), all_of_it in launches.items()
            if which is kernel
        }
        both = [one for one, variant in values if variant == ASKED and (one, ADVISED) in values]
        asked, advised = ([values[one, variant] for one in both] for variant in (ASKED, ADVISED))
        pairs = (advised, asked) if metric == BANDWIDTH else (asked, advised)
        if ratio := median_ratio(zip(*pairs, strict=True)):
            estimates = median_estimate(asked), median_estimate(advised)
            found.append(Gain(metric=metric, asked=estimates[0], advised=estimates[1], ratio=ratio))
    return tuple(found)


def _rounds(launch: Iterable[Measurement]) -> list[list[Measurement]]:
    """What one launch delivered by one kernel, round by round: no pair is in a round twice."""
    seen: Counter[tuple[str, str]] = Counter()
    rounds: dict[int, list[Measurement]] = defaultdict(list)
    for one in launch:
        rounds[seen[one.pair]].append(one)
        seen[one.pair] += 1
    return list(rounds.values())


def _value(some: Sequence[Measurement]) -> float:
    """All pairs of a round: bytes per second of them together, or the median of their latencies in seconds."""
    if some[0].shape.kernel is Kernel.PINGPONG:
        return median([run_value(one) for one in some])
    return sum(one.shape.window_bytes for one in some) / together_s(some)


class Fix(enum.StrEnum):
    """What became of the advice."""

    PROVED = "proved"
    WITHDRAWN = "withdrawn"
    UNDECIDED = "undecided"
    NONE = "none"
    """There was nothing to advise."""


def fate(gains: Sequence[Gain], disobeyed: str, *, defect: bool = False) -> tuple[Fix, str]:
    """And why. `disobeyed`: how the launcher deviated from the advised placement, or empty.

    `defect`: ranks share a core, which is wrong whatever the times say. Then times withdraw nothing.
    """
    if disobeyed:
        return Fix.WITHDRAWN, disobeyed
    if not gains:
        return Fix.UNDECIDED, "it was not measured"
    said = ", ".join(gain.text for gain in gains)
    runs = gains[0].ratio.runs
    if any(too_few(gain.ratio) for gain in gains):
        many = "1 launch" if runs == 1 else f"{runs} launches"
        return Fix.UNDECIDED, f"{said}, from {many} of each, too few for {share(CONFIDENCE)}"
    worse = any(gain.worse for gain in gains)
    if not worse and any(gain.outcome is GainOutcome.BETTER for gain in gains):
        return Fix.PROVED, f"it measured better: {said}"
    says = f"it measures worse: {said}" if worse else f"it is not shown to measure better: {said}"
    return (Fix.UNDECIDED, f"{says}; {DEFECT}") if defect else (Fix.WITHDRAWN, says)
