"""What faults declare, and which parameters they refuse."""

import pytest

from seatrial.lab.cluster.plan import make_plan
from seatrial.lab.cluster.planting import FAULTS, bare, fault_named
from seatrial.lab.faults.base import Parameters, check_parameters, check_subject, faulty_rate, marks_of
from seatrial.lab.faults.links import corrupt_rules, drop_rules
from seatrial.model.errors import UsageError
from seatrial.model.subject import Direction

PLAN = make_plan(name="a", nodes=4)


def test_every_kind_is_there_once_and_described() -> None:
    kinds = [fault.kind for fault in FAULTS]
    assert len(set(kinds)) == len(kinds)
    assert all(fault.description.endswith(".") for fault in FAULTS)
    with pytest.raises(UsageError, match="'fire'") as caught:
        fault_named("fire")
    assert "link-rate" in caught.value.remedy


@pytest.mark.parametrize(
    ("kind", "parameters", "complaint"),
    [
        ("link-rate", Parameters(), "needs percent or rate"),
        ("link-rate", Parameters(percent=60, rate_bit_per_s=10**8), "needs percent or rate"),
        ("link-rate", Parameters(percent=60, mtu=1400), "takes no mtu"),
        ("link-rate", Parameters(percent=0), "out of range"),
        ("link-rate", Parameters(percent=101), "out of range"),
        ("one-way-rate", Parameters(percent=60), "needs direction"),
        ("mtu", Parameters(mtu=12), "12 is not a valid MTU"),
        ("node-down", Parameters(percent=50), "takes no percent"),
        ("data-corrupt", Parameters(), "needs percent"),
        ("mpi-rail", Parameters(), "needs rail"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(kind: str, parameters: Parameters, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check_parameters(fault_named(kind), parameters)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("link-rate", Parameters(percent=60)),
        ("one-way-rate", Parameters(rate_bit_per_s=10**8, direction=Direction.IN)),
        ("packet-loss", Parameters(percent=2)),
        ("packet-loss", Parameters(percent=2, direction=Direction.OUT)),
        ("data-corrupt", Parameters(percent=5)),
        ("data-corrupt", Parameters(percent=5, direction=Direction.IN)),
        ("node-hung", Parameters()),
    ],
)
def test_parameters_that_fit_are_taken(kind: str, parameters: Parameters) -> None:
    check_parameters(fault_named(kind), parameters)


def test_one_rail_of_one_is_no_fault_and_is_refused_before_anything_changes() -> None:
    with pytest.raises(UsageError, match="needs nodes with two rails"):
        fault_named("mpi-rail").plant(PLAN, "n3", Parameters(rail="eth0"))


@pytest.mark.parametrize(("kind", "subject"), [("link-rate", "leaf1"), ("uplink-rate", "n1"), ("mtu", "n5")])
def test_a_subject_of_the_wrong_sort_is_refused(kind: str, subject: str) -> None:
    with pytest.raises(UsageError, match=f"'{subject}'"):
        check_subject(fault_named(kind), PLAN, subject)


def test_rates_subjects_and_loss() -> None:
    assert faulty_rate(10**9, Parameters(percent=60)) == 6 * 10**8
    assert faulty_rate(10**9, Parameters(rate_bit_per_s=10**8)) == 10**8
    assert (bare("node:n3"), bare("uplink:leaf2"), bare("n3")) == ("n3", "leaf2", "n3")
    assert "numgen random mod 100000 < 2000 drop" in drop_rules("t", "eth0", 2)
    assert "meta length > 4000 meta l4proto tcp numgen random mod 100000 < 2000 @th" in corrupt_rules("t", "eth0", 2)
    assert Parameters(percent=60, rate_bit_per_s=10**8).text == "percent=60 rate=100mbit"


@pytest.mark.parametrize("kind", ["governor", "scheduler-granularity"])
def test_a_fault_with_a_substitute_needs_the_nodes_group(kind: str) -> None:
    """Without a percentage it only shows a file, and any load can be planted beside it."""
    load = marks_of(fault_named("cpu-quota"), Parameters(percent=50))
    assert marks_of(fault_named(kind), Parameters(percent=50)) & load
    assert not marks_of(fault_named(kind), Parameters()) & load
    check_parameters(fault_named(kind), Parameters(percent=50))
