"""Numbers of one output that should be alike, and are not: repetitions, kernels of STREAM, tests of HPL of one size."""

import json
from collections.abc import Callable, Sequence

import pytest

from seatrial.benchmarks import gates
from seatrial.benchmarks.catalogue import BENCHMARKS
from seatrial.benchmarks.uneven_numbers import OFF
from seatrial.judgement.benchmark_result import breach_finding, word_of_output
from seatrial.model.benchmark import Output
from seatrial.model.subject import output as output_subject
from seatrial.model.verdict import FindingKind
from tests.support import benchmark_outputs as outputs
from tests.support import gpu_outputs
from tests.support.judged_outputs import judged

AMOUNT_MIB = 3200.0


def notes(text: str) -> list[str]:
    output = judged(text)
    assert not output.missing, output.missing
    assert {breach.kind for breach in output.breaches} <= {FindingKind.UNEVEN_NUMBERS}, output.breaches
    return [breach.reason for breach in output.breaches]


def ior(rates: Sequence[float], options: str = "", operation: str = "write") -> str:
    """IOR 3.2 with a repetition for each rate in MiB/s."""
    head, _, rest = outputs.ior().partition(f"write     {228.30:<11.2f}")
    tail = rest[rest.index("Max Write") :].replace("10:52:53", "12:52:53").replace("Write", operation.capitalize())
    rows = "".join(
        f"{operation:<10s}{rate:<11.2f}204800     20480      0.11       0.36       13.85      "
        f"{AMOUNT_MIB / rate:<11.4f}{place}\n"
        for place, rate in enumerate(rates)
    )
    head = head.replace("repetitions         : 1", f"repetitions         : {len(rates)}")
    return head.replace("-w -o f", f"-w{options} -o f").replace(" 3.12 GiB", " 3.125 GiB") + rows + tail


def ior_json(rates: Sequence[float]) -> str:
    results = [
        [{"access": "write", "bwMiB": rate, "totalTime": AMOUNT_MIB / rate, "blockKiB": 204800.0}] for rate in rates
    ]
    test = {"TestID": 0, "Parameters": {"api": "POSIX", "repetitions": len(rates)}, "Results": results}
    content = {"Version": "4.0", "Began": "x", "Command line": "ior -w", "tests": [test], "Finished": "y"}
    return json.dumps(content, indent=2) + "\n"


def fio_json(rates: Sequence[float], options: Callable[[int], dict[str, str]] = lambda _: {"rw": "write"}) -> str:
    jobs = [
        {
            "jobname": f"w{place}",
            "error": 0,
            "job options": {"name": f"w{place}", **options(place)},
            "write": {"io_bytes": int(rate * 2e6), "bw_bytes": int(rate * 1e6), "iops": rate, "runtime": 2000,
                      "total_ios": 9, "lat_ns": {"mean": 1e9 / rate}},
        }
        for place, rate in enumerate(rates)
    ]  # fmt: skip
    return json.dumps({"fio version": "fio-3.33", "jobs": jobs}, indent=2) + "\n"


def fio_text(rates: Sequence[int], name: str = "w") -> str:
    """Output of fio for clones of one job, a rate each, without --group_reporting."""
    total, moved = sum(rates), 10 * sum(rates)
    clones = "".join(
        f"{name}: (groupid=0, jobs=1): err= 0: pid={place}: Mon Nov 23 04:19:50 2026\n"
        f"  write: IOPS={rate}, BW={rate}MiB/s (9MB/s)({10 * rate}MiB/10000msec); 0 zone resets\n"
        for place, rate in enumerate(rates)
    )
    return (
        f"{name}: (g=0): rw=write, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, ioengine=psync, iodepth=1\n...\n"
        "fio-3.33\n"
        f"Starting {len(rates)} processes\n\n{clones}\nRun status group 0 (all jobs):\n"
        f"  WRITE: bw={total}MiB/s (9MB/s), 1MiB/s-9MiB/s (1MB/s-9MB/s), io={moved}MiB (9MB), run=10000-10000msec\n"
        "\nDisk stats (read/write):\n  vda: ios=0/8, merge=0/0, ticks=0/4, in_queue=4, util=0.00%\n"
    )


def stream(rates: Sequence[float], threads: int = 64) -> str:
    """STREAM 5.10 with these rates in MB/s of its four kernels, on arrays of 80 MB."""
    rows = "".join(
        f"{name + ':':<16s}{rate:>12.1f}{arrays * 80 / rate:>13.6f}{arrays * 80 / rate:>13.6f}"
        f"{arrays * 80 / rate:>13.6f}\n"
        for (name, arrays), rate in zip((("Copy", 2), ("Scale", 2), ("Add", 3), ("Triad", 3)), rates, strict=True)
    )
    text = outputs.stream()
    begin, end = text.index("Copy:"), text.index("-" * 61, text.index("Triad:"))
    return (text[:begin] + rows + text[end:]).replace(
        "Offset = 0 (elements)\n", f"Offset = 0 (elements)\nNumber of Threads requested = {threads}\n"
    )


def babelstream(dot_s: float) -> str:
    text = outputs.babelstream()
    kept = text[: text.index("Dot ")]
    return f"{kept}{'Dot':<12s}{2**29 / dot_s / 1e6:<12.3f}{dot_s:<12.5f}{dot_s:<12.5f}{dot_s:<12.5f}\n"


def hpl(tests: Sequence[tuple[int, int, int, float]], order: int = 20000) -> str:
    """xhpl with tests of these block sizes, grids and times."""
    text = outputs.hpl(order=order)
    begin, end = text.index("WR11C2R4"), text.index("Finished")
    residual = f"{text[text.index('||Ax') :].partition(chr(10))[0]}\n"
    rows = "".join(
        f"WR11C2R4      {order:6d} {block:5d} {p:5d} {q:5d}      {time:13.2f}         "
        f"{(2 / 3 * order**3 + 1.5 * order**2) / time / 1e9:15.4e}\n{residual}"
        for block, p, q, time in tests
    )
    tail = text[end:].replace(" 1 tests", f" {len(tests)} tests")
    return text[:begin] + rows + tail


def osu(factor: float, largest: int = 1 << 22, test: str = "Latency", title: str = "OSU MPI", least: int = 1) -> str:
    """A table whose times are all this many times those of a healthy path, from this size on."""
    sizes = [1 << power for power in range(least.bit_length() - 1, largest.bit_length())]
    rows = "".join(f"{size:<10d}{factor * (1.5 + size / 11000):>20.2f}\n" for size in sizes)
    return f"# {title} {test} Test v5.9\n# Size          Latency (us)\n{rows}"


def osu_beginning(factor: float) -> str:
    """A table whose sizes below 4 KiB take this many times as long, and all others ten times."""
    return osu(factor, 2048) + "".join(osu(10.0, least=4096).splitlines(keepends=True)[2:])


def allreduce(*factors: float) -> str:
    return "".join(osu(factor, 1 << 20, "Allreduce Latency", least=4096) for factor in factors)


def mdtest(factor: float, operation: str = "File stat") -> str:
    """The least of three iterations is this many times below the most; 300 and 100 for 3."""
    row = f"   {operation:<25s} {100 * factor:>14.3f} {100:>14.3f} {70 * factor:>14.3f} {25.1:>14.3f}\n"
    begin, _, rest = outputs.mdtest().partition(f"   {operation}")
    return f"{begin}{row}{rest.partition(chr(10))[2]}"


def perftest(most: float, queues: int = 1) -> str:
    return outputs.perftest(most=most).replace("Number of qps   : 1", f"Number of qps   : {queues}")


def fio_terse(rate: int, kibibytes: int = 4, depths: str = "100.0%") -> str:
    """One job that writes at this rate in KiB/s with this many KiB for each operation."""
    direction = [str(10 * rate), str(rate), str(rate // kibibytes), "10000", *["0"] * 37]
    rest = ["1.5%", "2.5%", "9", "0", "0", depths, *["0.0%"] * 6, *["0.00%"] * 12, "vda", "0"]
    return ";".join(("3", "fio-3.33", "w", "0", "0", *["0"] * 41, *direction, *rest)) + "\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ior([228.3, 225.0, 22.8, 229.1, 227.0]),
         "bandwidth is 23.9 MB/s in one of 5 repetitions (operation write, api POSIX, layout file-per-process), beside "
         "240.2 MB/s: the most expected is 3 times"),
        (ior([228.3, 2283.0, 229.1]), "bandwidth is 2.39 GB/s in one of 3 repetitions (operation write"),
        (ior([228.3, 22.83]), "bandwidth is 23.9 MB/s in one of 2 repetitions (operation write"),
        (ior([228.3]) + ior([229.0]) + ior([22.8]), "bandwidth is 23.9 MB/s in one of 3 repetitions (operation write"),
        (ior_json([228.3, 22.83, 229.1]), "bandwidth is 23.9 MB/s in one of 3 repetitions (operation write, api POS"),
        (fio_json([500, 510, 50]), "bandwidth is 50.0 MB/s (w2), beside 510.0 MB/s (w1): the most expected is 3 times"),
        (fio_text([500], "rep1") + fio_text([50], "rep2"), "bandwidth is 52.4 MB/s (rep2), beside 524.3 MB/s (rep1)"),
        (fio_text([500, 510, 50]), "bandwidth is 52.4 MB/s in one of 3 repetitions (job w, direction write), beside"),
        (stream([120e3, 118e3, 119e3, 12e3]), "bandwidth is 12.0 GB/s (Triad), beside 120.0 GB/s (Copy): the most exp"),
        (stream([12e3, 118e3, 119e3, 120e3]), "bandwidth is 12.0 GB/s (Copy), beside 120.0 GB/s (Triad): the most exp"),
        (stream([120e3] * 4) + stream([12e3] * 4), "bandwidth is 12.0 GB/s in one of 2 repetitions (kernel Copy), bes"),
        (babelstream(0.0068), "bandwidth is 79.0 GB/s (Dot), beside 875.3 GB/s (Add): the most expected is 3 times"),
        (hpl([(192, 4, 8, 100.0), (192, 4, 8, 101.0), (192, 4, 8, 1000.0)]),
         "rate is 5.33 Gflop/s in one of 3 repetitions (variant WR11C2R4, n 20000, nb 192, p 4, q 8), beside 53.3"),
        (hpl([(192, 4, 8, 100.0), (256, 4, 8, 1000.0)]), "rate is 5.33 Gflop/s (WR11C2R4 256 4 8), beside 53.3 Gf"),
        (outputs.imb(times=lambda size: 2 + size / 11000) + outputs.imb(times=lambda size: 20 + size / 1100),
         "latency is 3.83 ms in one of 2 repetitions (test PingPong, ranks 2, 4 MiB), beside 383.3 µs"),
        (osu(1.0) * 4 + osu(10.0), "latency is 3.83 ms in one of 5 repetitions (test latency, 4 MiB), beside 382.8 µs"),
        (allreduce(1, 1, 10, 1),
         "latency is 491.6 µs in one of 4 repetitions (test allreduce latency, 512 KiB), beside 49.2 µs: the most exp"),
        (mdtest(10), "rate is 100 1/s (least)"),
        (perftest(12e9) + perftest(1.2e9), "bandwidth is 1"),
        (gpu_outputs.nccl() * 2 + gpu_outputs.nccl(most=4.0), "bus bandwidth is 7.00 GB/s in one of 3 repetitions (te"),
        (fio_terse(100_000) * 2 + fio_terse(10_000), "bandwidth is 10.2 MB/s in one of 3 repetitions (job w, dir"),
    ],
)  # fmt: skip
def test_numbers_that_should_be_alike_are_noted(text: str, reason: str) -> None:
    assert word_of_output(judged(text)) == "NOTE"
    assert any(one.startswith(reason) for one in notes(text)), notes(text)


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        (ior([228.3, 22.83]), "bandwidth 23.9 MB/s, beside 239.4 MB/s"),
        (osu(1.0) * 4 + osu(10.0), "latency 3.83 ms at 4 MiB, beside 382.8 µs"),
        (osu_beginning(100.0), "latency 168.6 µs at 2 KiB, beside 18.7 µs"),
    ],
)
def test_a_first_line_has_the_two_numbers_in_one_line(text: str, brief: str) -> None:
    (breach, *_) = judged(text).breaches
    finding = breach_finding(breach, output_subject("imb.out"))
    assert finding.brief == f"uneven-numbers: {breach.brief}"
    assert len(f"NOTE  imb.out: {finding.brief}") <= 80
    assert breach.brief == brief


@pytest.mark.parametrize(
    "text",
    [
        ior([228.3, 180.0, 300.0]),
        ior([228.3]) + ior([22.83], options=" -c"),
        ior([228.3]) + ior([2283.0], operation="read"),
        fio_json([500, 50], lambda place: {"rw": "write", "bs": "1M" if place else "4k"}),
        fio_text([500], "ssd") + fio_text([50], "hdd"),
        stream([120e3, 80e3, 90e3, 90e3]),
        stream([120e3] * 4) + stream([12e3] * 4, threads=1),
        babelstream(0.00068),
        hpl([(192, 4, 8, 100.0), (256, 2, 16, 150.0)]),
        hpl([(1, 1, 4, 0.02), (4, 1, 4, 0.3)], order=1000),
        osu(1.0, 1 << 20, "Allreduce Latency") + osu(20.0, 1 << 20, "Allreduce Latency"),
        osu(1.0) + osu(10.0, title="OSU MPI-CUDA"),
        allreduce(1, 2, 5, 20),
        allreduce(1, 10, 10, 10),
        mdtest(10, "Tree creation"),
        perftest(12e9) + perftest(1.2e9, queues=8),
        fio_terse(100_000) + fio_terse(10_000, kibibytes=1024),
        fio_terse(100_000) + fio_terse(10_000, depths="0.0%"),
    ],
)
def test_other_settings_and_usual_scatter_are_not_noted(text: str) -> None:
    assert notes(text) == []


@pytest.mark.parametrize(
    ("bound", "made"),
    [
        (OFF, lambda factor: ior([100.0, 100.0, 100.0 / factor])),
        (OFF, lambda factor: ior([100.0, 100.0, 100.0 * factor])),
        (OFF, lambda factor: fio_json([300.0, 300.0 / factor])),
        (OFF, lambda factor: babelstream(0.00062 * factor)),
        (2.0, lambda factor: stream([100e3, 100e3, 100e3, 100e3 / factor])),
        (OFF, lambda factor: stream([100e3] * 4) + stream([100e3 / factor] * 4)),
        (8.0, lambda factor: hpl([(192, 4, 8, 100.0), (256, 4, 8, 100.0 * factor)])),
        (OFF, lambda factor: hpl([(192, 4, 8, 100.0), (192, 4, 8, 100.0 * factor)])),
        (OFF, lambda factor: osu(100.0, least=4096) + osu(100.0 * factor, least=4096)),
        (OFF, lambda factor: allreduce(100.0, 100.0 * factor, 100.0)),
        (OFF, mdtest),
        (OFF, lambda factor: fio_terse(300_000) + fio_terse(int(300_000 / factor))),
        (8.0, lambda factor: osu_beginning(2.0) + osu_beginning(2.0 * factor)),
    ],
)
@pytest.mark.parametrize("off", [0.97, 1.03])
def test_bounds_of_alike_numbers(bound: float, made: Callable[[float], str], off: float) -> None:
    assert bool(notes(made(bound * off))) == (off > 1)


@pytest.mark.parametrize(("seconds", "named"), [(0.99, False), (1.01, True)])
def test_short_tests_of_hpl_are_not_compared(seconds: float, *, named: bool) -> None:
    assert bool(notes(hpl([(192, 4, 8, seconds), (256, 4, 8, 20 * seconds)], order=4000))) == named


def test_rounding_of_small_numbers_is_no_difference() -> None:
    """0.01 and 0.03 s may be 0.0149 and 0.025."""
    benchmark = BENCHMARKS["ior"]
    text = ior([AMOUNT_MIB / 0.01, AMOUNT_MIB / 0.03])
    output = benchmark.parse(text.replace("0.0100", "0.01  ").replace("0.0300", "0.03  "))
    times = tuple(result for result in output.results if result.metric == "time_s")
    assert [result.printed for result in times] == ["0.01", "0.03"]
    judged_times = gates.judge(benchmark, Output(benchmark="ior", results=times))
    assert not judged_times.breaches
