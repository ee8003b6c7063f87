"""Metrics that programs for the links of GPUs share, and the reading of their matrices: host, peers, own memory."""

import re
from collections.abc import Mapping

from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import LEAST_OF_HOST, Label, Metric
from seatrial.model.unit_text import is_number, number_of

HOST, PEER, LOCAL = "host_bandwidth_bytes_per_s", "peer_bandwidth_bytes_per_s", "local_bandwidth_bytes_per_s"
LATENCY = "latency_s"
GIGABYTE, NANOSECOND = 1e9, 1e-9
ABSENT = "N/A"
GPU = "gpu"
"""Label of numbers that belong to one GPU: they are compared with those of the other GPUs of the same output."""


def most_of_link(labels: Mapping[str, Label], rate: float) -> float | None:
    """The limit of a copy whose links carry `rate` bytes/s in one direction: twice that for both ways at once.

    None for copies of all GPUs at once, which share several links.
    """
    words = " ".join(str(label).lower() for label in labels.values())
    if "all" in re.split(r"[\W_]+", words):
        return None
    return 2 * rate if labels.get("ways") in ("both ways", "one of both ways") or "bidir" in words else rate


HOST_RATE = Metric(HOST, "between the host's memory and a GPU; GB is 10⁹", most=most_of_link, least_share=LEAST_OF_HOST)
PEER_RATE = Metric(PEER, "between the memories of two or more GPUs", most=most_of_link)
LOCAL_RATE = Metric(LOCAL, "within the memory of one GPU")
TIME_OF_ACCESS = Metric(LATENCY, "one access to another memory")
NUMBERS = re.compile(r"\d{1,6}")


def end_labels(source: str, target: str) -> tuple[str, dict[str, Label]]:
    """The metric and the labels of a copy between two memories, such as `GPU 3` or `CPU 0`.

    Copies between host and GPU have the label `gpu`, since each GPU has one link to the host; others name both ends.
    """
    ends = [
        (end.split()[0].upper(), int(number[0]) if (number := NUMBERS.search(end)) else 0) for end in (source, target)
    ]
    (kind, first), (other, second) = ends
    if kind == other == "GPU":
        if first == second:
            return LOCAL, {GPU: first}
        return PEER, {"from": f"GPU {first}", "to": f"GPU {second}"}
    labels: dict[str, Label] = {"from": f"{kind} {first}", "to": f"{other} {second}"}
    if "GPU" in (kind, other):
        labels[GPU] = first if kind == "GPU" else second
    return HOST, labels


def add_rate(
    reading: Reading, metric: str, printed: str, line: OutputLine, labels: Mapping[str, Label], unit: float = GIGABYTE
) -> None:
    """Add a cell of a matrix: N/A is left out, and 0 for copies between memories that are not accessible."""
    if is_number(printed) and not (metric in (PEER, LOCAL) and number_of(printed) == 0):
        reading.result(metric, printed, line, unit, labels=labels)
