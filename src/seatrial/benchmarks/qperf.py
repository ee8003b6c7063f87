"""qperf: bandwidth, latency and message rate of TCP, UDP, RDMA and others between two hosts."""

import re

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import LEAST_OF_PATH, Metric, Output
from seatrial.model.unit_text import NUMBER, number_of, unit_of
from seatrial.model.verdict import FindingKind

BANDWIDTH, LATENCY, MESSAGES = "bandwidth_bytes_per_s", "latency_s", "messages_per_s"
TEST = re.compile(r"^[ \t]{0,20}(?P<test>conf|(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc|ver)_\w{2,40}):\s*$")
VALUE = re.compile(
    rf"^\s{{1,9}}(?P<name>bw|recv_bw|latency|msg_rate|msg_size)\s{{0,20}}=\s{{0,9}}(?P<number>{NUMBER})"
    r"\s(?P<unit>[A-Za-z/]{1,12})"
)
"""A line with a number: what an unreliable transport sent and lost (send_bw) is left out."""
FAILED = re.compile(r"^(?:qperf|client|server): \S|^(?:failed|unable) to \S")
MESSAGE_RATES = {"/sec": 1.0, "K/sec": 1e3, "M/sec": 1e6, "G/sec": 1e9}
METRICS = {"bw": BANDWIDTH, "recv_bw": BANDWIDTH, "latency": LATENCY}


def parse(text: str) -> Output:
    """All tests of one output; a test in a loop over message sizes is printed once for each."""
    reading = Reading("qperf", text, closing=r"\s+\w+\s+=\s+[\d.,]+ (?:[KMGT]?B/sec|[num]s|sec|[KMG]?/sec)")
    blocks: list[tuple[OutputLine, str, dict[str, tuple[OutputLine, str, str]]]] = []
    for line in reading.whole_lines:
        if title := TEST.match(line.text):
            blocks.append((line, title["test"], {}))
        elif (value := VALUE.match(line.text)) and blocks:
            blocks[-1][2].setdefault(value["name"], (line, value["number"], value["unit"]))
        elif FAILED.match(line.text):
            reading.breach(FindingKind.PROGRAM_FAILED, "a test did not run to its end", line)
    if not blocks or blocks[-1][1] == "conf":
        reading.lack("it has no test, or none behind the names of the hosts (conf)")
    for head, test, values in (block for block in blocks if block[1] != "conf"):
        labels: dict[str, str | int] = {"test": test.replace("_bi_", "_bidirectional_")}
        if (size := values.pop("msg_size", None)) and (unit := unit_of(size[2])):
            labels["bytes"] = round(number_of(size[1]) * unit.factor)
        reading.evidence("test", test, head)
        if not values:
            reading.lack(f"the test of line {head.number} ({test}) has no number")
        for name, (line, printed, written) in values.items():
            if name == "msg_rate":
                reading.result(MESSAGES, printed, line, MESSAGE_RATES.get(written, 1.0), labels)
            elif unit := unit_of(written):
                reading.result(METRICS[name], printed, line, unit.factor, labels)
    return reading.output()


BENCHMARK = Benchmark(
    name="qperf",
    title="qperf",
    requires="qperf on both hosts, as a server on the other",
    marks=(
        r"^[ \t]{0,20}(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc|ver)_\w{2,40}+:[ \t]*+\n"
        r"(?:[ \t]++\w{1,40}+[ \t]++=|[a-z ]{1,40}:? )",
    ),
    beginnings=(
        "conf:",
        "tcp_bw:",
        "tcp_lat:",
        "udp_bw:",
        "udp_lat:",
        "rc_bw:",
        "rc_lat:",
        "rc_bi_bw:",
        "ud_bw:",
        "ud_lat:",
    ),
    parse=parse,
    metrics=(
        Metric(BANDWIDTH, "of the test, as received", of_path=True, least_share=LEAST_OF_PATH),
        Metric(LATENCY, "one way"),
        Metric(MESSAGES, "messages received"),
    ),
    main_metric=BANDWIDTH,
    evidence=("test",),
    gates=(),
    complete="each test has a number; nothing shows how many tests were to follow",
)
