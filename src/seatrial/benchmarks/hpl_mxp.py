"""HPL-MxP (HPL-AI): rate of a solver in mixed precision with its residual, as NVIDIA's program prints it; 21 to 25."""

import re

from seatrial.benchmarks.declaration import Benchmark, Scaling
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import Metric, Output
from seatrial.model.unit_text import NUMBER, finite, number_of, whole_number
from seatrial.model.verdict import FindingKind

HEAD = re.compile(r"HPL-(?:MxP|AI)-NVIDIA (?P<version>[\w.]{1,20})")
RESULT = re.compile(r"\*{6} HPL[ -](?:MxP|AI) Result")
OTHER = re.compile(r"^HPL[ -](?:MxP|AI)\b.{0,60}[Mm]ixed[- ][Pp]recision")
"""Head of other implementations, whose table looks like that of HPL in double precision."""
RATE = re.compile(rf"^\s*(?P<part>LU )?GFLOPS = (?P<rate>{NUMBER})")
SECONDS = re.compile(rf"^(?P<part>LU|Iterative Solver) seconds: AVG = (?P<time>{NUMBER})")
RESIDUAL = re.compile(
    rf"^\s*\|\|Ax-b\|\|_oo / \([^=\n]{{1,200}}=\s*(?P<value>{NUMBER}|\S{{1,40}})\s*\.+ (?P<outcome>\w+)"
)
SETTINGS = re.compile(r"^\s*N = (?P<n>\d{1,12}), NB = (?P<nb>\d{1,9}), NPROW = (?P<p>\d{1,9}), NPCOL = (?P<q>\d{1,9})")
BEGUN = re.compile(r"\*{6} test 1 of (?P<tests>\d{1,9}) starts")
DONE = re.compile(r"\*{6} test \d{1,9} of \d{1,9} done")
GIGA = 1e9
AGREEMENT = 0.02
MOST_RESIDUAL = 16.0
"""The threshold of the benchmark's rules, as of HPL."""


def parse(text: str) -> Output:
    """One output: the settings, progress, and a result with its residual for each loop of each test."""
    reading = Reading("hpl-mxp", text, closing=rf".*{DONE.pattern} +\*{{6}}")
    reading.find_version(HEAD.pattern)
    times: dict[str, float] = {}
    unchecked: list[OutputLine] = []
    checked, rates, order = 0, 0, 0
    for line in reading.whole_lines:
        if seconds := SECONDS.match(line.text):
            times[seconds["part"]] = number_of(seconds["time"])
        elif residual := RESIDUAL.match(line.text):
            checked += 1
            value = residual["value"]
            reading.result("residual", value, line)
            if residual["outcome"] != "PASSED" or (finite(value) and number_of(value) > MOST_RESIDUAL):
                reading.breach(
                    FindingKind.RESIDUAL_FAILED, f"the scaled residual is {value}: {residual['outcome']}", line
                )
        elif settings := SETTINGS.match(line.text):
            order = whole_number(settings["n"])
            reading.evidence("order", order, line)
            reading.evidence("ranks", whole_number(settings["p"]) * whole_number(settings["q"]), line)
        elif rate := RATE.match(line.text):
            part = "factorization" if rate["part"] else "whole"
            reading.result("rate_flops_per_s", rate["rate"], line, GIGA, {"part": part})
            if part == "whole":
                rates += 1
                unchecked += [line] if checked < rates else []
                _agreement(reading, line, rate["rate"], order, times)
    for line in unchecked:
        reading.breach(FindingKind.RESIDUAL_MISSING, "this result has no residual: it was not checked", line)
    _complete(reading, rates)
    return reading.output()


def _agreement(reading: Reading, line: OutputLine, printed: str, order: int, times: dict[str, float]) -> None:
    """The rate counts the operations of HPL over factorization and iterative solver together."""
    total_s, rate = sum(times.values()), number_of(printed) * GIGA
    if len(times) < 2 or total_s <= 0 or not order or rate <= 0:
        return
    reading.result("time_s", f"{total_s:.6g}", line)
    counted = (2 / 3 * order**3 + 3 / 2 * order**2) / total_s
    if abs(counted / rate - 1) > AGREEMENT + 0.01 / total_s:
        reading.breach(
            FindingKind.NUMBERS_DISAGREE,
            f"solving order {order} in {total_s:g} s is {counted / GIGA:.4g} Gflop/s, not {printed}",
            line,
        )


def _complete(reading: Reading, rates: int) -> None:
    begun = sum(whole_number(match["tests"]) for _, match in reading.matches(BEGUN.pattern))
    done = len(list(reading.matches(DONE.pattern)))
    tests = max(begun, len(list(reading.matches(HEAD.pattern))), 1)
    if not rates and reading.search(OTHER.pattern):
        reading.lack("it is not of NVIDIA's program, the only HPL-MxP that is read: its table is not one of HPL")
    if not rates:
        reading.lack("the result (GFLOPS = ...) is missing")
    if done < tests:
        reading.lack(f"{done} of {tests} tests are done (test ... of ... done)")


BENCHMARK = Benchmark(
    name="hpl-mxp",
    title="HPL-MxP (HPL in mixed precision)",
    requires="NVIDIA's HPL-MxP, CUDA and MPI",
    contains=("hpl",),
    marks=(HEAD.pattern, RESULT.pattern, OTHER.pattern),
    beginnings=("HPL-MxP-NVIDIA ", "HPL-AI-NVIDIA "),
    parse=parse,
    metrics=(
        Metric("rate_flops_per_s", "mixed precision, all ranks"),
        Metric("time_s", "factorization and iterative solver"),
        Metric("residual", "scaled; it must be below the threshold, 16", of_result=True),
    ),
    main_metric="rate_flops_per_s",
    main_labels={"part": "whole"},
    evidence=("order", "ranks"),
    gates=(FindingKind.RESIDUAL_FAILED, FindingKind.RESIDUAL_MISSING, FindingKind.NUMBERS_DISAGREE),
    complete="a result, and `test N of N done` for each test",
    scaling=Scaling.WEAK,
)
