"""rocm_bandwidth_test: matrices of the copies between all devices of a node, one way and both ways."""

import re

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_rates import ABSENT, HOST, HOST_RATE, LOCAL_RATE, PEER_RATE, add_rate, end_labels
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import Output
from seatrial.model.unit_text import is_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

VERSION = re.compile(r"^\s*RocmBandwidthTest Version:\s*(?P<version>\S{1,40})")
LAUNCH = re.compile(r"^\s*Launch Command is:(?P<command>.{0,400})")
DIRECTIONS = re.compile(r"(?<=\s)-[aA](?![\w-])")
"""Options: -a copies one way, -A both ways at once; without them both are done."""
DEVICE = re.compile(r"^\s*Device(?: Index)?:\s*(?P<number>\d{1,4})\b(?P<rest>.{0,400})")
GPU_MARK = re.compile(r"GPU-|\b[0-9a-f]{2}:[0-9a-f]{1,2}\.[0-9a-f]\b|\bgfx\d|Instinct|Radeon|Vega|\bMI\d")
TITLE = re.compile(r"^\s*(?P<ways>Uni|Bi?)directional copy (?:peak|average) bandwidth GB/s")
CHECKED = re.compile(r"^\s*\d{1,4}(?:\s+(?:PASS|FAIL|N/A)){1,256}+\s*$")
"""A row of the table of -v, which checks the data of each path."""
LISTED = r"^=+\s+(?:Uni|Bi)directional Benchmark Result"
HEADING = re.compile(r"^\s*D/D(?P<columns>(?:\s+\d{1,4}){1,256}+)\s*$")


class CopyMatrix(msgspec.Struct):
    """One matrix while it is read."""

    title: OutputLine
    both: bool
    columns: tuple[str, ...] = ()
    rows: int = 0
    closed: bool = False
    """Whether an empty line follows its last row."""


def parse(text: str) -> Output:
    """All matrices of one output: each has a row for each device. Both are expected unless one was asked for."""
    reading = Reading("rocm-bandwidth-test", text)
    gpus: set[str] = set()
    matrices: list[CopyMatrix] = []
    expected = 0
    for line in reading.whole_lines:
        if version := VERSION.match(line.text):
            reading.version = version["version"]
            expected += 2
        elif launch := LAUNCH.match(line.text):
            expected -= len(set(DIRECTIONS.findall(launch["command"]))) == 1
        elif device := DEVICE.match(line.text):
            if GPU_MARK.search(device["rest"]):
                gpus.add(device["number"])
        elif title := TITLE.match(line.text):
            matrices.append(CopyMatrix(title=line, both=title["ways"] != "Uni"))
        elif CHECKED.match(line.text) and "FAIL" in line.text:
            reading.breach(FindingKind.DATA_CORRUPT, "the copied data of a path are wrong", line)
        elif matrices:
            _line_of(reading, matrices[-1], line, gpus)
    reading.evidence("gpus", len(gpus))
    for matrix in matrices:
        if not matrix.columns or matrix.rows < len(matrix.columns) or not matrix.closed:
            reading.lack(
                f"the matrix of line {matrix.title.number} has {matrix.rows} of {count(len(matrix.columns), 'row')}"
            )
    if not matrices and reading.search(LISTED):
        reading.lack("it lists sizes between two devices (-s, -d), which are not read: run it with -a or -A")
    elif len(matrices) < max(expected, 1):
        reading.lack(f"it has {len(matrices)} of {max(expected, 1)} matrices")
    return reading.output()


def _line_of(reading: Reading, matrix: CopyMatrix, line: OutputLine, gpus: set[str]) -> None:
    """A line below the title of a matrix: devices of the columns, or the numbers of one row."""
    if heading := HEADING.match(line.text):
        if not matrix.columns:
            matrix.columns = tuple(heading["columns"].split())
        return
    fields = line.text.split()
    if not matrix.columns or matrix.rows == len(matrix.columns):
        matrix.closed = matrix.closed or (bool(matrix.columns) and not fields)
        return
    cells = fields[1:]
    if not fields or not fields[0].isdecimal() or len(cells) != len(matrix.columns):
        return
    matrix.rows += 1
    source = ("GPU " if fields[0] in gpus else "CPU ") + fields[0][:4]
    for column, printed in zip(matrix.columns, cells, strict=True):
        if printed != ABSENT and not is_number(printed):
            continue
        metric, labels = end_labels(source, ("GPU " if column in gpus else "CPU ") + column)
        add_rate(reading, metric, printed, line, {**labels, "ways": "both ways" if matrix.both else "one way"})


BENCHMARK = Benchmark(
    name="rocm-bandwidth-test",
    title="rocm_bandwidth_test",
    requires="rocm_bandwidth_test (rocm-bandwidth-test) of ROCm",
    marks=(
        r"^[ \t]*+RocmBandwidthTest Version:",
        r"^[ \t]*+(?:Uni|Bi?)directional copy (?:peak|average) bandwidth GB/s[ \t]*+$",
    ),
    beginnings=("RocmBandwidthTest Version:", "....................\n          RocmBandwidthTest Version:"),
    parse=parse,
    metrics=(HOST_RATE, PEER_RATE, LOCAL_RATE),
    main_metric=HOST,
    main_labels={"ways": "one way"},
    evidence=("gpus",),
    gates=(FindingKind.ZERO_RESULT, FindingKind.DATA_CORRUPT),
    complete="a row for each device and an empty line, in the matrix of each direction that was asked for",
)
