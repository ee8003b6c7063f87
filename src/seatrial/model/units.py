"""The only place that scales: base units inside, prefixes for people."""

from seatrial.model.estimate import Estimate

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    factor, name = next((unit for unit in units if abs(value) >= unit[0] * 0.9995), units[-1])
    number = value / factor
    digits = 0 if abs(number) >= 999.5 else 1 if abs(number) >= 99.95 else 2
    return f"{number:.{digits}f} {name}"


def bandwidth(bytes_per_s: float) -> str:
    """117230000.0 -> "117.2 MB/s"; MB = 10**6 bytes."""
    return _scaled(bytes_per_s, _RATES)


def duration(seconds: float) -> str:
    """1.24e-05 -> "12.40 µs"."""
    return _scaled(seconds, _TIMES)


def share(ratio: float) -> str:
    """0.6 -> "60 %"."""
    return f"{100 * ratio:.0f} %"


def size(count: int) -> str:
    """1048576 -> "1 MiB"; powers of two, as message sizes are."""
    for factor, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {name}"
    return f"{count} B"


def certainty(estimate: Estimate) -> str:
    """How sure an estimate is: "6 runs, 97 %"."""
    runs = "1 run" if estimate.runs == 1 else f"{estimate.runs} runs"
    return f"{runs}, {100 * estimate.confidence:.0f} %" if estimate.runs > 1 else runs
