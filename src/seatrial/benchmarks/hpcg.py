"""HPCG: the report that it writes, HPCG-Benchmark_*.txt or *.yaml; versions 2.4 to 3.1."""

import re
from collections.abc import Sequence

from seatrial.benchmarks.declaration import AUTO, Benchmark, Launch, Parameter, Scaling, whole
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import NUMBER, whole_number
from seatrial.model.verdict import FindingKind

HEAD = re.compile(r"^(?:HPCG-Benchmark|.*HPCG[- ]Benchmark version)")
VERSION = re.compile(r"(?i)^(?:version\s*=\s*+|HPCG-Benchmark version:[ \t]*+(?:HPCG[ \t]*+)?+)(?P<version>[\w.]++)")
RATING = re.compile(
    r"HPCG result is\s*+[=:]?\s*+(?P<verdict>VALID|INVALID)[^=:]{0,80}?"
    rf"(?:rating of\s*[=:]\s*(?P<rating>{NUMBER}))?\s*+$"
)
FIELDS = (
    (re.compile(r"Distributed Processes\s*[=:]\s*(\d{1,9})"), "ranks"),
    (re.compile(r"Threads per processes\s*[=:]\s*(\d{1,9})"), "threads"),
    (re.compile(r"Number of Equations\s*[=:]\s*(\d{1,18})"), "equations"),
    (re.compile(r"Number of Nonzero Terms\s*[=:]\s*(\d{1,18})"), "nonzeros"),
    (re.compile(r"Total number of optimized iterations\s*[=:]\s*(\d{1,12})"), "iterations"),
    (re.compile(r"Optimized CG iterations per set\s*[=:]\s*(\d{1,9})"), "iterations_per_set"),
    (re.compile(r"Number of CG sets(?: measured)?\s*[=:]\s*(\d{1,9})"), "sets"),
)
KERNEL_RATE = re.compile(
    rf"(?:GFLOP/s Summary::)?(?P<kernel>Raw \w{{1,40}}+|Total with [\w ]{{1,60}}overhead)"
    rf"\s*[=:]\s*(?P<rate>{NUMBER})\s*$"
)
COARSE = re.compile(r"Multigrid Information|Coarse Grids")
"""Equations and nonzeros below it are those of coarse grids: the linear system is the finest one."""
SIZES = ("equations", "nonzeros")
CHECK = re.compile(r"\bResult\s*[=:]\s*(?P<outcome>\w+)\s*$")
TOTAL_TIME = re.compile(rf"execution time \(sec\) is\s*[=:]\s*(?P<time>{NUMBER})")
OFFICIAL = re.compile(rf"execution time \(sec\) must be at least\s*[=:]\s*(?P<time>{NUMBER})")
UPLOAD = re.compile(r"Please upload results from")
CLOSING = rf".*(?:{OFFICIAL.pattern.partition('(?P')[0]}(?:1800|3600)|hpcg-benchmark\.org)"
UNSOUND = re.compile(r"(?i)[=:]\s*[-+]?(?:nan|inf)\s*$")
REFUSED = re.compile(r"(?i:you may not submit|number of sets.{0,80}(?:failed|is 0)|result is not valid)")
GIGA = 1e9


HPCG_DAT = "HPCG benchmark input file\nwritten by seatrial\n{nx} {nx} {nx}\n{seconds}\n"
EQUATION_BYTES = 1000
"""Memory for one equation with all levels of the grid, about: 104³ equations take 1 GB."""
USUAL_EDGE, EDGE_STEP, LEAST_EDGE = 104, 8, 16
MOST_OF_MEMORY = 0.5


def hpcg_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """xhpcg with hpcg.dat. Raises UsageError for a parameter, and where the grids do not fit into the memory."""
    seconds = whole(request.parameters, "seconds", 1, 86_400)
    edge = _edge(request)
    step = BenchmarkStep(name="hpcg", argv=(request.program,), output="HPCG-Benchmark*.txt")
    return BenchmarkPlan(
        steps=(step,),
        files={"hpcg.dat": HPCG_DAT.format(nx=edge, seconds=seconds)},
        expected={"ranks": str(request.ranks), "equations": str(edge**3 * request.ranks)},
        notes=(
            f"{edge} x {edge} x {edge} equations for each rank, about "
            f"{edge**3 * EQUATION_BYTES * request.ranks_per_node / 1e9:.1f} GB of each node; {seconds} s.",
        ),
    )


def _edge(request: BenchmarkRequest) -> int:
    """Edge of each rank's grid, a multiple of 8: HPCG has four levels."""
    room = request.memory_bytes / request.ranks_per_node
    if request.parameters["edge"] != AUTO:
        edge = whole(request.parameters, "edge", LEAST_EDGE, 2048)
        if edge % EDGE_STEP:
            raise UsageError(f"--set edge={edge} is not a multiple of {EDGE_STEP}.", f"Give {edge // 8 * 8 or 16}.")
        if room and edge**3 * EQUATION_BYTES > room:
            raise UsageError(
                f"--set edge={edge}: a rank takes about {edge**3 * EQUATION_BYTES / 1e9:.1f} GB, and has "
                f"{room / 1e9:.1f} GB.",
                "Give a smaller one.",
            )
        return edge
    if not room:
        return USUAL_EDGE
    fitting = int((MOST_OF_MEMORY * room / EQUATION_BYTES) ** (1 / 3)) // EDGE_STEP * EDGE_STEP
    return max(min(fitting, USUAL_EDGE), LEAST_EDGE)


HPCG = Launch(
    programs=("xhpcg",),
    package="",
    plan=hpcg_plan,
    grows=True,
    parameters=(
        Parameter(name="edge", default=AUTO, meaning="of each rank's grid, a multiple of 8; auto: 104, less if needed"),
        Parameter(name="seconds", default="60", meaning="time of the measurement; 1800 for an official run"),
    ),
)


def parse(text: str) -> Output:
    """Reports after each other, in either of the two forms that its versions write."""
    reading = Reading("hpcg", text, closing=CLOSING)
    reading.find_version(VERSION.pattern)
    end = "|".join(pattern.pattern for pattern in (UPLOAD, OFFICIAL, REFUSED))
    for lines in reading.runs(r"^HPCG-Benchmark", end, "the last line of the final summary"):
        _report(reading, lines)
    return reading.output()


def _report(reading: Reading, lines: Sequence[OutputLine]) -> None:
    section = ""
    checks = 0
    for line in lines:
        if re.match(r"\S", line.text):
            section = line.text
        for pattern, name in FIELDS:
            coarse = name in SIZES and COARSE.search(f"{section} {line.text}")
            if (field := pattern.search(line.text)) and not coarse:
                reading.evidence(name, whole_number(field[1]), line)
        rate = KERNEL_RATE.search(line.text)
        if rate and "GFLOP/s" in f"{section} {line.text}":
            reading.result("rate_flops_per_s", rate["rate"], line, GIGA, {"part": rate["kernel"]})
        if check := CHECK.search(line.text):
            checks += 1
            if check["outcome"] != "PASSED":
                reading.breach(FindingKind.RESIDUAL_FAILED, f"a test of validity is {check['outcome']}", line)
        if UNSOUND.search(line.text):
            reading.breach(FindingKind.NOT_A_NUMBER, "a number of the report is not finite", line)
    _rating(reading, lines, checks)


def _rating(reading: Reading, lines: Sequence[OutputLine], checks: int) -> None:
    rating = reading.search(RATING.pattern, lines)
    if not rating:
        reading.lack("the final summary (HPCG result is VALID ...) is missing")
        return
    line, match = rating
    if len([*reading.matches(RATING.pattern, lines)]) > 1:
        reading.lack("it has the final lines of several runs, and nothing shows what differs between them")
        return
    if match["verdict"] != "VALID":
        reading.breach(FindingKind.RESIDUAL_FAILED, "HPCG calls its own result INVALID", line)
    if match["rating"]:
        reading.result("rate_flops_per_s", match["rating"], line, GIGA, {"part": "rating"})
    if not checks:
        reading.breach(FindingKind.RESIDUAL_MISSING, "no test of validity is in the report", line)
    time = reading.search(TOTAL_TIME.pattern, lines)
    if time:
        reading.result("time_s", time[1]["time"], time[0])
    _end(reading, [after for after in lines if after.number > line.number])


def _end(reading: Reading, after: Sequence[OutputLine]) -> None:
    """The last line of a report says where to upload it, or how long an official run takes."""
    if not any(UPLOAD.search(line.text) or OFFICIAL.search(line.text) or REFUSED.search(line.text) for line in after):
        reading.lack("the last line of the final summary is missing")
    if official := reading.search(OFFICIAL.pattern, after):
        reading.note(f"Not an official run: those take at least {official[1]['time']} s.")


BENCHMARK = Benchmark(
    name="hpcg",
    title="HPCG",
    requires="xhpcg, hpcg.dat and MPI",
    marks=(HEAD.pattern,),
    beginnings=("HPCG-Benchmark",),
    parts=(
        r"^[ \t]*+(?:Final Summary *+::)?HPCG result is[ \t]*+[=:]?[ \t]*+(?:IN)?VALID",
        r"^GFLOP/s Summary(?:=$|::Raw )",
    ),
    parse=parse,
    metrics=(Metric("rate_flops_per_s", "rating, and rate of each kernel"), Metric("time_s", "of the timed part")),
    main_metric="rate_flops_per_s",
    main_labels={"part": "rating"},
    evidence=("ranks", "threads", "equations", "nonzeros", "iterations", "iterations_per_set", "sets"),
    gates=(FindingKind.RESIDUAL_FAILED, FindingKind.RESIDUAL_MISSING, FindingKind.RANKS_DIFFER),
    complete="the final summary up to its last line (where to upload, or how long an official run takes)",
    scaling=Scaling.WEAK,
    launch=HPCG,
)
