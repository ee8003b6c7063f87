"""perftest (ib_write_bw, ib_send_lat and others): bandwidth, message rate or latency by message size; text or JSON."""

import re
from collections.abc import Mapping

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.reading import OBJECT_END, START, OutputLine, Reading, lost_rows, number_at
from seatrial.model.benchmark import LEAST_OF_PATH, Metric, Output
from seatrial.model.unit_text import is_number, is_row, number_of, whole_number
from seatrial.model.verdict import FindingKind

TITLE = re.compile(r"^\s*(?P<what>[A-Za-z][\w ]{1,60}? (?:BW|Bandwidth|Latency|Lat) ?(?:[\w ]{1,40} )?Test)\s*$")
HEADING = re.compile(r"^\s*#bytes\s+#?iterations\s+(?P<columns>\S.{2,300})$")
COLUMN = re.compile(
    r"(?P<what>BW[ _]peak|BW[ _]average|MsgRate|t_min|t_max|t_typical|t_avg|t_stdev|99%[ _]percentile|"
    r"99\.9%[ _]percentile|tps average|CPU_Util)\[?(?P<unit>[^\]\s]{0,12})\]?"
)
RULE = re.compile(r"^\s*-{20,}\s*$")
CONNECTION = re.compile(r"^\s*(?!(?:local|remote|GID)\b)[A-Za-z][\w ./#-]{1,40}?\s*: ")
QUEUES = re.compile(r"\bNumber of qps\s*:\s*(\d{1,6})\b")
BINARY_MEGABYTE = 1 << 20
"""Bytes of what perftest calls MB, and in later versions MiB."""
RATES = {"MB/sec": BINARY_MEGABYTE, "MiB/sec": BINARY_MEGABYTE, "Gb/sec": 1e9 / 8}
MICROSECOND, MILLION = 1e-6, 1e6
STATISTICS = {"t_min": "min", "t_max": "max", "t_typical": "p50", "t_avg": "average"}
"""Columns of latencies, as the label `statistic` names them; percentiles name themselves."""
BANDWIDTH, MESSAGES, LATENCY = "bandwidth_bytes_per_s", "message_rate_per_s", "latency_s"
AGREEMENT = 0.01
"""Bandwidth and message rate of one row agree this well, besides their rounding."""
MOST_DIGITS = 15
JSON = r'^[ \t{]*+"test_info"\s*+:\s*+\{\s*+"test"\s*+:\s*+"(?:Send|RDMA|Atomic)_'
"""What --out_json writes, one file for the last message size."""
GROWN = re.compile(r"\.\d\d(?=\d{1,15}\.\d)")
PERCENTILE = re.compile(r"99(?:[. ]9)?")


class PerftestTable(msgspec.Struct):
    """One table while it is read."""

    test: str
    heading: OutputLine
    columns: list[tuple[str, str]]
    """What each column after the iterations is, and its unit."""
    rows: list[int] = msgspec.field(default_factory=list)
    """The size of each."""
    setting: str = ""
    """Title and connection, as the lines above the table print them."""
    rules: list[int] = msgspec.field(default_factory=list)
    """Lines of those below its rows: the first ends it."""


def parse(text: str) -> Output:
    """All tables of one output, each of which a rule of dashes ends; or JSON up to the end of its object."""
    return _json(text) if re.search(JSON, text, re.MULTILINE) else _text(text)


def _text(text: str) -> Output:
    reading = Reading("perftest", text)
    test, setting, begun, tables = "", "", list[OutputLine](), list[PerftestTable]()
    for line in reading.whole_lines:
        if title := TITLE.match(line.text):
            _reopen(tables, line)
            test = title["what"].lower().removesuffix(" test")
            setting = ""
            reading.evidence("test", test, line)
            begun.append(line)
        elif CONNECTION.match(line.text):
            setting += line.text
            if queues := QUEUES.search(line.text):
                reading.evidence("queue_pairs", whole_number(queues[1]), line)
        elif heading := HEADING.match(line.text):
            columns = [(each["what"].replace("_", " "), each["unit"]) for each in COLUMN.finditer(heading["columns"])]
            tables.append(PerftestTable(test=test, heading=line, columns=columns, setting=setting))
        elif tables and tables[-1].rows and RULE.match(line.text):
            tables[-1].rules += [line.number] if len(begun) <= len(tables) else []
        elif tables and not tables[-1].rules and is_row(row := _apart(line.text, 2 + len(tables[-1].columns))):
            _row(reading, tables[-1], line._replace(text=row))
    if len(tables) < max(len(begun), 1):
        reading.lack("it has no table, or one of its tests has none (a line that begins with #bytes #iterations)")
    for table in tables:
        if not table.rows:
            reading.lack(f"the table of line {table.heading.number} has no row with a number in each column")
        elif not table.rules:
            reading.lack(f"the table of line {table.heading.number} has no rule of dashes at its end")
        elif lost := lost_rows(table.rows):
            reading.lack(f"the table of line {table.heading.number}: {lost}")
    return reading.output()


def _reopen(tables: list[PerftestTable], title: OutputLine) -> None:
    """The only rule below rows, right above the title of the next run, is that of the title: the rows were cut off."""
    if tables and tables[-1].rules == [title.number - 1]:
        tables[-1].rules.clear()


def _json(text: str) -> Output:
    """A row for each object. It has no unit: that in which the bandwidth is message size times messages per second."""
    reading = Reading("perftest", text, closing=OBJECT_END)
    for content in reading.json_objects(text):
        info, results = content.get("test_info"), content.get("results")
        numbers = dict(results) if isinstance(results, Mapping) else {}
        size, rate, messages = (number_at(numbers, name) for name in ("MsgSize", "BW_average", "MsgRate"))
        if not isinstance(info, Mapping) or not size or (rate and not messages):
            reading.lack("its JSON has no message size, or no message rate, which shows the unit of its bandwidth")
            continue
        test = str(info.get("test")).lower().replace("_", " ").replace("rdma ", "rdma_").removesuffix(" test")
        reading.evidence("test", test)
        if isinstance(queues := info.get("Number_of_qps"), int):
            reading.evidence("queue_pairs", queues)
        unit = min(RATES, key=lambda unit: abs(rate * RATES[unit] - size * messages * MILLION))
        first = (numbers.pop("MsgSize"), numbers.pop("n_iterations", 0))
        columns = [(name.replace("_", " "), unit if name.startswith("BW") else "usec") for name in numbers]
        table = PerftestTable(test=test, heading=START, columns=columns, setting=str(info))
        _row(reading, table, START._replace(text=" ".join(map(str, (*first, *numbers.values())))))
    return reading.output()


def _apart(row: str, cells: int) -> str:
    """The row with cells apart that have grown together, if it has as many then; numbers have two decimals."""
    apart = GROWN.sub(r"\g<0> ", row)
    return apart if len(row.split()) < cells == len(apart.split()) else row


def _row(reading: Reading, table: PerftestTable, line: OutputLine) -> None:
    """One message size. A peak of 0 is that of a run for a given time (-D), which has none."""
    fields = line.text.split()
    if len(fields) < 3 or not (fields[0].isdecimal() and len(fields[0]) <= MOST_DIGITS):
        return
    size = whole_number(fields[0])
    table.rows.append(size)
    labels: dict[str, str | int] = {"test": table.test, "bytes": size}
    reading.setting = f"{table.test} {table.setting}"
    rate = messages = rounding = 0.0
    for (what, unit), printed in zip(table.columns, fields[2:], strict=False):
        if what == "BW average" and unit in RATES:
            rate, rounding = number_of(printed) * RATES[unit] if is_number(printed) else 0.0, RATES[unit] / 100
            reading.result(BANDWIDTH, printed, line, RATES[unit], labels=labels)
        elif what == "MsgRate":
            messages = number_of(printed) * MILLION if is_number(printed) else 0.0
            reading.result(MESSAGES, printed, line, MILLION, labels=labels)
        elif unit == "usec" and what.replace(" ", "_") in STATISTICS:
            statistic = STATISTICS[what.replace(" ", "_")]
            reading.result(LATENCY, printed, line, MICROSECOND, labels={"statistic": statistic, **labels})
        elif unit == "usec" and (tail := PERCENTILE.search(what)):
            statistic = f"p{tail[0].replace(' ', '.')}"
            reading.result(LATENCY, printed, line, MICROSECOND, labels={"statistic": statistic, **labels})
    if rate and messages and abs(rate - size * messages) > AGREEMENT * rate + rounding + size:
        reading.breach(FindingKind.NUMBERS_DISAGREE, "bandwidth is not message size times messages per second", line)


BENCHMARK = Benchmark(
    name="perftest",
    title="perftest",
    requires="perftest (ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat, ...)",
    marks=(
        r"^[ \t]*+#bytes\s+#?iterations\s+(?:BW|t_)",
        r"^[ \t]+(?:RDMA_\w{1,20}|Send|Atomic\w{0,20}) .{0,40}Test\s*$",
        JSON,
    ),
    beginnings=(
        "RDMA_Write BW Test",
        "RDMA_Read BW Test",
        "Send BW Test",
        "RDMA_Write Latency Test",
        '{\n"test_info": {\n"test": "',
    ),
    parse=parse,
    metrics=(
        Metric(BANDWIDTH, "average; MB and MiB are 2²⁰", of_path=True, least_share=LEAST_OF_PATH),
        Metric(MESSAGES, "messages in flight"),
        Metric(LATENCY, "one way"),
    ),
    main_metric=BANDWIDTH,
    evidence=("test", "queue_pairs"),
    gates=(FindingKind.NUMBERS_DISAGREE,),
    complete="each table ends in a rule of dashes; JSON: the end of the object",
)
