"""InfiniBand and what looks like it: the tables, and names told apart from rates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.limits.ports import infiniband_terms, nominal_terms
from seatrial.model.hca import LANES, PortFamily, data_bits_per_s
from seatrial.model.words import Unknown
from tests.support.limits_examples import check_formula, port

TABLE = [
    ("SDR", 4, 8, 1.000, 0.987, 0.994),
    ("DDR", 4, 16, 2.000, 1.975, 1.987),
    ("QDR", 4, 32, 4.000, 3.950, 3.975),
    ("FDR10", 4, 40, 5.000, 4.937, 4.968),
    ("FDR", 4, 54.545, 6.818, 6.733, 6.775),
    ("EDR", 4, 100, 12.5, 12.343, 12.421),
    ("HDR", 4, 200, 25.0, 24.687, 24.842),
    ("HDR", 2, 100, 12.5, 12.343, 12.421),
    ("NDR", 4, 400, 50.0, 49.373, 49.685),
    ("NDR", 2, 200, 25.0, 24.687, 24.842),
    ("XDR", 4, 800, 100, 98.75, 99.37),
]


@pytest.mark.parametrize(("speed", "width", "gigabits", "raw", "at_2048", "at_4096"), TABLE)
def test_table(speed: str, width: int, gigabits: float, raw: float, at_2048: float, at_4096: float) -> None:
    bits_per_s = data_bits_per_s(width, speed)
    assert bits_per_s == pytest.approx(gigabits * 1e9, rel=1e-5)
    assert bits_per_s == pytest.approx(raw * 8e9, rel=1e-4)
    for mtu, gigabytes_per_s in ((2048, at_2048), (4096, at_4096)):
        found = infiniband_terms(port(speed, width, mtu), "n1", "mlx5_0")
        assert found.unknown == ()
        assert found.terms[0].bytes_per_s == pytest.approx(gigabytes_per_s * 1e9, abs=0.006e9 if raw == 100 else 0.6e6)
        check_formula(found.terms[0], found.terms[0].bytes_per_s)


def test_a_term_says_all_it_was_made_of() -> None:
    (term,) = infiniband_terms(port("FDR"), "n1", "mlx4_0 port 2", where="/sys/class/infiniband/mlx4_0/ports/2").terms
    assert term.name == "n1 mlx4_0 port 2: InfiniBand FDR 4X, MTU 4096"
    assert term.source == "/sys/class/infiniband/mlx4_0/ports/2/rate and active MTU on n1"
    assert term.inputs["mtu_bytes"] == 4096
    assert not term.nominal


def test_unknown_mtu_is_taken_for_the_greatest_and_said_to_be_unknown() -> None:
    found = infiniband_terms(port(mtu=None), "n1", "mlx5_0")
    assert found.terms[0].bytes_per_s == pytest.approx(12.421e9, rel=1e-4)
    assert found.terms[0].name.endswith("MTU unknown")
    assert found.unknown == ("n1 mlx5_0: MTU is not known (ibv_devinfo prints it); 4096 bytes at most",)


def test_the_smaller_mtu_counts() -> None:
    assert infiniband_terms(port(mtu=4096), "n1", "x", 2048).terms[0].inputs["mtu_bytes"] == 2048
    assert infiniband_terms(port(mtu=1024), "n1", "x", 2048).terms[0].inputs["mtu_bytes"] == 1024


def test_a_speed_without_a_name_is_taken_as_it_was_read() -> None:
    (term,) = infiniband_terms(port("", data_bits_per_s=54.545e9), "n1", "x").terms
    assert term.bytes_per_s == pytest.approx(6.775e9, rel=1e-4)
    check_formula(term, term.bytes_per_s)


@pytest.mark.parametrize("speed", ["", "GDR"])
def test_no_rate_no_term(speed: str) -> None:
    found = infiniband_terms(port(speed), "n1", "mlx5_0")
    assert found.terms == ()
    assert found.unknown == ("n1 mlx5_0: active, and its data rate is not known",)


@given(st.sampled_from(sorted(LANES)), st.sampled_from([1, 2, 4, 8, 12]), st.sampled_from([256, 512, 1024, 2048, 4096]))
def test_a_term_is_below_the_data_rate_and_grows_with_width_and_mtu(speed: str, width: int, mtu: int) -> None:
    rate = infiniband_terms(port(speed, width, mtu), "n1", "x").terms[0].bytes_per_s
    assert rate < (data_bits_per_s(width, speed) or 0) / 8
    assert rate < infiniband_terms(port(speed, 2 * width, mtu), "n1", "x").terms[0].bytes_per_s
    assert rate < infiniband_terms(port(speed, width, 2 * mtu), "n1", "x").terms[0].bytes_per_s


@pytest.mark.parametrize(
    ("family", "told", "gigabytes_per_s"),
    [
        # hfi1 prints "100 Gb/sec (4X EDR)", and it is not InfiniBand's EDR.
        (PortFamily.OMNI_PATH, 100e9, 12.5),
        (PortFamily.OMNI_PATH, None, 12.5),
        (PortFamily.TRUE_SCALE, 32e9, 4.0),
        (PortFamily.TRUE_SCALE, None, 4.0),
        (PortFamily.EFA, 100e9, 12.5),
    ],
)
def test_nominal_ports(family: PortFamily, told: float | None, gigabytes_per_s: float) -> None:
    found = nominal_terms(port("EDR", family=family, data_bits_per_s=told), "n1", "hfi1_0")
    (term,) = found.terms
    assert term.bytes_per_s == gigabytes_per_s * 1e9
    assert term.nominal
    assert family.value in term.name
    assert "EDR" not in term.name
    assert (term.source == f"the name {family}") == (told is None)
    assert any("packet overhead" in why for why in found.unknown)


@pytest.mark.parametrize("family", [PortFamily.EFA, Unknown(word="9: NEW")])
def test_a_family_without_a_rate_has_no_term(family: PortFamily | Unknown) -> None:
    assert nominal_terms(port(family=family), "n1", "x").terms == ()
