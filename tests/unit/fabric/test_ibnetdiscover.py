"""Maps of InfiniBand fabrics from what ibnetdiscover prints."""

import re
from collections import Counter
from pathlib import Path

import pytest

from seatrial.commands.fabric.view import problems_report
from seatrial.fabric.ibnetdiscover import PROMPT, parse_fabric, parse_ibnetdiscover, parse_ports
from seatrial.fabric.map_check import check_map
from seatrial.model.errors import UsageError
from seatrial.model.fabric import DeviceKind, End
from seatrial.model.verdict import FindingKind, Verdict
from tests.support import fabrics
from tests.support.command_line import Seatrial
from tests.support.fabrics import fabric_text, port_list
from tests.support.paths import data

SMALL = data("fabric/small.ibnetdiscover")
PORTS = """\
CA   134  1 0x7cfe 4x EDR - SW  1719 10 0xb0 ( 'o0001 HCA-1' - 'leaf 1' )
SW  1719 10 0xb0 4x EDR - CA   134  1 0x7cfe ( 'leaf 1' - 'o0001 HCA-1' )
SW  1719 37 0xb0 4x ???                                    'leaf 1'
"""


def test_a_cable_stands_there_twice_and_is_one_link() -> None:
    found = parse_ibnetdiscover(SMALL)
    assert [(device.kind.value, device.host, device.rail) for device in found.devices] == [
        ("adapter", "n1", "mlx5_0"),
        ("adapter", "n2", "mlx5_0"),
        ("switch", "leaf1", ""),
    ]
    first, second = found.links
    assert (first.width, first.speed, first.other_width, first.other_speed) == (4, "EDR", 4, "EDR")
    assert (second.width, second.other_width) == (4, 2)  # what the node says, what the switch says
    assert found.by_key["S-00000000000000a1"].lid == 3
    assert found.unknown == ("nonsense here",)


def test_a_list_of_ports() -> None:
    found = parse_ports(PORTS)
    (link,) = found.links
    assert link.one == End(device="H-0000000000007cfe", port=1)
    assert (link.speed, link.other_speed) == ("EDR", "EDR")
    assert found.down == (End(device="S-00000000000000b0", port=37),)
    assert found.by_key["S-00000000000000b0"].name == "leaf 1"


def test_a_generated_fabric_of_612_adapters() -> None:
    found = parse_fabric(fabric_text("36 leaves x 16 hosts, 4 spines, 2 cables, 4xNDR, engines"))
    assert Counter(device.kind for device in found.devices) == {
        DeviceKind.ADAPTER: 36 * 16,
        DeviceKind.SWITCH: 40,
        DeviceKind.AGGREGATION: 40,
    }
    assert len(found.links) == 36 * 16 + 36 * 4 * 2 + 40
    rates = {(link.width, link.speed, link.other_width, link.other_speed) for link in found.links}
    assert (rates, found.unknown, found.down) == ({(4, "NDR", 4, "NDR")}, (), ())


def test_a_list_of_ports_says_what_the_map_says() -> None:
    text = fabric_text("3 leaves x 2 hosts, 2 spines, 4xHDR, engines")
    fabric = parse_fabric(text)
    listed = parse_fabric(port_list(text))
    assert listed.links == fabric.links
    assert [(device.key, device.name, device.kind) for device in listed.devices] == [
        (device.key, device.name, device.kind) for device in fabric.devices
    ]
    uplink = next(link for link in fabric.links if link.other.device.startswith("S-"))
    cut = parse_fabric(port_list(text, down=[uplink.one]))
    assert (len(cut.links), cut.down) == (len(fabric.links) - 1, (uplink.one,))


def test_what_is_no_fabric_is_refused() -> None:
    with pytest.raises(UsageError, match="hello"):
        parse_fabric("\nhello\n")


@pytest.mark.parametrize(
    "prompt",
    ["[root@n01 HPL]# ibnetdiscover", "$ sudo iblinkinfo", "root@n1:/# iblinkinfo -l", "n1> ibnetdiscover -p > map"],
)
@pytest.mark.parametrize("text", [SMALL.replace("nonsense here\n", ""), PORTS])
def test_lines_of_a_shell_are_passed_over(text: str, prompt: str) -> None:
    assert parse_fabric(f"{prompt}\n{text}[root@n01 HPL]# \n") == parse_fabric(text)


@pytest.mark.parametrize(
    "line", ["[root@n01 HPL]# hostname", "ibnetdiscover: failed", "# iberror: failed ibnetdiscover"]
)
def test_other_lines_are_not_of_a_shell(line: str) -> None:
    assert PROMPT.sub("", line) == line


@pytest.mark.parametrize("before", ["> ", "    ", "n1: "])
def test_a_map_out_of_a_mail_or_a_page(before: str, tmp_path: Path, seatrial: Seatrial) -> None:
    text = SMALL.replace("nonsense here\n", "")
    (tmp_path / "map").write_text(text)
    (tmp_path / "mail").write_text("".join(f"{before}{line}" for line in text.splitlines(keepends=True)))
    plain, mail = (seatrial("fabric", "show", tmp_path / name, "--json").data for name in ("map", "mail"))
    assert {**mail, "time": ""} == {**plain, "time": ""}


def test_another_text_is_refused_by_its_name(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "it").write_text('Errors for "n3"\n   GUID 0x100005 port 1: [PortRcvErrors == 7]\n')
    result = seatrial("fabric", "check", tmp_path / "it", code=64)
    assert "ibqueryerrors" in result.err and "--counters" in result.err


TREE = fabrics.fabric_text("3 leaves x 4 hosts, 2 spines, 2 cables, 4xNDR, engines")


def other_plane(text: str) -> str:
    """A fabric of the second rails, with GUIDs of its own and the same LIDs."""
    text = re.sub(r'"([SH])-0000', r'"\1-00ff', text)
    return re.sub(r"\((\w+)\)", r"(ff\1)", text).replace("mlx5_0", "mlx5_1").replace("leaf", "x").replace("spine", "y")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (TREE + other_plane(TREE), []),
        (TREE + TREE, []),
        (TREE.replace("lid 1050 ", "lid 1000 "), ["n1 mlx5_0[1] and n6 mlx5_0[1]"]),
        (TREE.replace("lid 1050 ", "lid 1000 ") + other_plane(TREE), ["n1 mlx5_0[1] and n6 mlx5_0[1]"]),
        (
            (TREE + other_plane(TREE)).replace("lid 1050 ", "lid 1000 "),
            ["n1 mlx5_0[1] and n6 mlx5_0[1]", "n1 mlx5_1[1] and n6 mlx5_1[1]"],
        ),
        (TREE + other_plane(TREE).replace("lid 101 ", "lid 2 "), ["x2 and y2"]),
    ],
)
def test_a_lid_is_unique_within_a_subnet(text: str, named: list[str]) -> None:
    problems = check_map(parse_fabric(text))
    assert [each.kind for each in problems] == [FindingKind.DUPLICATE_LID] * len(named)
    assert all(f"is used by {names}." in each.statement for each, names in zip(problems, named, strict=True))


@pytest.mark.parametrize("name", ["Quantum Mellanox Technologies", "MF0;switch-112233:MQM8700/U1", "switch"])
def test_switches_that_share_a_name_have_their_guid_behind_it(name: str) -> None:
    text = re.sub(r'"(?:leaf|spine)\d+"', f'"{name}"', fabrics.without_cable(TREE, "leaf2", "spine1"))
    (problem,) = check_map(parse_fabric(text))
    assert problem.subject.name == f"{name} S-0000000000000002 and {name} S-0000000000000100"
    assert [each.subject.name for each in check_map(parse_fabric(fabrics.without_cable(TREE, "leaf2", "spine1")))] == [
        "leaf2 and spine1"
    ]


def grouped(text: str) -> str:
    """What `ibnetdiscover -g` prints of it."""
    text = re.sub(r"^\[(\d+)\]", r"[\1][ext \1]", text, count=9, flags=re.MULTILINE)
    text = re.sub(r'^(\[.*?"\[(\d+)\])', r"\1[ext \2]", text, count=3, flags=re.MULTILINE)
    return f"\nChassis 1 (guid 0x1c34da0300100000)\n{text}\nNon-Chassis Nodes\n\nChassis 2\n"


@pytest.mark.parametrize("text", [TREE, fabrics.fabric_text("2 leaves x 8 hosts, 1 spines, 4xHDR")])
def test_what_is_grouped_by_chassis_is_the_same_map(text: str) -> None:
    fabric = parse_fabric(grouped(text))
    assert (fabric, check_map(fabric)) == (parse_fabric(text), ())


@pytest.mark.parametrize("line", ["[1]{ext 1}", "ibwarn: [1234] mad_rpc: timed out", "? [2]"])
def test_cables_of_one_end_are_open_while_lines_are_not_understood(line: str) -> None:
    own = next(text for text in TREE.splitlines() if text.startswith("["))
    assert [each.kind for each in check_map(parse_fabric(TREE.replace(f"{own}\n", "", 1)))] == [
        FindingKind.LINK_ENDS_DISAGREE
    ]
    fabric = parse_fabric(TREE.replace(own, line, 1))
    report = problems_report(fabric, check_map(fabric))
    assert report.word == Verdict.INCONCLUSIVE.value
    assert f"1 line of the map was not understood, the first: {line!r}" in report.sentence
