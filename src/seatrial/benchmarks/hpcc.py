"""HPC Challenge: the summary of hpccoutf.txt with all parts, and the checks that each part prints."""

import re
from collections.abc import Sequence

from seatrial.benchmarks.declaration import Benchmark, Scaling
from seatrial.benchmarks.hpl import GATES, HPCC, read_hpl
from seatrial.benchmarks.reading import OutputLine, Reading, rule_of
from seatrial.benchmarks.stream import read_stream
from seatrial.model.benchmark import LEAST_OF_PEAK, Metric, Output
from seatrial.model.unit_text import number_of, whole_number
from seatrial.model.verdict import FindingKind

BEGIN = re.compile(r"^Begin of (?P<part>\w+) section\.")
FINISH = re.compile(r"^End of (?P<part>\w+) section\.")
FIELD = re.compile(r"^(?P<key>[A-Za-z]\w*)=(?P<value>\S*)\s*$")
TIME = re.compile(r"^Current time \((?P<seconds>\d{9,12})\)")
START = re.compile(r"DARPA/DOE HPC Challenge Benchmark(?: version (?P<version>\S+))?")
END = re.compile(r"^End of HPC Challenge tests\.", re.MULTILINE)
CLOSING = re.compile(r"^#{60,}\s*$", re.MULTILINE)
UNITS = (
    (re.compile(r"_Tflops$"), "rate_flops_per_s", 1e12),
    (re.compile(r"_Gflops$"), "rate_flops_per_s", 1e9),
    (re.compile(r"_GUPs$"), "updates_per_s", 1e9),
    (re.compile(r"_GBs$|STREAM_(?:Copy|Scale|Add|Triad)$|_GBytes$"), "bandwidth_bytes_per_s", 1e9),
    (re.compile(r"_usec$"), "latency_s", 1e-6),
    (re.compile(r"(?:^HPL|_LCG|RandomAccess|PTRANS)_(?:time|CheckTime)$"), "time_s", 1.0),
    (re.compile(r"_maxErr$|PTRANS_residual$|_ErrorsFraction$"), "residual", 1.0),
)
EVIDENCE = {"CommWorldProcs": "ranks", "HPL_N": "order", "STREAM_VectorSize": "elements", "PTRANS_n": "ptrans_order"}
MOST_ERRORS = 0.01
"""Share of wrong updates that RandomAccess permits."""
MOST_FFT_ERROR = 1e-9
"""A double-precision FFT of 10⁸ elements has 10⁻¹⁴."""
RATES = ("rate_flops_per_s", "updates_per_s", "bandwidth_bytes_per_s")
NOT_RUN = -1.0
"""What the summary has for a part that was not run."""


def parse(text: str) -> Output:
    """One hpccoutf.txt; runs that were appended to each other are all read."""
    reading = Reading("hpcc", text, closing=rule_of(text, "#"))
    starts = list(reading.matches(START.pattern))
    reading.version = (starts[-1][1]["version"] or "") if starts else ""
    parts = _parts(reading)
    for name, lines in parts:
        if name == "HPL":
            read_hpl(reading, lines)
        elif name in ("StarSTREAM", "SingleSTREAM"):
            # seconds have four decimals and arrays are small, so only the check and the sizes count
            read_stream(reading, lines, {"part": name})
        elif name == "Summary":
            _summary(reading, lines)
        _checks(reading, name, lines)
    if not parts:
        _summary(reading, reading.whole_lines)
    if reading.values_of("rate_flops_per_s") and not any(name == "HPL" for name, _ in parts):
        reading.breach(FindingKind.RESIDUAL_MISSING, "the section of HPL, which checks its result, is missing")
    _clock(reading)
    _complete(reading, text, len(starts), parts)
    return reading.output()


def _parts(reading: Reading) -> "list[tuple[str, list[OutputLine]]]":
    """Sections by name, with their lines; one without an end is named as missing."""
    parts: list[tuple[str, list[OutputLine]]] = []
    inside = False
    for line in reading.whole_lines:
        if begin := BEGIN.match(line.text):
            if inside:
                reading.lack(f"the section {parts[-1][0]} has no end")
            parts.append((begin["part"], []))
            inside = True
        elif finish := FINISH.match(line.text):
            if inside and finish["part"] != parts[-1][0]:
                reading.lack(f"the section {parts[-1][0]} has no end")
            inside = False
        elif inside:
            parts[-1][1].append(line)
    if inside:
        reading.lack(f"the section {parts[-1][0]} has no end")
    return parts


def _summary(reading: Reading, lines: Sequence[OutputLine]) -> None:
    fields = [(line, field["key"], field["value"]) for line in lines if (field := FIELD.match(line.text))]
    for line, key, value in fields:
        if key in EVIDENCE and value.isdecimal():
            reading.evidence(EVIDENCE[key], whole_number(value[:18]), line)
        unit = next(((metric, factor) for pattern, metric, factor in UNITS if pattern.search(key)), None)
        if unit is None or _float(value) == NOT_RUN:
            if unit and unit[0] in RATES and (reading.value("ranks") or 0) != 1:
                reading.breach(FindingKind.WORK_SKIPPED, f"{key} is -1: this part was not run", line)
            continue
        reading.result(unit[0], value, line, unit[1], {"part": key})
        if key.endswith("_ErrorsFraction") and not _float(value) <= MOST_ERRORS:
            reading.breach(FindingKind.RESIDUAL_FAILED, f"{key}: more than 1 % of the updates are wrong", line)
        elif key.endswith("_maxErr") and not 0 <= _float(value) <= MOST_FFT_ERROR:
            reading.breach(FindingKind.RESIDUAL_FAILED, f"{key} is {value}: the inverse FFT is not the input", line)
    success = next(((line, value) for line, key, value in fields if key == "Success"), None)
    if success and success[1] != "1":
        reading.breach(FindingKind.RESIDUAL_FAILED, "HPCC itself reports failure (Success is not 1)", success[0])
    if fields and not success:
        reading.lack("the summary has no Success line")


def _float(value: str) -> float:
    try:
        return number_of(value)
    except ValueError:
        return float("nan")


def _checks(reading: Reading, part: str, lines: Sequence[OutputLine]) -> None:
    """What parts print about their own results."""
    for line in lines:
        errors = re.match(r"Node\(s\) with error (?P<nodes>\d{1,9})", line.text)
        if errors and whole_number(errors["nodes"]):
            reading.breach(FindingKind.RESIDUAL_FAILED, f"{part}: {errors['nodes']} ranks report an error", line)
        wrong = re.match(r"Found (?P<errors>\d{1,15}) errors in \d{1,18} locations \((?P<outcome>\w+)\)", line.text)
        if wrong and wrong["outcome"] != "passed":
            reading.breach(FindingKind.RESIDUAL_FAILED, f"{part}: {wrong['errors']} wrong locations", line)
        if part == "PTRANS" and re.match(r"(?:WALL|CPU)\s.*\bFAILED\b", line.text):
            reading.breach(FindingKind.RESIDUAL_FAILED, "PTRANS: the residual check failed", line)
        if re.search(r"(?i)failed to allocate|not enough memory|cannot allocate", line.text):
            reading.breach(FindingKind.WORK_SKIPPED, f"{part}: memory could not be allocated", line)


def _clock(reading: Reading) -> None:
    """`Current time` is printed after each part."""
    before = 0
    for line, moment in reading.matches(f"{TIME.pattern}|{START.pattern}"):
        if not moment["seconds"]:
            before = 0  # of another run that was appended
            continue
        seconds = whole_number(moment["seconds"])
        if seconds < before:
            reading.breach(FindingKind.CLOCK_BACKWARDS, f"{before - seconds} s before the time above", line)
        before = seconds


def _complete(reading: Reading, text: str, runs: int, parts: "list[tuple[str, list[OutputLine]]]") -> None:
    """Each run has a summary and its closing line, with a row of # below the last."""
    ends = list(END.finditer(text))
    if not runs:
        reading.lack("the head (DARPA/DOE HPC Challenge Benchmark) is missing")
    if len(ends) < max(runs, 1):
        reading.lack("the closing line (End of HPC Challenge tests.) is missing")
    elif not CLOSING.search(text, ends[-1].end()):
        reading.lack("the row of # below the closing line is missing")
    if sum(name == "Summary" for name, _ in parts) < max(runs, 1):
        reading.lack("the summary section is missing")


BENCHMARK = Benchmark(
    name="hpcc",
    title="HPC Challenge",
    requires="hpcc, hpccinf.txt, BLAS and MPI",
    contains=("hpl", "gups", "stream"),
    marks=(r"HPC Challenge Benchmark", r"^Begin of (?:MPI|Star|Single)\w+ section\."),
    beginnings=("#" * 72 + "\nThis is the DARPA/DOE", "===ExeBinSignature=== MD5: "),
    parts=(r"^End of (?:MPI|Star|Single)\w+ section\.|^(?:HPL_Tflops|StarDGEMM_Gflops|PTRANS_GBs|StarSTREAM_Triad)=",),
    parse=parse,
    metrics=(
        Metric("rate_flops_per_s", "HPL, DGEMM and FFT", least_share=LEAST_OF_PEAK),
        Metric("updates_per_s", "RandomAccess"),
        Metric("bandwidth_bytes_per_s", "PTRANS, STREAM, rings, ping-pong"),
        Metric("latency_s", "rings and ping-pong"),
        Metric("time_s", "of parts"),
        Metric("residual", "errors of results", of_result=True),
    ),
    main_metric="rate_flops_per_s",
    main_labels={"part": "HPL_Tflops"},
    evidence=("ranks", "order", "tests", "elements", "ptrans_order"),
    gates=GATES,
    complete="a summary for each run, `End of HPC Challenge tests.` and the row of # below it",
    scaling=Scaling.WEAK,
    launch=HPCC,
)
