"""Each variant compared with the default, block by block, and the devices that its bytes went over."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from seatrial.experiment.controls import above, below, mean_ratio
from seatrial.locate.evidence import run_value
from seatrial.model.measurement import Estimate, Kernel, Measurement, Phase
from seatrial.model.transport import Counted, Role, Variant, VariantNote
from seatrial.statistics.estimates import CONFIDENCE, ERROR_RATE, median_estimate

BANDWIDTH_MATTERS = 1.05
LATENCY_MATTERS = 1.10
"""Practical thresholds: starts of one and the same setting differ by as much on a quiet cluster."""
TRACER_SHOWS = 1.5
"""A hobbled carrier takes twice as long at least: beyond this factor it was the one, below it was not."""
WIRE_SHOWS = 1.05
"""A hobbled carrier that sends small pieces sends more headers: this many times the bytes of the default."""
PASSED = 0.2
"""A device that counted this share of the bytes sent carried them; rails share them, and other traffic is less."""


LEAST = 1e-12
"""Replaces a time below the resolution of the clock."""


BASES = (Role.DEFAULT, Role.REFERENCE)
"""The variants that others are compared with."""


UNMEASURED = "not measured"
"""Shown for a variant that was planned, and neither failed nor delivered."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """What one start gave, round by round."""

    latency_s: tuple[float, ...]
    bandwidth_bytes_per_s: tuple[float, ...]


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One variant against the default, or a hobbled one against the reference.

    `times` as slow: above 1 is slower, whatever the metric.
    """

    variant: Variant
    starts: int = 0
    failure: str = ""
    """Why it has no numbers; empty: it ran."""
    unmeasured: bool = False
    """It was planned, and neither failed nor delivered."""
    latency_s: Estimate | None = None
    bandwidth_bytes_per_s: Estimate | None = None
    latency_times: Estimate | None = None
    bandwidth_times: Estimate | None = None
    devices: tuple[str, ...] | None = None
    """The devices that counted its bytes; empty: no device did; None: not read."""
    wire_share: float | None = None
    """Bytes that these counted over bytes that the probe sent: headers, acknowledgements and repetitions count."""

    @property
    def hobble_times(self) -> Estimate | None:
        """The ratio of times in the metric in which hobbling this carrier shows."""
        return self.latency_times if self.variant.slows is Kernel.PINGPONG else self.bandwidth_times

    @property
    def slower(self) -> bool:
        """Whether it is slower by more than the threshold, in either metric, with all of the interval."""
        return above(self.latency_times, LATENCY_MATTERS) or above(self.bandwidth_times, BANDWIDTH_MATTERS)

    @property
    def faster(self) -> bool:
        """Whether it is faster by more than the threshold, in either metric, with all of the interval."""
        return below(self.latency_times, 1 / LATENCY_MATTERS) or below(self.bandwidth_times, 1 / BANDWIDTH_MATTERS)

    @property
    def changed(self) -> bool:
        """Whether it differs from the default by more than matters."""
        return self.slower or self.faster


def times_text(times: float) -> str:
    """0.98, 0.004, 43, 3e+20: how many times, with the significant digits only."""
    if times >= 10_000:
        return f"{times:.0e}"
    if times >= 100:
        return f"{times:.0f}"
    return f"{times:.2f}" if times >= 0.1 else f"{times:.1g}"


def settings_text(environment: Mapping[str, str]) -> str:
    """NAME=value NAME=value."""
    return " ".join(f"{name}={value}" for name, value in environment.items())


def factor_text(times: Estimate) -> str:
    """1.02 [0.99–1.05]; of one run without an interval."""
    interval = f" [{times_text(times.low)}–{times_text(times.high)}]" if times.runs > 1 else ""
    return f"{times_text(times.value)}{interval}"


def values_of(measurements: Iterable[Measurement]) -> dict[str, dict[int, Value]]:
    """Variant -> block -> values, if both kernels delivered."""
    rounds: defaultdict[tuple[str, int, Kernel], list[float]] = defaultdict(list)
    for one in measurements:
        if one.phase is Phase.VARIANT and one.times_s:
            rounds[one.variant, one.repetition, one.shape.kernel].append(run_value(one))
    found: defaultdict[str, dict[int, Value]] = defaultdict(dict)
    for (name, block, kernel), latency in rounds.items():
        carried = rounds.get((name, block, Kernel.ONEWAY))
        if kernel is Kernel.PINGPONG and carried:
            found[name][block] = Value(latency_s=tuple(latency), bandwidth_bytes_per_s=tuple(carried))
    return dict(found)


def effects_of(measurements: Iterable[Measurement], notes: Sequence[VariantNote]) -> tuple[Effect, ...]:
    """Every variant that was tried, in the order in which they were first."""
    values = values_of(measurements)
    tried: dict[str, list[VariantNote]] = {}
    for note in notes:
        tried.setdefault(note.variant.name, []).append(note)
    names = {of[0].variant.role: name for name, of in tried.items() if of[0].variant.role in BASES}
    default, reference = (values.get(names.get(role, ""), {}) for role in BASES)
    return tuple(
        _effect(of, values.get(name, {}), reference if of[0].variant.role is Role.HOBBLED else default)
        for name, of in tried.items()
    )


def _effect(notes: Sequence[VariantNote], mine: Mapping[int, Value], base: Mapping[int, Value]) -> Effect:
    variant = notes[0].variant
    if not mine:
        failure = next((note.failure for note in notes if note.failure), "")
        return Effect(variant=variant, failure=failure or UNMEASURED, unmeasured=not failure)
    confidence = CONFIDENCE if variant.role is Role.HOBBLED else 1 - ERROR_RATE  # a tracer is far from the line
    blocks = [block for block in sorted(mine) if block in base] if variant.role not in BASES else []
    compared = [(mine[block], base[block]) for block in blocks]
    latency = [_alike(own.latency_s, other.latency_s, min) for own, other in compared]
    bandwidth = [_alike(other.bandwidth_bytes_per_s, own.bandwidth_bytes_per_s, max) for own, other in compared]
    counted = next((note for note in notes if note.counted and note.sent_bytes > 0), None)
    return Effect(
        variant=variant,
        starts=len(mine),
        latency_s=median_estimate([min(one.latency_s) for one in mine.values()]),
        bandwidth_bytes_per_s=median_estimate([max(one.bandwidth_bytes_per_s) for one in mine.values()]),
        latency_times=mean_ratio(latency, confidence) if latency else None,
        bandwidth_times=mean_ratio(bandwidth, confidence) if bandwidth else None,
        devices=passed(counted.counted, counted.sent_bytes) if counted else None,
        wire_share=wire_share(counted.counted, counted.sent_bytes) if counted else None,
    )


def _alike(
    one: Sequence[float], other: Sequence[float], best: Callable[[Sequence[float]], float]
) -> tuple[float, float]:
    """The best of as many rounds of each, since of more rounds the best is better."""
    rounds = min(len(one), len(other))
    return max(best(one[:rounds]), LEAST), max(best(other[:rounds]), LEAST)


def passed(counted: Iterable[Counted], sent_bytes: int) -> tuple[str, ...]:
    """Names of the devices through which the bytes went, on whichever node."""
    return tuple(dict.fromkeys(one.device for one in counted if one.counted_bytes >= PASSED * sent_bytes))


def wire_share(counted: Iterable[Counted], sent_bytes: int) -> float:
    """Share of the bytes that the node which counted most saw; 0 if no device carried them."""
    by_node: defaultdict[str, int] = defaultdict(int)
    for one in counted:
        if one.counted_bytes >= PASSED * sent_bytes:
            by_node[one.node] += one.counted_bytes
    return max(by_node.values(), default=0) / sent_bytes
