"""NAS Parallel Benchmarks 2.3 to 3.4 and their ports (MPI, OpenMP, multi-zone): rate, time and own verification."""

import re

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.reading import Reading
from seatrial.model.benchmark import Metric, Output
from seatrial.model.unit_text import is_number, whole_number
from seatrial.model.verdict import FindingKind

HEAD = r"NAS Parallel Benchmarks"
NAME = re.compile(r"^\s{0,9}(?P<kernel>[A-Z][A-Z-]{1,6}) Benchmark Completed")
FIELD = re.compile(r"^\s{0,9}(?P<name>[A-Z][\w/ ]{1,20}?)\s{0,20}= {0,60}(?P<value>\S.{0,60}?)\s{0,20}$")
LAST = r"^\s{0,9}Compile date\s{0,9}="
MEGA = 1e6
RATE, TIME = "operations_per_s", "time_s"
COUNTS = {
    "Iterations": "iterations",
    "Total processes": "ranks",
    "Processes": "ranks",
    "Active processes": "active_ranks",
    "Total threads": "threads",
}
"""Fields of the closing table -> evidence of work."""


def parse(text: str) -> Output:
    """All runs of one output: the closing table of each has its class, its rate and what its verification says."""
    reading = Reading("npb", text, closing=rf"{LAST}\s+\d\d \w{{3}} \d{{4}}")
    for lines in reading.runs(HEAD, LAST, "the closing table up to Compile date"):
        labels: dict[str, str | int] = {}
        fields = set[str]()
        for line in lines:
            if title := NAME.match(line.text):
                labels["kernel"] = title["kernel"]
            if not labels or not (field := FIELD.match(line.text)):
                continue
            fields.add(field["name"])
            if field["name"] == "Class":
                labels["class"] = field["value"]
                reading.evidence("problem", " ".join(map(str, labels.values())), line)
            elif field["name"] in COUNTS and field["value"].isdecimal():
                reading.evidence(COUNTS[field["name"]], whole_number(field["value"]), line)
            elif field["name"] == "Mop/s total" and is_number(field["value"]):
                reading.result(RATE, field["value"], line, MEGA, labels)
            elif field["name"] == "Time in seconds" and is_number(field["value"]):
                reading.result(TIME, field["value"], line, labels=labels)
            elif field["name"] == "Verification" and field["value"].upper() == "NOT PERFORMED":
                reading.breach(FindingKind.RESIDUAL_MISSING, "the result was not verified", line)
            elif field["name"] == "Verification" and field["value"].upper() != "SUCCESSFUL":
                reading.breach(FindingKind.RESIDUAL_FAILED, "its verification of the result failed", line)
        for name in ("Class", "Mop/s total", "Verification"):
            if name not in fields:
                reading.lack(f"the closing table of a run has no {name}")
    return reading.output()


BENCHMARK = Benchmark(
    name="npb",
    title="the NAS Parallel Benchmarks",
    requires="NPB, built for one class and number of ranks (bt, cg, ep, ft, is, lu, mg, sp)",
    marks=(HEAD, r"^ {0,9}Mop/s total {1,9}="),
    beginnings=("NAS Parallel Benchmarks",),
    parse=parse,
    metrics=(Metric(RATE, "of all ranks and threads"), Metric(TIME, "of the timed part")),
    main_metric=RATE,
    evidence=("problem", "iterations", "ranks", "active_ranks", "threads"),
    gates=(FindingKind.RESIDUAL_FAILED, FindingKind.RESIDUAL_MISSING),
    complete="a closing table for each run, up to `Compile date`",
)
