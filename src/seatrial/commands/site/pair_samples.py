"""Raw samples of the pairs of a node that are not good, as they were measured one after another."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from seatrial.model import units
from seatrial.model.measurement import Kernel, Measurement
from seatrial.render.escape import shorten
from seatrial.render.plots import Axis, Plot, Point, Series, round_steps
from seatrial.render.run_plot import HEADROOM

MOST_PAIRS = 6
"""Pairs of a node whose samples its page draws, the gravest: as many colours are easily kept apart."""
MOST_SAMPLES = 120
"""Samples of one pair, the first."""
MOST_LETTERS = 14
"""Characters of a pair beside its curve."""
Pair = tuple[str, str]


class PairSamples(msgspec.Struct, frozen=True, kw_only=True):
    """The rates of one ordered pair, a sample each window of messages, in the order in which they were measured."""

    source: str
    target: str
    bytes_per_s: tuple[float, ...]


def samples_of(measurements: Iterable[Measurement], pairs: Collection[Pair]) -> dict[Pair, PairSamples]:
    """The samples of these pairs; a pair without any is left out."""
    rates: dict[Pair, list[float]] = {}
    for measurement in measurements:
        shape, pair = measurement.shape, (measurement.source, measurement.target)
        if pair in pairs and shape.kernel is Kernel.ONEWAY:
            window_bytes = shape.window_bytes
            rates.setdefault(pair, []).extend(window_bytes / time for time in measurement.times_s if time > 0)
    return {
        pair: PairSamples(source=pair[0], target=pair[1], bytes_per_s=tuple(values[:MOST_SAMPLES]))
        for pair, values in rates.items()
        if values
    }


def samples_plot(
    samples: Sequence[PairSamples], title: str = "Raw samples of its pairs: bandwidth, in the order of measuring"
) -> Plot | None:
    """All samples over each other; None where no pair has two."""
    drawn = [pair for pair in samples if len(pair.bytes_per_s) > 1]
    most = max((rate for pair in drawn for rate in pair.bytes_per_s), default=0.0)
    if not 0 < most < float("inf"):
        return None
    longest = max(len(pair.bytes_per_s) for pair in drawn)
    return Plot(
        title=title,
        x=Axis(
            low=0.0,
            high=float(longest - 1),
            logarithmic=False,
            ticks=tuple((place, f"{place + 1:.0f}") for place in round_steps(longest - 1)),
            title="samples in the order of measuring",
        ),
        y=Axis(
            low=0.0,
            high=most * HEADROOM,
            logarithmic=False,
            ticks=tuple((rate, units.bandwidth(rate)) for rate in round_steps(most * HEADROOM)),
            title="bandwidth of one window of messages",
        ),
        series=tuple(_series(pair) for pair in drawn),
    )


def _series(pair: PairSamples) -> Series:
    name = f"{pair.source}>{pair.target}"
    points = tuple(
        Point(
            x=float(place),
            y=rate,
            low=rate,
            high=rate,
            x_text=str(place + 1),
            y_text=units.bandwidth(rate),
            hover=f"{name}, sample {place + 1}: {units.bandwidth(rate)}",
        )
        for place, rate in enumerate(pair.bytes_per_s)
    )
    return Series(points=points, label=shorten(name, MOST_LETTERS))
