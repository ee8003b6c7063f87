"""Ports that have lost lanes: found without peers."""

import pytest

from seatrial.model.hca import PortFamily, PortState
from seatrial.model.subject import CLUSTER, node
from seatrial.model.verdict import FindingKind
from seatrial.node.port_rate import port_rate
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.facts_examples import all_alike, hca, odd, port


def readings(rate: str, family: PortFamily = PortFamily.INFINIBAND, *, everywhere: bool = True) -> Readings:
    """Four nodes whose port, or that of n2 alone, prints this rate in sysfs."""
    words = port_rate(family, rate)
    changed = port(
        family=family, rate_text=rate, width=words.width, speed_name=words.speed_name,
        data_bits_per_s=words.data_bits_per_s,
    )  # fmt: skip
    return (all_alike if everywhere else odd)(hcas=(hca("mlx5_0", changed),))


def kinds(found: Readings) -> list[FindingKind]:
    return [finding.kind for finding in fact_findings(found)]


@pytest.mark.parametrize(
    ("rate", "family", "narrow"),
    [
        ("50 Gb/sec (1X HDR)", PortFamily.INFINIBAND, True),
        ("100 Gb/sec (2X HDR)", PortFamily.INFINIBAND, False),
        ("200 Gb/sec (4X HDR)", PortFamily.INFINIBAND, False),
        ("100 Gb/sec (1X NDR)", PortFamily.INFINIBAND, True),
        ("200 Gb/sec (2X NDR)", PortFamily.INFINIBAND, False),
        ("25 Gb/sec (1X EDR)", PortFamily.INFINIBAND, True),
        ("50 Gb/sec (2X EDR)", PortFamily.INFINIBAND, True),
        ("100 Gb/sec (4X EDR)", PortFamily.INFINIBAND, False),
        ("14 Gb/sec (1X FDR)", PortFamily.INFINIBAND, True),
        ("10 Gb/sec (1X QDR)", PortFamily.INFINIBAND, True),
        ("2.5 Gb/sec (1X)", PortFamily.INFINIBAND, True),
        ("120 Gb/sec (12X QDR)", PortFamily.INFINIBAND, False),
        ("25 Gb/sec (1X EDR)", PortFamily.OMNI_PATH, True),
        ("100 Gb/sec (4X EDR)", PortFamily.OMNI_PATH, False),
        ("10 Gb/sec (1X QDR)", PortFamily.TRUE_SCALE, True),
        ("25 Gb/sec (1X EDR)", PortFamily.ROCE, False),
        ("50 Gb/sec (2X EDR)", PortFamily.ROCE, False),
        ("100 Gb/sec (4X EDR)", PortFamily.EFA, False),
    ],
)
def test_widths(rate: str, family: PortFamily, narrow: bool) -> None:
    assert (FindingKind.PORT_NARROW in kinds(readings(rate, family))) == narrow
    subjects = [finding.subject for finding in fact_findings(readings(rate, family))]
    assert subjects == ([CLUSTER] if narrow else [])


def test_one_port_is_one_finding() -> None:
    (finding,) = fact_findings(readings("50 Gb/sec (1X HDR)", everywhere=False))
    assert (finding.kind, finding.subject) == (FindingKind.PORT_NARROW, node("n2"))
    assert "port mlx5_0/1 is active at 1X (50 Gb/sec (1X HDR)), not at 4X, or 2X as HDR100" in finding.statement


def test_a_port_of_two_lanes_among_four_is_compared_with_its_peers() -> None:
    assert kinds(readings("100 Gb/sec (2X HDR)", everywhere=False)) == [FindingKind.PORT_RATE_DIFFERS]


@pytest.mark.parametrize("state", [PortState.DOWN, PortState.INIT, None])
def test_only_active_ports_count(state: PortState | None) -> None:
    down = port(state=state, width=1, speed_name="EDR", data_bits_per_s=25e9)
    assert FindingKind.PORT_NARROW not in kinds(all_alike(hcas=(hca("mlx5_0", down),)))


def test_a_single_node_needs_no_peers() -> None:
    lone = readings("25 Gb/sec (1X EDR)")
    assert kinds(Readings(facts={"n1": lone.facts["n1"]})) == [FindingKind.PORT_NARROW]
