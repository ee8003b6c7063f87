"""iperf3, its text or with -J: the rate of TCP, UDP or SCTP between two hosts, as received."""

import re
from collections.abc import Mapping

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.reading import OBJECT_END, START, OutputLine, Reading, number_at
from seatrial.model.benchmark import LEAST_OF_PATH, Metric, Output
from seatrial.model.unit_text import unit_of
from seatrial.model.verdict import FindingKind

BANDWIDTH = "bandwidth_bytes_per_s"
BITS = 1 / 8
SUMS = ("sum_received", "sum")
"""Members of `end` with the rate, of TCP and of UDP; the second one is what iperf3 before 3.8 has."""
RECEIVED = re.compile(
    r"\[ {0,5}(?P<stream>SUM|\d{1,5})\] +[\d.]{3,12}-[\d.]{3,12} +sec +[\d.]{1,9} \w?Bytes +(?P<rate>[\d.]{1,9}) "
    r"(?P<unit>\w?bits/sec)(?P<jitter> +[\d.]{1,9} ms)?.{0,40} receiver\s*$"
)
LAST = "iperf Done."


def parse(text: str) -> Output:
    """An object or a text for each run; the client that gave up has an error and no sums."""
    if not text.lstrip().startswith("{"):
        return _parsed_text(Reading("iperf3", text, closing=re.escape(LAST)))
    reading = Reading("iperf3", text, closing=OBJECT_END)
    for content in reading.json_objects(text):
        start, end = (part if isinstance(part := content.get(name), Mapping) else {} for name in ("start", "end"))
        asked = planned if isinstance(planned := start.get("test_start"), Mapping) else {}
        if error := content.get("error"):
            reading.breach(FindingKind.PROGRAM_FAILED, f"iperf3 says {str(error)[:80]!r}", START)
            continue
        sums = next((part for name in SUMS if isinstance(part := end.get(name), Mapping) and part), {})
        if not number_at(sums, "seconds"):
            reading.lack("its JSON has no sums at the end (end.sum_received)")
            continue
        reverse = " reverse" * bool(asked.get("reverse"))
        test = f"{str(asked.get('protocol', 'TCP')).lower()}{reverse}"
        reading.evidence("test", test)
        reading.evidence("streams", int(number_at(asked, "num_streams")) or 1)
        reading.setting = f"{test} {asked}"
        reading.result(BANDWIDTH, repr(number_at(sums, "bits_per_second")), START, BITS, {"test": test})
    return reading.output()


def _parsed_text(reading: Reading) -> Output:
    received: dict[str, tuple[OutputLine, re.Match[str]]] = {}
    reverse = ""
    for line in reading.whole_lines:
        if line.text.startswith("iperf3: error"):
            reading.breach(FindingKind.PROGRAM_FAILED, f"iperf3 says {line.text[:80]!r}", line)
        elif line.text.startswith("Reverse mode"):
            reverse = " reverse"
        elif match := RECEIVED.match(line.text):
            received[match["stream"]] = line, match
        elif line.text.startswith(LAST) and received:
            place, match = received.get("SUM", next(iter(received.values())))
            unit, test = unit_of(match["unit"]), f"{'udp' if match['jitter'] else 'tcp'}{reverse}"
            reading.evidence("test", test)
            reading.evidence("streams", len(received.keys() - {"SUM"}))
            reading.setting = f"{test} {len(received)}"
            reading.result(BANDWIDTH, match["rate"], place, unit.factor if unit else BITS, {"test": test})
            received, reverse = {}, ""
    if received or not reading.values_of(BANDWIDTH):
        reading.lack(f"it has no sums of the receiver, or no {LAST!r} below them")
    return reading.output()


BENCHMARK = Benchmark(
    name="iperf3",
    title="iperf3",
    requires="iperf3 on both hosts, as a server on the other",
    marks=(
        r"^\[ ID\] Interval +Transfer +Bitrate",
        r'\A\s*\{\s*"start"\s*:\s*\{[\s\S]{0,20000}?"intervals"\s*:\s*\[',
    ),
    beginnings=('{\n\t"start":\t{', "Connecting to host "),
    parse=parse,
    metrics=(Metric(BANDWIDTH, "as received; of UDP as sent", of_path=True, least_share=LEAST_OF_PATH),),
    main_metric=BANDWIDTH,
    evidence=("test", "streams"),
    gates=(),
    complete="the end of each object, with sums in it; of text `iperf Done.` below the sums of the receiver",
)
