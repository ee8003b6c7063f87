"""A message size far off the others of its table is named; usual switches of protocols, caches and noise are not."""

import random
from collections.abc import Callable, Mapping, Sequence

import pytest

from seatrial.judgement.benchmark_result import word_of_output
from tests.support import benchmark_outputs as outputs
from tests.support import gpu_outputs
from tests.support.judged_outputs import judged

SIZES = [1 << power for power in range(23)]
Curve = Callable[[int], float]


def rates(size: int) -> float:
    """Megabytes per second of a healthy link of 100 Gbit/s."""
    return size / (0.5 + size / 12000)


def times(size: int) -> float:
    """Microseconds of a healthy path."""
    return 1.5 + size / 11000


def osu_bw(of: Curve, spoiled: Mapping[int, float] = {}, sizes: Sequence[int] = SIZES) -> str:
    """osu_bw, of which some sizes have a part of what they should."""
    rows = "".join(f"{size:<10d}{of(size) * spoiled.get(size, 1):>20.2f}\n" for size in sizes)
    return f"# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n{rows}"


def osu_latency(of: Curve, spoiled: Mapping[int, float] = {}, test: str = "Latency") -> str:
    rows = "".join(f"{size:<10d}{of(size) * spoiled.get(size, 1):>20.2f}\n" for size in SIZES)
    return f"# OSU MPI {test} Test v5.9\n# Size          Latency (us)\n{rows}"


def perftest(of: Curve, sizes: Sequence[int] = SIZES[1:]) -> str:
    text = outputs.perftest()
    head = text[: text.index(" 2 ")]
    rows = "".join(
        f" {size:<10d} 5000  {rate * 1.001:.2f}  {rate:.2f} \t\t   {of(size) / size:.6f}\n"
        for size in sizes
        if (rate := of(size) / 1.048576)
    )
    return f"{head}{rows}{outputs.PERFTEST_RULE}"


def nccl(of: Curve, left_out: int = 0) -> str:
    """all_reduce on eight GPUs of two nodes, in GB/s of bus bandwidth by size."""
    text = gpu_outputs.nccl()
    head, _, rest = text.partition(f"{1 << 20:>12d}")
    tail = rest[rest.index("# Out of bounds") :]
    rows = ""
    for size in (1 << power for power in range(13, 31)):
        bus = of(size)
        algorithm = bus / 1.75
        cells = f" {size / algorithm / 1e3:>8.1f} {algorithm:>7.2f} {bus:>7.2f}"
        rows += f"{size:>12d} {size // 4:>13d} float sum -1 {cells} 0 {cells} N/A\n" if size != left_out else ""
    return head + rows + tail


def bus(size: int) -> float:
    return 370 / (1 + 20e6 / size)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (osu_bw(rates, {65536: 0.1}), "bandwidth is 1.10 GB/s at 64 KiB, beside 10.1 GB/s at 32 KiB and 11.5 GB/s at"),
        (osu_bw(rates, {65536: 0.1, 131072: 0.1}), "bandwidth is 1.10 GB/s at 64 KiB"),
        (osu_bw(rates, dict.fromkeys(SIZES[16:], 0.1)), "bandwidth changes from 10.1 GB/s at 32 KiB to 1.10 GB/s at"),
        (osu_bw(rates, {4 << 20: 0.2}), "bandwidth changes from 12.0 GB/s at 2 MiB to 2.40 GB/s at 4 MiB at once"),
        (osu_bw(rates, {16384: 10.0}), "bandwidth is 87.8 GB/s at 16 KiB, beside"),
        (osu_bw(rates, {512: 0.0}), "bandwidth is 0 B/s at 512 B"),
        (osu_latency(times, {8192: 10.0}), "latency is 22.5 µs at 8 KiB, beside"),
        (osu_latency(times, {1: 40, 8192: 10.0}, "Allreduce Latency"), "latency is 22.5 µs at 8 KiB, beside"),
        (osu_latency(times, {64: 0.0}), "latency is 0 ns at 64 B"),
        (outputs.imb(times=lambda size: times(size) * (12 if size == 32768 else 1)), "latency is 53.8 µs at 32 KiB"),
        (perftest(lambda size: rates(size) * (0.3 if size == 1 << 20 else 1)), "bandwidth is 3.58 GB/s at 1 MiB"),
        (nccl(lambda size: bus(size) * (0.1 if size == 1 << 27 else 1)), "bus bandwidth is 32.2 GB/s at 128 MiB"),
        (nccl(lambda size: bus(min(size, 1 << 25)) * (0.2 if size > 1 << 25 else 1)), "bus bandwidth changes from 23"),
        (osu_bw(rates, sizes=[*SIZES[:17], *SIZES[16:]]), "64 KiB has two rows"),
        (osu_bw(rates, {size: max(0.45 ** (place + 1), 0.06) for place, size in enumerate(SIZES[17:])}),
         "bandwidth changes from 11.0 GB/s at 64 KiB to 1.08 GB/s at 512 KiB within 3 sizes"),
        (osu_latency(times, {size: min(2.5 ** (place + 1), 9) for place, size in enumerate(SIZES[17:])}),
         "latency changes from 7.46 µs at 64 KiB to 442.5 µs at 512 KiB within 3 sizes, and larger"),
        (nccl(lambda size: bus(min(size, 1 << 25)) * (1 if size <= 1 << 25 else 0.45 if size == 1 << 26 else 0.2)),
         "bus bandwidth changes from 231.8 GB/s at 32 MiB to 46.4 GB/s at 128 MiB within 2 sizes"),
        (osu_latency(lambda size: 40.0 if size < 16 else times(size)), "latency is 40.0 µs at 8 B, beside"),
        (osu_latency(lambda size: 40.0 if size < 16384 else times(size)), "latency is 40.0 µs at 8 KiB, beside"),
        (osu_bw(lambda size: size / 50 if size < 16384 else rates(size)), "bandwidth is 163.8 MB/s at 8 KiB, beside"),
        (outputs.imb(times=lambda size: 60.0 if size <= 4096 else times(size)), "latency is 60.0 µs at 4 KiB, beside"),
    ],
)  # fmt: skip
def test_a_size_far_off_the_others_is_noted(text: str, reason: str) -> None:
    output = judged(text)
    assert word_of_output(output) in ("NOTE", "INVALID"), output.missing
    assert any(breach.reason.startswith(reason) for breach in output.breaches), output.breaches


@pytest.mark.parametrize("text", [
    osu_bw(rates), osu_bw(rates, {16384: 0.7}), osu_bw(rates, {16384: 0.5, 32768: 0.6}),
    osu_bw(lambda size: rates(size) * (1 if size < 1 << 19 else 0.55 if size < 1 << 21 else 0.3)),
    osu_latency(lambda size: times(size) * (1 if size < 16384 else 3)),
    osu_latency(lambda size: times(size) + (6 if size > 8192 else 0)),
    osu_latency(times, {1: 30.0}), osu_latency(times, {64: 6.0}, "Allreduce Latency"),
    osu_latency(times, {64: 0.4}, "Allreduce Latency"),
    outputs.imb(times=lambda size: times(size) * (2.5 if size > 65536 else 1)),
    perftest(rates), perftest(rates, [2, 4096, 65536, 1048576]), nccl(bus),
    nccl(lambda size: bus(size) * (0.5 if 1 << 20 <= size < 1 << 22 else 1)),
    osu_bw(rates) + osu_bw(rates, {1 << 20: 0.8}),
    osu_bw(lambda size: rates(size) * (1 if size < 1 << 18 else 0.6 if size < 1 << 19 else 0.45)),
    osu_latency(times, {1: 30.0, 2: 20.0}), osu_latency(times, {1: 4.0, 2: 4.0, 4: 4.0, 8: 4.0}),
    osu_latency(lambda size: times(size) + (45 if size > 8192 else 0)),
    osu_bw(lambda size: rates(size) * (0.2 if 4096 < size < 65536 else 0.5 if size == 4096 else 0.4)),
    osu_bw(lambda size: rates(size) * (0.5 if size <= 8192 else 1)),
])  # fmt: skip
def test_switches_caches_and_rounding_are_usual(text: str) -> None:
    assert word_of_output(judged(text)) == "MEASURED" if "all_reduce" not in text else "PASS"


@pytest.mark.parametrize("factor", [2.9, 3.1])
@pytest.mark.parametrize(("size", "off"), [(4096, 1.0), (2048, 8 / 3)])
def test_the_bounds(factor: float, size: int, off: float) -> None:
    """At 4 KiB and above a third, below an eighth of smaller and of larger messages."""
    text = osu_bw(lambda size: 1000.0 + size / 1e6, {size: 1 / factor / off})
    assert (word_of_output(judged(text)) == "NOTE") == (factor > 3)


@pytest.mark.parametrize("factor", [3.9, 4.1])
@pytest.mark.parametrize("steps", [2, 3])
def test_the_bound_of_a_fall_over_several_sizes(factor: float, steps: int) -> None:
    falling = {1 << 16 + step: factor ** (-min(step / steps, 1)) for step in range(7)}
    text = osu_bw(lambda size: 1000.0 + size / 1e6, falling)
    assert (word_of_output(judged(text)) == "NOTE") == (factor > 4)


@pytest.mark.parametrize(("rows", "factor", "named"), [(2, 20, False), (3, 20, True), (3, 7.9, False), (3, 8.1, True)])
def test_the_bound_of_a_slow_beginning(rows: int, factor: float, *, named: bool) -> None:
    text = osu_latency(lambda size: 1.5 * factor if size < 1 << rows else 1.5 + size / 11000)
    assert (word_of_output(judged(text)) == "NOTE") == named


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_usual(seed: int) -> None:
    chance = random.Random(seed)
    noisy = osu_bw(lambda size: rates(size) * chance.lognormvariate(0, 0.15))
    slow = osu_latency(lambda size: times(size) * chance.lognormvariate(0, 0.15 if size > 4096 else 0.4))
    assert {word_of_output(judged(text)) for text in (noisy, slow)} == {"MEASURED"}


@pytest.mark.parametrize(("text", "word"), [
    (osu_bw(rates, sizes=[size for size in SIZES if size != 65536]), "INCOMPLETE"),
    (nccl(bus, left_out=1 << 20), "INCOMPLETE"),
    (perftest(rates, [size for size in SIZES[1:] if size not in (512, 1024)]), "INCOMPLETE"),
    (perftest(rates, [64, 128, 256, 1024, 65536]), "MEASURED"),
    (perftest(rates, [place << 20 for place in range(1, 9)]), "MEASURED"),
])  # fmt: skip
def test_lost_rows_are_incomplete_and_sizes_that_a_site_chose_complete(text: str, word: str) -> None:
    assert word_of_output(judged(text)) == word


EXACT = [1, 2, 3, *(size for power in range(2, 23) for size in (1 << power, 3 << power - 1)), 1 << 23]
"""Sizes of NetPIPE without those three bytes below and above."""
NETPIPE_SIZES = [size + off for size in EXACT for off in (-3, 0, 3) if size >= 16 or off == 0]
NETPIPE_HEAD = "Send and receive buffers are 131072 and 174760 bytes\nNow starting the main loop\n"


def netpipe(lost: range = range(0), sizes: Sequence[int] = NETPIPE_SIZES, *, terminal: bool = True) -> str:
    """NetPIPE 3.7, without some rows, as the terminal or np.out has it."""
    rows = ""
    for place, size in enumerate(size for size in sizes if size not in lost):
        time_us = times(size)
        rate = f"{size * 8 / time_us * 1e6 / (1 << 20):.{2 if terminal else 6}f}"
        row = f"{place:3d}: {size:8d} bytes {1000:7d} times --> {rate:>9} Mbps in {time_us:10.2f} usec"
        rows += f"{row}\n" if terminal else f"{size:8d} {rate} {time_us / 1e6:.8f}\n"
    return NETPIPE_HEAD * terminal + rows


@pytest.mark.parametrize("text", [
    netpipe(), netpipe().removeprefix(NETPIPE_HEAD), netpipe(terminal=False),
    netpipe(sizes=[*EXACT, 8388611]), netpipe(sizes=[*EXACT, 8388611], terminal=False),
    netpipe(sizes=[*EXACT[::4], 8388611]), "".join(f"0: {line}\n" for line in netpipe().splitlines()),
])  # fmt: skip
def test_whole_outputs_of_netpipe_are_read(text: str) -> None:
    output = judged(text)
    assert (word_of_output(output), output.missing) == ("MEASURED", ())


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("lost", [range(32765, 196612), range(61, 68), range(4194301, 4194308), range(700, 5000)])
def test_lost_rows_of_netpipe(lost: range, *, terminal: bool) -> None:
    assert word_of_output(judged(netpipe(lost, terminal=terminal))) == "INCOMPLETE"
