"""nvbandwidth of NVIDIA: bandwidth and latency between host and GPUs and between GPUs, as text or JSON (-j)."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_rates import (
    ABSENT,
    GIGABYTE,
    GPU,
    HOST,
    HOST_RATE,
    LATENCY,
    LOCAL,
    LOCAL_RATE,
    NANOSECOND,
    PEER,
    PEER_RATE,
    TIME_OF_ACCESS,
    add_rate,
)
from seatrial.benchmarks.reading import OBJECT_END, START, OutputLine, Reading, objects_in
from seatrial.model.benchmark import Label, Output
from seatrial.model.unit_text import NUMBER, is_number, number_of
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

HEAD = r"^nvbandwidth Version:\s*v?(?P<version>\S{1,40})"
CLOSING = r"^Performance can vary with software drivers"
RUNNING = re.compile(r"^Running\s+(?P<test>\w{1,80})\.")
DESCRIPTION = re.compile(r"^[A-Za-z].{0,240}\((?:GB/s|ns)\)\s*$")
COLUMNS = re.compile(r"^\s+\d{1,4}(?:\s+\d{1,4})*\s*$")
ROW = re.compile(rf"^\s*(?P<row>\d{{1,4}})\s+(?P<cells>(?:{NUMBER}|N/A)(?:\s+(?:{NUMBER}|N/A)){{0,1023}}+)\s*$")
PART = re.compile(r"\b(?P<part>(?:Read|Write)[12]|Total)\b")
"""Copies both ways at once have three matrices: one for each direction, and their sum."""
SUM = re.compile(rf"^SUM\s+(?P<test>\w{{1,80}})\s+(?P<sum>{NUMBER})")
FAILED = re.compile(r"^\s*\[?(?:ERROR|Error)\b[\]:]|CUDA_ERROR_\w{1,60}|Invalid value when checking the pattern")
WRONG = "checking the pattern"
ROUNDING = 0.005
OLD = "versions before 0.5 print none, and nothing shows that such an output is whole"
MULTINODE = "multinode_"
"""Beginning of tests between nodes: columns are ranks, each with a GPU, and what they exchange never is the host's."""
STATUS_ERROR, STATUS_WAIVED, STATUS_PASSED = "error", "waived", "passed"


class NvMatrix(msgspec.Struct):
    """The matrix of one test while it is read."""

    test: str
    head: OutputLine
    description: str = ""
    columns: int = 0
    rows: list[tuple[int, OutputLine, list[str]]] = msgspec.field(default_factory=list)
    sum: str = ""


def parse(text: str) -> Output:
    """All tests of one output: JSON up to the end of its object, text up to the note at its end."""
    reading = Reading("nvbandwidth", text, closing=rf"{OBJECT_END}|{CLOSING}, hardware clocks, and system topology\.")
    if re.search(r'^[ \t]{0,80}\{\s*"nvbandwidth"', text, re.MULTILINE):
        _read_json(reading, text)
    else:
        _read_text(reading)
    return reading.output()


def _read_text(reading: Reading) -> None:
    if not (head := reading.search(HEAD)):
        reading.lack("it has no line with its version")
    else:
        reading.version = head[1]["version"]
    reading.runs(HEAD, CLOSING, f"the note on performance; {OLD}")
    matrix: NvMatrix | None = None
    tests = waived = 0
    matrices = []
    for line in reading.whole_lines:
        if running := RUNNING.match(line.text):
            matrix = NvMatrix(test=running["test"], head=line)
            matrices.append(matrix)
            tests += 1
        elif re.match(r"^Waived\b", line.text):
            waived += 1
            tests -= matrix is not None and not matrix.description
            matrices = [each for each in matrices if each is not matrix or each.description]
        elif FAILED.search(line.text):
            if WRONG in line.text:
                reading.breach(FindingKind.DATA_CORRUPT, "the copied data are wrong", line)
            else:
                reading.breach(FindingKind.PROGRAM_FAILED, "a test reports an error", line)
        elif matrix is not None:
            if matrix.description and DESCRIPTION.match(line.text):
                matrix = NvMatrix(test=matrix.test, head=line)
                matrices.append(matrix)
            _line_of(matrix, line)
    reading.evidence("tests", tests)
    for tested in matrices:
        _add(reading, tested)
    _say_waived(reading, waived)


def _line_of(matrix: NvMatrix, line: OutputLine) -> None:
    """A line below the name of a test: description, columns, row or sum."""
    if DESCRIPTION.match(line.text):
        matrix.description = line.text.strip()
    elif matrix.description and not matrix.columns and COLUMNS.match(line.text):
        matrix.columns = len(line.text.split())
    elif matrix.columns and not matrix.sum and (row := ROW.match(line.text)):
        matrix.rows.append((int(row["row"]), line, row["cells"].split()))
    elif (total := SUM.match(line.text)) and total["test"].startswith(matrix.test):
        matrix.sum = total["sum"]


def _add(reading: Reading, matrix: NvMatrix) -> None:
    """The numbers of one matrix; its sum shows that all rows are there."""
    where = f"the matrix of {matrix.test} (line {matrix.head.number})"
    if not matrix.rows:
        reading.lack(f"{where} has no rows")
        return
    if any(len(cells) != matrix.columns for _, _, cells in matrix.rows):
        reading.lack(f"{where} has rows with another number of columns")
    for row, line, cells in matrix.rows:
        for column, printed in enumerate(cells):
            _cell(reading, matrix, (row, column), printed, line)
    numbers = [number_of(printed) for _, _, cells in matrix.rows for printed in cells if is_number(printed)]
    if not matrix.sum:
        reading.lack(f"{where} has no sum below it")
    elif abs(sum(numbers) - number_of(matrix.sum)) > ROUNDING * (len(numbers) + 1) + 1e-4 * abs(sum(numbers)):
        reading.breach(
            FindingKind.NUMBERS_DISAGREE, f"the sum of {matrix.test} is not that of its numbers", matrix.rows[-1][1]
        )


def _cell(reading: Reading, matrix: NvMatrix, place: tuple[int, int], printed: str, line: OutputLine) -> None:
    """One number: rows are CPUs or GPUs, columns are GPUs, as the description says."""
    row, column = place
    labels: dict[str, Label] = {"test": matrix.test}
    if part := PART.search(matrix.description):
        labels["part"] = part["part"].lower()
    if matrix.test.startswith(MULTINODE) and len(matrix.rows) == 1:
        metric = PEER
        labels["rank"] = column
    elif "GPU(row)" in matrix.description:
        if row == column and (not is_number(printed) or number_of(printed) == 0):
            return
        ends = (column, row) if "GPU(row) <-" in matrix.description and "<->" not in matrix.description else place
        metric = PEER
        end = "rank" if matrix.test.startswith(MULTINODE) else "GPU"
        labels |= {"from": f"{end} {ends[0]}", "to": f"{end} {ends[1]}"}
    else:
        metric = HOST if "host" in matrix.test or "CPU" in matrix.description else PEER
        metric = LOCAL if "local" in matrix.test else metric
        labels |= {GPU: column} if len(matrix.rows) == 1 else {"cpu": row, GPU: column}
    if matrix.description.endswith("(ns)"):
        add_rate(reading, LATENCY, printed, line, labels, NANOSECOND)
    else:
        add_rate(reading, metric, printed, line, labels, GIGABYTE)


def _say_waived(reading: Reading, waived: int) -> None:
    if waived:
        reading.evidence("waived", waived)
        reading.note(f"{count(waived, 'test')} waived: the machine lacks what they need, and they show nothing.")


def _read_json(reading: Reading, text: str) -> None:
    waived = tests = 0
    for report in objects_in([content.get("nvbandwidth") for content in reading.json_objects(text)]):
        reading.version = str(report.get("version", report.get("git_version", "")))[:40].removeprefix("v")
        if report.get("error"):
            reading.breach(FindingKind.PROGRAM_FAILED, f"it reports: {str(report['error'])[:200]}")
        for case in objects_in(report.get("testcases")):
            status = str(case.get("status", "")).lower()
            tests += status == STATUS_PASSED
            waived += status == STATUS_WAIVED
            _case(reading, case, status)
    reading.evidence("tests", tests)
    _say_waived(reading, waived)


def _case(reading: Reading, case: Mapping[str, object], status: str) -> None:
    name = str(case.get("name", ""))[:80]
    if status not in (STATUS_PASSED, STATUS_WAIVED):
        why = str(case.get("error", status or "no status"))[:200]
        kind = FindingKind.DATA_CORRUPT if WRONG in why else FindingKind.PROGRAM_FAILED
        reading.breach(kind, f"{name}: {why}")
    rows = case.get("bandwidth_matrix")
    if status != STATUS_PASSED or not isinstance(rows, Sequence) or isinstance(rows, str):
        return
    matrix = NvMatrix(test=name, head=START, description=str(case.get("bandwidth_description", ""))[:300].strip())
    cells = [[str(cell) for cell in row] for row in rows if isinstance(row, list)]
    matrix.columns = len(cells[0]) if cells else 0
    matrix.rows = [(place, START, row) for place, row in enumerate(cells)]
    if any(cell != ABSENT and not is_number(cell) for row in cells for cell in row):
        reading.breach(FindingKind.NOT_A_NUMBER, f"{name} has a cell that is not a number")
        return
    numbers = [number_of(cell) for row in cells for cell in row if cell != ABSENT]
    matrix.sum = str(case.get("sum", sum(numbers)))
    if not is_number(matrix.sum):
        matrix.sum = str(sum(numbers))
    _add(reading, matrix)


BENCHMARK = Benchmark(
    name="nvbandwidth",
    title="nvbandwidth",
    requires="nvbandwidth and NVIDIA's driver",
    marks=(HEAD, r'^[ \t]{0,80}\{\s*"nvbandwidth"\s*:'),
    beginnings=("nvbandwidth Version: ", '{\n\t"nvbandwidth"', '{\n  "nvbandwidth"'),
    parts=(r"^memcpy (?:CE|SM) \w{3,4}\(row\) (?:<-|->|<->) \w{3,4}\(column\) bandwidth \(GB/s\)",),
    parse=parse,
    metrics=(HOST_RATE, PEER_RATE, LOCAL_RATE, TIME_OF_ACCESS),
    main_metric=HOST,
    main_labels={"test": "host_to_device_memcpy_ce"},
    evidence=("tests", "waived"),
    gates=(FindingKind.DATA_CORRUPT, FindingKind.NUMBERS_DISAGREE),
    complete="text: the note on performance at the end, which versions from 0.5 on print, and a sum below each matrix; "
    "JSON: the end of the object",
)
