"""What nccl-tests and rccl-tests print: the runs of a text with their rows, and a folder of runs between two nodes."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from seatrial.importers.node_names import one_name_each
from seatrial.importers.osu import lost_pairs
from seatrial.importers.pair_evidence import NotPairs
from seatrial.importers.pair_lines import Pair
from seatrial.importers.printed_text import plain
from seatrial.limits.collectives import COLLECTIVES, bus_factor
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import DEAD_BANDWIDTH, PairTable, repeated_pair_table
from seatrial.model.unit_text import NUMBER, is_number, number_of, whole_number
from seatrial.model.words import count

MARK = re.compile(
    r"^#?[ \t]*+nThreads?[: ]\s*\d{1,6}\s+nGpus|\bout-of-place\s+in-place\b"
    r"|^#?[ \t]++size[ \t]++count\b.{0,80}\balgbw\b",
    re.MULTILINE,
)
HEAD = re.compile(r"^#?\s*nThreads?[: ]\s*\d{1,6}\s+nGpus[: ]\s*\d{1,6}\b")
START = re.compile(r"^#?\s*Collective test starting:\s*(?P<test>\w{1,40})")
CONCLUDED = re.compile(r"^#?\s*Collective test concluded:\s*(?P<test>\w{0,40})")
VERSION = re.compile(r"^#?\s*(?:n|r)ccl-tests version\s+(?P<version>\S{1,40})")
COMMAND = re.compile(r"\b(?P<test>[a-z]{2,20}(?:_[a-z]{2,20})?)_perf(?:_mpi)?\b")
RANK = re.compile(
    r"^#?\s+Rank\s+(?P<rank>\d{1,9})\b(?:\s+Group\s+(?P<group>\d{1,9})\b)?.{0,80}?\bPid\s+\d{1,12}\s+on\s+(?P<host>\S{1,255})\s+device\s+(?P<gpu>\d{1,6})\b"
)
HEADING = re.compile(r"^#?\s+size\s+count\b(?P<kinds>.{0,120}?)\b(?P<columns>time\s.*)$")
UNITS = re.compile(r"^#?\s+\(B\)\s+\(elements\)(?P<units>.*)$")
AVERAGE = re.compile(rf"^#?\s*Avg bus bandwidth\s*:\s*(?P<rate>{NUMBER})")
BOUNDS = re.compile(r"^#?\s*Out of bounds values\s*:\s*(?P<count>\d{1,18})\s+(?P<word>\w{1,20})")
ITERATIONS = re.compile(r"(?<!warmup )\biters: (?P<iterations>\d{1,9})")
REDUCED = re.compile(r"^#?\s*Reducing maxBytes to (?P<bytes>\d{1,18})")
FAILED = re.compile(
    r"Test (?:NCCL|CUDA|HIP|RCCL|MPI) failure|: Test failure \S{1,80}:\d{1,9}|^(?:\S{1,255}: )?Test timed? ?out\b"
)
SIZE = re.compile(r"\d{1,18}")
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
GIGABYTE = 1e9
BUFFERS = ("out-of-place", "in-place")
ABSENT = "N/A"
PLACES_DIFFER = 0.02
"""Bus and algorithm bandwidth are rounded to two decimals: their ratio shows the collective only this well."""
Line = tuple[int, str]


class NcclCells(msgspec.Struct, frozen=True, kw_only=True):
    """The four cells of one message size and buffer, as they are printed."""

    buffer: str
    time: str
    algorithm: str
    bus: str
    wrong: str


class NcclRow(msgspec.Struct, frozen=True, kw_only=True):
    """One message size."""

    line: Line
    size_bytes: int
    kinds: tuple[str, ...]
    """Cells between the count and the first time: type of the data, operation, root."""
    cells: tuple[NcclCells, ...]


class NcclRun(msgspec.Struct):
    """One run while it is read, from its head to its closing lines."""

    head: Line
    test: str = ""
    """The collective without `_perf`; empty: nothing shows it."""
    version: str = ""
    ranks: list[tuple[int, str, int]] = msgspec.field(default_factory=list)
    """Rank, host and number of the GPU on it; only those of the first group."""
    groups: dict[str, int] = msgspec.field(default_factory=dict)
    """Groups that work at the same time, each with a communicator of its own (NCCL_TESTS_SPLIT), and their ranks."""
    heads: int = 0
    """Lines with the settings: more than one where several programs print at the same time."""
    iterations: int = 0
    reduced_bytes: int = 0
    kinds: tuple[str, ...] = ()
    """Names of the columns between count and times."""
    columns: tuple[str, ...] = ()
    """Names of the columns from the first time on: time, algbw, busbw, and `#wrong`, which was `error` once."""
    unit_s: float = SECONDS["us"]
    rows: list[NcclRow] = msgspec.field(default_factory=list)
    broken: list[Line] = msgspec.field(default_factory=list)
    """Rows with too few cells."""
    bounds: Line | None = None
    failed_values: str = ""
    """Number of wrong values, if the program counts any."""
    averages: int = 0
    closing: Line | None = None
    """The lone # below the average; an empty line where a renderer of Markdown took the # from all lines."""
    announced: bool = False
    """Whether a line says that the test starts; another one then says that it has ended."""
    concluded: bool = False
    failed: bool = False
    """Whether a failure was reported in it: what begins behind that is another run."""

    @property
    def complete(self) -> bool:
        """Whether all its lines are there: rows, the average, and what follows it."""
        return bool(self.rows) and self.closing is not None and (self.concluded or not self.announced)

    @property
    def counts_wrong(self) -> bool:
        """Whether the last column counts wrong values; earlier versions print the largest error, as rounding makes."""
        return "#wrong" in self.columns

    @property
    def varied(self) -> tuple[int, ...]:
        """Places of `kinds` that have several values in one run: -d all, -o all, -r all."""
        values = [{row.kinds[place] for row in self.rows if place < len(row.kinds)} for place in range(len(self.kinds))]
        return tuple(place for place, of_place in enumerate(values) if len(of_place) > 1)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The nodes, each once, in the order of the ranks."""
        return tuple(dict.fromkeys(host for _, host, _ in self.ranks))

    @property
    def collective(self) -> str:
        """The collective: as printed, else by the ratio of bus and algorithm bandwidth; empty: several have it."""
        if self.test:
            return self.test
        ratios = [
            number_of(cells.bus) / number_of(cells.algorithm)
            for row in self.rows
            for cells in row.cells
            if is_number(cells.bus) and is_number(cells.algorithm) and number_of(cells.algorithm) >= 1
        ]
        if not ratios or len(self.ranks) < 2:
            return ""
        ratio = sorted(ratios)[len(ratios) // 2]
        fitting = [
            name
            for name in COLLECTIVES
            if abs((bus_factor(name, len(self.ranks)) or 0.0) - ratio) < PLACES_DIFFER * ratio
        ]
        return fitting[0] if len(fitting) == 1 else ""


def nccl_runs(lines: Iterable[Line]) -> list[NcclRun]:
    """All runs of a text, in order. What is above the first head belongs to the first run."""
    runs: list[NcclRun] = []
    version = command = ""
    for line in lines:
        text = line[1]
        if match := VERSION.match(text):
            version = match["version"]
        elif match := START.match(text):
            test = match["test"].removesuffix("_perf")
            runs.append(NcclRun(head=line, test=test, version=version, announced=True))
        elif HEAD.match(text):
            begun = runs[-1] if runs else None
            if begun is None or begun.averages or begun.failed or (begun.rows and begun.heads):
                runs.append(NcclRun(head=line, test=command, version=version))
            runs[-1].heads += 1
            if iterations := ITERATIONS.search(text):
                runs[-1].iterations = whole_number(iterations["iterations"])
        elif runs or HEADING.match(text) or AVERAGE.match(text):  # a table whose settings are missing, or its end
            runs = runs or [NcclRun(head=line, version=version, test=command)]
            _add(runs[-1], line)
        named = set(COMMAND.findall(text)) & COLLECTIVES.keys() if not text.startswith("#") else set()
        if len(named) == 1:  # a list of programs names several
            (command,) = named
            if runs and not runs[-1].rows and not runs[-1].test:
                runs[-1].test = command
    return runs


def _add(run: NcclRun, line: Line) -> None:
    """One line below the head of a run."""
    text = line[1]
    if match := RANK.match(text):
        group = match["group"] or ""
        run.groups[group] = run.groups.get(group, 0) + 1
        if group == next(iter(run.groups)):
            run.ranks.append((int(match["rank"]), match["host"], int(match["gpu"])))
    elif FAILED.search(text):
        run.failed = True
    elif match := HEADING.match(text):
        run.kinds = tuple(match["kinds"].split())
        run.columns = tuple(match["columns"].split())
    elif match := UNITS.match(text):
        unit = re.search(r"\((us|ms|s)\)", match["units"])
        run.unit_s = SECONDS[unit[1]] if unit else run.unit_s
    elif match := REDUCED.match(text):
        run.reduced_bytes = whole_number(match["bytes"])
    elif match := BOUNDS.match(text):
        run.bounds = line
        failed = match["word"] != "OK" or whole_number(match["count"])
        run.failed_values = match["count"] if failed else ""
    elif AVERAGE.match(text):
        run.averages += 1
    elif run.averages and text.strip() == run.head[1][:1].strip("n "):
        run.closing = run.closing or line
    elif match := CONCLUDED.match(text):
        run.concluded = True
        run.test = run.test or match["test"].removesuffix("_perf")
    elif run.columns and not run.averages:
        _add_row(run, line)


def _add_row(run: NcclRun, line: Line) -> None:
    """A row has a size, a count, and from the right as many cells as the heading names."""
    fields = line[1].replace("*", " ").split()  # rccl-tests marks errors above its threshold
    if len(fields) < 2 or not SIZE.fullmatch(fields[0]) or not SIZE.fullmatch(fields[1]):
        return
    width = len(run.columns)
    tail = fields[-width:]
    places = [place for place, name in enumerate(run.columns) if name == "time"]
    numbers = [cell for place in places for cell in tail[place : place + 4]]
    if len(fields) < width + 2 or not all(cell == ABSENT or is_number(cell) for cell in numbers):
        run.broken.append(line)
        return
    cells = tuple(
        NcclCells(buffer=buffer, time=part[0], algorithm=part[1], bus=part[2], wrong=part[3])
        for buffer, place in zip(BUFFERS, places, strict=False)
        if len(part := tail[place : place + 4]) == 4
    )
    if any(is_number(each.time) and number_of(each.time) < 0 for each in cells):  # cells that have grown together
        run.broken.append(line)
        return
    kinds = tuple(fields[2:-width])
    run.rows.append(NcclRow(line=line, size_bytes=whole_number(fields[0]), kinds=kinds, cells=cells))


def is_nccl_folder(texts: Mapping[str, str]) -> bool:
    """Whether a folder has runs of nccl-tests between two nodes each, of several pairs."""
    pairs = {frozenset(run.hosts) for _, run in _runs(texts) if len(run.hosts) == 2}
    return len(pairs) > 1


def _runs(texts: Mapping[str, str]) -> Iterator[tuple[str, NcclRun]]:
    """The runs of all files, each with the name of its file."""
    for name, text in texts.items():
        bare = plain(text)
        if MARK.search(bare):
            yield from ((name, run) for run in nccl_runs(enumerate(bare.splitlines(), 1)))


def parse_nccl_files(texts: Mapping[str, str]) -> PairTable:
    """The bus bandwidth of each pair of nodes, at the largest message size of most: one number of both directions.

    The nodes are those of the ranks. Of several collectives that counts which most pairs have. A run that failed or was
    cut off leaves its pair without a number: not measured, and neither slow nor good. Raises UsageError where the data
    were wrong, and NotPairs where no run is between two nodes.
    """
    every = list(_runs(texts))
    runs = [run for _, run in every if len(run.hosts) == 2]
    wrong = next((run for run in runs if run.failed_values), None)
    if wrong is not None:
        raise UsageError(
            f"The check of the data failed between {' and '.join(wrong.hosts)}: {wrong.failed_values} wrong values.",
            "The fault is corrupted data.",
        )
    complete: defaultdict[str, list[NcclRun]] = defaultdict(list)
    for run in runs:
        if run.complete:
            complete[run.collective].append(run)
    if not complete:
        raise NotPairs(
            f"{count(len(texts), 'file')} read, and none has a complete run of nccl-tests between two nodes.",
            "Run it on each two nodes, one file for each pair.",
        )
    pairs = Counter({name: len({frozenset(run.hosts) for run in of_test}) for name, of_test in complete.items()})
    chosen = complete[pairs.most_common(1)[0][0]]
    usual = Counter(row.size_bytes for run in chosen for row in run.rows)
    largest = max((size for size, number in usual.items() if number == max(usual.values())), default=0)
    values: defaultdict[Pair, list[float]] = defaultdict(list)
    for run in chosen:
        rates = _rates(run, largest)
        if rates:
            values[run.hosts[0], run.hosts[1]].append(rates[0] * GIGABYTE or DEAD_BANDWIDTH)
    of_pairs: defaultdict[str, list[Pair]] = defaultdict(list)
    for name, run in every:
        if len(run.hosts) == 2:
            of_pairs[name].append((run.hosts[0], run.hosts[1]))
    others = {name for name, run in every if run.rows}  # on one node, or on more than two
    lost = lost_pairs(of_pairs, {name: text for name, text in texts.items() if name not in {*of_pairs, *others}})
    nodes = tuple(sorted({host for pair in (*(run.hosts for run in runs), *lost) for host in pair}))
    return one_name_each(repeated_pair_table(nodes, dict(values), {}))


def _rates(run: NcclRun, size_bytes: int) -> list[float]:
    """Bus bandwidths of one size, out of place first, in 10⁹ bytes/s."""
    return [
        number_of(cells.bus)
        for row in run.rows
        if row.size_bytes == size_bytes
        for cells in row.cells
        if is_number(cells.bus)
    ]
