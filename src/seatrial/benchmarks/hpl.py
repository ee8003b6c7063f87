"""HPL (Linpack): rate, time and scaled residual of each test; versions 1 to 2.3, Intel's and NVIDIA's included."""

import math
import re
from collections.abc import Sequence

from seatrial.benchmarks.declaration import AUTO, AlikeNumbers, Benchmark, Launch, Parameter, Scaling, share, whole
from seatrial.benchmarks.reading import OutputLine, Reading, moment_of, rounding, rule_of
from seatrial.model.benchmark import LEAST_OF_PEAK, BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import NUMBER, finite, number_of, whole_number
from seatrial.model.units import duration
from seatrial.model.verdict import FindingKind

RESULT = re.compile(
    rf"^\s*(?P<variant>W\w{{1,20}})\s+(?P<n>\d{{1,12}})\s+(?P<nb>\d{{1,6}})\s+(?P<p>\d{{1,6}})\s+(?P<q>\d{{1,6}})"
    rf"\s+(?P<time>{NUMBER})\s+(?P<gflops>{NUMBER})"
)
RESIDUAL = re.compile(rf"^\|\|Ax-b\|\|[^=]*+=\s*+(?P<value>{NUMBER}|\S{{1,40}}+)\s*+\.++\s*+(?P<outcome>PASSED|FAILED)")
FINISHED = re.compile(r"^Finished\s+(?P<tests>\d{1,9}) tests? with the following results")
COUNTS = re.compile(
    r"^\s+(?P<count>\d{1,9}) tests (?:completed and )?(?P<what>passed|failed|skipped|completed without)"
)
END = re.compile(r"^End of Tests\.", re.MULTILINE)
RULE = re.compile(r"^={60,}\s*$", re.MULTILINE)
CLOCK = re.compile(r"HPL_pdgesv\(\) (?P<end>start|end) time\s+(?P<time>\w{3} \w{3} +\d{1,18} \d\d:\d\d:\d\d \d{4})")
GIGA = 1e9
AGREEMENT = 0.01
MOST_RESIDUAL = 16.0
"""The threshold of HPL's own HPL.dat, and of the Top500 list."""
TESTS_APART, COMPARED_S = 8.0, 1.0
"""Tests of one order on as many ranks differ by block size and grid: on two ranks, order 2500 with blocks of 8 to 256
takes up to 3.3 times as long, and 15 times as long without blocks (1). Shorter tests than this are not compared.
"""


WORD_BYTES = 8
FLOPS_OF_CUBE = 2 / 3
"""HPL does 2/3 N^3 operations, and less than 1 % more for the orders that are run."""
LIKELY_OF_PEAK = 0.4
"""What HPL reaches at least on most machines, for the time that it will take; lists of the TOP500 begin there."""
LIKELY_FLOPS_PER_S = 2e9
"""The rate of a rank on a machine of unknown peak: what a slow virtual machine does."""
HPL_PART, HPCC_PART = 0.6, 0.2
"""Shares of the time limit: the rest is for the start, the check of the result, and the other parts of HPCC."""
LEAST_ORDER, MOST_ORDER = 64, 100_000_000
PARAMETERS = (
    Parameter(name="order", default=AUTO, meaning="order N of the matrix; auto: from memory", grows=0.5),
    Parameter(name="block", default="192", meaning="block size NB; the order is a multiple of it"),
    Parameter(name="memory", default="80%", meaning="share of the nodes' memory that the matrix takes"),
)
# The 31 lines of HPL.dat are positional (TUNING in HPL's sources); each is a value and a comment.
LINES = """HPLinpack benchmark input file
written by seatrial
HPL.out output file name (if any)
{device} device out (6=stdout,7=stderr,file)
1 # of problems sizes (N)
{order} Ns
1 # of NBs
{block} NBs
0 PMAP process mapping (0=Row-,1=Column-major)
1 # of process grids (P x Q)
{p} Ps
{q} Qs
16.0 threshold
1 # of panel fact
2 PFACTs (0=left, 1=Crout, 2=Right)
1 # of recursive stopping criterium
4 NBMINs (>= 1)
1 # of panels in recursion
2 NDIVs
1 # of recursive panel fact.
1 RFACTs (0=left, 1=Crout, 2=Right)
1 # of broadcast
1 BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1 # of lookahead depth
1 DEPTHs (>=0)
2 SWAP (0=bin-exch,1=long,2=mix)
64 swapping threshold
0 L1 in (0=transposed,1=no-transposed) form
0 U  in (0=transposed,1=no-transposed) form
1 Equilibration (0=no,1=yes)
8 memory alignment in double (> 0)
"""
PTRANS = """##### This line (no. 32) is ignored (it serves as a separator). ######
0 Number of additional problem sizes for PTRANS
1200 values of N
0 number of additional blocking sizes for PTRANS
40 values of NB
"""


def grid(ranks: int) -> tuple[int, int]:
    """P and Q with P x Q = ranks, P <= Q and P as large as it can be: HPL is fastest on a grid that is nearly square.

    The source is TUNING of HPL, "How many process grid configurations".
    """
    p = next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)
    return p, ranks // p


def order_of(memory_bytes: int, block: int) -> int:
    """The largest order, a multiple of the block, whose matrix of 8-byte words fits into the memory."""
    return math.isqrt(memory_bytes // WORD_BYTES) // block * block


def input_text(order: int, block: int, ranks: int, device: str = "6") -> str:
    """HPL.dat. `device`: 6 for standard output, anything else for the file HPL.out."""
    p, q = grid(ranks)
    return LINES.format(order=order, block=block, p=p, q=q, device=device)


def hpl_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """xhpl with HPL.dat. Raises UsageError for a parameter, and where memory is not known."""
    order, block, notes = _sizes(request, HPL_PART)
    step = BenchmarkStep(name="hpl", argv=(request.program,))
    return BenchmarkPlan(
        steps=(step,),
        files={"HPL.dat": input_text(order, block, request.ranks)},
        expected={"ranks": str(request.ranks), "order": str(order), "tests": "1"},
        notes=notes,
    )


def hpcc_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """hpcc with hpccinf.txt; its results are in hpccoutf.txt. Errors as of `hpl_plan`."""
    order, block, notes = _sizes(request, HPCC_PART)
    step = BenchmarkStep(name="hpcc", argv=(request.program,), output="hpccoutf.txt")
    return BenchmarkPlan(
        steps=(step,),
        files={"hpccinf.txt": input_text(order, block, request.ranks, "8") + PTRANS},
        expected={"ranks": str(request.ranks), "order": str(order)},
        notes=notes,
    )


def _order_in_time(request: BenchmarkRequest, part: float) -> float:
    """The order of which HPL takes this part of the time limit; infinite without a limit.

    Weak scaling keeps the memory of a node, and the largest point takes longest: smaller ones are planned after it.
    """
    if not request.budget_s:
        return math.inf
    largest = max(request.largest_nodes, request.nodes)
    of_node = request.peak_flops_per_s * LIKELY_OF_PEAK or request.ranks_per_node * LIKELY_FLOPS_PER_S
    order = math.cbrt(part * request.budget_s * of_node * largest / request.sharing / FLOPS_OF_CUBE)
    return order * math.sqrt(request.nodes / largest)


def _sizes(request: BenchmarkRequest, part: float) -> tuple[int, int, tuple[str, ...]]:
    """Order, block size, and a sentence on how they were chosen. `part`: of the time limit, that HPL may take."""
    block = whole(request.parameters, "block", 1, 4096)
    p, q = grid(request.ranks)
    memory = request.memory_bytes * request.nodes
    if request.parameters["order"] != AUTO:
        order = whole(request.parameters, "order", LEAST_ORDER, MOST_ORDER)
        if memory and order**2 * WORD_BYTES > memory:
            raise UsageError(
                f"--set order={order}: its matrix takes {order**2 * WORD_BYTES / 1e9:.1f} GB, and the nodes have "
                f"{memory / 1e9:.1f} GB of memory.",
                f"Give at most {order_of(int(0.9 * memory), block)}.",
            )
        return order, block, (f"Order {order} as requested, process grid {p} x {q}.",)
    if not memory:
        raise UsageError("The memory of the nodes is not known.", "Give the order: --set order=20000.")
    order = order_of(int(share(request.parameters, "memory") * memory), block)
    in_time = _order_in_time(request, part)
    cut = in_time < order
    order = max(math.floor(min(in_time, order)) // block * block, block) if cut else order
    if order < LEAST_ORDER and not cut:
        raise UsageError(f"The memory is too small for blocks of {block}.", "Give a smaller one: --set block=64.")
    taken = order**2 * WORD_BYTES / request.nodes
    sentence = (
        f"Order {order}: {taken / 1e9:.1f} GB of the {request.memory_bytes / 1e9:.1f} GB of each node; "
        f"process grid {p} x {q}."
    )
    shorter = f"Memory permits a larger order, which would probably not end within {duration(request.budget_s)}: give "
    return order, block, (sentence, f"{shorter}a longer --budget.") if cut else (sentence,)


HPL = Launch(programs=("xhpl",), package="", plan=hpl_plan, parameters=PARAMETERS)
HPCC = Launch(programs=("hpcc",), package="hpcc", plan=hpcc_plan, parameters=PARAMETERS)


def parse(text: str) -> Output:
    """One output of xhpl: the head, one block for each test, and the summary."""
    reading = Reading("hpl", text, closing=rule_of(text, "="))
    for lines in reading.runs(r"^HPLinpack \d", END.pattern, "End of Tests."):
        read_hpl(reading, lines)
    head = reading.search(r"^HPLinpack (?P<version>\S+)|HPL-NVIDIA (?P<nvidia>\S+)")
    reading.version = next(filter(None, head[1].groups()), "") if head else ""
    ends = list(END.finditer(text))
    if not ends:
        reading.lack("the closing line (End of Tests.) is missing")
    elif not RULE.search(text, ends[-1].end()):
        reading.lack("the rule of = below the closing line is missing")
    return reading.output()


def read_hpl(reading: Reading, lines: Sequence[OutputLine]) -> None:
    """Read results, residuals and summary from these lines."""
    tests: list[OutputLine] = []
    checked: list[float] = []
    for line in lines:
        if row := RESULT.match(line.text):
            tests.append(line)
            _result(reading, line, row)
        elif residual := RESIDUAL.match(line.text):
            checked.append(float(len(tests)))
            _residual(reading, line, residual)
    for place, line in enumerate(tests, 1):
        if place not in checked:
            reading.breach(FindingKind.RESIDUAL_MISSING, "this test has no residual: its result was not checked", line)
    _summary(reading, lines, len(tests))
    _clock(reading, lines)


def _result(reading: Reading, line: OutputLine, row: "re.Match[str]") -> None:
    n, p, q = (whole_number(row[name]) for name in ("n", "p", "q"))
    labels: dict[str, str | int] = {"variant": row["variant"], "n": n, "nb": int(row["nb"]), "p": p, "q": q}
    reading.setting = f"{p * q} ranks" if number_of(row["time"]) >= COMPARED_S else ""
    reading.result("rate_flops_per_s", row["gflops"], line, GIGA, labels=labels)
    reading.result("time_s", row["time"], line, labels=labels)
    reading.setting = ""
    reading.evidence("ranks", p * q, line)
    reading.evidence("order", n, line)
    time, rate = number_of(row["time"]), number_of(row["gflops"]) * GIGA
    operations = 2 / 3 * n**3 + 3 / 2 * n**2  # HPL_pdtest.c
    if time == 0:
        reading.breach(FindingKind.RUN_TOO_SHORT, f"the test took {row['time']} s: nothing shows its rate", line)
    if time <= 0 or rate <= 0:
        return
    if math.isfinite(time) and abs(operations / time / rate - 1) > AGREEMENT + rounding(row["time"]):
        claimed = operations / time / GIGA
        reading.breach(
            FindingKind.NUMBERS_DISAGREE,
            f"solving order {n} in {row['time']} s is {claimed:.4g} Gflop/s, not {row['gflops']}",
            line,
        )


def _residual(reading: Reading, line: OutputLine, residual: "re.Match[str]") -> None:
    reading.result("residual", residual["value"], line)
    if residual["outcome"] == "FAILED":
        reading.breach(FindingKind.RESIDUAL_FAILED, f"the scaled residual is {residual['value']}: FAILED", line)
    elif finite(residual["value"]) and number_of(residual["value"]) > MOST_RESIDUAL:
        reading.breach(
            FindingKind.RESIDUAL_FAILED,
            f"the scaled residual is {residual['value']}, above {MOST_RESIDUAL:g}: HPL.dat permits more",
            line,
        )


def _summary(reading: Reading, lines: Sequence[OutputLine], tests: int) -> None:
    finished = reading.search(FINISHED.pattern, lines)
    if not finished:
        reading.lack("the summary (Finished ... tests) is missing")
        return
    planned = whole_number(finished[1]["tests"])
    reading.evidence("tests", planned, finished[0])
    if planned != tests:
        reading.breach(
            FindingKind.WORK_SKIPPED, f"the summary counts {planned} tests, the output has {tests}", finished[0]
        )
    after = (line for line in lines if line.number > finished[0].number)
    for line, counts in reading.matches(COUNTS.pattern, after):
        number = whole_number(counts["count"])
        if number and counts["what"] == "failed":
            reading.breach(FindingKind.RESIDUAL_FAILED, f"{number} tests failed the residual check", line)
        elif number and counts["what"] == "skipped":
            reading.breach(FindingKind.WORK_SKIPPED, f"{number} tests were skipped: illegal input values", line)
        elif number and counts["what"] == "completed without":
            reading.breach(FindingKind.RESIDUAL_MISSING, f"{number} tests were not checked", line)


def _clock(reading: Reading, lines: Sequence[OutputLine]) -> None:
    """The clock of the day does not run backwards, and covers the measured time."""
    began = None
    times = iter(reading.values_of("time_s"))
    for line, clock in reading.matches(CLOCK.pattern, lines):
        if clock["end"] == "start":
            began = moment_of(clock["time"])
        else:
            reading.compare_clock(began, moment_of(clock["time"]), next(times, 0.0), line)


GATES = (
    FindingKind.RESIDUAL_FAILED,
    FindingKind.RESIDUAL_MISSING,
    FindingKind.NUMBERS_DISAGREE,
    FindingKind.RUN_TOO_SHORT,
    FindingKind.WORK_SKIPPED,
    FindingKind.RANKS_DIFFER,
    FindingKind.CLOCK_BACKWARDS,
)
"""Also those of HPCC, whose outputs contain that of HPL."""

BENCHMARK = Benchmark(
    name="hpl",
    title="HPL (High-Performance Linpack)",
    requires="xhpl, HPL.dat, BLAS and MPI",
    marks=(r"HPLinpack \d|HPL-NVIDIA", r"^T/V\s+N\s+NB\s+P\s+Q", r"^HPL_pdgesv\(\) (?:start|end) time"),
    beginnings=("=" * 80 + "\nHPLinpack",),
    parts=(r"^\|\|Ax-b\|\|_oo/", FINISHED.pattern),
    parse=parse,
    metrics=(
        Metric("rate_flops_per_s", "double precision, all ranks", least_share=LEAST_OF_PEAK),
        Metric("time_s", "to solve the system"),
        Metric("residual", "scaled; it must be below the threshold, 16", of_result=True),
    ),
    main_metric="rate_flops_per_s",
    tried=("n",),
    alike=(AlikeNumbers(("variant", "nb", "p", "q"), TESTS_APART),),
    evidence=("ranks", "order", "tests"),
    gates=GATES,
    complete="the summary, `End of Tests.` and the rule below it",
    scaling=Scaling.WEAK,
    launch=HPL,
)
