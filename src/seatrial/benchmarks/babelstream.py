"""BabelStream: best rate of copy, mul, add, triad and dot on processors and accelerators; 3.x to 5.0."""

import re

from seatrial.benchmarks.declaration import AlikeNumbers, Benchmark, Scaling
from seatrial.benchmarks.reading import Reading
from seatrial.benchmarks.stream import compare_rate
from seatrial.benchmarks.uneven_numbers import OFF
from seatrial.model.benchmark import Metric, Output
from seatrial.model.unit_text import NUMBER, number_of, unit_named, whole_number
from seatrial.model.verdict import FindingKind

HEAD = re.compile(r"^BabelStream\s*$")
VERSION = re.compile(r"^Version: (?P<version>[\w.]{1,20})")
HEADING = re.compile(r"^Function\s+(?P<unit>Mi?Bytes/sec)\s+Min \(sec\)")
CSV_HEADING = re.compile(r"^function,num_times,n_elements,sizeof,max_(?P<unit>mi?bytes)_per_sec,min_runtime,")
CSV_ROW = re.compile(
    rf"^(?P<kernel>Copy|Mul|Add|Triad|Dot|Nstream),(?P<count>\d{{1,9}}),(?P<elements>\d{{1,15}}),(?P<bytes>\d{{1,2}}),"
    rf"(?P<rate>{NUMBER}),(?P<least>{NUMBER}),"
)
"""A row of --csv, which has the sizes that other lines have without it."""
ROW = re.compile(
    rf"^(?P<kernel>Copy|Mul|Add|Triad|Dot|Nstream)(?:\s*+:)?+\s++(?P<rate>{NUMBER})\s+(?P<least>{NUMBER})\s+{NUMBER}\s+{NUMBER}"
)
REPETITIONS = re.compile(r"^Running kernels (?P<count>\d{1,9}) times")
SIZE = re.compile(rf"^Array size: (?P<size>{NUMBER}) (?P<unit>Mi?B)\b")
MODEL = re.compile(r"^(?:BabelStream\s*$|(?P<more>Implementation: |Precision: |Using \w+ device ))")
UNSOUND = re.compile(r"Validation failed on ")
ARRAYS = {"Copy": 2, "Mul": 2, "Add": 3, "Triad": 3, "Dot": 2, "Nstream": 4}
"""Arrays that a kernel reads or writes, each counted once."""
WHOLE = ({"Copy", "Mul", "Add", "Triad", "Dot"}, {"Nstream"})
"""Kernels of a complete table: all, or that of --nstream-only."""


def parse(text: str) -> Output:
    """One or more runs in one output. The check of the solution prints failures only, on standard error."""
    reading = Reading("babelstream", text)
    reading.find_version(VERSION.pattern)
    unit, array_bytes = 1e6, 0.0
    model: list[str] = []
    tables: list[set[str]] = []
    for line in reading.whole_lines:
        if part := MODEL.match(line.text):
            model = [*model, line.text] if part["more"] else []
        elif heading := HEADING.match(line.text):
            unit = unit_named(heading["unit"]).factor
            tables.append(set())
        elif heading := CSV_HEADING.match(line.text):
            unit = 2.0**20 if heading["unit"] == "mibytes" else 1e6
            tables.append(set())
        elif size := SIZE.match(line.text):
            array_bytes = number_of(size["size"]) * unit_named(size["unit"]).factor
            reading.evidence("array_bytes", array_bytes, line)
        elif count := REPETITIONS.match(line.text):
            reading.evidence("repetitions", whole_number(count["count"]), line)
        elif (row := ROW.match(line.text) or CSV_ROW.match(line.text)) and tables:
            if row.re is CSV_ROW and not array_bytes:
                array_bytes = float(whole_number(row["elements"]) * whole_number(row["bytes"]))
                reading.evidence("array_bytes", array_bytes, line)
                reading.evidence("repetitions", whole_number(row["count"]), line)
            tables[-1].add(row["kernel"])
            labels = {"kernel": row["kernel"]}
            reading.setting = f"{array_bytes:.0f} bytes {model}"
            reading.result("bandwidth_bytes_per_s", row["rate"], line, unit, labels)
            reading.result("time_s", row["least"], line, labels=labels)
            moved = ARRAYS[row["kernel"]] * array_bytes
            compare_rate(reading, line, row, moved, f"{moved:.4g}", number_of(row["rate"]) * unit)
        elif UNSOUND.search(line.text):
            reading.breach(FindingKind.RESIDUAL_FAILED, "the arrays do not have the expected values", line)
    if len(tables) < max(len(list(reading.matches(HEAD.pattern))), 1):
        reading.lack("it has no table of rates, or one of its runs has none")
    for table in tables:
        if table not in WHOLE:
            reading.lack(f"a table has {', '.join(sorted(table)) or 'no kernel'}, not {', '.join(ARRAYS)}")
    reading.note("BabelStream prints a failed check of its arrays on standard error, and nothing if they are right.")
    return reading.output()


BENCHMARK = Benchmark(
    name="babelstream",
    title="BabelStream",
    requires="BabelStream, built for the programming model of the processor or accelerator",
    marks=(HEAD.pattern, HEADING.pattern, CSV_HEADING.pattern),
    beginnings=("BabelStream\nVersion: ",),
    parse=parse,
    metrics=(Metric("bandwidth_bytes_per_s", "best rate; MB is 10⁶ bytes"), Metric("time_s", "least time of one pass")),
    main_metric="bandwidth_bytes_per_s",
    main_labels={"kernel": "Triad"},
    alike=(AlikeNumbers(("kernel",), OFF),),  # Dot is a reduction, which some programming models do at half the rate
    evidence=("array_bytes", "repetitions"),
    gates=(FindingKind.RESIDUAL_FAILED, FindingKind.NUMBERS_DISAGREE),
    complete="five kernels, or that of --nstream-only",
    scaling=Scaling.STRONG,
)
