"""Node lists in the manners of naming that sites have."""

import pytest

from seatrial.model.node_list import expand, node_list


@pytest.mark.parametrize(
    ("text", "count", "first", "last"),
    [
        ("nid[001000-001127]", 128, "nid001000", "nid001127"),
        ("x1000c0s[0-7]b0n0", 8, "x1000c0s0b0n0", "x1000c0s7b0n0"),
        ("x[1000-1001]c[0-7]s[0-7]b[0-1]n[0-1]", 512, "x1000c0s0b0n0", "x1001c7s7b1n1"),
        ("cn-[01-16],login1", 17, "cn-01", "login1"),
    ],
)
def test_names_of_cray_and_of_others(text: str, count: int, first: str, last: str) -> None:
    """Cray's nid numbers, and the places (cabinet, chassis, slot, board, node) that its hosts can be called by."""
    nodes = expand(text)
    assert (len(nodes), nodes[0], nodes[-1]) == (count, first, last)
    assert sorted(expand(node_list(nodes))) == sorted(nodes)


def test_a_folded_list_is_one_that_slurm_reads() -> None:
    assert node_list(expand("nid[001000-001127]")) == "nid[001000-001127]"
    assert "]b" not in node_list(expand("x1000c0s[0-7]b0n0"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"n[1-{'9' * 4301}]", "more than"),
        (f"n{'9' * 4301}", "more than 18 digits"),
        (f"x[1-9]{'9' * 4301}", "more than 18 digits"),
        ("n[0-9999_99]", "not a list of numbers and ranges"),
        ("[0-9999_99]", "not a list of numbers and ranges"),
        ("n[1-2,0-9999_99]", "not a list of numbers and ranges"),
        ("[1-99999999999]", "more than 65,536 nodes"),
        ("n[[1-3]]", "illegal closing bracket"),
    ],
)
def test_numbers_that_would_expand_for_ever_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        expand(text)


def test_ranges_that_slurm_and_clustershell_write_are_read() -> None:
    assert len(expand("n[1-5/2, 9,011-012]m,x")) == 7


def test_folding_expands_nothing() -> None:
    """ClusterShell would read 0-9999_99 as a million nodes."""
    assert node_list(["n[0-9999_99]", "m1"]) == "n[0-9999_99],m1"
