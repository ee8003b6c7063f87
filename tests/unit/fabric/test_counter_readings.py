"""Readings of port counters by different tools, and the errors that rise between two of them."""

from pathlib import Path

import pytest

from seatrial.fabric.counters import parse_counters, read_counter_text, rising
from tests.support.command_line import Seatrial
from tests.support.paths import data

FABRIC = data("fabric/two-nodes.ibnetdiscover")
QUERY_ERRORS = data("fabric/ibqueryerrors.txt")
"""ibqueryerrors --data --details -r of infiniband-diags 44 on ibsim."""
NO_ERRORS = """
## Summary: 7 nodes checked, 0 bad nodes found
##          16 ports checked, 0 ports have errors beyond threshold
## Thresholds:
## Suppressed:
"""
IBDIAGNET = data("fabric/ibdiagnet2.db_csv")
OMNI_PATH = data("fabric/opapmaquery.txt")
"""The layout of opapmaquery (opa-ff, PrintStlPortStatusRsp)."""
EXTENDED = data("fabric/perfquery-extended.txt")


def grown(before: str, after: str) -> list[str]:
    """The statements about errors that rose."""
    first, second = read_counter_text(before), read_counter_text(after)
    found = rising(first.ports, second.ports, second.names, errors_only=second.errors_only)
    return [one.statement for one in found]


def test_ibqueryerrors_names_the_device_and_leaves_out_what_is_zero() -> None:
    before, after = QUERY_ERRORS.format(3), QUERY_ERRORS.format(7)
    assert grown(before, after) == [
        "Error counters rise at n3[1]: PortRcvErrors +4.",
        "Error counters rise at leaf1[3]: LinkDownedCounter +4.",
    ]
    assert grown(NO_ERRORS, before)[1] == (
        "Error counters rise at leaf1[3]: SymbolErrorCounter up to 250, LinkDownedCounter up to 3."
    )
    assert grown(before, before) == grown(before, NO_ERRORS) == []


def test_a_counter_that_fell_and_is_not_zero_rose_since_a_reset() -> None:
    assert grown(QUERY_ERRORS.format(7), QUERY_ERRORS.format(3)) == [
        "Error counters rise at n3[1]: PortRcvErrors 3 since a reset.",
        "Error counters rise at leaf1[3]: LinkDownedCounter 3 since a reset.",
    ]


def test_ibdiagnet_prefers_counters_that_do_not_saturate() -> None:
    before, after = IBDIAGNET.format(1, 70_000), IBDIAGNET.format(3, 70_005)
    assert grown(before, after) == [
        "Error counters rise at leaf1/U1/P3: SymbolErrorCounter +5, LinkDownedCounter +2, PortRcvErrors +2, "
        "PortLocalPhysicalErrors +2."
    ]
    assert grown(before, before) == []


def test_omni_path_counts_errors_of_the_port_and_not_what_the_link_repairs() -> None:
    before, after = OMNI_PATH.format(1), OMNI_PATH.format(9)
    assert grown(before, after) == ["Error counters rise at Omni-Path port 1: LinkDownedCounter +8, PortRcvErrors +8."]
    assert read_counter_text(after).ports["Omni-Path", 1]["PortXmitDiscards"] == 4


def test_extended_counters_of_perfquery_go_on_where_others_saturate() -> None:
    before, after = EXTENDED.format(70_000, 2), EXTENDED.format(70_009, 3)
    assert grown(before, after) == [
        "Error counters rise at lid 7[1]: SymbolErrorCounter +9, PortLocalPhysicalErrors +1."
    ]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (QUERY_ERRORS.format(1), QUERY_ERRORS.format(2), "n3[1]: PortRcvErrors +1"),
        (NO_ERRORS, QUERY_ERRORS.format(2), "leaf1[3]: SymbolErrorCounter up to 250"),
        (IBDIAGNET.format(1, 1), IBDIAGNET.format(2, 1), "leaf1[3]: LinkDownedCounter +1"),
        (OMNI_PATH.format(1), OMNI_PATH.format(2), "Omni-Path port 1: LinkDownedCounter +1"),
    ],
)
def test_the_command_reads_them(tmp_path: Path, seatrial: Seatrial, before: str, after: str, says: str) -> None:
    for name, text in (("map", FABRIC), ("before", before), ("after", after)):
        (tmp_path / name).write_text(text)
    words = ["fabric", "check", str(tmp_path / "map"), "--counters", str(tmp_path / "before"), str(tmp_path / "after")]
    assert says in " ".join(seatrial(*words, code=1).out.split())
    (tmp_path / "before").write_text("# Port counters: Lid 99 port 9\nSymbolErrorCounter:....1\n")
    said = seatrial(*words, code=64).err
    assert "Read both with the same tool" in said or "no port in common" in said


def test_counts_may_have_leading_zeros() -> None:
    read = parse_counters("# Port counters: Lid 4 port 1\nPortRcvErrors:....................0999999\n")
    assert read == {(4, 1): {"PortRcvErrors": 999999}}
