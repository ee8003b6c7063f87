"""TCP payload over Ethernet: known values."""

import pytest

from seatrial.limits.ports import fitting_mtu, roce_terms, side_of, tcp_payload_term
from seatrial.model.facts import NetworkInterface
from seatrial.model.hca import Port, PortFamily
from tests.support.limits_examples import check_formula, ethernet, port


def interface(speed: float | None = 1e9, mtu: int | None = 1500) -> NetworkInterface:
    return NetworkInterface(name="eth0", link_type=1, state="up", speed_bits_per_s=speed, mtu_bytes=mtu)


@pytest.mark.parametrize(
    ("speed", "mtu", "gigabytes_per_s"),
    [(10e9, 1500, 1.177), (10e9, 9000, 1.238), (25e9, 1500, 2.942), (25e9, 9000, 3.094), (100e9, 1500, 11.77),
     (100e9, 9000, 12.38)],
)  # fmt: skip
def test_known_tcp_rates(speed: float, mtu: int, gigabytes_per_s: float) -> None:
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


# RoCE: the overhead, and the MTU that an interface leaves room for.


def roce(**more: object) -> Port:
    return port("EDR", 1, None, family=PortFamily.ROCE, interfaces=("eth0",), **more)


@pytest.mark.parametrize(
    ("gigabits", "mtu", "gigabytes_per_s"), [(50, 1024, 5.787), (50, 4096, 6.127), (25, 4096, 3.064)]
)
def test_known_roce_rates(gigabits: float, mtu: int, gigabytes_per_s: float) -> None:
    (term,) = roce_terms(roce(data_bits_per_s=gigabits * 1e9), "n1", "mlx5_0", mtu_bytes=mtu).terms
    assert term.bytes_per_s == pytest.approx(gigabytes_per_s * 1e9, abs=0.6e6)
    check_formula(term, term.bytes_per_s)


@pytest.mark.parametrize(
    ("interface_mtu", "mtu"),
    [(1500, 1024), (9000, 4096), (4200, 4096), (2200, 2048), (2143, 1024), (2144, 2048), (352, 256), (351, None)],
)
def test_the_mtu_that_fits(interface_mtu: int, mtu: int | None) -> None:
    assert fitting_mtu(interface_mtu) == mtu


@pytest.mark.parametrize(("interface_mtu", "mtu"), [(1500, 1024), (9000, 4096)])
def test_the_mtu_is_derived_from_the_interface_and_said_to_be(interface_mtu: int, mtu: int) -> None:
    found = roce_terms(roce(), "n1", "mlx5_0", interface=ethernet(speed=25e9, mtu=interface_mtu))
    (term,) = found.terms
    assert term.inputs == {"data_bits_per_s": 25e9, "mtu_bytes": mtu}
    assert term.source == f"/sys/class/net/eth0/speed, MTU derived from eth0's {interface_mtu} on n1"
    assert found.unknown == ()


def test_the_ports_own_mtu_goes_before_the_derived_one_and_the_interfaces_speed_before_the_ports() -> None:
    (term,) = roce_terms(
        port("QDR", 1, 1024, family=PortFamily.ROCE, data_bits_per_s=8e9),
        "n1",
        "x",
        interface=ethernet(speed=10e9, mtu=9000),
    ).terms
    # A 10 Gb/s RoCE port calls itself "10 Gb/sec (1X QDR)": 8b/10b is InfiniBand's, not its own.
    assert term.inputs == {"data_bits_per_s": 10e9, "mtu_bytes": 1024}


def test_nothing_known_of_the_mtu() -> None:
    found = roce_terms(roce(data_bits_per_s=25e9), "n1", "mlx5_0", where="/sys/class/infiniband/mlx5_0/ports/1")
    assert found.terms[0].inputs["mtu_bytes"] == 4096
    assert found.terms[0].source == "/sys/class/infiniband/mlx5_0/ports/1/rate on n1"
    assert any("4096 bytes at most" in why for why in found.unknown)


def test_no_rate_no_term() -> None:
    assert roce_terms(roce(), "n1", "x").terms == ()


def test_the_interface_of_a_port() -> None:
    slow, fast = ethernet("eth0", 10e9), ethernet("eth1", 25e9)
    assert side_of(roce(), (slow, fast)) == slow
    assert side_of(port(interfaces=("eth0", "eth1")), (slow, fast)) == fast
    assert side_of(port(interfaces=("eth7",)), (slow, fast)) is None
