"""HIP's sample hipBusBandwidth: host to device, device to host, both ways, by message size, with median and spread."""

import re

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_rates import GIGABYTE, HOST, HOST_RATE, add_rate
from seatrial.benchmarks.reading import Reading
from seatrial.model.benchmark import Label, Metric, Output
from seatrial.model.unit_text import NUMBER, whole_number
from seatrial.model.verdict import FindingKind

HEAD = r"^Device:.{1,200}\bMallocMode=(?P<mode>\w{1,40})"
HEADING = r"^[ \t]*+test[ \t]++atts[ \t]++units[ \t]++median[ \t]++mean[ \t]++stddev[ \t]++min[ \t]++max[ \t]*+$"
CLOSING = r"^might occur with a mixture of architectural capabilities"
ROW = re.compile(
    rf"^\s*(?P<test>\w{{1,60}})\s+(?P<size>\+?\d{{1,12}})(?P<unit>By|kB|MB)\s+(?P<metric>GB/sec|ms)\s+(?P<median>{NUMBER})"
    rf"\s+(?P<mean>{NUMBER})\s+(?P<deviation>{NUMBER})\s+(?P<least>{NUMBER})\s+(?P<most>{NUMBER})\s*$"
)
SIZES = {"By": 1, "kB": 1 << 10, "MB": 1 << 20}
"""The sample counts in powers of two, as `1024kB` behind `512kB` shows."""
MILLISECOND = 1e-3
TIME = "time_s"


def parse(text: str) -> Output:
    """All runs of one output: the note on missing values ends each."""
    reading = Reading("hip-bus-bandwidth", text, closing=rf"{CLOSING}\.")
    if head := reading.search(HEAD):
        reading.evidence("memory", head[1]["mode"], head[0])
    if not reading.search(HEADING):
        reading.lack("it has no heading of its table (test, atts, units, median, ...)")
    reading.runs(HEADING, CLOSING, "the note on missing values")
    for line in reading.whole_lines:
        if not (row := ROW.match(line.text)):
            continue
        labels: dict[str, Label] = {
            "test": row["test"],
            "statistic": "median",
            "bytes": whole_number(row["size"]) * SIZES[row["unit"]],
        }
        if row["metric"] == "ms":
            reading.result(TIME, row["median"], line, MILLISECOND, labels=labels)
        else:
            add_rate(reading, HOST, row["median"], line, labels, GIGABYTE)
    return reading.output()


BENCHMARK = Benchmark(
    name="hip-bus-bandwidth",
    title="hipBusBandwidth",
    requires="hipBusBandwidth of the HIP samples",
    marks=(HEADING, HEAD),
    beginnings=("Device:",),
    parse=parse,
    metrics=(HOST_RATE, Metric(TIME, "one copy, median")),
    main_metric=HOST,
    evidence=("memory",),
    gates=(FindingKind.ZERO_RESULT,),
    complete="the note on missing values, in two lines",
)
