"""NAS Parallel Benchmarks, RandomAccess and qperf: numbers in base units, and runs whose own check failed."""

import pytest

from seatrial.model.verdict import FindingKind
from tests.support.application_outputs import gups, iperf, npb
from tests.support.judged_outputs import breaches, judged

TWO_HOSTS = """\
tcp_bw:
    bw        =  1.2 GB/sec
    msg_rate  =  18.3 K/sec
    msg_size  =  64 KiB (65,536)
rc_lat:
    latency  =  1.7 us
ud_bw:
    send_bw  =  9.9 GB/sec
    recv_bw  =  9.1 GB/sec
rc_bi_bw:
    bw  =  180 Gb/sec
"""


def test_the_closing_table_of_npb() -> None:
    output = judged(npb())
    assert [(one.metric, one.value, one.labels) for one in output.results] == [
        ("time_s", 2.8, {"kernel": "CG", "class": "C"}),
        ("operations_per_s", 51234.5e6, {"kernel": "CG", "class": "C"}),
    ]
    assert (output.work("ranks"), output.work("problem"), output.breaches) == (16, "CG C", ())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (npb("UNSUCCESSFUL"), FindingKind.RESIDUAL_FAILED),
        (npb("NOT PERFORMED"), FindingKind.RESIDUAL_MISSING),
        (npb(rate=0.0), FindingKind.ZERO_RESULT),
        (npb() + npb("UNSUCCESSFUL"), FindingKind.RESIDUAL_FAILED),
        (gups(71_000_000, "failed"), FindingKind.RESIDUAL_FAILED),
        (gups(71_000_000), FindingKind.RESIDUAL_FAILED),
        ("rc_bw:\nfailed to connect: Connection refused\n", FindingKind.PROGRAM_FAILED),
    ],
)
def test_a_run_whose_own_check_failed_does_not_pass(text: str, kind: FindingKind) -> None:
    assert breaches(text) == {kind}


def test_two_runs_of_npb_at_once_are_two_worlds() -> None:
    head, table = npb().split(" Benchmark completed\n")
    assert breaches(f"{head}{head} Benchmark completed\n{table} Benchmark completed\n{table}") == {
        FindingKind.RANKS_DIFFER
    }


def test_few_wrong_words_of_random_access_are_permitted() -> None:
    output = judged(gups(70_000))
    assert ([one.value for one in output.results], output.breaches) == ([10.5, 0.409044503e9], ())
    assert (output.work("ranks"), output.work("table_words")) == (8, 2**30)


def test_the_tests_of_qperf_in_base_units() -> None:
    output = judged(TWO_HOSTS)
    assert [(one.metric, one.value, one.labels["test"]) for one in output.results] == [
        ("bandwidth_bytes_per_s", 1.2e9, "tcp_bw"),
        ("messages_per_s", 18300, "tcp_bw"),
        ("latency_s", 1.7e-6, "rc_lat"),
        ("bandwidth_bytes_per_s", 9.1e9, "ud_bw"),
        ("bandwidth_bytes_per_s", 22.5e9, "rc_bidirectional_bw"),
    ]
    assert output.results[0].labels["bytes"] == 65536
    assert (output.complete, output.breaches) == (True, ())


def test_a_link_limits_one_direction_of_qperf_and_half_of_both() -> None:
    assert breaches(TWO_HOSTS, bandwidth_bytes_per_s=12.5e9) == set()
    assert breaches(TWO_HOSTS, bandwidth_bytes_per_s=10e9) == {FindingKind.ABOVE_LIMIT}


def test_a_test_of_qperf_without_a_number_is_missing() -> None:
    assert not judged(f"{TWO_HOSTS}rc_bw:\n").complete


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_iperf_has_the_rate_that_was_received(protocol: str) -> None:
    output = judged(iperf(20.0, protocol))
    assert [(one.metric, one.value, one.labels) for one in output.results] == [
        ("bandwidth_bytes_per_s", 2.5e9, {"test": protocol.lower()})
    ]
    assert (output.complete, output.breaches) == (True, ())
    assert breaches(iperf(20.0, protocol), bandwidth_bytes_per_s=2e9) == {FindingKind.ABOVE_LIMIT}


def test_iperf_that_found_no_server_or_has_no_sums_has_no_rate() -> None:
    assert breaches(iperf(error="unable to connect to server: Connection refused")) == {FindingKind.PROGRAM_FAILED}
    assert not judged(iperf().replace("sum_received", "sum_forgotten")).complete


IPERF_TEXT = """\
Connecting to host c2, port 5201
[  5] local 10.1.0.1 port 51234 connected to 10.1.0.2 port 5201
[  7] local 10.1.0.1 port 51236 connected to 10.1.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.39 GBytes  11.9 Gbits/sec    0   1.53 MBytes
[  7]   0.00-1.00   sec  1.37 GBytes  11.7 Gbits/sec    0   1.53 MBytes
[SUM]   0.00-1.00   sec  2.76 GBytes  23.6 Gbits/sec    0
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-1.00   sec  1.39 GBytes  11.9 Gbits/sec    0             sender
[  5]   0.00-1.04   sec  1.38 GBytes  11.4 Gbits/sec                  receiver
[  7]   0.00-1.00   sec  1.37 GBytes  11.7 Gbits/sec    0             sender
[  7]   0.00-1.04   sec  1.36 GBytes  11.2 Gbits/sec                  receiver
[SUM]   0.00-1.00   sec  2.76 GBytes  23.6 Gbits/sec    0             sender
[SUM]   0.00-1.04   sec  2.74 GBytes  22.6 Gbits/sec                  receiver

iperf Done.
"""


def test_the_text_of_iperf_has_the_sum_that_was_received() -> None:
    output = judged(IPERF_TEXT)
    assert [(one.value, one.labels) for one in output.results] == [(22.6e9 / 8, {"test": "tcp"})]
    assert (output.work("streams"), output.complete) == (2, True)
    lines = IPERF_TEXT.splitlines(keepends=True)
    assert not any(judged("".join(lines[:number])).complete for number in range(4, len(lines)))
    gone = IPERF_TEXT + "iperf3: error - control socket has closed unexpectedly\n"
    assert breaches(gone) == {FindingKind.PROGRAM_FAILED}
