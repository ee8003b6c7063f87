"""Intel MPI Benchmarks: a table for each benchmark and number of processes; formats of 2.x to 2021."""

import itertools
import re

import msgspec

from seatrial.benchmarks.declaration import AUTO, PAIR, PAIR_BYTES, Benchmark, Launch, Parameter, largest_message
from seatrial.benchmarks.reading import OutputLine, Reading, rounding
from seatrial.model.benchmark import LEAST_OF_PATH, BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import is_row, number_of, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

VERSION = re.compile(r"#\s*Intel\s*\(R\) MPI Benchmarks? (?:Suite )?V?(?P<version>[\w. ]{1,40}?)(?:,|\s{0,40}$)")
TABLE = re.compile(r"^#\s*Benchmarking\s+(?P<name>[^\s#]\S*)")
PROCESSES = re.compile(r"^#\s*#processes\s*=\s*(?P<processes>\d{1,9})")
GROUPS = re.compile(r"^#\s*\(\s*(?P<groups>\d{1,9}) groups? of (?P<ranks>\d{1,9}) processes")
MODE = re.compile(r"^#\s*MODE:\s*(?P<mode>(?:NON-)?AGGREGATE)")
THREADS = re.compile(r"threads:\s*(?P<threads>\d{1,6})")
COUNTS = ("#bytes", "#repetitions", "#rep.s", "defects")
FEWEST_CONSTANT = 6
LISTED = re.compile(r"^#\s*(?:\(Multi-\)|Multi-)?(?P<name>[A-Za-z]\w+)\s*$")
LARGEST = re.compile(r"^#\s*Maximum message length in bytes:\s*(?P<bytes>\d{1,15})")
HEADING = re.compile(r"^\s*#(?:bytes|repetitions)\b")
END = re.compile(r"^#\s*All processes entering MPI_Finalize|Thanks for using", re.MULTILINE)
MICROSECOND = 1e-6
MEBIBYTE, MEGABYTE = 1 << 20, 10**6
DECIMAL_SINCE = 2018
"""The first version in which MB is 10⁶ bytes."""
MESSAGES = {"pingpong": 1, "pingping": 1, "sendrecv": 2, "exchange": 4}
"""Benchmark -> messages of the printed size that pass a process in the printed time."""
TELLING = 0.02
"""The most by which rounding may change a rate that shows whether MB is 10⁶ or 2²⁰, which differ by 5 %."""
AGREEMENT = 0.02


IMB_TEST = re.compile(r"[A-Za-z][A-Za-z_]{1,40}")
IMB_PAIR = ("pingpong", "pingping", "pingpongspecificsource", "pingpingspecificsource", "pingponganysource",
            "pinganysource", "unidir_put", "unidir_get", "bidir_put", "bidir_get")  # fmt: skip
"""Tests that always run on two ranks, while others wait."""


def imb_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """One test of an IMB program, on all ranks at once. Raises UsageError for a parameter."""
    test = request.parameters["test"]
    if not IMB_TEST.fullmatch(test):
        raise UsageError(f"--set test={test} is not a test of IMB.", "Give PingPong, Allreduce, Sendrecv, ...")
    ranks = PAIR if test.lower() in IMB_PAIR else request.ranks
    if request.ranks < PAIR:
        raise UsageError("IMB needs two ranks at least.", "Give --ranks 2.")
    largest = largest_message(request, PAIR_BYTES)
    power = largest.bit_length() - 1
    if largest != 1 << power:
        raise UsageError(f"--set largest={largest}: IMB's sizes are powers of two.", "Give 4MiB.")
    step = BenchmarkStep(
        name=test, argv=(request.program, test, "-npmin", str(request.ranks), "-msglog", str(power)),
    )  # fmt: skip
    return BenchmarkPlan(steps=(step,), expected={"ranks": str(ranks)})


IMB = Launch(
    programs=("IMB-MPI1",),
    program_parameter="program",
    package="",
    plan=imb_plan,
    nodes=2,
    ranks_per_node=1,
    parameters=(
        Parameter(name="program", default="IMB-MPI1", meaning="IMB-MPI1, IMB-P2P, IMB-NBC, IMB-RMA, ..."),
        Parameter(name="test", default="PingPong", meaning="PingPong, Allreduce, Biband, ..."),
        Parameter(name="largest", default=AUTO, meaning="largest message; auto: 4MiB"),
    ),
)


class ImbTable(msgspec.Struct):
    """One table while it is read."""

    name: str
    title: OutputLine
    processes: int = 0
    columns: list[str] = msgspec.field(default_factory=list)
    rows: "list[tuple[OutputLine, dict[str, str]]]" = msgspec.field(default_factory=list)
    mode: str = ""
    """AGGREGATE or NON-AGGREGATE, of IMB-EXT, IMB-IO and IMB-RMA."""
    threads: int = 0

    @property
    def sized(self) -> bool:
        """Whether its rows have message sizes; those of Barrier have none."""
        return "#bytes" in self.columns


def parse(text: str) -> Output:
    """All tables of one output."""
    reading = Reading("imb", text, closing=r"#\s*All processes entering MPI_Finalize|Thanks for using \S.*")
    reading.find_version(VERSION.pattern)
    tables = _tables(reading)
    unit = _megabyte(reading.version, tables)
    for table in tables:
        _read(reading, table, unit)
        _judge(reading, table)
    _complete(reading, tables, text)
    return reading.output()


def _tables(reading: Reading) -> list[ImbTable]:
    tables: list[ImbTable] = []
    for line in reading.whole_lines:
        text = line.text
        if title := TABLE.match(text):
            tables.append(ImbTable(name=title["name"], title=line))
        elif not tables:
            continue
        elif processes := PROCESSES.match(text):
            tables[-1].processes = whole_number(processes["processes"])
            if threads := THREADS.search(text):
                tables[-1].threads = whole_number(threads["threads"])
            reading.evidence("ranks", tables[-1].processes, line)
        elif groups := GROUPS.match(text):
            tables[-1].processes = whole_number(groups["ranks"])
            reading.evidence("ranks", whole_number(groups["groups"]) * tables[-1].processes, line)
        elif mode := MODE.match(text):
            last = tables[-1]
            if last.rows:  # the second mode of the same benchmark
                tables.append(
                    ImbTable(name=last.name, title=line, processes=last.processes, columns=last.columns,
                          threads=last.threads)
                )  # fmt: skip
            tables[-1].mode = mode["mode"]
        elif HEADING.match(text):
            tables[-1].columns = text.split()
        elif re.search(r"(?i)out-of-mem|!! Attention|does not fit into memory", text):
            reading.breach(FindingKind.WORK_SKIPPED, "IMB left out sizes for lack of memory", line)
        elif tables[-1].columns and is_row(text) and len(text.split()) >= len(tables[-1].columns):
            tables[-1].rows.append((line, dict(zip(tables[-1].columns, text.split(), strict=False))))
    return tables


def _megabyte(version: str, tables: list[ImbTable]) -> int:
    """Bytes of the printed Mbytes: as the numbers show it, else by the version."""
    for table in tables:
        for _, row in table.rows:
            expected, printed = _bytes_per_s(table, row), _number(row, "Mbytes/sec")
            cells = (row[name] for name in ("t[usec]", "t_max[usec]", "Msg/sec", "Mbytes/sec") if name in row)
            if expected and printed and sum(map(rounding, cells)) <= TELLING:
                ratio = expected / printed
                return min((MEBIBYTE, MEGABYTE), key=lambda unit, ratio=ratio: abs(ratio / unit - 1))  # type: ignore[misc]
    year = re.match(r"(20\d\d)\b", version)
    return MEGABYTE if not version or (year and int(year[1]) >= DECIMAL_SINCE) else MEBIBYTE


def _bytes_per_s(table: ImbTable, row: dict[str, str]) -> float:
    """What size and time, or size and message rate, of a row make of its bandwidth; 0: nothing is known."""
    size, rate = _number(row, "#bytes"), _number(row, "Msg/sec")
    if rate and table.name.lower() not in MESSAGES:
        return size * rate
    time = _number(row, "t[usec]") or _number(row, "t_max[usec]")
    messages = MESSAGES.get(re.sub(r"(?i)^multi-|specificsource$|anysource$", "", table.name.lower()), 0)
    return messages * size / (time * MICROSECOND) if time and messages else 0.0


def _number(row: dict[str, str], column: str) -> float:
    try:
        return number_of(row.get(column, "0"))
    except ValueError:
        return 0.0


def _size(row: dict[str, str]) -> int:
    """The message size in bytes; 0 for what cannot be one."""
    size = _number(row, "#bytes")
    return int(size) if 0 <= size < 1 << 60 else 0


def _read(reading: Reading, table: ImbTable, unit: int) -> None:
    reading.setting = f"{table.processes} ranks" if table.processes and table.sized else ""  # Barrier is short
    for line, row in table.rows:
        labels: dict[str, str | int] = {"test": table.name, "ranks": table.processes}
        labels |= {"mode": table.mode.lower()} if table.mode else {}
        labels |= {"threads": table.threads} if table.threads else {}
        if table.sized:
            labels["bytes"] = _size(row)
        for column, printed in row.items():
            if column == "Mbytes/sec":
                reading.result("bandwidth_bytes_per_s", printed, line, unit, labels=labels)
            elif column == "Msg/sec":
                reading.result("message_rate_per_s", printed, line, labels=labels)
            elif column.endswith("[usec]"):
                kind = column.removesuffix("[usec]").removeprefix("t").strip("_") or "average"
                reading.result(
                    "latency_s",
                    printed,
                    line,
                    MICROSECOND,
                    labels={"statistic": kind.replace("avg", "average"), **labels},
                )
            elif column.startswith("overlap"):
                reading.result("overlap_share", printed, line, 0.01, labels=labels)
            elif column == "defects" and _number(row, column) > 0:
                reading.breach(FindingKind.DATA_CORRUPT, "IMB's own check of the data found defects", line)
        expected, rate = _bytes_per_s(table, row), _number(row, "Mbytes/sec") * unit
        # Mbytes/sec has two decimals, Msg/sec none.
        slack = AGREEMENT * expected + 0.01 * unit + _number(row, "#bytes")
        if expected and rate and abs(expected - rate) > slack:
            reading.breach(FindingKind.NUMBERS_DISAGREE, "the rate is not what size and time make of it", line)


def _judge(reading: Reading, table: ImbTable) -> None:
    """Sizes change the times: all columns but sizes and repetitions cannot be the same in all rows."""
    numbers = {tuple(text for name, text in row.items() if name not in COUNTS) for _, row in table.rows}
    if table.sized and len(table.rows) >= FEWEST_CONSTANT and len(numbers) == 1:
        reading.breach(
            FindingKind.CONSTANT_RESULTS,
            f"all {count(len(table.rows), 'size')} have the same numbers",
            table.rows[-1][0],
        )


def _complete(reading: Reading, tables: list[ImbTable], text: str) -> None:
    """The closing line, and every table up to the largest size."""
    largest = reading.search(LARGEST.pattern)
    doubling = largest is not None
    for table in tables:
        name = f"the table of {table.name} on {table.processes} processes (line {table.title.number})"
        if not table.rows:
            reading.lack(f"{name} has no rows")
        elif table.sized and largest:
            last = _size(table.rows[-1][1])
            if last < whole_number(largest[1]["bytes"]):
                reading.lack(f"{name} ends at {last} bytes, not at {largest[1]['bytes']}")
            sizes = [_size(row) for _, row in table.rows]
            gaps = [after for before, after in itertools.pairwise(sizes) if doubling and 0 < 2 * before < after]
            if gaps:
                reading.lack(f"{name} has no row before {gaps[0]} bytes: lines are missing")
    ends = list(END.finditer(text))
    end = ends[-1] if ends else None
    reading.runs(VERSION.pattern, END.pattern, "# All processes entering MPI_Finalize")
    for name, line in _listed(reading):
        if end and tables and not any(_plain(table.name) == name for table in tables):
            reading.breach(FindingKind.WORK_SKIPPED, f"{name} is in the list of benchmarks and was not run", line)
    if not tables:
        reading.lack("it has no table")
    if not end:
        reading.lack("the closing line (# All processes entering MPI_Finalize) is missing")


def _plain(name: str) -> str:
    return name.lower().removeprefix("multi-")


def _listed(reading: Reading) -> "list[tuple[str, OutputLine]]":
    """The names below `List of Benchmarks to run`."""
    heading = reading.search(r"^# List of Benchmarks to run")
    if not heading:
        return []
    names = []
    for line in reading.whole_lines[heading[0].number :]:
        if TABLE.match(line.text) or line.text.startswith("#---"):
            break
        if listed := LISTED.match(line.text):
            names.append((_plain(listed["name"]), line))
    return names


BENCHMARK = Benchmark(
    name="imb",
    title="Intel MPI Benchmarks",
    requires="IMB-MPI1, IMB-P2P, IMB-NBC, IMB-RMA or IMB-EXT, and MPI",
    marks=(r"Intel\s*\(R\) MPI Benchmark", r"^#\s*Benchmarking\s+\w+\s*$", r"^[ \t]*+#bytes[ \t]+#repetitions\b"),
    beginnings=(
        "#------------------------------------------------------------\n#    Intel (R) MPI",
        "#    Intel(R) MPI",
    ),
    parts=(r"^#[ \t]*+All processes entering MPI_Finalize",),
    parse=parse,
    metrics=(
        Metric("latency_s", "time of one message or operation"),
        Metric(
            "bandwidth_bytes_per_s",
            "as printed; MB is 10⁶ bytes from version 2018 on and 2²⁰ before, checked by the times",
            of_path=True,
            least_share=LEAST_OF_PATH,
        ),
        Metric("message_rate_per_s", "messages, all pairs together"),
        Metric("overlap_share", "of communication hidden by computation"),
    ),
    main_metric="bandwidth_bytes_per_s",
    evidence=("ranks",),
    gates=(
        FindingKind.DATA_CORRUPT,
        FindingKind.NUMBERS_DISAGREE,
        FindingKind.WORK_SKIPPED,
        FindingKind.CONSTANT_RESULTS,
    ),
    complete="the closing line `# All processes entering MPI_Finalize`, and each table up "
    "to the largest size that the head names",
    launch=IMB,
)
