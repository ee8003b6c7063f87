"""Links of an Omni-Path fabric as opareport prints them, and what its halves can exchange."""

from pathlib import Path

import pytest

from seatrial.fabric.bisection import bisection
from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.map_check import check_map
from seatrial.model.errors import UsageError
from seatrial.model.fabric import DeviceKind
from tests.support.command_line import Seatrial

HEAD = """\
Getting All Node Records...
Done Getting All Node Records
Link Summary

12 Links in Fabric:
Rate NodeGUID          Port Type Name
"""


def link(one: str, other: str, rate: str = "100g") -> str:
    """`n1:1` and `sw1:3` as two lines; switches have names that begin with s."""
    lines = []
    for word, end in ((f"{rate:4s}", one), ("<-> ", other)):
        name, _, port = end.partition(":")
        guid = 0x0011750101000000 + sum(ord(letter) << (8 * place) for place, letter in enumerate(name))
        kind = "SW" if name.startswith("s") else "FI"
        lines.append(f"{word} 0x{guid:016x} {port:>3s} {kind}   {name}{'' if kind == 'SW' else ' hfi1_0'}\n")
    return "".join(lines)


def tree(uplinks: int = 2, rate: str = "100g") -> str:
    """Two leaves with four adapters each, and two spines, so many cables to each."""
    links = [link(f"n{leaf}{node}:1", f"sl{leaf}:{node + 1}") for leaf in range(2) for node in range(4)]
    links += [
        link(f"sl{leaf}:{10 * spine + cable + 10}", f"ss{spine}:{10 * leaf + cable + 1}", rate)
        for leaf in range(2)
        for spine in range(2)
        for cable in range(uplinks)
    ]
    return HEAD + "".join(links) + "-" * 79 + "\n"


def test_every_link_is_read_with_its_ends() -> None:
    fabric = parse_fabric(tree())
    kinds = [device.kind for device in fabric.devices]
    assert (kinds.count(DeviceKind.SWITCH), kinds.count(DeviceKind.ADAPTER), len(fabric.links)) == (4, 8, 16)
    assert {(each.width, each.speed) for each in fabric.links} == {(4, "OPA100")}
    assert fabric.unknown == () and not fabric.cut_off and fabric.source == "opareport"
    assert check_map(fabric) == ()


def test_what_the_manager_of_a_switch_takes_is_beside_the_number_of_adapters(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    links = [link(f"n{leaf}_{node}:1", f"sl{leaf}:{node + 1}") for leaf in range(5) for node in range(30)]
    links += [link(f"sl{leaf}:40", f"ss0:{leaf + 1}") for leaf in range(5)]
    (tmp_path / "small.txt").write_text(tree())
    (tmp_path / "large.txt").write_text(HEAD + "".join(links))
    small, large = (seatrial("fabric", "show", tmp_path / name).out for name in ("small.txt", "large.txt"))
    line = "the manager in a switch takes 128 adapters at most"
    assert small.splitlines()[1].strip() == line
    assert large.splitlines()[0].startswith("6 switches, 150 adapters")
    assert large.splitlines()[1].strip() == f"{line}, so that of a host must be the master"


def test_a_link_of_fewer_lanes_is_named() -> None:
    text = tree().replace("100g", "50g", 1)
    (finding,) = check_map(parse_fabric(text))
    assert finding.kind == "link-narrow"


def test_a_text_that_is_cut_off_is_incomplete() -> None:
    whole = tree()
    lines = whole.splitlines(keepends=True)
    assert parse_fabric("".join(lines[:-2])).cut_off
    assert parse_fabric("".join((*lines[:8], "strange\n", *lines[8:]))).unknown == ("strange",)


@pytest.mark.parametrize("text", [HEAD, "", "100g 0x0011750101000000 1 FI n1\n"])
def test_a_text_without_links_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a map"):
        parse_fabric(text)


@pytest.mark.parametrize(
    ("uplinks", "rate", "gigabits", "share"), [(2, "100g", 400, 1.0), (1, "100g", 200, 0.5), (2, "25g", 100, 0.25)]
)
def test_bisection_by_arithmetic(uplinks: int, rate: str, gigabits: float, share: float) -> None:
    half = bisection(parse_fabric(tree(uplinks, rate)))
    assert half is not None
    assert half.bits_per_s == pytest.approx(gigabits * 1e9)
    assert half.adapters == 4
    assert half.share == pytest.approx(share)


def test_no_bisection_where_it_is_not_known() -> None:
    assert bisection(parse_fabric(tree(rate="300g"))) is None, "an unknown rate"
    third = tree() + link("ss0:30", "stop:1") + link("ss1:30", "stop:2")
    assert bisection(parse_fabric(third)) is None, "three tiers"
    alone = bisection(parse_fabric(HEAD + link("n1:1", "sl0:1") + link("n2:1", "sl0:2")))
    assert alone is not None and alone.adapters == 1
    assert alone.bits_per_s == pytest.approx(100e9)
