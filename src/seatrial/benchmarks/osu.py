"""OSU micro-benchmarks, and OMB-Py: tables of message size and latency, bandwidth or message rate; versions 2 to 7."""

import re
from collections.abc import Iterable

import msgspec

from seatrial.benchmarks.declaration import (
    AUTO,
    PAIR,
    PAIR_BYTES,
    AlikeNumbers,
    Benchmark,
    Launch,
    Parameter,
    largest_message,
    whole,
)
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.benchmarks.uneven_numbers import OFF
from seatrial.importers.osu import COLUMN, SIZE, TITLE
from seatrial.model.benchmark import LEAST_OF_PATH, BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import NUMBER, is_number, is_row, number_of, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

COLLECTIVE = re.compile(
    r"(?i)allgather|allreduce|all-?to-?all|barrier|bcast|broadcast|gather|reduce|scatter|neighbor|collective"
)
ONE_ROW = re.compile(r"(?i)barrier|compare.and.swap|\bcas\b|fetch.and.op|\bfop\b|\binit\b|hello")
ONE_NUMBER = r"\s*(?:\d{1,9}\s+)?\d{1,9}\.\d\d"
"""The row of a test that prints a single number, whose two decimals show that it is whole."""
SHARED = re.compile(r"OSU OpenSHMEM (?:Put|Get) Test")
PAIR_MAXIMUM, COLLECTIVE_MAXIMUM = 1 << 22, 1 << 20
"""Largest message, bytes, of tests between two ranks; of collectives and `SHARED`; unless -m or -M says otherwise."""
ASKED = re.compile(r"\bosu_\w{1,60}\b.{0,400}?\s(?:-m|--message-size)[ =]?(?:\d{1,18}:)?(?P<largest>\d{1,12})\b")
CAPPED = re.compile(r"(?i)continuing with max message size of (\d{1,12})")
VALIDATION = frozenset(("Pass", "Fail", "PASS", "FAIL", "-"))
WINDOWS = re.compile(r"^#(?:\s+\d{1,6}){2,16}$")
PROFILE = re.compile(r"^#\s*Message Rate Profile")
PROCESSES = re.compile(r"(?:nprocs:\s*|This is a test with )(?P<ranks>\d{1,9})\b")
INIT_TIMES = re.compile(rf"\b(min|max|avg):\s*({NUMBER})\s*ms")
MICROSECOND, MILLISECOND, MEGABYTE = 1e-6, 1e-3, 1e6
ROUNDING = 0.01
"""Bandwidth and message rate of one row agree this well, besides the rounding of two decimals."""
FEWEST_CONSTANT = 6
MOST_DIGITS = 15


OSU_TEST = re.compile(r"osu_[a-z0-9_]{1,40}")
OSU_PAIR = re.compile(r"osu_(?:i?bi?bw|latency|bw|put|get|acc|cas|fop|multi_lat|mbw_mr)")
OSU_MULTIPLE = ("osu_mbw_mr", "osu_multi_lat")
OSU_ONE_ROW = re.compile(r"osu_(?:i?barrier|init|hello|cas_latency|fop_latency)")
COLLECTIVE_BYTES = 1 << 20


def osu_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """One OSU test up to a largest message. Raises UsageError for a parameter, and for ranks that it cannot use."""
    test = request.parameters["test"]
    if not OSU_TEST.fullmatch(test):
        raise UsageError(f"--set test={test} is not a test of OSU.", "Give osu_bw, osu_latency, osu_allreduce, ...")
    pair = bool(OSU_PAIR.match(test))
    if pair and test not in OSU_MULTIPLE and request.ranks != PAIR:
        raise UsageError(f"{test} runs on two ranks, and {request.ranks} were requested.", "Give --ranks 2.")
    if test in OSU_MULTIPLE and request.ranks % PAIR:
        raise UsageError(f"{test} needs pairs, and {request.ranks} ranks were requested.", "Give an even number.")
    words = ["-c"] if whole(request.parameters, "verify", 0, 1) else []
    expected = {"pairs": str(request.ranks // PAIR)} if test in OSU_MULTIPLE else {}
    if OSU_ONE_ROW.match(test):
        return BenchmarkPlan(steps=(BenchmarkStep(name=test, argv=(request.program, *words)),), expected=expected)
    largest = largest_message(request, PAIR_BYTES if pair else COLLECTIVE_BYTES)
    step = BenchmarkStep(name=test, argv=(request.program, "-m", str(largest), *words))
    return BenchmarkPlan(steps=(step,), expected=expected, largest_bytes=largest)


OSU = Launch(
    programs=("osu_bw",),
    program_parameter="test",
    package="",
    plan=osu_plan,
    nodes=2,
    ranks_per_node=1,
    parameters=(
        Parameter(name="test", default="osu_bw", meaning="the program: osu_latency, osu_mbw_mr, osu_allreduce, ..."),
        Parameter(name="largest", default=AUTO, meaning="largest message; auto: 4MiB, of collectives 1MiB"),
        Parameter(name="verify", default="0", meaning="1: compare the received data (-c, from version 6)"),
    ),
)


class OsuTable(msgspec.Struct):
    """One table while it is read."""

    title: OutputLine
    test: str
    collective: bool
    columns: list[str]
    windows: "list[int]" = msgspec.field(default_factory=list)
    """Window sizes of the columns of osu_mbw_mr -V; empty: the columns are named."""
    sized: bool = True
    rows: "list[tuple[int, OutputLine, list[str]]]" = msgspec.field(default_factory=list)
    closed: bool = False
    remarks: str = ""
    """Pairs, buffers and data types, in lines between title and rows."""
    largest: int = 0
    """The size after which it is complete, as far as the output shows it; 0: by default."""

    @property
    def setting(self) -> str:
        """How it was measured; empty for tests that print neither their ranks nor their pairs."""
        unknown = self.collective or "multi latency" in self.test or "multi-threaded" in self.test
        return "" if unknown else f"{self.title.text.partition('#')[2]} {self.remarks}"

    @property
    def one_row(self) -> bool:
        """Whether the test prints one row whatever the options are."""
        return not self.sized or bool(ONE_ROW.search(self.test))


def parse(text: str) -> Output:
    """All tables of one output, which end at the default sizes unless the output shows others."""
    return parse_up_to(text, 0)


def parse_up_to(text: str, largest_bytes: int) -> Output:
    """All tables of one output of a run whose largest message is known; 0: it is not."""
    reading = Reading("osu", text, closing=ONE_NUMBER)
    tables = _tables(reading)
    for table in tables:
        table.largest = largest_bytes or table.largest
    if not tables:
        reading.lack("it has no title line of a test (# OSU MPI ... Test)")
    ends = _ends(tables[:-1])
    for place, table in enumerate(tables):
        _read(reading, table)
        _judge(reading, table)
        _complete(reading, tables, place, ends.get(table.test, set()))
    return reading.output()


def _tables(reading: Reading) -> list[OsuTable]:
    tables: list[OsuTable] = []
    largest = 0
    for line in reading.whole_lines:
        title = TITLE.search(line.text)
        if title:
            reading.version = title["version"] or reading.version
            test = _test(title["api"], title["what"])
            tables.append(
                OsuTable(title=line, test=test, collective=bool(COLLECTIVE.search(test)), columns=[], largest=largest)
            )
            largest = 0
        elif tables and PROFILE.search(line.text) and tables[-1].windows:
            first = tables[-1]
            windows = list(first.windows)
            tables.append(
                OsuTable(
                    title=line, test=first.test, collective=False, windows=windows, largest=first.largest,
                    columns=["Messages/s"] * len(windows),
                )
            )  # fmt: skip
        elif asked := ASKED.search(line.text) or CAPPED.search(line.text):
            size = whole_number(asked.group(1))
            if tables and not tables[-1].rows:
                tables[-1].largest = size
            else:
                largest = size
        elif tables:
            _line_of(reading, tables[-1], line)
    return tables


def _test(api: str, what: str) -> str:
    """The name of a test: `latency`, and `mpi_put latency` or `one sided mpi_put latency` of one-sided ones."""
    sided = api.startswith("MPI_") or api == "One"
    return (f"{api} {what}" if sided else what).strip().lower()


def _line_of(reading: Reading, table: OsuTable, line: OutputLine) -> None:
    """A line below a title: heading, row, or remark."""
    text = line.text.strip()
    heading = text.lstrip("# ")
    table.remarks += text if text.startswith("#") and not table.rows else ""
    if WINDOWS.match(text) and not table.rows and not table.windows:
        table.windows = [whole_number(word) for word in heading.split()]
        table.columns, table.sized = ["MB/s"] * len(table.windows), True
    elif text.startswith("#") and re.search(r"\((?:us|MB/s|s|ms)\)|MB/s", text):
        table.sized = SIZE.match(heading) is not None
        table.columns = COLUMN.findall(SIZE.sub("", heading, count=1) if table.sized else heading)
    elif pairs := re.search(r"\[\s*pairs:\s*(\d{1,9})\s*\]", text):
        reading.evidence("pairs", whole_number(pairs[1]), line)
    elif ranks := PROCESSES.match(text):
        reading.evidence("ranks", whole_number(ranks["ranks"]), line)
        table.rows.append((0, line, []))
        for statistic, printed in INIT_TIMES.findall(text):
            labels = {"statistic": statistic.replace("avg", "average"), "test": table.test}
            reading.result("latency_s", printed, line, MILLISECOND, labels=labels)
    elif re.search(r"(?i)validation (?:error|failed)|data corrupt", text):
        reading.breach(FindingKind.DATA_CORRUPT, "OSU's own check of the data failed", line)
    elif text.startswith("#"):
        table.closed = bool(table.rows)  # what another program prints
    elif table.columns and not table.closed and is_row(line.text, words=VALIDATION):
        fields = text.split()
        if table.sized and not (fields[0].isdecimal() and len(fields[0]) <= MOST_DIGITS):
            return
        size = whole_number(fields[0]) if table.sized else 0
        numbers = fields[1:] if table.sized else fields
        if numbers and len(numbers) >= len(table.rows[0][2] if table.rows else ()):  # else it was cut off
            table.rows.append((size, line, numbers))


def _read(reading: Reading, table: OsuTable) -> None:
    reading.evidence("test", table.test, table.title)
    reading.setting = table.setting
    for size, line, fields in table.rows:
        for place, (column, printed) in enumerate(zip(table.columns, fields, strict=False)):
            name = column.lower()
            labels: dict[str, str | int] = {"test": table.test, "bytes": size}
            if table.windows:
                labels["window"] = table.windows[place]
            if "mb/s" in name:
                reading.result("bandwidth_bytes_per_s", printed, line, MEGABYTE, labels=labels)
            elif "messages/s" in name:
                reading.result("message_rate_per_s", printed, line, labels=labels)
            elif "(us)" in name:
                kind = name.partition("(")[0].replace("latency", "").replace(" lat", " ").strip() or "average"
                metric = "compute_s" if "compute" in kind else "latency_s"
                reading.result(
                    metric, printed, line, MICROSECOND, labels={"statistic": kind.replace("avg", "average"), **labels}
                )
            elif "overlap" in name:
                reading.result("overlap_share", printed, line, 0.01, labels=labels)
            elif "validation" in name and printed.lower() == "fail":
                reading.breach(FindingKind.DATA_CORRUPT, "OSU's own check of the data failed", line)


def _judge(reading: Reading, table: OsuTable) -> None:
    """Bandwidth and message rate of a row agree; sizes change the number."""
    names = [column.lower() for column in table.columns]
    if "mb/s" in names and "messages/s" in names:
        rate_at, count_at = names.index("mb/s"), names.index("messages/s")
        for size, line, fields in table.rows:
            if len(fields) > max(rate_at, count_at) and is_number(fields[rate_at]) and is_number(fields[count_at]):
                rate, messages = number_of(fields[rate_at]) * MEGABYTE, number_of(fields[count_at])
                if abs(rate - size * messages) > ROUNDING * rate + 0.01 * MEGABYTE + 0.01 * size:
                    reading.breach(
                        FindingKind.NUMBERS_DISAGREE, "bandwidth is not message size times messages per second", line
                    )
    if table.one_row and (
        zeros := [
            line for _, line, fields in table.rows if fields and is_number(fields[0]) and number_of(fields[0]) == 0
        ]
    ):
        reading.breach(FindingKind.ZERO_RESULT, "an operation between ranks took no time", zeros[0])
    values = {fields[0] for _, _, fields in table.rows if fields}
    if len(table.rows) >= FEWEST_CONSTANT and len(values) == 1 and len({size for size, _, _ in table.rows}) > 1:
        reading.breach(
            FindingKind.CONSTANT_RESULTS,
            f"all {count(len(table.rows), 'size')} have the same number",
            table.rows[-1][1],
        )


def _ends(tables: Iterable[OsuTable]) -> dict[str, set[int]]:
    """The largest sizes of the tables of each test."""
    ends: dict[str, set[int]] = {}
    for table in tables:
        if table.rows:
            ends.setdefault(table.test, set()).add(max(size for size, _, _ in table.rows))
    return ends


def _complete(reading: Reading, tables: list[OsuTable], place: int, ended: set[int]) -> None:
    """A table ends at the largest size of its test: there is no closing line. `ended`: where tables of it ended."""
    table = tables[place]
    name = f"the table of the {table.test} test (line {table.title.number})"
    if not table.rows:
        reading.lack(f"{name} has no rows")
        return
    if table.windows and "MB/s" in table.columns:
        profile = next((other for other in tables[place + 1 :] if other.test == table.test), None)
        if profile is None or not profile.windows:
            reading.lack(f"{name} is not followed by the message rates (Message Rate Profile)")
    if table.one_row:
        if len(table.rows[-1][2]) < len(table.columns):
            reading.lack(f"{name} has a row of fewer numbers than columns")
        return
    sizes = [size for size, _, _ in table.rows]
    doubled = [max(2 * size, 1) for size in sizes]
    gaps = [b for a, b in zip(doubled, sizes[1:], strict=False) if b > a]
    if gaps:
        reading.lack(f"{name} has no row before {gaps[0]} bytes: lines are missing")
    largest = table.largest or _default(reading, table)
    if not table.largest and len(ended) == 1:
        like = [other.rows[-1][0] for other in tables if other.test == table.test and other.rows]
        largest = largest if len(like) == 1 else max(like)
    if sizes[-1] < largest:
        reading.lack(f"{name} ends at {sizes[-1]} bytes, not at {largest}")


def _default(reading: Reading, table: OsuTable) -> int:
    if not table.collective and not SHARED.search(table.title.text):
        return PAIR_MAXIMUM
    early = re.match(r"[12]\.|3\.0|3\.1", reading.version)
    return 1 << 14 if early and "broadcast" in table.test else COLLECTIVE_MAXIMUM


BENCHMARK = Benchmark(
    name="osu",
    title="OSU micro-benchmarks",
    requires="osu-micro-benchmarks (osu_latency, osu_bw, osu_mbw_mr, osu_allreduce, ...) and MPI",
    marks=(r"^[ \t]*+(?:\[\d{1,18},\d{1,18}\]<std\w+>:|\d{1,18}:)?[ \t]*+#\s*(?:OSU|OMB-Py)\s+\S+\s+\S",),
    beginnings=("# OSU MPI", "\n# OSU MPI", "# OMB-Py MPI"),
    parse=parse,
    parse_up_to=parse_up_to,
    metrics=(
        Metric("latency_s", "one way between two ranks, or one operation"),
        Metric("bandwidth_bytes_per_s", "all pairs together; MB is 10⁶", of_path=True, least_share=LEAST_OF_PATH),
        Metric("message_rate_per_s", "messages, all pairs together"),
        Metric("compute_s", "computation beside a non-blocking operation"),
        Metric("overlap_share", "of communication hidden by computation"),
    ),
    main_metric="bandwidth_bytes_per_s",
    alike=(AlikeNumbers((), OFF, in_turn=True),),  # collectives do not print their ranks
    evidence=("test", "pairs", "ranks"),
    gates=(FindingKind.DATA_CORRUPT, FindingKind.NUMBERS_DISAGREE, FindingKind.CONSTANT_RESULTS),
    complete="sizes double up to 4 MiB (two ranks) or 1 MiB (collectives), or up to what -m in a printed command line, "
    "or --largest, says; there is no closing line",
    as_pairs="Tests between two nodes are a table of pairs if a line with both names is above each.",
    launch=OSU,
)
