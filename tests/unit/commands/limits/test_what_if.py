"""Limits with changes that nobody has made yet."""

import pytest
from msgspec.structs import replace

from seatrial.commands.limits.changed_limits import answer_of_change, changed_limits
from seatrial.limits.what_if import changed_nodes, parse_change
from seatrial.model.errors import UsageError
from seatrial.model.facts import Dimm, MemoryFacts, NetworkInterface, NodeFacts
from tests.support.limits_examples import device, hca, intel, node, port


def qdr_node(name: str, speed: float = 5e9) -> NodeFacts:
    """Two processors with memory at 2133 MT/s, and one QDR port behind PCIe 2.0 x8."""
    dimms = tuple(
        Dimm(
            locator=f"{package}{channel}",
            channel=f"P{package} {channel}",
            package=package,
            size_bytes=1 << 34,
            kind="DDR4",
            configured_transfers_per_s=2133e6,
        )
        for package in range(2)
        for channel in range(4)
    )
    return intel(name, "Intel(R) Xeon(R) CPU E5-2683 v4 @ 2.10GHz", 79, cores=32, sockets=2,
                 hcas=(hca(port("QDR")),), pci=(device(speed=speed),), memory=MemoryFacts(dimms=dimms))  # fmt: skip


def first_line(*changes: str, speed: float = 5e9, pair: bool = True) -> str:
    facts = {name: qdr_node(name, speed) for name in ("n1", "n2")}
    after = changed_nodes(facts, tuple(parse_change(each, "--what-if") for each in changes))
    line = answer_of_change(changes, changed_limits(facts, after, ("n1", "n2") if pair else None))
    assert len(line) <= 80
    return line


def test_a_faster_port_behind_a_slow_slot_gains_what_the_slot_permits() -> None:
    assert first_line("port=FDR") == "With port=FDR: n1>n2 at most 4.00 GB/s, now 3.97 GB/s (+0.6 %)"
    assert first_line("port=FDR", speed=8e9) == "With port=FDR: n1>n2 at most 6.78 GB/s, now 3.97 GB/s (+70 %)"
    both = first_line("port=FDR", "pcie=3.0x8")
    assert both == "With port=FDR, pcie=3.0x8: n1>n2 at most 6.78 GB/s, now 3.97 GB/s (+70 %)"


def test_a_second_adapter_adds_a_rail() -> None:
    assert first_line("hca+1", pair=False) == "With hca+1: n[1-2] rails at most 7.95 GB/s, now 3.97 GB/s (+100 %)"


def test_memory_gains_up_to_what_the_processor_supports() -> None:
    line = first_line("memory=2400", pair=False)
    assert line == "With memory=2400: n[1-2] memory at most 153.6 GB/s, now 136.5 GB/s (+13 %)"
    assert first_line("memory=3200", pair=False).endswith("153.6 GB/s, now 136.5 GB/s (+13 %)")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("mtu=9000", "n1>n2 at most 123.8 MB/s, now 117.7 MB/s (+5.2 %)"),
        ("port=10g", "n1>n2 at most 1.18 GB/s, now 117.7 MB/s (+900 %)"),
        ("port=10gbit", "n1>n2 at most 1.18 GB/s, now 117.7 MB/s (+900 %)"),
        ("port=10Gb/s", "n1>n2 at most 1.18 GB/s, now 117.7 MB/s (+900 %)"),
        ("port=100mbit", "n1>n2 at most 11.8 MB/s, now 117.7 MB/s (\N{MINUS SIGN}90 %)"),
    ],
)
def test_ethernet_has_a_rate_and_an_mtu_too(change: str, line: str) -> None:
    eth0 = NetworkInterface(name="eth0", link_type=1, state="up", speed_bits_per_s=1e9, mtu_bytes=1500)
    facts = {name: node(name, interfaces=(eth0,)) for name in ("n1", "n2")}
    asked = parse_change(change, "--what-if")
    changes = changed_limits(facts, changed_nodes(facts, (asked,)), ("n1", "n2"))
    assert answer_of_change([str(asked)], changes) == f"With {asked}: {line}"


def test_a_change_that_does_not_help_says_so() -> None:
    line = first_line("pcie=3.0x16")
    assert line == "With pcie=3.0x16: no limit changes; n1>n2 stays at 3.97 GB/s"


@pytest.mark.parametrize(
    "text",
    ["port=", "port=FAST", "port=10", "port=9e9G", "hca+0", "hca+17", "pcie=7.0", "memory=9", "mtu=99999", "cpu=2"],
)
def test_what_cannot_be_computed_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--what-if"):
        parse_change(text, "--what-if")


@pytest.mark.parametrize("text", ["port=FDR", "hca+1", "memory=2400", "pcie=3", "mtu=2048"])
def test_a_change_of_a_part_that_no_node_has_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="changes none of the nodes"):
        changed_nodes({"n1": replace(node("n1"), interfaces=())}, (parse_change(text, "--what-if"),))
