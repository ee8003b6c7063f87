"""Which values are good, by name and unit."""

import pytest

from seatrial.model.imported import Sense, sense_of


@pytest.mark.parametrize(
    ("name", "unit", "sense"),
    [
        ("triad_MB_s", "", Sense.HIGHER),
        ("bandwidth 1 MiB x 4", "", Sense.HIGHER),
        ("GFLOPS", "", Sense.HIGHER),
        ("messages_per_second", "", Sense.HIGHER),
        ("speed_s", "", Sense.HIGHER),
        ("debit_Go_s", "", None),
        ("images_s", "", None),
        ("s", "", Sense.LOWER),
        ("hpl_time_s", "", Sense.LOWER),
        ("latency 8 B", "", Sense.LOWER),
        ("latency", "", Sense.LOWER),
        ("runTime", "", Sense.LOWER),
        ("t_us", "", Sense.LOWER),
        ("bw_min", "", Sense.HIGHER),
        ("bw_min", "s", Sense.LOWER),
        ("time", "GB/s", Sense.HIGHER),
        ("time_per_step", "", Sense.LOWER),
        ("Seconds per iteration", "", Sense.LOWER),
        ("ns_per_op", "", Sense.LOWER),
        ("ns_per_day", "", Sense.HIGHER),
        ("hours/ns", "", Sense.LOWER),
        ("hour_per_ns", "", Sense.LOWER),
        ("days/us", "", Sense.LOWER),
        ("value", "min/ns", Sense.LOWER),
        ("us/hour", "", Sense.HIGHER),
        ("h2d/s", "", Sense.HIGHER),
        ("steps_per_s", "", Sense.HIGHER),
        ("t", "s/step", Sense.LOWER),
        ("speed", "ns/day", Sense.HIGHER),
        ("time", "cycles", Sense.LOWER),
        ("energy", "J", Sense.HIGHER),
        ("loss %", "", Sense.LOWER),
        ("packetLoss", "%", Sense.LOWER),
        ("bit error rate", "", Sense.LOWER),
        ("drops per second", "", Sense.LOWER),
        ("retransmits/s", "", Sense.LOWER),
        ("ops_per_error", "", Sense.HIGHER),
        ("lossless", "", None),
        ("Gbps", "", Sense.HIGHER),
        ("GBps", "", Sense.HIGHER),
        ("boot [s]", "", Sense.LOWER),
        ("solve (ms)", "", Sense.LOWER),
        ("bw (min)", "", Sense.HIGHER),
        ("images (1/s)", "", Sense.HIGHER),
        ("images (s)", "", Sense.LOWER),
        ("result [MB/s]", "", Sense.HIGHER),
        ("boot [s] of all", "", None),
        ("score", "", None),
        ("value", "", None),
        ("", "", None),
    ],
)
def test_sense(name: str, unit: str, sense: Sense | None) -> None:
    assert sense_of(name, unit) is sense
