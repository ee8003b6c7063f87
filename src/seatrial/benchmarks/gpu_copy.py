"""SuperBench's gpu_copy: copies between host and GPUs and between GPUs, one line each."""

import re

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_rates import GPU, HOST, HOST_RATE, LOCAL, LOCAL_RATE, PEER, PEER_RATE, add_rate
from seatrial.benchmarks.reading import Reading
from seatrial.model.benchmark import Label, Output
from seatrial.model.unit_text import NUMBER
from seatrial.model.verdict import FindingKind

ROW = re.compile(
    r"^(?P<from>cpu|gpu(?:\d{1,4}|_all)) ?_(?P<how>to|and)_(?P<to>cpu|gpu(?:\d{1,4}|_all))(?:_(?P<side>read|write))?"
    rf"_by_(?P<by>sm|dma)(?:_under_numa(?P<numa>\d{{1,4}}))?:?\s+(?P<rate>{NUMBER})\s*$"
)
LAST = "gpu_all_to_gpu_all"
"""How the last line of an output with all tests begins."""


def parse(text: str) -> Output:
    """All copies of one output. Copies between all GPUs come last; without them nothing shows that it is whole."""
    reading = Reading("gpu-copy", text)
    first = last = ""
    for line in reading.whole_lines:
        row = ROW.match(line.text)
        if row is None:
            continue
        copied = row[0][: row.start("rate")]
        first = first or copied
        if last and copied == first:
            _end(reading, last)
        last = copied
        source, target = row["from"], row["to"]
        labels: dict[str, Label] = {"from": source, "to": target, "by": row["by"]}
        if row["how"] == "and":
            labels["ways"] = "both ways"
        if row["side"]:
            labels["side"] = row["side"]
        if row["numa"]:
            labels["numa"] = int(row["numa"])
        number = (target if source == "cpu" else source).removeprefix("gpu")
        if "cpu" in (source, target) and number.isdecimal():
            labels[GPU] = int(number)
            labels = {name: value for name, value in labels.items() if value != f"gpu{number}"}
        metric = HOST if "cpu" in (source, target) else LOCAL if source == target and number.isdecimal() else PEER
        add_rate(reading, metric, row["rate"], line, labels)
    _end(reading, last)
    return reading.output()


def _end(reading: Reading, last: str) -> None:
    """A run that ends in this line is incomplete unless it is one of the last copies."""
    if not last.startswith(LAST):
        reading.lack(f"its last line is not {LAST}_...: nothing shows that it is whole (its end is unknown)")


BENCHMARK = Benchmark(
    name="gpu-copy",
    title="SuperBench's gpu_copy",
    requires="gpu_copy of SuperBench",
    marks=(r"^(?:cpu|gpu\d{1,4})_(?:to|and)_(?:cpu|gpu\d{1,4})(?:_read|_write)?_by_(?:sm|dma)",),
    beginnings=("cpu_to_gpu0_by_", "gpu0_to_"),
    parse=parse,
    metrics=(HOST_RATE, PEER_RATE, LOCAL_RATE),
    main_metric=HOST,
    evidence=(),
    gates=(FindingKind.ZERO_RESULT,),
    complete="copies between all GPUs (`gpu_all_to_gpu_all`) in the last line; other outputs have no end that shows",
)
