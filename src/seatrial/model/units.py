"""The only place that scales: base units in, text for people out. GB = 10⁹ bytes; message sizes are binary."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from seatrial.model.measurement import Estimate

BANDWIDTH = "bandwidth_bytes_per_s"
LATENCY = "latency_s"
FLOP_RATE = "flops_per_s"
CELSIUS = "celsius"
SHARE = "share"
UNKNOWN = "unknown"
LEAST_CONFIDENCE = 0.95
"""Below it an interval is only the range of the runs."""

_BANDWIDTHS = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
_LINK_RATES = ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s"))
_FLOPS = ((1e15, "Pflop/s"), (1e12, "Tflop/s"), (1e9, "Gflop/s"), (1e6, "Mflop/s"), (1.0, "flop/s"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_SIZES = ((2**50, "PiB"), (2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


_SCALES = {BANDWIDTH: _BANDWIDTHS, LATENCY: _TIMES, FLOP_RATE: _FLOPS}
"""The units of each metric."""
_BASE_UNITS = {"B/s": _BANDWIDTHS, "s": _TIMES, "flop/s": _FLOPS}
"""The units of numbers by the unit that a benchmark declares."""


MOST_DECIMALS = 6
PLAIN = (0.1, 9999.5)
"""Numbers without a unit in between are given without a prefix."""


class Scale(NamedTuple):
    """A unit, how much of the base unit it is, and how many decimals numbers in it are given."""

    per_unit: float
    unit: str
    decimals: int

    def number(self, value: float) -> str:
        """The number alone, without its unit."""
        return f"{value / self.per_unit:.{self.decimals}f}"


def _scale(value: float, units: tuple[tuple[float, str], ...]) -> Scale:
    """The largest unit of which `value` is at least one after rounding."""
    size = abs(value)
    per_unit, unit = next((pair for pair in units if size >= pair[0] * 0.99995), units[-1])
    return Scale(per_unit, unit, 2 if size / per_unit < 9.995 else 1)


def prefixed(value: float, *of_interval: float) -> str:
    """15.56 G, a number without a unit; with `of_interval` those instead, in the scale of `value`: 15.37–16.04."""
    size = abs(value)
    scale = Scale(1.0, "", 0) if size == 0 or PLAIN[0] <= size < PLAIN[1] else _scale(value, _PREFIXES)
    if of_interval:
        return "–".join(f"{number / scale.per_unit:.4g}" for number in of_interval)
    return f"{value / scale.per_unit:.4g} {scale.unit}".strip()


def time_scale(seconds: float) -> Scale:
    """The unit in which times around this one are best read."""
    return _scale(seconds, _TIMES)


def _text(value: float | None, units: tuple[tuple[float, str], ...]) -> str:
    if value is None or not math.isfinite(value):
        return UNKNOWN
    scale = _scale(value, units)
    return f"0 {scale.unit}" if value == 0 else f"{scale.number(value)} {scale.unit}"


def bandwidth(bytes_per_s: float | None) -> str:
    """117.2 MB/s; MB is 10⁶ bytes."""
    return _text(bytes_per_s, _BANDWIDTHS)


def flops(flops_per_s: float | None) -> str:
    """2.87 Tflop/s."""
    return _text(flops_per_s, _FLOPS)


def duration(seconds: float | None) -> str:
    """12.4 µs."""
    return _text(seconds, _TIMES)


def frequency(hertz: float | None) -> str:
    """2.60 GHz."""
    return UNKNOWN if hertz is None else f"{hertz / 1e9:.2f} GHz"


def link_rate(bits_per_s: float | None) -> str:
    """1 Gb/s, 2.5 Gb/s; as the link's name has it, without needless decimals."""
    if bits_per_s is None or not math.isfinite(bits_per_s):
        return UNKNOWN
    scale = _scale(bits_per_s, _LINK_RATES)
    return f"{bits_per_s / scale.per_unit:.4g} {scale.unit}"


def share(part: float | None) -> str:
    """60 %; one decimal below 10 %. The argument is a fraction, 1 for the whole."""
    if part is None or not math.isfinite(part):
        return UNKNOWN
    percent = part * 100
    return f"{percent:.1f} %" if 0 < abs(percent) < 9.95 else f"{percent:.0f} %"


def fine_share(part: float) -> str:
    """0.053 %, 5.3 %, 530 %: two digits of a share that may be far below a thousandth or above the whole."""
    if not math.isfinite(part):
        return UNKNOWN
    return f"{part * 100:.2g} %" if part < 0.995 else share(part)


def size(count_bytes: int | None) -> str:
    """64 KiB; 1500 B, where a greater unit would not be exact and the number is small."""
    if count_bytes is None:
        return UNKNOWN
    unit_bytes, unit = next((pair for pair in _SIZES if count_bytes >= pair[0]), _SIZES[-1])
    if count_bytes % unit_bytes == 0:
        return f"{count_bytes // unit_bytes} {unit}"
    if count_bytes < 10 * 2**10:
        return f"{count_bytes} B"
    return f"{count_bytes / unit_bytes:.1f} {unit}"


def memory(count_bytes: int | None) -> str:
    """503 GiB; coarse, because the kernel keeps a different few MiB for itself on each node."""
    if count_bytes is None:
        return UNKNOWN
    return f"{count_bytes / 2**30:.0f} GiB" if count_bytes >= 10 * 2**30 else f"{count_bytes / 2**30:.1f} GiB"


def quantity(value: float | None, metric: str) -> str:
    """A value of a finding's metric in the unit that fits it; an unknown metric gets no unit."""
    if metric == BANDWIDTH:
        return bandwidth(value)
    if metric == LATENCY:
        return duration(value)
    if metric == FLOP_RATE:
        return flops(value)
    if metric == SHARE:
        return share(value)
    if metric == CELSIUS and value is not None:
        return f"{value:.1f} °C"
    return UNKNOWN if value is None else f"{value:g}"


def in_unit(value: float, unit: str) -> str:
    """A value of a benchmark in a base unit: 117.7 MB/s for "B/s"; of any other unit the number and its unit."""
    if unit in _BASE_UNITS:
        return _text(value, _BASE_UNITS[unit])
    return f"{value:.6g} {unit}".strip()


def level(value: float, unit: str) -> str:
    """A median in its unit, whatever it is: 2.311 Tflop/s, 203.1 GB/s, 117.8 k."""
    return in_unit(value, unit) if unit in _BASE_UNITS else f"{prefixed(value)} {unit}".rstrip()


def with_deviations(values: Sequence[float], deviations: Sequence[float | None], unit: str) -> tuple[str, ...]:
    """0.610 ± 0.005, 0.764 ± 0.001 Tflop/s: values of a benchmark in the unit of the first, which the last names."""
    scale = _scale(values[0], _BASE_UNITS[unit]) if unit in _BASE_UNITS else Scale(1.0, unit, 2)
    digits = 2 - math.floor(math.log10(values[0] / scale.per_unit)) if values[0] > 0 else 0
    scale = scale._replace(decimals=min(max(digits, 0), MOST_DECIMALS))
    texts = [
        scale.number(value) + ("" if deviation is None else f" ± {scale.number(deviation)}")
        for value, deviation in zip(values, deviations, strict=True)
    ]
    return (*texts[:-1], f"{texts[-1]} {scale.unit}".strip())


def two_in_unit(first: float, second: float, unit: str) -> tuple[str, str]:
    """Two different values of a benchmark; with all their digits where they would otherwise be printed alike."""
    texts = in_unit(first, unit), in_unit(second, unit)
    return texts if texts[0] != texts[1] else (f"{first:.12g} {unit}".strip(), f"{second:.12g} {unit}".strip())


def estimate(measured: Estimate | None, metric: str) -> str:
    """70.6 MB/s, 97 % CI 70.5–70.8, n = 6; with too few runs for 95 % only their range; of one run nothing."""
    if measured is None:
        return UNKNOWN
    if measured.runs < 2 or not (math.isfinite(measured.low) and math.isfinite(measured.high)):
        return f"{quantity(measured.value, metric)}, n = {measured.runs}"
    value, low, high = _three(measured, metric)
    return f"{value}, {_interval(measured)} {low}–{high}, n = {measured.runs}"


def ends(value: float, low: float, high: float, metric: str) -> str:
    """70.5–70.8: the ends of an interval in the unit of its value; its unit is not repeated."""
    measured = Estimate(value=value, low=low, high=high, confidence=0.0, runs=2, method="")
    return "–".join(_three(measured, metric)[1:])


def share_estimate(measured: Estimate) -> str:
    """93.0 %, 97 % CI 92.9–93.1, n = 6: of a fraction."""
    percent = [100 * value for value in (measured.value, measured.low, measured.high)]
    decimals = 1 if percent[2] - percent[1] >= 0.2 else 2
    value, low, high = (f"{one:.{decimals}f}" for one in percent)
    if measured.runs < 2:
        return f"{value} %, n = {measured.runs}"
    return f"{value} %, {_interval(measured)} {low}–{high}, n = {measured.runs}"


def _interval(measured: Estimate) -> str:
    """What encloses the value: a confidence interval, or the range of too few runs for one."""
    return f"{share(measured.confidence)} CI" if measured.confidence >= LEAST_CONFIDENCE else "range"


def _three(measured: Estimate, metric: str) -> tuple[str, str, str]:
    """The value with its unit, and the ends of its interval in the same unit and with the same decimals.

    The decimals are those of the value alone, so that one number has one text in all parts of a report; the ends of a
    narrow interval may be printed alike.
    """
    numbers = (measured.value, measured.low, measured.high)
    if metric == SHARE:
        decimals = 1 if 0 < abs(measured.value) < 0.0995 else 0
        value, low, high = (f"{100 * number:.{decimals}f}" for number in numbers)
        return f"{value} %", low, high
    if metric not in _SCALES:
        return f"{measured.value:g}", f"{measured.low:g}", f"{measured.high:g}"
    scale = _scale(measured.value, _SCALES[metric])
    value, low, high = (scale.number(number) for number in numbers)
    return f"{value} {scale.unit}", low, high
