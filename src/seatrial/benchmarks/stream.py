"""STREAM: best rate of copy, scale, add and triad, checked by the program itself; C and Fortran, 5.x."""

import re
from collections.abc import Mapping, Sequence

from seatrial.benchmarks.declaration import AlikeNumbers, Benchmark, Launch, Scaling
from seatrial.benchmarks.reading import OutputLine, Reading, rounding, rule_of
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Label, Metric, Output
from seatrial.model.unit_text import NUMBER, number_of, unit_named, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

ROW = re.compile(
    rf"^\s*(?P<kernel>Copy|Scale|Add|Triad)(?:ing)?:?\s+(?P<rate>{NUMBER})\s+(?P<average>{NUMBER})\s+"
    rf"(?P<least>{NUMBER})\s+(?P<most>{NUMBER})"
)
HEADING = re.compile(r"Function\s+(?:Best )?Rate\s*\(?(?P<unit>[MG]B/s)\)?")
ELEMENTS = re.compile(r"(?i)Array size(?: \((?:double|single)\))?\s*=\s*(?P<elements>\d{1,15})")
WORD = re.compile(r"(?i)(?:uses|has)\s+(?P<bytes>\d{1,3}) bytes per|bytes? per word\s*[:=]\s*(?P<other>\d{1,3})")
THREADS = re.compile(r"(?i)Number of Threads (?P<how>counted|requested|)\s*=\s*(?P<threads>\d{1,6})")
TICKS = re.compile(r"\(=\s*(?P<ticks>\d{1,15}) (?:clock|timer) ticks\)")
VALID = re.compile(r"Solution Validates")
INVALID = re.compile(r"(?i:Failed Validation|Solution does not validate|ERROR: .{0,200}(?:Validation|AvgRelError))")
UNCHECKED = re.compile(r"NVIDIA-STREAM (?P<version>[\w.]{1,40})|STREAM Benchmark implementation in \w{1,20}")
"""Variants for accelerators, which print rates alone: nothing compares the arrays with what they must be."""
RULE = re.compile(r"^[ \t]{0,80}-{40,}\s*$", re.MULTILINE)
"""Fortran begins its lines with a blank."""
ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}
"""Arrays that a kernel reads or writes; each counts once (STREAM counts no write-allocate)."""
FEWEST_TICKS = 20
"""Below it the program's own text calls the result unreliable."""
AGREEMENT = 0.02
KERNELS_APART = 2.0
"""A line that is read before it is written adds a half to the traffic of Copy and Scale, and a third to that of Add and
Triad, so that kernels differ by at most 1.5 (McCalpin's notes on STREAM); those of 160 recorded runs do by up to 1.83.
"""


def stream_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """STREAM with its compiled-in arrays and a thread for each rank of the node."""
    threads = request.ranks_per_node
    argv = ("env", f"OMP_NUM_THREADS={threads}", request.program)
    expected = {"threads": str(threads)} if threads > 1 else {}
    return BenchmarkPlan(
        steps=(BenchmarkStep(name="stream", argv=argv, mpi=False),),
        expected=expected,
        notes=(f"{threads} threads. The arrays should be four times as large as the caches: "
               f"{4 * request.cache_bytes / 1e6:.0f} MB each.",) if request.cache_bytes else (f"{threads} threads.",),
    )  # fmt: skip


STREAM = Launch(programs=("stream", "stream_c", "stream_c.exe", "stream_omp", "stream.exe"), package="",
                plan=stream_plan)  # fmt: skip


def parse(text: str) -> Output:
    """One or more runs of STREAM in one output."""
    reading = Reading("stream", text, closing=rule_of(text, "-"))
    version = reading.search(r"(?i)STREAM version \$?Revision: (\S+)")
    reading.version = version[1][1] if version else ""
    read_stream(reading, reading.whole_lines)
    reading.runs(r"(?i)STREAM version \$?Revision", f"{VALID.pattern}|{INVALID.pattern}", "Solution Validates")
    runs = len(list(reading.matches(HEADING.pattern)))
    verdicts = list(reading.matches(f"{VALID.pattern}|{INVALID.pattern}"))
    unchecked = reading.search(UNCHECKED.pattern)
    if not runs:
        reading.lack("it has no table of rates")
    if unchecked and not verdicts and not version:
        reading.version = unchecked[1]["version"] or ""
        _unchecked(reading)
    elif len(verdicts) < runs:
        reading.lack("the check of the solution (Solution Validates) is missing")
    elif verdicts and not RULE.search("\n".join(line.text for line in reading.whole_lines[verdicts[-1][0].number :])):
        reading.lack("the rule below the check of the solution is missing")
    return reading.output()


def _unchecked(reading: Reading) -> None:
    """Completeness of a variant without a check: the last table must have all its rows."""
    reading.note("This variant of STREAM prints no check of the solution: nothing shows that the arrays are right.")
    rows = sum(bool(ROW.match(line.text)) for line in reading.whole_lines)
    heads = sum(bool(head["version"]) for _, head in reading.matches(UNCHECKED.pattern))
    if rows % len(ARRAYS) or rows < len(ARRAYS) * max(heads, 1):
        reading.lack(f"the table has {count(rows, 'row')} of {count(len(ARRAYS), 'kernel')}")


def read_stream(reading: Reading, lines: Sequence[OutputLine], labels: "Mapping[str, Label] | None" = None) -> None:
    """Read rates, sizes and the check from these lines."""
    unit, elements, word, requested = 1e6, 0, 8, 0
    kernels: list[str] = []
    for line in lines:
        if heading := HEADING.search(line.text):
            unit, kernels = unit_named(heading["unit"]).factor, []
        elif size := ELEMENTS.search(line.text):
            elements = whole_number(size["elements"])
            reading.evidence("elements", elements, line)
        elif width := WORD.search(line.text):
            word = whole_number(width["bytes"] or width["other"])
        elif threads := THREADS.search(line.text):
            requested = _threads(reading, line, threads, requested)
        elif (ticks := TICKS.search(line.text)) and whole_number(ticks["ticks"]) < FEWEST_TICKS:
            reading.breach(
                FindingKind.RUN_TOO_SHORT,
                f"a kernel takes {ticks['ticks']} ticks of the clock: use larger arrays",
                line,
            )
        elif row := ROW.match(line.text):
            kernels.append(row["kernel"])
            _row(reading, line, row, unit, elements * word, labels or {})
        elif INVALID.search(line.text):
            reading.breach(FindingKind.RESIDUAL_FAILED, "the arrays do not have the expected values", line)
    if lines and kernels and kernels != list(ARRAYS):
        reading.lack(f"the table has {', '.join(kernels)}, not {', '.join(ARRAYS)}")


def _threads(reading: Reading, line: OutputLine, threads: "re.Match[str]", requested: int) -> int:
    """Compare the number of threads that ran with the requested one; what is requested of the next line."""
    number, ran = whole_number(threads["threads"]), threads["how"].lower() == "counted"
    if ran and requested not in (0, number):
        reading.breach(FindingKind.RANKS_DIFFER, f"{requested} threads were requested, and {number} ran", line)
    reading.evidence("threads", number, line)
    return 0 if ran else number


def _row(
    reading: Reading,
    line: OutputLine,
    row: "re.Match[str]",
    unit: float,
    array_bytes: int,
    labels: "Mapping[str, Label]",
) -> None:
    kernel = row["kernel"]
    if not labels:  # runs within HPCC have arrays that fit into caches
        reading.setting = f"{reading.value('threads')} threads, {array_bytes} bytes"
    reading.result("bandwidth_bytes_per_s", row["rate"], line, unit, labels={"kernel": kernel, **labels})
    reading.result("time_s", row["least"], line, labels={"kernel": kernel, **labels})
    rate, least = number_of(row["rate"]) * unit, number_of(row["least"])
    if least == 0 and not labels:  # HPCC prints four decimals, of small arrays
        reading.breach(FindingKind.RUN_TOO_SHORT, f"{kernel} took {row['least']} s: use larger arrays", line)
    moved = ARRAYS[kernel] * array_bytes
    compare_rate(reading, line, row, moved, str(moved), rate)


def compare_rate(
    reading: Reading, line: OutputLine, row: "re.Match[str]", moved_bytes: float, moved_text: str, bytes_per_s: float
) -> None:
    """The printed `rate` is the bytes moved over the printed `least` seconds, but for rounding; 0: they are unknown."""
    least_s = number_of(row["least"])
    if not (least_s > 0 and bytes_per_s > 0 and moved_bytes):
        return
    if abs(moved_bytes / least_s / bytes_per_s - 1) > AGREEMENT + rounding(row["least"]):
        reading.breach(
            FindingKind.NUMBERS_DISAGREE,
            f"{moved_text} bytes in {row['least']} s are {moved_bytes / least_s / 1e6:.1f} MB/s, not {row['rate']}",
            line,
        )


BENCHMARK = Benchmark(
    name="stream",
    title="STREAM",
    requires="a compiler with OpenMP and stream.c with arrays of at least four times the last-level cache",
    marks=(r"(?i:STREAM version \$?Revision)", r"^Function\s+(?:Best )?Rate\s*\(?[MG]B/s"),
    beginnings=(
        "-" * 61 + "\nSTREAM version",
        "Start time: ",
        "NVIDIA-STREAM ",
    ),
    parts=(r"^Solution Validates: avg error less than",),
    parse=parse,
    metrics=(Metric("bandwidth_bytes_per_s", "best rate; MB is 10⁶ bytes"), Metric("time_s", "least time of one pass")),
    main_metric="bandwidth_bytes_per_s",
    main_labels={"kernel": "Triad"},
    tried=("kernel",),  # several runs, for instance on more threads
    alike=(AlikeNumbers(("kernel",), KERNELS_APART),),
    evidence=("elements", "threads"),
    gates=(
        FindingKind.RESIDUAL_FAILED,
        FindingKind.NUMBERS_DISAGREE,
        FindingKind.RUN_TOO_SHORT,
        FindingKind.RANKS_DIFFER,
    ),
    complete="four kernels, the check of the solution, and the rule below it; variants without a check: four kernels",
    scaling=Scaling.STRONG,
    launch=STREAM,
)
