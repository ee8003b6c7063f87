"""iperf3 with -J: the rate of TCP, UDP or SCTP between two hosts, as received."""

from collections.abc import Mapping

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.reading import OBJECT_END, START, Reading, number_at
from seatrial.model.benchmark import LEAST_OF_PATH, Metric, Output
from seatrial.model.verdict import FindingKind

BANDWIDTH = "bandwidth_bytes_per_s"
BITS = 1 / 8
SUMS = ("sum_received", "sum")
"""Members of `end` with the rate, of TCP and of UDP; the second one is what iperf3 before 3.8 has."""


def parse(text: str) -> Output:
    """An object for each run; the client that gave up has an error and no sums."""
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


BENCHMARK = Benchmark(
    name="iperf3",
    title="iperf3",
    requires="iperf3 on both hosts, as a server on the other",
    marks=(r'\A\s*\{\s*"start"\s*:\s*\{[\s\S]{0,20000}?"intervals"\s*:\s*\[',),
    beginnings=('{\n\t"start":\t{',),
    parse=parse,
    metrics=(Metric(BANDWIDTH, "as received; of UDP as sent", of_path=True, least_share=LEAST_OF_PATH),),
    main_metric=BANDWIDTH,
    evidence=("test", "streams"),
    gates=(),
    complete="the end of each object, with sums in it",
)
