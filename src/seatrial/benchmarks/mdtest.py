"""mdtest: operations on files, directories and the tree per second; 1.8 to 4.0."""

import re

from seatrial.benchmarks.declaration import AlikeNumbers, Benchmark, Launch, Parameter, Scaling, whole
from seatrial.benchmarks.reading import OutputLine, Reading, moment_of
from seatrial.benchmarks.uneven_numbers import OFF
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.unit_text import NUMBER, number_of, whole_number
from seatrial.model.verdict import FindingKind

START = re.compile(
    r"mdtest-(?P<version>[\w.+-]{1,60}+) was launched with (?P<ranks>\d{1,9}) total task\(s\) on "
    r"(?P<nodes>\d{1,9}) node"
)
BEGAN = re.compile(r"^-- started at (?P<time>\d\d/\d\d/\d{4} \d\d:\d\d:\d\d) --")
FINISHED = re.compile(r"^-- finished at (?P<time>\d\d/\d\d/\d{4} \d\d:\d\d:\d\d) --")
DATE = "%m/%d/%Y %H:%M:%S"
SUMMARY = re.compile(
    r"^SUMMARY(?: (?P<what>rate|time))?(?: \(in [\w/]+\))?:?\s*\(?(?:of (?P<iterations>\d{1,9}) iterations?\)?)?"
)
COUNT = re.compile(r"^(?P<ranks>\d{1,9}) tasks, (?P<items>\d{1,12}) (?P<kind>files(?:/directories)?|directories)")
COMMAND = re.compile(r"^Command line used:\s*(?P<words>.*)$")
PHASES = {"C": "creation", "T": "stat", "E": "read", "r": "removal"}
"""Option -> the operations that it selects; without any of them all are carried out."""
WITH_VALUE = "abdefGiIlnNpsVwWxX"
"""Options of one letter that take a value, which may follow at once."""
ROW = re.compile(
    rf"^\s*(?P<operation>(?:File|Directory|Tree) (?:creation|stat|read|removal|rename))(?:\s*+:)?+\s++"
    rf"(?:{NUMBER}\s++{NUMBER}\s++{NUMBER}\s++)?"  # since 4.0: most, least and mean of a rank
    rf"(?P<most>{NUMBER})\s+(?P<least>{NUMBER})\s+(?P<mean>{NUMBER})\s+(?P<deviation>{NUMBER})\s*$"
)

VERBOSE = re.compile(
    rf"^V-\d: .{{0,60}}?(?P<operation>(?:File|Directory|Tree) \w{{4,8}})\s*+: +{NUMBER} sec, "
    rf" *(?P<rate>{NUMBER}) ops/sec"
)
"""What -v prints of each iteration."""
AGREEMENT = 2.0
"""Rates of an iteration in both places: that of rank 0, which may leave before others, and that of all ranks."""


def mdtest_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """Create, stat, read and remove files and directories. Raises UsageError for a parameter."""
    items = whole(request.parameters, "items", 1, 10_000_000)
    iterations = whole(request.parameters, "iterations", 1, 1000)
    own = ("-u",) if whole(request.parameters, "own_directories", 0, 1) else ()
    words = ("-n", str(items), "-i", str(iterations), *own, "-d", "mdtest.files")
    return BenchmarkPlan(
        steps=(BenchmarkStep(name="mdtest", argv=(request.program, *words)),),
        expected={"ranks": str(request.ranks), "items": str(items * request.ranks)},
        notes=(f"{items * request.ranks} files and directories, {iterations} times.",),
    )


MDTEST = Launch(
    programs=("mdtest",),
    package="",
    plan=mdtest_plan,
    grows=True,
    parameters=(
        Parameter(name="items", default="1000", meaning="files and directories of each rank"),
        Parameter(name="iterations", default="3", meaning="how often"),
        Parameter(name="own_directories", default="1", meaning="1: a directory for each rank, 0: one for all"),
    ),
)


def parse(text: str) -> Output:
    """All runs of one output."""
    reading = Reading("mdtest", text, closing=FINISHED.pattern)
    runs, begun, ends, rows = 0, 0, 0, 0
    times: bool | None = None
    began, where, command = None, "", ""
    phases: set[str] = set()
    verbose: dict[str, list[float]] = {}
    for line in reading.whole_lines:
        if start := START.search(line.text):
            runs, rows, times, where, verbose = runs + 1, 0, None, start[0], {}
            reading.version = start["version"]
            reading.evidence("ranks", whole_number(start["ranks"]), line)
            reading.evidence("nodes", whole_number(start["nodes"]), line)
        elif count := COUNT.match(line.text):
            reading.evidence("items", whole_number(count["items"]), line)
        elif summary := SUMMARY.match(line.text):
            times = summary["what"] == "time"
            if summary["iterations"]:
                reading.evidence("iterations", whole_number(summary["iterations"]), line)
        elif row := ROW.match(line.text):
            rows += 1
            if times is not None and _carried_out(row, phases):
                _row(reading, line, row, times, f"{where} {command}")
                _compare(reading, line, row, [] if times else verbose.get(row["operation"], []))
        elif clock := BEGAN.match(line.text):
            began, begun = moment_of(clock["time"], DATE), begun + 1
        elif clock := FINISHED.match(line.text):
            ends += 1
            reading.compare_clock(began, moment_of(clock["time"], DATE), 0.0, line)
            _refuse_empty(reading, line, rows)
        else:
            phases = _remark(reading, line, phases, verbose)
            command = line.text if COMMAND.match(line.text) else command
    if not runs:
        reading.lack("it has no run (mdtest-... was launched with ...)")
    if ends < max(runs, begun):
        reading.lack("the closing line (-- finished at ... --) is missing")
    return reading.output()


def _refuse_empty(reading: Reading, line: OutputLine, rows: int) -> None:
    if not rows:
        reading.breach(FindingKind.WORK_SKIPPED, "the run has no row of results", line)


def _remark(reading: Reading, line: OutputLine, phases: set[str], verbose: dict[str, list[float]]) -> set[str]:
    """The command line, whose operations are returned, an error, or a rate of an iteration, which is added."""
    if printed := VERBOSE.match(line.text):
        verbose.setdefault(printed["operation"], []).append(number_of(printed["rate"]))
    if command := COMMAND.match(line.text):
        return _phases(command["words"])
    if re.search(r"(?i)^(?:ERROR|mdtest: error)|\bfailed\b.{0,300}\berrno\b", line.text):
        reading.breach(FindingKind.PROGRAM_FAILED, "mdtest reports an error", line)
    return phases


def _phases(words: str) -> set[str]:
    """Operations that the options select; empty: all."""
    selected = set()
    for word in words.replace("'", "").replace('"', "").split()[1:]:
        if not word.startswith("-") or word.startswith("--"):
            continue
        for letter in word[1:]:
            if letter in WITH_VALUE:
                break
            if letter in PHASES:
                selected.add(PHASES[letter])
    return selected


def _carried_out(row: "re.Match[str]", phases: set[str]) -> bool:
    """mdtest prints zeros for operations that were not requested."""
    zeros = not any(number_of(row[name]) for name in ("most", "least", "mean", "deviation"))
    operation = row["operation"].rpartition(" ")[2]
    return not zeros or not (operation == "rename" or (phases and operation not in phases))


def _row(reading: Reading, line: OutputLine, row: "re.Match[str]", times: bool, setting: str) -> None:
    operation = row["operation"].lower()
    reading.setting = "" if operation.startswith("tree") else setting  # a tree may be one directory
    metric = "time_s" if times else "rate_per_s"
    for statistic in ("mean", "most", "least"):
        reading.result(metric, row[statistic], line, labels={"operation": operation, "statistic": statistic})
    values = {name: number_of(row[name]) for name in ("least", "mean", "most")}
    slack = 1e-3 * abs(values["mean"]) + 1e-3
    if not values["least"] - slack <= values["mean"] <= values["most"] + slack and values["mean"] == values["mean"]:
        reading.breach(FindingKind.NUMBERS_DISAGREE, "the mean is not between least and most", line)


def _compare(reading: Reading, line: OutputLine, row: "re.Match[str]", rates: list[float]) -> None:
    """The rates of iterations are between the least and the most of the summary."""
    least, most = number_of(row["least"]) / AGREEMENT, number_of(row["most"]) * AGREEMENT
    if far := next((rate for rate in rates if not least <= rate <= most), None):
        reason = f"the rate of an iteration above, {far:g}, is not between least and most"
        reading.breach(FindingKind.NUMBERS_DISAGREE, reason, line)


BENCHMARK = Benchmark(
    name="mdtest",
    title="mdtest",
    requires="mdtest, MPI and a parallel file system",
    marks=(START.pattern, r"^-- started at \d\d/\d\d/\d{4}"),
    beginnings=("-- started at ", "\n-- started at ", "===ExeBinSignature=== MD5: "),
    parts=(r"^SUMMARY(?: rate| time)?(?: \(in [\w/]+\))?: \(of \d{1,9} iterations?\)", VERBOSE.pattern),
    parse=parse,
    metrics=(Metric("rate_per_s", "operations of all ranks"), Metric("time_s", "of one phase, where it is printed")),
    main_metric="rate_per_s",
    alike=(AlikeNumbers(("statistic",), OFF),),  # the most, the mean and the least of its iterations
    evidence=("ranks", "nodes", "items", "iterations"),
    gates=(FindingKind.NUMBERS_DISAGREE, FindingKind.WORK_SKIPPED, FindingKind.CLOCK_BACKWARDS),
    complete="`-- finished at ... --` for each run",
    scaling=Scaling.WEAK,
    launch=MDTEST,
)
