"""NetPIPE: bandwidth and latency by message size; what 3.x and 5.x print, their np.out, and a run of 3.x."""

import itertools
import re

from seatrial.benchmarks.declaration import Benchmark, Launch, Parameter, size_bytes, whole
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import LEAST_OF_PATH, BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import NUMBER, number_of, unit_named, whole_number
from seatrial.model.verdict import FindingKind

ROW = re.compile(
    rf"^\s*(?P<row>\d{{1,5}}):\s+(?P<size>\d{{1,12}}(?:\.\d{{1,6}})?)\s*"
    rf"(?P<unit>bytes|(?:[KMG]i?)?B)\s+(?P<times>\d{{1,12}})\s+times\s+-->"
    rf"\s+(?P<rate>{NUMBER})\s+(?P<scale>[KMG])bps\s+in\s+(?P<time>{NUMBER})\s+(?P<time_unit>[numμµ]?s)"
)
FILE_ROW = re.compile(r"^\s*(?P<size>\d{1,12})\s+(?P<rate>\d{1,18}\.\d{6})\s+(?P<time>\d{1,18}\.\d{8})\s*$")
STARTED = re.compile(r"^Now starting the main loop|^Start testing with")
COMPLETED = re.compile(r"^Completed with\s+max bandwidth")
DEFAULT_LARGEST = 8388611
"""Bytes: 2²³ + 3, the last row of 3.x unless -u says otherwise."""
SCALES = {"K": 1e3, "M": 1e6, "G": 1e9}
MEBIBIT = 1 << 20
TELLING_BYTES = 1 << 12
AGREEMENT = 0.01
WIDEST_STEP, LEAST_STEPPED, FEW_STEPS = 1.5, 4, 0.1
"""NetPIPE 3.x doubles the size in two steps, 2ⁿ, 3·2ⁿ⁻¹ and 2ⁿ⁺¹; the smallest sizes are farther apart. A table with
many wider steps has sizes that somebody chose."""
PAIR = 2
LEAST_BYTES = 1024
OUTPUT = "np.out"


def parse(text: str) -> Output:
    """One output of unknown largest size: 3.x is complete at its default."""
    return parse_up_to(text, DEFAULT_LARGEST)


def parse_up_to(text: str, largest_bytes: int) -> Output:
    """One output of a run whose largest message is known."""
    reading = Reading("netpipe", text, closing=rf"{COMPLETED.pattern}.*\blatency")
    rows = [
        (line, match) for line in reading.whole_lines if (match := ROW.match(line.text) or FILE_ROW.match(line.text))
    ]
    unit = _megabit(rows)
    tables: list[list[int]] = []
    for line, match in rows:
        size = int(_size(match))
        scale = match.groupdict().get("scale") or "M"
        if not tables or size < tables[-1][-1]:
            tables.append([])
        tables[-1].append(size)
        labels = {"bytes": size}
        factor = (unit if scale == "M" else SCALES[scale]) / 8
        reading.result("bandwidth_bytes_per_s", match["rate"], line, factor, labels=labels)
        reading.result("latency_s", match["time"], line, _unit_s(match), labels=labels)
        _check(reading, line, match, size, factor)
    _complete(reading, tables, largest_bytes)
    return reading.output()


def _unit_s(match: "re.Match[str]") -> float:
    return unit_named(match.groupdict().get("time_unit") or "s").factor


def _time_s(match: "re.Match[str]") -> float:
    return number_of(match["time"]) * _unit_s(match)


def _size(match: "re.Match[str]") -> float:
    return number_of(match["size"]) * unit_named(match.groupdict().get("unit") or "B").factor


def _megabit(rows: "list[tuple[OutputLine, re.Match[str]]]") -> float:
    """Bits of the printed Mbps: 2²⁰ in 3.x, 10⁶ in 5.x, which writes B; the times show it."""
    for _, match in rows:
        size, rate = _size(match), number_of(match["rate"])
        if size >= TELLING_BYTES and rate > 0 and _time_s(match) > 0:
            ratio = size * 8 / _time_s(match) / rate
            return min((MEBIBIT, 1e6), key=lambda unit, ratio=ratio: abs(ratio / unit - 1))  # type: ignore[misc]
    return 1e6 if any(match.groupdict().get("unit") == "B" for _, match in rows) else MEBIBIT


def _check(reading: Reading, line: OutputLine, match: "re.Match[str]", size: int, factor: float) -> None:
    """Size over time is the rate."""
    time_s, rate = _time_s(match), number_of(match["rate"]) * factor
    if not (size >= TELLING_BYTES and time_s > 0 and rate > 0 and match.groupdict().get("unit") in (None, "bytes")):
        return
    if not abs(size / time_s / rate - 1) <= AGREEMENT:
        reading.breach(FindingKind.NUMBERS_DISAGREE, "the rate is not size over time", line)


def _complete(reading: Reading, tables: list[list[int]], largest_bytes: int) -> None:
    """5.x has a closing line for each table; tables of 3.x end at the largest size."""
    rows = [whole_number(match["row"]) for _, match in reading.matches(ROW.pattern)]
    gaps = [b for a, b in itertools.pairwise(rows) if b not in (a + 1, 0, 1)]
    if gaps:
        reading.lack(f"the row before row {gaps[0]} is missing")
    for before, after in filter(None, map(_wide_step, tables)):
        reading.lack(f"it has no row between {before} and {after} bytes: lines are missing")
    lasts = [sizes[-1] for sizes in tables]
    if len(lasts) < max(len(list(reading.matches(STARTED.pattern))), 1):
        reading.lack("it has no rows, or one of its runs has none")
    elif len(list(reading.matches(COMPLETED.pattern))) < len(lasts) and min(lasts) < largest_bytes:
        reading.lack(f"it ends at {lasts[-1]} bytes, not at {largest_bytes}")


def _wide_step(sizes: list[int]) -> tuple[int, int] | None:
    """The first step between sizes that is wider than those of NetPIPE, where few are."""
    steps = [step for step in itertools.pairwise(sizes) if step[0] >= LEAST_STEPPED]
    wide = [(before, after) for before, after in steps if after > WIDEST_STEP * before]
    return wide[0] if wide and len(wide) < FEW_STEPS * len(steps) else None


def netpipe_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """NPmpi of NetPIPE 3.x up to a largest message; np.out has its rows. Raises UsageError for a parameter."""
    if request.ranks != PAIR:
        raise UsageError(f"NetPIPE runs on two ranks, and {request.ranks} were requested.", "Give --ranks 2.")
    most = size_bytes(request.parameters, "largest")
    if most < LEAST_BYTES:
        raise UsageError(f"--set largest={most} is too small to show a bandwidth.", "Give 1KiB or more.")
    times = whole(request.parameters, "times", 0, 1_000_000)
    fixed = ("-n", str(times)) if times else ()
    step = BenchmarkStep(name="netpipe", argv=(request.program, "-o", OUTPUT, "-u", str(most), *fixed), output=OUTPUT)
    return BenchmarkPlan(steps=(step,), largest_bytes=most)


NETPIPE = Launch(
    programs=("NPopenmpi", "NPmpich2", "NPmpi"),
    package="netpipe-openmpi",
    plan=netpipe_plan,
    nodes=2,
    ranks_per_node=1,
    parameters=(
        Parameter(name="largest", default="8MiB", meaning="largest message"),
        Parameter(name="times", default="0", meaning="messages of each size; 0: NetPIPE chooses"),
    ),
)

BENCHMARK = Benchmark(
    name="netpipe",
    title="NetPIPE",
    requires="NetPIPE (NPmpi, NPtcp, NPopenmpi, ...)",
    marks=(
        STARTED.pattern,
        r"^[ \t]*+\d{1,5}:\s+[\d.]+\s*(?:bytes|B)\s+\d{1,18} times\s+-->",
        r"^[ \t]*+1\s+\d{1,18}\.\d{6}\s+\d\.\d{8}\s*$",
    ),
    beginnings=("Send and receive buffers are", "Now starting the main loop", "Sending output to"),
    parse=parse,
    parse_up_to=parse_up_to,
    metrics=(
        Metric("bandwidth_bytes_per_s", "Mbps is 2²⁰ bits in 3.x", of_path=True, least_share=LEAST_OF_PATH),
        Metric("latency_s", "one way"),
    ),
    main_metric="bandwidth_bytes_per_s",
    evidence=(),
    gates=(FindingKind.NUMBERS_DISAGREE,),
    complete="5.x: `Completed with`; 3.x: a row of 8388611 bytes, or of what --largest says",
    launch=NETPIPE,
)
