"""TransferBench of AMD: transfers between the memories of a node, as lists of transfers or as matrices (p2p, a2a)."""

import re

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_rates import HOST_RATE, LOCAL_RATE, PEER, PEER_RATE, add_rate, end_labels
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import Label, Output
from seatrial.model.unit_text import NUMBER, is_number, whole_number
from seatrial.model.verdict import FindingKind

VERSION = re.compile(r"^TransferBench v(?P<version>[\w.]{1,40})")
BAR = "[|\N{BOX DRAWINGS LIGHT VERTICAL}]"
TEST = re.compile(r"^Test (?P<test>\d{1,6}):?")
EXECUTOR = re.compile(rf"^[\s\u2502]*+Executor:\s*[A-Z]{{2,4}} \d{{1,4}}[ \w()]{{0,60}}{BAR}\s*{NUMBER} GB/s")
TRANSFER = re.compile(
    rf"^[\s\u2502]*+Transfer \d{{1,6}}\s*{BAR}\s*(?P<rate>{NUMBER}) GB/s {BAR}\s*{NUMBER} ms {BAR}\s*"
    rf"(?P<bytes>\d{{1,15}}) bytes {BAR}\s*(?P<path>.{{1,200}})$"
)
AGGREGATE = re.compile(rf"^[\s\u2502]*+Aggregate \(CPU\)\s*{BAR}\s*(?P<rate>{NUMBER}) GB/s")
PATH = re.compile(
    r"^(?P<from>[A-Z])(?P<first>\d{1,4}) ?-> ?(?P<by>[A-Z])\d{1,4}(?::\d{1,6})?(?: \(.{1,60}?\))? ?-> ?"
    r"(?P<to>[A-MO-Z])(?P<last>\d{1,4})(?!\w)"
)
"""One memory on each side: a transfer of several (G1G2), or of none (N0), does not copy between two."""
HOST_MEMORIES = frozenset("CBDKHPU")
"""Letters of memories of the host: pinned, fine-grained, coherent or not, unpinned; others are of a GPU."""
MATRIX = re.compile(r"^\s*(?P<ways>Uni|Bi)directional copy peak bandwidth GB/s")
HEADING = re.compile(r"^\s*(?:SRC\+EXE\\DST|SRC\\DST)\s+(?P<columns>(?:[CG]PU \d{1,4}\s*){1,256}+)")
ROW = re.compile(
    r"^\s*+(?P<source>[CG]PU \d{1,4})\s++(?P<arrow><?->|<-)?+\s*+"
    rf"(?P<cells>(?:{NUMBER}|N/A)(?:\s++(?:{NUMBER}|N/A)){{0,256}}+)"
)
AVERAGES = re.compile(r"^\s*Averages \(During\s+(?P<ways>Uni|Bi)Dir\)")
CPU_TIMED = re.compile(r"^\s*Aggregate bandwidth \(CPU Timed\):")
ONE_WAY_ONLY = re.compile(r"\bP2P_MODE\s{0,20}=\s{0,20}1\b")
ERROR = re.compile(r"^\[ERROR\]|\bData mismatch\b|^Error:|HIP Error")


class TransferState(msgspec.Struct):
    """What has been seen of an output while it is read."""

    open_head: OutputLine | None = None
    """An executor or a title whose closing line is still missing."""
    columns: tuple[str, ...] = ()
    ways: str = ""
    test: int = 0
    closed: int = 0
    unidirectional: int = 0
    bidirectional: int = 0


def parse(text: str) -> Output:
    """All tests of one output: the aggregate ends a list of transfers or an all-to-all, averages end a matrix."""
    reading = Reading("transferbench", text, closing=r".*\bOverhead \d+\.\d{3} ms")
    state = TransferState()
    for line in reading.whole_lines:
        if version := VERSION.match(line.text):
            if reading.version:
                _end(reading, state)
            reading.version = version["version"]
            state = TransferState(open_head=line)
        elif test := TEST.match(line.text):
            state.test = int(test["test"])
            state.open_head = line
        elif ERROR.search(line.text):
            mismatch = "mismatch" in line.text
            kind = FindingKind.DATA_CORRUPT if mismatch else FindingKind.PROGRAM_FAILED
            reading.breach(kind, "the copied data are wrong" if mismatch else "it reports an error", line)
        else:
            _line(reading, state, line)
    _end(reading, state)
    return reading.output()


def _end(reading: Reading, state: TransferState) -> None:
    """The end of a run, without which it is incomplete."""
    if state.open_head is not None:
        reading.lack(f"what begins in line {state.open_head.number} has no end (Aggregate, or Averages of a matrix)")
    elif not state.closed:
        reading.lack("it has no transfers and no matrix")
    if state.unidirectional > state.bidirectional and not reading.search(ONE_WAY_ONLY.pattern):
        reading.lack("the matrix of both directions at once is missing")


def _line(reading: Reading, state: TransferState, line: OutputLine) -> None:
    text = line.text
    if EXECUTOR.match(text):
        state.open_head = line
    elif transfer := TRANSFER.match(text):
        _transfer(reading, state, line, transfer)
    elif AGGREGATE.match(text) or CPU_TIMED.match(text):
        state.ways = ""
        state.open_head, state.columns, state.closed = None, (), state.closed + 1
    elif matrix := MATRIX.match(text):
        state.open_head, state.columns, state.ways = line, (), matrix["ways"]
    elif AVERAGES.match(text):
        state.unidirectional += state.ways == "Uni"
        state.bidirectional += state.ways == "Bi"
        state.ways = ""
        state.open_head, state.columns, state.closed = None, (), state.closed + 1
    elif heading := HEADING.match(text):
        state.columns = tuple(re.findall(r"[CG]PU \d{1,4}", heading["columns"]))
        state.ways = state.ways or "All"
        state.open_head = state.open_head or line
    elif state.columns and (row := ROW.match(text)):
        _row(reading, state, line, row)


def _transfer(reading: Reading, state: TransferState, line: OutputLine, transfer: "re.Match[str]") -> None:
    """One transfer of a list; only copies between two memories have a metric of their own."""
    path = PATH.match(transfer["path"].strip())
    if path is None:
        return
    ends = [
        f"{'CPU' if letter in HOST_MEMORIES else 'GPU'} {number}"
        for letter, number in ((path["from"], path["first"]), (path["to"], path["last"]))
    ]
    metric, labels = end_labels(*ends)
    of_test: dict[str, Label] = {"test": state.test} if state.test else {}
    of_test |= {**labels, "by": path["by"], "bytes": whole_number(transfer["bytes"])}
    add_rate(reading, metric, transfer["rate"], line, of_test)


def _row(reading: Reading, state: TransferState, line: OutputLine, row: "re.Match[str]") -> None:
    """One row of a matrix: from its device to those of the columns, or the other way for `<-`."""
    for column, printed in zip(state.columns, row["cells"].split(), strict=False):
        arrow = row["arrow"] or "->"
        both = "both ways" if arrow == "<->" else "one of both ways"
        ends = (column, row["source"]) if arrow == "<-" else (row["source"], column)
        if is_number(printed):
            metric, labels = end_labels(*ends)
            ways = {"Uni": "one way", "Bi": both, "All": "all to all"}[state.ways]
            add_rate(reading, metric, printed, line, {**labels, "ways": ways})


BENCHMARK = Benchmark(
    name="transferbench",
    title="TransferBench",
    requires="TransferBench of AMD",
    marks=(r"^TransferBench v\d", r"^[ \t]*+Executor:\s+[A-Z]{2,4} \d{1,4}\b.{1,60}GB/s", r"^[ \t]*+SRC\+EXE\\DST\s"),
    beginnings=("TransferBench v",),
    parse=parse,
    metrics=(HOST_RATE, PEER_RATE, LOCAL_RATE),
    main_metric=PEER,
    main_labels={"ways": "one way"},
    evidence=(),
    gates=(FindingKind.DATA_CORRUPT,),
    complete="the aggregate below each list of transfers or all-to-all, the averages below each matrix; nothing shows "
    "that a further test is missing",
)
