"""fio: bandwidth, operations per second and latency of each job, from JSON or from text; 2.x and 3.x."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seatrial.benchmarks.declaration import (
    AUTO,
    AlikeNumbers,
    Benchmark,
    Launch,
    Parameter,
    check_space,
    choice,
    size_bytes,
    whole,
)
from seatrial.benchmarks.reading import OBJECT_END, START, OutputLine, Reading, number_at, objects_in
from seatrial.benchmarks.uneven_numbers import OFF
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Label, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import number_of, unit_named, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

JOB = re.compile(
    r"^(?P<name>\S.*?): \(groupid=(?P<group>\d{1,6}), jobs=(?P<jobs>\d{1,6})\): err=\s*(?P<error>-?\d{1,6})"
)
DECLARED = re.compile(r"^(?P<job>\S.*?): \(g=(?P<group>\d{1,6})\): rw=(?P<mode>\w+),(?P<others>.*)")
VERSION = re.compile(r"^fio-(?P<version>\d\S*)\s*$")
OLD_DIRECTION = re.compile(
    r"^\s+(?P<direction>read|write|trim|mixed)\s*: io=\S+, bw=(?P<bw>\d{1,15}(?:\.\d{1,18})?)(?P<unit>[KMGT]?B)/s, "
    r"iops=(?P<iops>\d{1,15}(?:\.\d{1,18})?[kMG]?), runt="
)
OLD_TOTAL = re.compile(
    r"^\s*(?P<direction>READ|WRITE|TRIM|MIXED): io=(?P<io>\d{1,15}(?:\.\d{1,18})?)(?P<io_unit>[KMGT]?B), "
    r"aggrb=(?P<bw>\d{1,15}(?:\.\d{1,18})?)(?P<unit>[KMGT]?B)/s, .{0,200}maxt=\s*(?P<most>\d{1,12})msec"
)
"""Lines of fio 2.x, whose KB are 1024 bytes."""
DIRECTION = re.compile(
    r"^\s+(?P<direction>read|write|trim|mixed)\s*: IOPS="
    r"(?P<iops>\d{1,15}(?:\.\d{1,18})?[kMG]?), BW=(?P<bw>\d{1,15}(?:\.\d{1,18})?)(?P<unit>(?:[KMGT]i?)?B)/s"
)
GROUP = re.compile(r"^Run status group (?P<group>\d{1,6}) \(all jobs\):")
TOTAL = re.compile(
    r"^\s*(?P<direction>READ|WRITE|TRIM|MIXED): bw=(?P<bw>\d{1,15}(?:\.\d{1,18})?)(?P<unit>(?:[KMGT]i?)?B)/s .{0,200}?"
    r"io=(?P<io>\d{1,15}(?:\.\d{1,18})?)(?P<io_unit>(?:[KMGT]i?)?B)"
    r".{0,200}?run=(?P<least>\d{1,12})-(?P<most>\d{1,12})msec"
)
ANY_TOTAL = r"^\s*(?:READ|WRITE|TRIM|MIXED): "
TERSE = re.compile(r"(?m)^[345];fio-\d[^;\n]*;")
FEWEST_TERSE = 5 + 2 * 41
DEPTHS = 7
"""Fields of shares of operations by how many were in flight."""
MEAN_LATENCY = 4 + 4 + 4 + 20 + 2
"""Fields from the first of a direction to the mean of its total latency."""
DISKS = re.compile(r"^Disk stats \(read/write\):")
DISK = re.compile(r"^\s+\S+: ios=\d{1,18}/\d{1,18}")
AGGREGATE = "aggrios="
"""Marks a device that is made of others, which have lines of their own below it."""
PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
MIXED = "mixed"
"""All directions as one, with --unified_rw_reporting."""
READS = {"read", "randread", "rw", "readwrite", "randrw", "randreadwrite"}
WRITES = {"write", "randwrite", "rw", "readwrite", "randrw", "randreadwrite", "trimwrite"}
FEWEST_TICKS = 20
"""Milliseconds, in which fio counts: fewer make its rates uncertain by more than 5 %."""
AGREEMENT = 0.05
DIRECTIONS = ("read", "write", "trim", MIXED)
ORDERING = ("name", "stonewall", "wait_for", "startdelay", "new_group")
"""Options that say what a job is called and when it begins, and not what it does."""


MODES = ("write", "read", "randwrite", "randread", "rw", "randrw")
MIB = 1 << 20


def fio_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """One job in the scratch folder, past the page cache where `direct` says so. Raises UsageError for a parameter."""
    parameters = request.parameters
    mode = choice(parameters, "mode", MODES)
    direct = whole(parameters, "direct", 0, 1)
    jobs = whole(parameters, "jobs", 1, 1024)
    block = size_bytes(parameters, "block")
    size, note = _size(request, direct=bool(direct))
    check_space(request, size * jobs, f"{jobs} files of {size / 1e9:.1f} GB")
    words = [
        f"--name={mode}", f"--rw={mode}", f"--size={size}", f"--bs={block}", f"--direct={direct}",
        f"--numjobs={jobs}", "--group_reporting", "--directory=.", "--end_fsync=1", "--output-format=json",
        f"--runtime={whole(parameters, 'seconds', 1, 86400)}",
    ]  # fmt: skip
    return BenchmarkPlan(steps=(BenchmarkStep(name="fio", argv=(request.program, *words), mpi=False),), notes=(note,))


def _size(request: BenchmarkRequest, *, direct: bool) -> tuple[int, str]:
    """Bytes of a file, and a sentence on it. Through the page cache it is twice the memory."""
    if request.parameters["size"] != AUTO:
        size = size_bytes(request.parameters, "size")
        cached = not direct and 0 < size < 2 * request.memory_bytes
        doubt = " It is less than twice the memory: the page cache may serve it." if cached else ""
        return size, f"A file of {size / 1e9:.2f} GB as requested.{doubt}"
    size = (4096 * MIB) if direct else 2 * request.memory_bytes
    if not size:
        raise UsageError("The memory of the node is not known.", "Give the size: --set size=64GiB.")
    why = "past the page cache" if direct else "twice the memory, so that the page cache cannot serve it"
    return size, f"A file of {size / 1e9:.2f} GB: {why}."


FIO = Launch(
    programs=("fio",),
    package="fio",
    plan=fio_plan,
    ranks_per_node=1,
    parameters=(
        Parameter(name="mode", default="write", meaning=", ".join(MODES)),
        Parameter(name="size", default=AUTO, meaning="of the file; auto: 4GiB, twice the memory with direct=0"),
        Parameter(name="block", default="1MiB", meaning="bytes of one operation"),
        Parameter(name="jobs", default="1", meaning="processes at once, each with its own file"),
        Parameter(name="direct", default="1", meaning="1: past the page cache, 0: through it"),
        Parameter(name="seconds", default="60", meaning="longest time"),
    ),
)


def parse(text: str) -> Output:
    """JSON where the output has an object, else text. What fio prints before the object is passed over."""
    if re.search(r"(?m)^\{", text) and ('"fio version"' in text or not re.search(r"(?m)^fio-\d", text)):
        return _json(text)
    return _terse(text) if TERSE.search(text) else _text(text)


def _terse(text: str) -> Output:
    """One line for each job or group: 5 fields, then 41 of reads and 41 of writes (HOWTO of fio, terse output)."""
    reading = Reading("fio", text)
    for line in reading.whole_lines:
        fields = line.text.split(";")
        if not TERSE.match(line.text):
            continue
        if len(fields) < FEWEST_TERSE:
            reading.lack(f"line {line.number} has {count(len(fields), 'field')}, not at least {FEWEST_TERSE}")
            continue
        reading.version = fields[1].removeprefix("fio-")
        if fields[4] != "0":
            reading.breach(FindingKind.PROGRAM_FAILED, f"job {fields[2]!r}: error {fields[4][:20]}", line)
        moved = 0.0
        for direction, first in (("read", 5), ("write", 46)):
            kibibytes, rate, _, milliseconds = (_field(fields[first + place]) for place in range(4))
            moved += kibibytes
            if not kibibytes:
                continue
            labels: dict[str, Label] = {"job": fields[2], "direction": direction}
            reading.setting = _terse_setting(fields, first)
            reading.result("bandwidth_bytes_per_s", fields[first + 1], line, 1024, labels)
            reading.result("rate_per_s", fields[first + 2], line, 1.0, labels)
            reading.result("latency_s", fields[first + MEAN_LATENCY], line, 1e-6, labels)
            _plausible(reading, fields[2], milliseconds, kibibytes * 1024, rate * 1024, line)
        if not moved:
            reading.breach(FindingKind.WORK_SKIPPED, f"job {fields[2]!r} read and wrote nothing", line)
    declared = len(list(reading.matches(DECLARED.pattern)))
    lines = len(list(reading.matches(TERSE.pattern)))
    if lines < declared:
        reading.lack(f"{declared} jobs are declared, and {lines} lines have results")
    return reading.output()


def _terse_setting(fields: Sequence[str], first: int) -> str:
    """The size of operations and how many are in flight: a terse line has no options. Empty if it has no depths."""
    operations = _field(fields[first + 2])
    parts = (fields[place : place + DEPTHS] for place in range(FEWEST_TERSE, len(fields) - DEPTHS))
    depths = next((part for part in parts if all(field.endswith("%") for field in part)), None)
    if not operations or not depths:
        return ""
    size = 2 ** round(math.log2(1024 * _field(fields[first + 1]) / operations))
    return f"group {fields[3]} {size} bytes {' '.join(depths)}"


def _field(text: str) -> float:
    try:
        return number_of(text)
    except ValueError:
        return 0.0


def _json(text: str) -> Output:
    reading = Reading("fio", text, closing=OBJECT_END)
    for content in reading.json_objects(text):
        _object(reading, content)
    return reading.output()


def _object(reading: Reading, content: Mapping[str, Any]) -> None:
    """One run of fio."""
    reading.version = str(content.get("fio version", "")).removeprefix("fio-")
    jobs = objects_in(content.get("jobs") or content.get("client_stats"))
    if not jobs:
        reading.lack("its JSON has no jobs")
    of_all = content.get("global options")
    for job in jobs:
        reading.setting = _options(of_all, job.get("job options"))
        _job(reading, job)


def _options(of_all: object, of_job: object) -> str:
    """What a job does; empty where the output does not have its options (fio 2.x)."""
    if not isinstance(of_job, dict) or not of_job:
        return ""
    options = {**of_all, **of_job} if isinstance(of_all, dict) else of_job
    return json.dumps({name: value for name, value in options.items() if name not in ORDERING}, sort_keys=True)


def _job(reading: Reading, job: Mapping[str, Any]) -> None:
    name = str(job.get("jobname", ""))
    if job.get("error"):
        reading.breach(FindingKind.PROGRAM_FAILED, f"job {name!r}: error {job.get('error')}")
    worked = False
    for direction in DIRECTIONS:
        part = job.get(direction)
        if not isinstance(part, dict) or (not number_at(part, "total_ios") and not number_at(part, "io_bytes")):
            continue
        worked = True
        labels: dict[str, Label] = {"job": name, "direction": direction}
        rate = number_at(part, "bw_bytes") or 1024 * number_at(part, "bw")
        reading.json_result("bandwidth_bytes_per_s", rate, labels)
        reading.json_result("rate_per_s", number_at(part, "iops"), labels)
        for field, unit in (("lat_ns", 1e-9), ("lat", 1e-6)):
            if isinstance(part.get(field), dict):
                reading.json_result("latency_s", number_at(part[field], "mean") * unit, labels)
        moved = number_at(part, "io_bytes")
        if "io_kbytes" not in part:  # fio 2.x, whose io_bytes are in KiB
            expected = rate * number_at(part, "runtime") / 1000
            moved = min(moved, 1024 * moved, key=lambda size: abs(size - expected))
        _plausible(reading, name, number_at(part, "runtime"), moved, rate)
    if not worked:
        reading.breach(FindingKind.WORK_SKIPPED, f"job {name!r} read and wrote nothing")


def _plausible(
    reading: Reading, name: str, runtime_ms: float, moved: float, rate: float, line: OutputLine = START
) -> None:
    """A run of a few ticks of fio's clock has no rate; rate times time is the amount."""
    if 0 < runtime_ms < FEWEST_TICKS:
        reading.breach(FindingKind.RUN_TOO_SHORT, f"{name!r} ran for {runtime_ms:g} ms: too short for a rate", line)
    elif runtime_ms and moved and rate and not abs(rate * runtime_ms / 1000 / moved - 1) <= AGREEMENT:
        reading.breach(FindingKind.NUMBERS_DISAGREE, f"{name!r}: rate times run time is not the amount of data", line)


def _text(text: str) -> Output:
    reading = Reading("fio", text, closing=rf"{DISK.pattern}.*\butil=\d+\.\d\d%|{ANY_TOTAL}.*msec")
    reading.find_version(VERSION.pattern)
    for lines in _runs(reading):
        _run(reading, lines)
    return reading.output()


def _runs(reading: Reading) -> Iterator[Sequence[OutputLine]]:
    """The lines of each run: jobs that are declared below results, or a second version, begin another one."""
    begun, versions, results = 0, 0, False
    for line in reading.whole_lines:
        versions += VERSION.match(line.text) is not None
        declared = DECLARED.match(line.text) is not None
        if versions > 1 or (declared and results):
            yield reading.whole_lines[begun : line.number - 1]
            begun, versions, results = line.number - 1, int(not declared), False
        results = results or (JOB.match(line.text) or GROUP.match(line.text)) is not None
    yield reading.whole_lines[begun:]


def _run(reading: Reading, lines: Sequence[OutputLine]) -> None:
    modes: dict[str, set[str]] = {}
    totals: dict[str, set[str]] = {}
    declarations: dict[str, str] = {}
    job, group = "", ""
    for line in lines:
        if declared := DECLARED.match(line.text):
            modes.setdefault(declared["group"], set()).add(declared["mode"])
            declarations[declared["job"]] = f"{declared['mode']},{declared['others']}"
        elif head := JOB.match(line.text):
            job = head["name"]
            named = re.sub(r"\d+", "#", job)  # what a job writes to is not in its line: only rep1 and rep2 are alike
            reading.setting = f"{head['jobs']} {named} {declarations[job]}" if job in declarations else ""
            reading.evidence("jobs", whole_number(head["jobs"]), line)
            if int(head["error"]):
                reading.breach(FindingKind.PROGRAM_FAILED, f"job {job!r}: error {head['error']}", line)
        elif direction := DIRECTION.match(line.text) or OLD_DIRECTION.match(line.text):
            _direction(reading, line, direction, job)
        elif head := GROUP.match(line.text):
            group, reading.setting = head["group"], ""
            totals[group] = set()
        elif group and (total := TOTAL.match(line.text) or OLD_TOTAL.match(line.text)):
            totals[group].add(total["direction"].lower())
            _total(reading, line, total, group)
    _complete(reading, lines, modes, totals)


def _unit(match: "re.Match[str]", name: str) -> float:
    """Bytes of a unit: fio 2.x writes KB for 1024 bytes, and 3.x KiB."""
    unit = match[name]
    old = match.re in (OLD_DIRECTION, OLD_TOTAL) and len(unit) > 1
    return unit_named(f"{unit[0]}iB" if old else unit).factor


def _direction(reading: Reading, line: OutputLine, match: "re.Match[str]", job: str) -> None:
    labels: dict[str, Label] = {"job": job, "direction": match["direction"]}
    reading.result("bandwidth_bytes_per_s", match["bw"], line, _unit(match, "unit"), labels=labels)
    letter = match["iops"][-1] if match["iops"][-1].isalpha() else ""
    reading.result("rate_per_s", match["iops"].removesuffix(letter), line, PREFIXES[letter], labels=labels)


def _total(reading: Reading, line: OutputLine, match: "re.Match[str]", group: str) -> None:
    direction, unit = match["direction"].lower(), _unit(match, "unit")
    reading.result("bandwidth_bytes_per_s", match["bw"], line, unit, {"group": group, "direction": direction})
    moved, rate = number_of(match["io"]) * _unit(match, "io_unit"), number_of(match["bw"]) * unit
    _plausible(reading, f"group {group} {direction}", number_of(match["most"]), moved, rate, line)
    if not math.isfinite(moved) or not moved:
        reading.breach(FindingKind.WORK_SKIPPED, f"group {group} moved no data", line)


def _complete(
    reading: Reading, lines: Sequence[OutputLine], modes: dict[str, set[str]], totals: dict[str, set[str]]
) -> None:
    """A run has a summary for each group with each direction of its jobs; statistics of disks have a line each."""
    if not totals:
        reading.lack(f"the run that begins in line {lines[0].number if lines else 1} has no summary (Run status group)")
        return
    for group, declared in modes.items():
        wanted = {"read"} if declared & READS else set()
        wanted |= {"write"} if declared & WRITES else set()
        directions = totals.get(group, set())
        for direction in sorted(wanted - directions) if MIXED not in directions else ():
            reading.lack(f"the summary of group {group} has no line for {direction}")
    disks = [line for line, _ in reading.matches(DISKS.pattern, lines)]
    if not disks and modes:
        if lines[-1] == reading.whole_lines[-1] and reading.search(DISKS.pattern):
            reading.lack(f"the run that begins in line {lines[0].number} has no statistics of disks, which others have")
        else:
            reading.note(
                "All results are there, and the statistics of disks are missing: its file system has none, or the text "
                "was cut off there."
            )
        return
    rows = [line for line, _ in reading.matches(DISK.pattern, lines) if not disks or line.number > disks[-1].number]
    if not rows:
        reading.lack("the statistics of disks have no line")
    elif AGGREGATE in rows[-1].text:
        reading.lack("the statistics of disks end before the disks of the last device")


BENCHMARK = Benchmark(
    name="fio",
    title="fio",
    requires="fio and a folder or device to test",
    marks=(
        r"^fio-\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:-\w{1,12}){0,3}[ \t]*$",
        r"^[345];fio-\d",
        r'^[ \t]*+(?:\{[ \t]*+)?"fio version"\s*:',
        r": \(g=\d{1,18}\): rw=\w+",
        r": \(groupid=\d{1,18}, jobs=\d{1,18}\): err=",
        r"^[ \t]++(?:read|write) ?: (?:IOPS|io)=",
    ),
    beginnings=('{\n  "fio version"', "fio: ", "fio-"),
    parts=(GROUP.pattern,),
    parse=parse,
    metrics=(
        Metric("bandwidth_bytes_per_s", "of a job, or of its group"),
        Metric("rate_per_s", "operations of a job (IOPS)"),
        Metric("latency_s", "mean of a job, from JSON and terse output"),
    ),
    main_metric="bandwidth_bytes_per_s",
    alike=(AlikeNumbers(("job",), OFF),),
    evidence=("jobs",),
    gates=(
        FindingKind.PROGRAM_FAILED,
        FindingKind.WORK_SKIPPED,
        FindingKind.RUN_TOO_SHORT,
        FindingKind.NUMBERS_DISAGREE,
    ),
    complete="JSON: the end of the object. Text: for each group a summary with each direction of its jobs, and the "
    "statistics of disks, if it has any",
    launch=FIO,
)
