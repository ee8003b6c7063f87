"""Raw samples of the pairs of a node that are not good, as they were measured one after another."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from seatrial.model import units
from seatrial.model.measurement import Kernel, Measurement
from seatrial.render.escape import shorten
from seatrial.render.plots import Axis, Plot, round_steps
from seatrial.render.run_plot import RunValue, in_order

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
    named = {f"{pair.source}>{pair.target}": pair.bytes_per_s for pair in samples if len(pair.bytes_per_s) > 1}
    last = max(map(len, named.values()), default=1) - 1
    axis = Axis(
        low=0.0,
        high=float(last),
        logarithmic=False,
        ticks=tuple((place, f"{place + 1:.0f}") for place in round_steps(last)),
        title="samples in the order of measuring",
    )
    curves = [
        (
            shorten(name, MOST_LETTERS),
            [RunValue(run=name, date=f"sample {number}", value=rate) for number, rate in enumerate(rates, start=1)],
        )
        for name, rates in named.items()
    ]
    return in_order(title, curves, units.bandwidth, axis, "bandwidth of one window of messages")
