"""The arithmetic that makes a virtual link as fast as a real one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.lab.cluster.network import burst_bytes, frames_per_skb, shape_line, tbf_rate_bit_per_s
from tests.support.lab_hosts import tcp_limit_bytes_per_s

RATES = st.floats(1e6, 100e9)
MTUS = st.integers(576, 9216)


def test_gigabit_ethernet_carries_its_well_known_payload() -> None:
    assert tcp_limit_bytes_per_s(1e9, 1500) == pytest.approx(117.685e6, rel=1e-5)
    assert tcp_limit_bytes_per_s(1e9, 9000) == pytest.approx(123.755e6, rel=1e-4)


@given(RATES, MTUS)
def test_the_shaped_link_carries_what_the_real_one_would(rate: float, mtu: int) -> None:
    frames_per_s = tbf_rate_bit_per_s(rate, mtu) / 8 / (mtu + 14)
    assert frames_per_s * (mtu - 52) == pytest.approx(tcp_limit_bytes_per_s(rate, mtu), rel=1e-4)


@given(RATES, MTUS)
def test_a_piece_fits_into_the_bucket(rate: float, mtu: int) -> None:
    assert frames_per_skb(rate, mtu) >= 1
    assert frames_per_skb(rate, mtu) * (mtu + 14) <= min(burst_bytes(rate, mtu), 65536)


@given(RATES, RATES, MTUS)
def test_a_piece_of_a_faster_sender_fits_too(rate: float, sender: float, mtu: int) -> None:
    assert 1.04 * frames_per_skb(sender, mtu) * (mtu + 14) < burst_bytes(rate, mtu, sender) + 1
    assert burst_bytes(rate, mtu) <= burst_bytes(rate, mtu, sender)
    assert burst_bytes(rate, mtu, rate) == burst_bytes(rate, mtu)


def test_the_line_for_tc() -> None:
    slowed = shape_line("eth0", 0.6e9, 1500, 1e9)
    assert slowed == "qdisc replace dev eth0 root tbf rate 590637191bit burst 68357 limit 1565536"
    assert shape_line("eth0", 1e9, 1500, 1e9) == shape_line("eth0", 1e9, 1500)
    line = shape_line("eth0", 1e9, 1500)
    assert line == "qdisc replace dev eth0 root tbf rate 984395318bit burst 87500 limit 2565536"
