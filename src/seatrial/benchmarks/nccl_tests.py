"""nccl-tests and rccl-tests (all_reduce_perf, sendrecv_perf and others): bus bandwidth and time by message size."""

from collections.abc import Mapping, Sequence

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.reading import OutputLine, Reading, lost_rows, rounding
from seatrial.importers.nccl_tests import FAILED, GIGABYTE, MARK, NcclCells, NcclRow, NcclRun, nccl_runs
from seatrial.limits.collectives import bus_bandwidth_limit, bus_factor
from seatrial.model.benchmark import Label, Metric, Output
from seatrial.model.unit_text import is_number, number_of
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

BUS, ALGORITHM, TIME = "bus_bandwidth_bytes_per_s", "algorithm_bandwidth_bytes_per_s", "time_s"
ROUNDING = 0.005
"""Half of the last digit of a rate, 10⁹ bytes/s."""
AGREEMENT = 0.01


def parse(text: str) -> Output:
    """All runs of one output: the average and the lone # below it end each, and the line that concludes it, if any."""
    reading = Reading("nccl-tests", text, closing=r"#(?: Collective test concluded: \w+_perf)?")
    runs = nccl_runs(reading.whole_lines)
    if not runs:
        reading.lack("it has no line with the settings of a run (# nThread ... nGpus ...)")
    for run in runs:
        _read(reading, run)
    if not _copies(reading, runs):
        for run in runs:
            _complete(reading, run)
    for line, _ in reading.matches(FAILED.pattern):
        reading.breach(FindingKind.PROGRAM_FAILED, "the program reports a failure", line)
    return reading.output()


def _copies(reading: Reading, runs: Sequence[NcclRun]) -> bool:
    """Whether the program ran once for each rank, since it was built without MPI: copies print mixed or in turn."""
    heads, averages = sum(run.heads for run in runs), sum(run.averages for run in runs)
    mixed = heads == averages and any(run.heads > 1 or run.averages > 1 for run in runs)
    single = [run for run in runs if [rank for rank, _, _ in run.ranks] == [0]]
    in_turn = len(single) > 1 and len(single) == len(runs) and len({run.collective for run in runs}) == 1
    if mixed or in_turn:
        reading.breach(
            FindingKind.RANKS_DIFFER,
            f"{max(heads, len(runs))} copies, each with rank 0: no MPI in the program or its start",
            OutputLine(*runs[-1].head),
        )
    return mixed


def _complete(reading: Reading, run: NcclRun) -> None:
    where = f"the run of line {run.head[0]}"
    if not run.heads:
        reading.lack(f"{where} has no line with its settings (# nThread ... nGpus ...)")
    if not run.rows:
        reading.lack(f"{where} has no rows")
    elif not run.averages:
        reading.lack(f'{where} has no "# Avg bus bandwidth"')
    elif run.heads > run.averages:
        reading.lack(f"{where} is {count(run.heads, 'run')} at least, and only {run.averages} came to an end")
    elif run.closing is None:
        reading.lack(f"{where} has no # below its average")
    elif not run.complete:
        reading.lack(f"{where} has no line that concludes it (# Collective test concluded)")
    if lost := lost_rows([row.size_bytes for row in run.rows]):
        reading.lack(f"{where}: {lost}")
    for number, _ in run.broken[:1]:
        reading.lack(f"line {number} has too few columns")


def _read(reading: Reading, run: NcclRun) -> None:
    head = OutputLine(*run.head)
    reading.version = run.version or reading.version
    reading.evidence("test", run.collective or "not named", head)
    if run.ranks:
        reading.evidence("ranks", len(run.ranks), head)
        reading.evidence("nodes", len(run.hosts), head)
    if run.iterations:
        reading.evidence("iterations", run.iterations, head)
    if run.reduced_bytes:
        reading.evidence("largest_bytes", run.reduced_bytes, head)
        reading.note(f"The largest message was reduced to {run.reduced_bytes} bytes: the memory did not suffice.")
    if run.bounds and run.failed_values:
        reading.breach(FindingKind.DATA_CORRUPT, f"{run.failed_values} values are wrong", OutputLine(*run.bounds))
    cells = [(row, each) for row in run.rows for each in row.cells]
    if cells and not any(is_number(each.wrong) for _, each in cells):
        reading.note("The received data were not compared (-c 0, or #wrong is N/A): nothing shows that they are right.")
        reading.unchecked = True
    if len(run.ranks) == 1:
        reading.note("One rank has nobody to talk to: its bus bandwidth says nothing.")
    if len(run.groups) > 1:
        reading.evidence("groups", len(run.groups), head)
        groups = count(len(run.groups), "group")
        reading.note(f"{groups} of ranks worked at the same time; ranks and nodes are those of the first.")
    if len(set(run.groups.values())) > 1:
        reading.lack("its groups have different numbers of ranks: which of them its bus bandwidth is of is unknown")
    reading.setting = run.head[1] if run.ranks else ""
    labels: dict[str, Label] = {"test": run.collective}
    if run.ranks:
        labels |= {"ranks": len(run.ranks), "nodes": len(run.hosts)}
    varied = run.varied
    for row, shown in cells:
        of_row = {run.kinds[place]: row.kinds[place] for place in varied if place < len(row.kinds)}
        _cells(reading, run, row, shown, labels | of_row)


def _cells(reading: Reading, run: NcclRun, row: NcclRow, cells: NcclCells, of_run: Mapping[str, Label]) -> None:
    """The numbers of one row and buffer. A rate that rounds to 0.00 is left out: it is too small for two decimals."""
    line = OutputLine(*row.line)
    labels: dict[str, Label] = {**of_run, "buffer": cells.buffer, "bytes": row.size_bytes}
    factor = bus_factor(run.collective, len(run.ranks)) if run.collective else None
    time_s = number_of(cells.time) * run.unit_s if is_number(cells.time) else 0.0
    expected = row.size_bytes / time_s / GIGABYTE if time_s > 0 else 0.0
    if run.collective == "hypercube" and len(run.ranks) > 1:  # its size has the part of the rank itself, its rate not
        expected *= (len(run.ranks) - 1) / len(run.ranks)
    reading.result(TIME, cells.time, line, run.unit_s, labels=labels)
    for metric, printed, rate in (
        (BUS, cells.bus, expected * (1.0 if factor is None else factor)),
        (ALGORITHM, cells.algorithm, expected),
    ):
        alone = metric == BUS and len(run.ranks) == 1  # a copy within one device, of which sendrecv prints a rate
        small = rate < 2 * ROUNDING or not row.size_bytes
        lost = is_number(printed) and number_of(printed) == 0 and small
        if not (lost or alone):
            reading.result(metric, printed, line, GIGABYTE, labels=labels)
    if run.counts_wrong and is_number(cells.wrong) and number_of(cells.wrong) != 0:
        reading.breach(FindingKind.DATA_CORRUPT, f"{cells.wrong} of the received values are wrong", line)
    if not (is_number(cells.algorithm) and is_number(cells.bus) and expected):
        return
    algorithm, bus = number_of(cells.algorithm), number_of(cells.bus)
    if abs(algorithm - expected) > (AGREEMENT + rounding(cells.time)) * expected + ROUNDING:
        reading.breach(FindingKind.NUMBERS_DISAGREE, "algbw is not the size divided by the time", line)
    if factor is not None and abs(bus - algorithm * factor) > AGREEMENT * bus + ROUNDING * (1 + factor):
        reading.breach(FindingKind.NUMBERS_DISAGREE, f"busbw is not {factor:.4g} times algbw", line)


def most_of_links(labels: Mapping[str, Label], rate: float) -> float | None:
    """The bus bandwidth, bytes/s, that links of `rate` bytes/s allow; None where collective or ranks are unknown.

    `rate`: all links of one node in one direction; of ranks on one node the links of one GPU.
    """
    ranks, nodes = labels.get("ranks"), labels.get("nodes")
    if not isinstance(ranks, int) or not isinstance(nodes, int):
        return None
    return bus_bandwidth_limit(str(labels.get("test", "")), ranks, nodes, rate)


BENCHMARK = Benchmark(
    name="nccl-tests",
    title="nccl-tests",
    requires="nccl-tests or rccl-tests (all_reduce_perf, alltoall_perf, sendrecv_perf, ...), built with MPI",
    as_pairs="A folder of complete ones, each between two nodes, is a table of pairs.",
    marks=(MARK.pattern, r"^#\s*(?:n|r)ccl-tests version|^#\s*Collective test starting:"),
    beginnings=("# nThread ", "# nccl-tests version ", "# Collective test starting: "),
    parts=(r"^#[ \t]*+Avg bus bandwidth[ \t]*+:",),
    parse=parse,
    metrics=(
        Metric(
            BUS, "algorithm bandwidth times the factor of the collective; GB is 10⁹", most=most_of_links, both_ways=True
        ),
        Metric(ALGORITHM, "size of the operation divided by its time"),
        Metric(TIME, "one operation"),
    ),
    main_metric=BUS,
    evidence=("test", "ranks", "nodes", "groups", "iterations", "largest_bytes"),
    gates=(FindingKind.DATA_CORRUPT, FindingKind.NUMBERS_DISAGREE),
    complete="the average of each run with the # below it, and the line that concludes it in versions that have one",
)
