"""IOR: bandwidth of each write and read, checked against the amount of data; 2.10 to 4.0, one or many runs."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from seatrial.benchmarks.declaration import (
    Benchmark,
    Launch,
    Parameter,
    Scaling,
    check_space,
    choice,
    size_bytes,
    whole,
)
from seatrial.benchmarks.reading import OutputLine, Reading, moment_of, objects_in, rounding
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Label, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import NUMBER, is_number, number_of, unit_named, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

START = re.compile(r"^IOR-(?P<version>[\w.+-]+): MPI Coordinated Test of Parallel I/O")
BEGAN = re.compile(r"^(?:Run )?[Bb]egan\s*:\s*(?P<time>\w{3} \w{3} +\d{1,18} \d\d:\d\d:\d\d \d{4})")
FINISHED = re.compile(r"^(?:Run )?[Ff]inished\s*:\s*(?P<time>\w{3} \w{3} +\d{1,18} \d\d:\d\d:\d\d \d{4})")
HEADING = re.compile(r"^access\s+bw\(Mi?B/s\)")
COLUMN = re.compile(r"\S{1,60}?\([^)]{0,60}\)|\S+")
SUMMARY = re.compile(r"^Summary of all tests:|^Operation\s+Max\s?\(")
"""Below it is a row for each operation: its first number is the maximum, and none of its numbers is another run."""
MAXIMUM = re.compile(rf"^Max (?P<operation>Write|Read):\s+(?P<rate>{NUMBER}) MiB/sec")
OPTIONS = (
    (re.compile(r"^\s*(?:tasks|clients|nproc|[Pp]articipating tasks)\s*[:=]\s*(\d{1,9})"), "ranks"),
    (re.compile(r"^\s*nodes\s*[:=]\s*(\d{1,9})"), "nodes"),
    (re.compile(r"^\s*repetitions\s*[:=]\s*(\d{1,9})"), "repetitions"),
)
SIZE = re.compile(rf"^\s*aggregate file\s?size\s*[:=]\s*(?P<size>{NUMBER}) (?P<unit>bytes|[KMGTP]iB)")
API = re.compile(r"^\s*api\s*[:=]\s*(?P<api>\S+)")
TEST = re.compile(r"^TestID\s*:\s*(?P<test>\d{1,9})")
LAYOUT = re.compile(r"^\s*access\s*[:=]\s*(?P<layout>\S.*\S)")
COMMAND = re.compile(r"^Command line(?: used)?\s*:\s*(?P<words>.*)$")
STONEWALL = re.compile(r"^\s*stonewallingTime\s*[:=]\s*[1-9]|^Using stonewalling = [1-9]")
MOVED = re.compile(r"Using actual aggregate bytes moved = (?P<moved>\d{1,18})")
CORRUPT = re.compile(
    r"(?i)incorrect data on|data check error|inconsistent data"
    r"|(?<![0-9])(?!0)[0-9]{1,18}+ errors? (?:found|in data)"
)
EXPECTED = re.compile(r"Expected aggregate file size\s*= (?P<bytes>\d{1,18})")
OPERATIONS = ("write", "read")
AGREEMENT = 0.03
"""The printed amount has three digits."""


APIS = ("POSIX", "MPIIO", "HDF5", "NCMPI")


MEBIBYTE = 1 << 20
WORK = {"numTasks": "ranks", "tasks": "ranks", "numNodes": "nodes", "nodes": "nodes", "repetitions": "repetitions"}
Fields = Mapping[str, Any]


def parse_json(text: str) -> Output:
    """All runs, an object each. One is complete with its end, `Finished`, and as many results as repetitions."""
    reading = Reading("ior", text, closing=r"\}")
    for content in reading.json_objects(text):
        _run(reading, content)
    return reading.output()


def _run(reading: Reading, whole: Fields) -> None:
    reading.version = str(whole.get("Version", ""))[:40]
    if "Finished" not in whole:
        reading.lack("it has no closing line (Finished)")
    tests = objects_in(whole.get("tests"))
    if not tests:
        reading.lack("it has no tests")
    for test in tests:
        _test(reading, test)


def _test(reading: Reading, test: Fields) -> None:
    options = {**_object(test.get("Options")), **_object(test.get("Parameters"))}
    for field, name in WORK.items():
        value = options.get(field)
        if str(value).isdecimal() and len(str(value)) < 10:
            reading.evidence(name, int(str(value)))
    reading.setting = json.dumps(options, sort_keys=True)
    counted = dict.fromkeys(OPERATIONS, 0)
    for row in _rows(test.get("Results")):
        operation = str(row.get("access", ""))
        if operation not in OPERATIONS:
            continue
        counted[operation] += 1
        labels: dict[str, Label] = {"operation": operation, "api": str(options.get("api", ""))}
        reading.json_result("bandwidth_bytes_per_s", row.get("bwMiB"), labels, MEBIBYTE)
        reading.json_result("time_s", row.get("totalTime"), labels)
        if row.get("errors") or row.get("verifyErrors"):
            reading.breach(FindingKind.DATA_CORRUPT, "IOR's own check of the data failed")
    if not any(counted.values()):
        reading.lack("a test has no results")
    wanted = reading.value("repetitions")
    for operation, tests in counted.items():
        if tests and isinstance(wanted, int) and tests < wanted:
            reading.lack(f"a test has {tests} of {wanted} repetitions of {operation}")


def _object(value: object) -> Fields:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> Iterator[Fields]:
    """Results are objects, in some versions in lists by repetition."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item
        elif isinstance(item, list):
            yield from (row for row in item if isinstance(row, dict))


def ior_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """Write and read one block for each rank, read by another node than wrote it. Raises UsageError."""
    parameters = request.parameters
    api = choice(parameters, "api", APIS)
    block, transfer = size_bytes(parameters, "block"), size_bytes(parameters, "transfer")
    if block % transfer:
        raise UsageError(f"--set block={block} is not a multiple of transfer={transfer}.", "Give 1GiB and 1MiB.")
    check_space(request, block * request.ranks, f"{request.ranks} blocks of {block / 1e9:.2f} GB")
    repetitions = whole(parameters, "repetitions", 1, 1000)
    own = ("-F",) if whole(parameters, "own_files", 0, 1) else ()
    words = ("-a", api, "-w", "-r", "-e", "-C", *own, "-b", str(block), "-t", str(transfer),
             "-i", str(repetitions), "-o", "ior.data")  # fmt: skip
    cached = block * request.ranks_per_node < request.memory_bytes
    doubt = " It fits into the memory: what is read may come from caches of servers." if cached else ""
    return BenchmarkPlan(
        steps=(BenchmarkStep(name="ior", argv=(request.program, *words)),),
        expected={"ranks": str(request.ranks), "repetitions": str(repetitions)},
        notes=(f"{block * request.ranks / 1e9:.2f} GB in {transfer} byte transfers, {repetitions} times.{doubt}",),
    )


IOR = Launch(
    programs=("ior",),
    package="",
    plan=ior_plan,
    grows=True,
    parameters=(
        Parameter(name="block", default="1GiB", meaning="that each rank writes and reads"),
        Parameter(name="transfer", default="1MiB", meaning="bytes of one operation"),
        Parameter(name="api", default="POSIX", meaning=", ".join(APIS)),
        Parameter(name="own_files", default="1", meaning="1: a file for each rank, 0: one for all"),
        Parameter(name="repetitions", default="3", meaning="how often it writes and reads"),
    ),
)


class IorRun(msgspec.Struct):
    """One IOR run while it is read."""

    start: OutputLine
    began: datetime | None = None
    api: str = ""
    layout: str = ""
    words: tuple[str, ...] = ()
    test: str = ""
    """Number of the test, of which one run may have several."""
    columns: list[str] = msgspec.field(default_factory=list)
    repetitions: int = 1
    bytes: float = 0.0
    rows: dict[str, int] = msgspec.field(default_factory=dict)
    """Operation -> rows of the table."""
    summary: bool = False
    """Whether its lines are those of the summary."""
    maxima: set[str] = msgspec.field(default_factory=set)
    stonewalled: bool = False
    """Whether it writes for a time, and may move less than the size of the file (-D)."""
    total_s: float = 0.0
    finished: bool = False


def parse(text: str) -> Output:
    """All runs of one output, as text or as one JSON object."""
    if re.match(r"\s*\{", text):
        return parse_json(text)
    reading = Reading("ior", text, closing=FINISHED.pattern)
    runs: list[IorRun] = []
    if reading.whole_lines and not reading.search(START.pattern):
        runs.append(IorRun(start=reading.whole_lines[0]))
    for line in reading.whole_lines:
        if start := START.match(line.text):
            reading.version = start["version"]
            runs.append(IorRun(start=line))
        elif runs:
            _line(reading, runs[-1], line)
    for run in runs:
        _complete(reading, run)
    if not runs:
        reading.lack("it has no run (IOR-...: MPI Coordinated Test of Parallel I/O)")
    _series(reading, runs)
    return reading.output()


def _line(reading: Reading, run: IorRun, line: OutputLine) -> None:
    text = line.text
    words = text.split(maxsplit=2)
    _option(reading, run, line)
    if SUMMARY.match(text):
        run.columns, run.summary = [], True
    elif HEADING.match(text):
        run.columns = COLUMN.findall(text)
    elif maximum := MAXIMUM.match(text):
        run.maxima.add(maximum["operation"].lower())
    elif began := BEGAN.match(text):
        run.began = moment_of(began["time"])
    elif finished := FINISHED.match(text):
        run.finished = True
        reading.compare_clock(run.began, moment_of(finished["time"]), run.total_s, line)
    elif words[:1] and words[0] in OPERATIONS and run.summary:
        run.maxima |= {words[0]} if len(words) > 1 and re.fullmatch(NUMBER, words[1]) else set()
    elif words[:1] and words[0] in OPERATIONS and run.columns and not run.maxima:
        _row(reading, run, line)
    else:
        _warning(reading, run, line)


def _option(reading: Reading, run: IorRun, line: OutputLine) -> None:
    for pattern, name in OPTIONS:
        if option := pattern.match(line.text):
            reading.evidence(name, whole_number(option[1]), line)
            if name == "repetitions":
                run.repetitions = whole_number(option[1])
    if api := API.match(line.text):
        run.api = api["api"]
    elif command := COMMAND.match(line.text):
        run.words = tuple(command["words"].split())
    elif test := TEST.match(line.text):
        run.test = test["test"]
    elif size := SIZE.match(line.text):
        run.bytes = number_of(size["size"]) * unit_named(size["unit"]).factor
        reading.evidence("bytes", run.bytes, line)
    elif (layout := LAYOUT.match(line.text)) and not HEADING.match(line.text):
        run.layout = layout["layout"]


def _row(reading: Reading, run: IorRun, line: OutputLine) -> None:
    row = dict(zip(run.columns, line.text.split(), strict=False))
    operation = line.text.split(maxsplit=1)[0]
    rate = row.get("bw(MiB/s)", "")
    if not is_number(rate) or len(row) < len(run.columns):
        return
    run.rows[operation] = run.rows.get(operation, 0) + 1
    labels = {"operation": operation, "api": run.api, "layout": run.layout}
    command = " ".join(run.words) or f"line {run.start.number}"
    work = reading.value("ranks"), reading.value("nodes"), run.bytes, row.get("xfer(KiB)")
    reading.setting = f"{command}; test {run.test}; {work}"
    reading.result("bandwidth_bytes_per_s", rate, line, MEBIBYTE, labels=labels)
    time = row.get("total(s)", "")
    if not is_number(time):
        return
    reading.result("time_s", time, line, labels=labels)
    moved, time_s = number_of(rate) * MEBIBYTE * number_of(time), number_of(time)
    if not math.isfinite(time_s):
        return
    run.total_s += time_s
    slack = AGREEMENT + rounding(time)
    if run.stonewalled and moved <= run.bytes * (1 + slack):
        return
    if run.bytes and time_s > 0 and abs(moved / run.bytes - 1) > slack:
        reading.breach(
            FindingKind.NUMBERS_DISAGREE,
            f"{rate} MiB/s for {time} s are {moved:.4g} bytes, not the {run.bytes:.4g} of the file",
            line,
        )


def _warning(reading: Reading, run: IorRun, line: OutputLine) -> None:
    if CORRUPT.search(line.text):
        reading.breach(FindingKind.DATA_CORRUPT, "IOR's own check of the data failed", line)
    elif expected := EXPECTED.search(line.text):
        run.bytes = float(expected["bytes"])
    elif moved := MOVED.search(line.text):
        if run.bytes and whole_number(moved["moved"]) < run.bytes and not run.stonewalled:
            reading.breach(FindingKind.WORK_SKIPPED, "fewer bytes were moved than requested", line)
    elif STONEWALL.match(line.text):
        run.stonewalled = True
    elif re.match(r"(?:ior )?ERROR", line.text):
        reading.breach(FindingKind.PROGRAM_FAILED, "IOR reports an error", line)
    elif re.match(r"(?:ior )?WARNING", line.text):
        reading.note(f"Line {line.number}: {line.text.strip()[:120]}")


def _complete(reading: Reading, run: IorRun) -> None:
    name = f"the run of line {run.start.number}"
    for operation in dict.fromkeys((*run.rows, *run.maxima)):
        if run.rows.get(operation, 0) < run.repetitions and operation in run.rows:
            reading.lack(f"{name} has {run.rows[operation]} of {run.repetitions} repetitions of {operation}")
        if operation not in run.maxima:
            reading.lack(f"{name} has no maximum of {operation}")
    if not run.rows:
        reading.lack(f"{name} has no results")
    if not run.finished:
        reading.lack(f"{name} has no closing line (Finished)")


def _series(reading: Reading, runs: list[IorRun]) -> None:
    """Scripts that write with -k in all runs first read the same files back in later runs: all of them are there."""
    series = reading.search(r"^# Starting Test:")
    if not series:
        return
    begun = len(list(reading.matches(r"^# Starting Test:")))
    if begun > len(runs):
        reading.lack(f"{begun} tests were started, {len(runs)} have output")
    kept = {run.words[run.words.index("-o") + 1] for run in runs if "-k" in run.words and "-o" in run.words[:-1]}
    read = {
        run.words[run.words.index("-o") + 1]
        for run in runs
        if "-r" in run.words and "-o" in run.words[:-1] and "-w" not in run.words
    }
    unread = [name for name in kept if name not in read]
    if unread:
        reading.lack(
            f"{len(unread)} of {count(len(kept), 'file')} that were written and kept are not read back by a later test"
        )


BENCHMARK = Benchmark(
    name="ior",
    title="IOR",
    requires="ior, MPI and a parallel file system",
    marks=(r"^IOR-[\w.+-]+: MPI Coordinated", r'^[ \t]*+"Command line"\s*:\s*"[^"]*\bior\b'),
    beginnings=("IOR-", '{\n  "Version": "', '{\n    "Version": "', "===ExeBinSignature=== MD5: "),
    parts=(HEADING.pattern, rf"{MAXIMUM.pattern} \("),
    parse=parse,
    metrics=(
        Metric("bandwidth_bytes_per_s", "of one repetition; MiB is 2²⁰"),
        Metric("time_s", "of one repetition, open to close"),
    ),
    main_metric="bandwidth_bytes_per_s",
    evidence=("ranks", "nodes", "repetitions", "bytes"),
    gates=(
        FindingKind.DATA_CORRUPT,
        FindingKind.NUMBERS_DISAGREE,
        FindingKind.WORK_SKIPPED,
        FindingKind.CLOCK_BACKWARDS,
    ),
    complete="for each run a table, a maximum for each operation and `Finished`; in a series of tests that keep what "
    "they write, the tests that read it",
    scaling=Scaling.WEAK,
    launch=IOR,
)
