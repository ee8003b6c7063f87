"""TCP payload over Ethernet: known values."""

import pytest

from seatrial.limits.ethernet import payload_share, tcp_payload_term
from seatrial.model.facts import NetworkInterface


def interface(speed: float | None = 1e9, mtu: int | None = 1500) -> NetworkInterface:
    return NetworkInterface(name="eth0", link_type=1, state="up", speed_bits_per_s=speed, mtu_bytes=mtu)


@pytest.mark.parametrize(("mtu", "percent"), [(1500, 94.15), (9000, 99.00)])
def test_payload_share(mtu: int, percent: float) -> None:
    assert 100 * payload_share(mtu) == pytest.approx(percent, abs=0.005)


@pytest.mark.parametrize(
    ("speed", "mtu", "gigabytes_per_s"),
    [(10e9, 1500, 1.177), (10e9, 9000, 1.238), (25e9, 1500, 2.942), (25e9, 9000, 3.094), (100e9, 1500, 11.77),
     (100e9, 9000, 12.38)],
)  # fmt: skip
def test_known_rates(speed: float, mtu: int, gigabytes_per_s: float) -> None:
    term = tcp_payload_term(interface(speed, mtu), "n3")
    assert term is not None
    assert term.bytes_per_s == pytest.approx(gigabytes_per_s * 1e9, rel=0.0005)


def test_a_term_says_all_it_was_made_of() -> None:
    term = tcp_payload_term(interface(), "n3")
    assert term is not None
    assert term.name == "n3 eth0: TCP payload at 1000 Mb/s, MTU 1500"
    assert term.inputs == {"speed_bits_per_s": 1e9, "mtu_bytes": 1500.0}
    assert term.source == "/sys/class/net/eth0/speed and mtu on n3"
    # The printed formula is the one that was computed.
    assert eval(term.formula, {}, dict(term.inputs)) == pytest.approx(term.bytes_per_s)  # noqa: S307


def test_the_other_ends_mtu_is_named_as_such() -> None:
    term = tcp_payload_term(interface(mtu=9000), "n3", mtu_bytes=1500, mtu_node="n5")
    assert term is not None
    assert term.name.endswith("MTU 1500")
    assert term.source == "/sys/class/net/eth0/speed on n3, MTU of n5"


@pytest.mark.parametrize(("speed", "mtu"), [(None, 1500), (1e9, None), (1e9, 52), (1e9, 20)])
def test_no_term_from_unknown_or_impossible_inputs(speed: float | None, mtu: int | None) -> None:
    assert tcp_payload_term(interface(speed, mtu), "n3") is None
