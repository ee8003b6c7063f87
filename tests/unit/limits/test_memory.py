"""Memory and the links between sockets: section 5 of the tables."""

import pytest

from seatrial.limits.memory import link_bytes_per_s, memory_limits, socket_limits
from seatrial.limits.microarchitectures import SocketLink, table
from seatrial.model.facts import Core, Dimm, MemoryFacts, NodeFacts, Topology
from seatrial.model.limit import NoLimit
from tests.support.limits_examples import intel, is_limit, node

TWO = Topology(cores=(Core(processors=(0,), package=0), Core(processors=(1,), package=1)))
ONE = Topology(cores=(Core(processors=(0,), package=0),))


def dimm(channel: str, package: int | None = 0, speed: float | None = 2933e6, kind: str = "DDR4") -> Dimm:
    return Dimm(locator=channel, channel=channel, package=package, kind=kind, size_bytes=2**34,
                rated_transfers_per_s=3200e6, configured_transfers_per_s=speed)  # fmt: skip


def with_dimms(*dimms: Dimm, topology: Topology = TWO) -> NodeFacts:
    return node("n1", topology=topology, memory=MemoryFacts(dimms=dimms, source="dmidecode"))


@pytest.mark.parametrize(
    ("kind", "gigatransfers", "gigabytes_per_s"),
    [("QPI", 6.4, 12.8), ("QPI", 8.0, 16.0), ("QPI", 9.6, 19.2), ("UPI", 10.4, 20.8), ("UPI", 11.2, 22.4),
     ("UPI", 16, 32), ("UPI", 20, 40), ("UPI", 24, 48), ("xGMI", 10.667, 21.3), ("xGMI", 18, 36), ("xGMI", 32, 64)],
)  # fmt: skip
def test_links_between_sockets(kind: str, gigatransfers: float, gigabytes_per_s: float) -> None:
    link = SocketLink(kind=kind, transfers_per_s=gigatransfers * 1e9, bytes_per_transfer=2, links=1)
    assert link_bytes_per_s(link) == pytest.approx(gigabytes_per_s * 1e9, rel=2e-3)
    assert any(
        line.socket_link
        and line.socket_link.kind == kind
        and link_bytes_per_s(line.socket_link) == pytest.approx(link_bytes_per_s(link))
        for line in table()
    )


def test_channels_of_the_table_are_nominal() -> None:
    """The list of leading systems has the rates of each line (test_microarchitectures.py)."""
    (limit,) = map(is_limit, memory_limits(intel("n1", "Intel(R) Xeon(R) Platinum 8276 CPU @ 2.20GHz", 85, 7)))
    assert (limit.path, limit.nominal, limit.terms[0].inputs["channels"]) == ("n1 package 0 > memory", True, 6)
    assert "Cascade Lake-SP" in limit.binding
    assert any("all channels are assumed at full speed" in why for why in limit.unknown)


def test_modules_that_were_read() -> None:
    first, second = map(is_limit, memory_limits(with_dimms(
        *(dimm(f"P0 {letter}") for letter in "ABCDEF"), *(dimm(f"P1 {letter}", 1) for letter in "ABCDE"),
    )))  # fmt: skip
    assert first.limit_bytes_per_s == pytest.approx(6 * 2933e6 * 8)
    assert second.limit_bytes_per_s == pytest.approx(5 * 2933e6 * 8)
    assert first.binding == "n1 package 0: 6 channels of DDR4 at 2933 MT/s"
    assert not first.nominal


def test_two_modules_of_one_channel_are_one_channel_at_the_slower_speed() -> None:
    facts = with_dimms(dimm("P0 A"), dimm("P0 A", speed=2666e6), dimm("P0 B"), topology=ONE)
    (limit,) = map(is_limit, memory_limits(facts))
    assert limit.limit_bytes_per_s == pytest.approx((2666e6 + 2933e6) * 8)
    assert "2666 to 2933 MT/s" in limit.binding


def test_empty_slots_do_not_count() -> None:
    empty = Dimm(locator="B", channel="P0 B", size_bytes=0, package=0)
    (limit,) = map(is_limit, memory_limits(with_dimms(dimm("P0 A"), empty, topology=ONE)))
    assert limit.terms[0].inputs["channels"] == 1


def test_modules_of_packages_that_are_not_told_are_summed_up() -> None:
    (limit,) = map(is_limit, memory_limits(with_dimms(dimm("mc0 channel0", None), dimm("mc1 channel0", None))))
    assert limit.path == "n1 > memory"
    assert limit.terms[0].inputs["channels"] == 2


@pytest.mark.parametrize(
    "odd",
    [dimm(""), dimm("P0 A", speed=None), dimm("P0 A", kind="HBM2"), dimm("P0 A", kind="LPDDR5"), dimm("A", kind="")],
)
def test_no_limit_is_made_up_of_half_known_modules(odd: Dimm) -> None:
    (found,) = memory_limits(with_dimms(odd, topology=ONE))
    assert isinstance(found, NoLimit)


def test_no_limit_without_modules_and_table() -> None:
    facts = node("n1", cpu_model="Some Processor", absent={"memory.dimms": "dmidecode needs root"})
    assert memory_limits(facts) == (
        NoLimit(
            path="n1 package 0 > memory",
            reason="its modules could not be read (dmidecode needs root), and what Some Processor supports is not in "
            "the table",
        ),
    )


def test_sockets() -> None:
    there, back = map(
        is_limit, socket_limits(intel("n1", "Intel(R) Xeon(R) CPU E5-2683 v4 @ 2.10GHz", 79, topology=TWO))
    )
    assert (there.path, back.path) == ("n1 package 0 > package 1", "n1 package 1 > package 0")
    assert there.limit_bytes_per_s == 2 * 19.2e9
    assert there.nominal
    assert "2 QPI links at 9.6 GT/s" in there.binding
    assert there.unknown


def test_one_socket_has_no_links_and_an_unknown_one_no_limit() -> None:
    assert socket_limits(node("n1", topology=ONE)) == ()
    found = socket_limits(node("n1", topology=TWO))
    assert len(found) == 2
    assert all(isinstance(each, NoLimit) and "not in the table" in each.reason for each in found)


def test_desktop_processors_with_a_servers_numbers_are_not_taken_for_one() -> None:
    (found,) = memory_limits(intel("n1", "Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz", 85, 4))
    assert isinstance(found, NoLimit)
