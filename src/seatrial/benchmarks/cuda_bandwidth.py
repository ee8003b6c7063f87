"""CUDA's sample bandwidthTest: between host and device and within a device, by message size, as tables or CSV."""

import re

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_rates import GIGABYTE, GPU, HOST, HOST_RATE, LOCAL, LOCAL_RATE, add_rate
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import Label, Output
from seatrial.model.unit_text import NUMBER, unit_named, whole_number
from seatrial.model.verdict import FindingKind

HEAD = r"^\[CUDA Bandwidth Test\] - Starting"
CLOSING = r"^Result = (?P<word>PASS|FAIL)"
DEVICE = re.compile(r"^\s*Device (?P<gpu>\d{1,4}): ")
TITLE = re.compile(r"^\s*(?P<from>Host|Device) to (?P<to>Host|Device) Bandwidth, (?P<number>\d{1,4}) Device")
MEMORY = re.compile(r"^\s*(?P<memory>PINNED|PAGEABLE)(?: Write-Combined)? Memory Transfers")
UNIT = re.compile(r"Bandwidth ?\((?P<unit>[MG]B/s)\)")
ROW = re.compile(rf"^\s+(?P<bytes>\d{{1,15}})\s+(?P<rate>{NUMBER})\s*$")
CSV = re.compile(
    rf"^bandwidthTest-(?P<test>H2D|D2H|D2D)(?:-(?P<memory>\w{{1,40}}))?.{{0,40}}?, Bandwidth = (?P<rate>{NUMBER}) "
    rf"(?P<unit>[MG]B/s), Time = {NUMBER} s, Size = (?P<bytes>\d{{1,15}}) bytes"
)
TESTS = {("Host", "Device"): "H2D", ("Device", "Host"): "D2H", ("Device", "Device"): "D2D"}


def parse(text: str) -> Output:
    """All runs of one output: `Result = PASS` or FAIL ends each."""
    reading = Reading("cuda-bandwidth-test", text, closing=CLOSING)
    if not reading.search(HEAD):
        reading.lack("it has no head ([CUDA Bandwidth Test] - Starting)")
    for run in reading.runs(HEAD, CLOSING, "Result = PASS"):
        labels: dict[str, Label] = {"test": "", "memory": ""}
        devices: list[int] = []
        unit = GIGABYTE
        for line in run:
            if device := DEVICE.match(line.text):
                devices.append(int(device["gpu"]))
            elif title := TITLE.match(line.text):
                labels = {"test": TESTS.get((title["from"], title["to"]), ""), "memory": ""}
            elif memory := MEMORY.match(line.text):
                labels = {**labels, "memory": memory["memory"].lower()}
            elif heading := UNIT.search(line.text):
                unit = unit_named(heading["unit"]).factor
            elif row := ROW.match(line.text):
                _row(reading, line, row, {**labels}, unit, devices)
            elif row := CSV.match(line.text):
                labels = {"test": row["test"], "memory": (row["memory"] or "").lower()}
                _row(reading, line, row, labels, unit_named(row["unit"]).factor, devices)
            elif re.search(r"\bcuda\w{0,40}\b.{0,80}\bfailed\b|CUDA error at", line.text):
                reading.breach(FindingKind.PROGRAM_FAILED, "the program reports an error of CUDA", line)
    for line, match in reading.matches(CLOSING):
        if match["word"] != "PASS":
            reading.breach(FindingKind.PROGRAM_FAILED, "the program says that it failed", line)
    return reading.output()


def _row(
    reading: Reading, line: OutputLine, row: "re.Match[str]", labels: dict[str, Label], unit: float, devices: list[int]
) -> None:
    """One message size. Copies within a device move each byte once in the rate that is printed, read and written."""
    labels["bytes"] = whole_number(row["bytes"])
    if len(devices) == 1:
        labels[GPU] = devices[0]
    elif devices:
        labels["gpus"] = "all"  # the rate is the sum over them
    add_rate(reading, LOCAL if labels["test"] == "D2D" else HOST, row["rate"], line, labels, unit)


BENCHMARK = Benchmark(
    name="cuda-bandwidth-test",
    title="CUDA's bandwidthTest",
    requires="bandwidthTest of the CUDA samples (up to CUDA 12)",
    marks=(HEAD,),
    beginnings=("[CUDA Bandwidth Test] - Starting...",),
    parts=(r"^bandwidthTest-(?:H2D|D2H|D2D)",),
    parse=parse,
    metrics=(HOST_RATE, LOCAL_RATE),
    main_metric=HOST,
    evidence=(),
    gates=(FindingKind.PROGRAM_FAILED,),
    complete="`Result = PASS` or FAIL for each run",
)
