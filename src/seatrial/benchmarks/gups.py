"""RandomAccess (GUPS) by itself: updates of a table per second, and the check of the table at its end."""

import re

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.reading import Reading
from seatrial.model.benchmark import Metric, Output
from seatrial.model.unit_text import NUMBER, whole_number
from seatrial.model.verdict import FindingKind

RATE, TIME = "updates_per_s", "time_s"
SIZE = re.compile(r"^\s{0,9}(?:Total )?Main table size\s{1,9}= .{0,40}?(?P<words>\d{1,18}) words\s*$")
RANKS = re.compile(r"^\s{0,9}Running on (?P<ranks>\d{1,9}) processors")
SECONDS = re.compile(rf"^\s{{0,9}}(?:Real|CPU) time used\s{{0,9}}=\s{{0,9}}(?P<seconds>{NUMBER}) seconds")
SPEED = re.compile(rf"^\s{{0,9}}(?P<rate>{NUMBER}) Billion\(10\^9\) Updates\s{{1,9}}per second \[GUP/s\]")
CHECK = re.compile(
    r"^\s{0,9}Found (?P<errors>\d{1,18}) errors in (?P<words>\d{1,18}) locations \((?P<outcome>\w{1,20})\)"
)
GIGA = 1e9
MOST_ERRORS = 0.01
"""Share of wrong words that the rules of RandomAccess permit, since updates of several ranks may collide."""


def parse(text: str) -> Output:
    """All runs of one output: the check of the table ends each."""
    reading = Reading("gups", text, closing=rf"{CHECK.pattern}\.")
    for lines in reading.runs(SIZE.pattern, CHECK.pattern, "Found ... errors in ... locations"):
        timed = rated = False
        for line in lines:
            if size := SIZE.match(line.text):
                reading.evidence("table_words", whole_number(size["words"]), line)
            elif ranks := RANKS.match(line.text):
                reading.evidence("ranks", whole_number(ranks["ranks"]), line)
            elif (seconds := SECONDS.match(line.text)) and not timed:
                timed = True
                reading.result(TIME, seconds["seconds"], line)
            elif speed := SPEED.match(line.text):
                rated = True
                reading.result(RATE, speed["rate"], line, GIGA)
            elif check := CHECK.match(line.text):
                errors, words = whole_number(check["errors"]), whole_number(check["words"])
                if check["outcome"] != "passed" or errors > MOST_ERRORS * words:
                    reason = f"{errors} of {words} words of the table are wrong"
                    reading.breach(FindingKind.RESIDUAL_FAILED, reason, line)
        if not rated:
            reading.lack("a run has no rate in GUP/s")
    return reading.output()


BENCHMARK = Benchmark(
    name="gups",
    title="RandomAccess (GUPS)",
    requires="RandomAccess of HPCC, built by itself",
    marks=(r"\[GUP/s\]", r"^\s{0,9}(?:Total )?Main table size\s{1,9}= "),
    beginnings=("Running on ", "Total Main table size = ", "Main table size   = "),
    parse=parse,
    metrics=(Metric(RATE, "of all ranks"), Metric(TIME, "of the updates")),
    main_metric=RATE,
    evidence=("ranks", "table_words"),
    gates=(FindingKind.RESIDUAL_FAILED,),
    complete="`Found ... errors in ... locations` for each run",
)
