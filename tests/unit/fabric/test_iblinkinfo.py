"""The map that iblinkinfo prints is the one that ibnetdiscover prints."""

import re

import pytest

from seatrial.commands.fabric.view import problems_report
from seatrial.fabric.ibnetdiscover import SOURCE, parse_fabric
from seatrial.fabric.map_check import check_map
from seatrial.model.errors import UsageError
from seatrial.model.fabric import DeviceKind
from seatrial.model.verdict import FindingKind, Verdict

TEXT = """CA: n1 mlx5_0:
      0x0c42a103006c2f5a      4    1[  ] ==( 4X       53.125 Gbps Active/  LinkUp)==>       1   17[  ] "leaf1" ( )
CA: n2 mlx5_0:
      0x0c42a103006c2f6b      5    1[  ] ==( 2X       53.125 Gbps Active/  LinkUp)==>       1   18[  ] "leaf1" ( x )
Switch: 0x0c42a10300a0b2c4 leaf1:
           1   17[  ] ==( 4X       53.125 Gbps Active/  LinkUp)==>       4    1[  ] "n1 mlx5_0" ( )
           1   18[  ] ==( 2X       53.125 Gbps Active/  LinkUp)==>       5    1[  ] "n2 mlx5_0" ( Could be 4X)
           1   19[  ] ==(                Down/ Polling)==>             [  ] "" ( )
           1   20[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       9   36[  ] "spine1" ( )
"""


def test_devices_cables_rates_and_ports_that_are_down() -> None:
    fabric = parse_fabric(TEXT)
    names = {device.name: (device.kind, device.lid) for device in fabric.devices}
    assert names["n1 mlx5_0"] == (DeviceKind.ADAPTER, 4)
    assert names["leaf1"] == (DeviceKind.SWITCH, 1)
    assert len(fabric.links) == 3
    rates = sorted((link.width, link.speed) for link in fabric.links if link.width and link.listed_by_other)
    assert rates == [(2, "HDR"), (4, "HDR")]
    assert [end.port for end in fabric.down] == [19]
    assert (fabric.source, fabric.unknown, fabric.cut_off, fabric.doubles) == (SOURCE, (), False, ())
    assert sorted(address.lid for address in fabric.addresses) == [4, 5]


def test_a_last_line_without_a_newline_is_not_counted() -> None:
    fabric = parse_fabric(TEXT[:-20])
    assert fabric.cut_off
    assert len(fabric.links) == 2


def test_lines_of_something_else_are_unknown() -> None:
    assert parse_fabric(TEXT + "ibwarn: [7] mad_rpc: timed out\n").unknown == ("ibwarn: [7] mad_rpc: timed out",)
    with pytest.raises(UsageError, match="not a map of a fabric"):
        parse_fabric("CA: n1 mlx5_0:\nhello\n")


@pytest.mark.parametrize("ending", ["", TEXT[TEXT.index("           1   20[") :].replace("25.78125", "53.125")])
@pytest.mark.parametrize(
    ("rate", "remark", "supported"),
    [
        ("2X       53.125 Gbps", "Could be 4X", "4x HDR"),
        ("4X     25.78125 Gbps", "Could be 53.125 Gbps", "4x HDR"),
        ("2X     25.78125 Gbps", "Could be 4X Could be 53.125 Gbps", "2x EDR"),
        ("4X         10.0 Gbps", "Could be FDR10", "4x FDR10"),
    ],
)
def test_a_link_that_could_be_faster_is_a_fault_without_peers_and_in_part_of_a_map(
    rate: str, remark: str, supported: str, ending: str
) -> None:
    line = f'==( {rate} Active/  LinkUp)==>       %s"%s" ( {remark})\n'
    text = (
        "CA: n1 mlx5_0:\n"
        + f"      0x0c42a103006c2f5a      4    1[  ] {line % ('1   17[  ] ', 'leaf1')}"
        + "Switch: 0x0c42a10300a0b2c4 leaf1:\n"
        + f"           1   17[  ] {line % ('4    1[  ] ', 'n1 mlx5_0')}"
        + ending
    )
    fabric = parse_fabric(text)
    (problem,) = (problem for problem in check_map(fabric) if problem.kind is not FindingKind.MAP_INCOMPLETE)
    narrow = supported == "2x EDR"  # fewer lanes than any cable of EDR has
    assert problem.kind is (FindingKind.LINK_NARROW if narrow else FindingKind.LINK_BELOW_SUPPORT)
    assert supported in problem.statement
    assert problems_report(fabric, check_map(fabric)).exit_code == 1


def test_a_remark_without_a_rate_is_no_fault() -> None:
    fabric = parse_fabric(TEXT.replace("2X", "4X").replace("( Could be 4X)", "( )").replace("25.78125", "53.125"))
    assert [problem.kind for problem in check_map(fabric)] == [FindingKind.MAP_INCOMPLETE]


def switch_lines(name: str, lid: int, first_adapter: int, other: int, *, slow: int = 0) -> str:
    """A switch with eight adapters and two cables to another switch; one adapter's cable may be narrow."""
    lines = [f"Switch: 0x0c42a10300a0b2{lid:02x} {name}:"]
    for port in range(1, 9):
        width, remark = ("2X", "Could be 4X") if port == slow else ("4X", "")
        ends = f'{first_adapter + port:>7}    1[  ] "n{first_adapter + port} mlx5_0" ( {remark})'
        lines.append(f"{lid:>12} {port:>4}[  ] ==( {width}       53.125 Gbps Active/  LinkUp)==> {ends}")
    for port in (9, 10):
        ends = f'{other:>7} {port:>4}[  ] "leaf{other}" ( )'
        lines.append(f"{lid:>12} {port:>4}[  ] ==( 4X       53.125 Gbps Active/  LinkUp)==> {ends}")
    return "\n".join(lines) + "\n"


def test_with_switches_only_their_lines_are_of_both_ends_of_a_cable() -> None:
    """`iblinkinfo --switches-only` prints no lines of adapters, and none is missing."""
    healthy = parse_fabric(switch_lines("leaf1", 1, 20, 2) + switch_lines("leaf2", 2, 40, 1))
    assert len(healthy.links) == 18
    assert check_map(healthy) == ()
    (narrow,) = check_map(parse_fabric(switch_lines("leaf1", 1, 20, 2, slow=3) + switch_lines("leaf2", 2, 40, 1)))
    assert (narrow.kind, "n23 mlx5_0" in narrow.statement) == (FindingKind.LINK_BELOW_SUPPORT, True)


def test_a_switch_without_lines_is_missing_although_adapters_are_not() -> None:
    (missing,) = check_map(parse_fabric(switch_lines("leaf1", 1, 20, 2)))
    assert (missing.kind, "leaf2" in missing.statement) == (FindingKind.MAP_INCOMPLETE, True)
    assert "n21" not in missing.statement


@pytest.mark.parametrize(
    ("slower", "remark", "verdict"),
    [
        ((3,), "", Verdict.NOTE),  # an older adapter: the tool compares what both ends support
        ((3, 5), "", Verdict.NOTE),
        ((9, 10), "", None),  # both cables between the switches
        ((9,), "", Verdict.MISCONFIGURED),  # one of two between the same ports' devices
        ((3,), "Could be 53.125 Gbps", Verdict.MISCONFIGURED),
        ((), "", None),
    ],
)
def test_a_slower_cable_that_the_tool_does_not_remark_on_is_a_note(
    slower: tuple[int, ...], remark: str, verdict: Verdict | None
) -> None:
    text = switch_lines("leaf1", 1, 20, 2) + switch_lines("leaf2", 2, 40, 1)
    for port in slower:
        text = re.sub(
            rf"^( +1 +{port}\[.*)  53.125 (.*)\( \)$", rf"\1 25.78125 \2( {remark})", text, flags=re.MULTILINE
        )
        if port > 8:
            text = re.sub(rf"^( +2 +{port}\[.*)  53.125 ", r"\1 25.78125 ", text, flags=re.MULTILINE)
    assert {problem.verdict for problem in check_map(parse_fabric(text))} == ({verdict} if verdict else set())


LEAVES = ((1, "leaf1"), (2, "leaf2"))


def pair_of_leaves(states: dict[tuple[str, int], str]) -> str:
    """`iblinkinfo` of two leaf switches with four adapters each and two cables between them.

    `states`: port of a leaf switch -> state of both ends of its cable; the others are Active.
    """
    cables = [((leaf, port), (f"n{4 * lid - 4 + port} mlx5_0", 1)) for lid, leaf in LEAVES for port in range(1, 5)]
    cables += [(("leaf1", port), ("leaf2", port)) for port in (9, 10)]
    lines: dict[str, list[str]] = {}
    lids = {name: lid for lid, name in LEAVES} | {f"n{number} mlx5_0": 20 + number for number in range(1, 9)}
    for ends in cables:
        state = states.get(ends[0], "Active")
        for (name, port), (far, far_port) in (ends, ends[::-1]):
            guid = "" if name.startswith("leaf") else f"0x0c42a103006c2f{lids[name]:02x}"
            lines.setdefault(name, []).append(
                f"  {guid:>18} {lids[name]:>6} {port:>4}[  ] ==( 4X       53.125 Gbps {state}/  LinkUp)==> "
                f'{lids[far]:>6} {far_port:>4}[  ] "{far}" ( )\n'
            )
    heads = {name: f"Switch: 0x0c42a10300a0b2{lids[name]:02x} {name}:\n" for _, name in LEAVES}
    return "".join(heads.get(name, f"CA: {name}:\n") + "".join(own) for name, own in lines.items())


def test_active_ports_are_no_fault() -> None:
    assert check_map(parse_fabric(pair_of_leaves({}))) == ()


@pytest.mark.parametrize("state", ["Initialize", "Armed", "Down", "ActDefer"])
@pytest.mark.parametrize(
    ("port", "subject"),
    [
        (("leaf1", 3), "n3 mlx5_0[1] - leaf1[3]"),
        (("leaf2", 4), "n8 mlx5_0[1] - leaf2[4]"),
        (("leaf1", 9), "leaf1[9] - leaf2[9]"),
    ],
)
def test_a_cable_of_ports_that_are_not_active_is_not_usable(port: tuple[str, int], subject: str, state: str) -> None:
    fabric = parse_fabric(pair_of_leaves({port: state}))
    (problem,) = check_map(fabric)
    assert (problem.kind, problem.subject.name) == (FindingKind.LINK_NOT_ACTIVE, subject)
    assert f"is {state}, not Active" in problem.statement
    assert problems_report(fabric, check_map(fabric)).exit_code == 1


@pytest.mark.parametrize("far", ["n3 mlx5_0", "n8 mlx5_0", "leaf1"])
def test_the_state_of_one_end_suffices(far: str) -> None:
    lines = pair_of_leaves({}).splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if f'"{far}"' in line)
    lines[place] = lines[place].replace("Active", "Armed")
    (problem,) = check_map(parse_fabric("".join(lines)))
    assert problem.kind is FindingKind.LINK_NOT_ACTIVE


def test_a_switch_is_named_once_if_none_of_its_adapters_is_active() -> None:
    (problem,) = check_map(parse_fabric(pair_of_leaves({("leaf2", port): "Initialize" for port in range(1, 5)})))
    assert (problem.kind, problem.subject.name) == (FindingKind.LINK_NOT_ACTIVE, "leaf2")
    assert "subnet manager" in problem.remedy


@pytest.mark.parametrize(("state", "is_fault"), [("Initialize", True), ("Armed", True), ("Down", False)])
def test_a_port_with_a_link_to_which_nothing_answers(state: str, *, is_fault: bool) -> None:
    line = f'                          1    7[  ] ==(                {state}/  LinkUp)==>             [  ] "" ( )\n'
    ahead, head, rest = pair_of_leaves({}).partition("Switch: 0x0c42a10300a0b201 leaf1:\n")
    problems = check_map(parse_fabric(ahead + head + line + rest))
    assert [(each.kind, each.subject.name) for each in problems] == [
        (FindingKind.LINK_NOT_ACTIVE, "leaf1[7]")
    ] * is_fault


def test_adapters_without_a_lid_are_joined_by_their_names() -> None:
    """A port that no subnet manager has configured has LID 0, and so have others."""
    text = pair_of_leaves({("leaf1", 3): "Initialize", ("leaf2", 4): "Initialize"})
    for lid in (23, 28):
        text = text.replace(f" {lid:>6}    1[", "      0    1[")
    problems = [problem.subject.name for problem in check_map(parse_fabric(text))]
    assert problems == ["2 ports", "n3 mlx5_0[1] - leaf1[3]", "n8 mlx5_0[1] - leaf2[4]"]


LOST = ("LinkErrorRecovery", "Polling", "Sleep", "PortConfigurationTraining", "Disabled", "PhyTest")


@pytest.mark.parametrize(
    ("state", "physical", "kind"),
    [
        ("Active", "LinkUp", None),
        *(("Active", physical, FindingKind.LINK_FAILING) for physical in LOST),
        ("Initialize", "LinkErrorRecovery", FindingKind.LINK_FAILING),
        ("Down", "LinkErrorRecovery", FindingKind.LINK_FAILING),
        ("Armed", "LinkUp", FindingKind.LINK_NOT_ACTIVE),
        ("Down", "Polling", FindingKind.LINK_NOT_ACTIVE),
        ("Down", "Disabled", FindingKind.LINK_NOT_ACTIVE),
    ],
)
@pytest.mark.parametrize("port", [("leaf1", 3), ("leaf1", 9)])
def test_both_states_of_a_port_count(
    port: tuple[str, int], state: str, physical: str, kind: FindingKind | None
) -> None:
    text = pair_of_leaves({port: "Marked"}).replace("Marked/  LinkUp", f"{state}/{physical}")
    problems = check_map(parse_fabric(text))
    assert [problem.kind for problem in problems] == [kind] * (kind is not None)
    if kind is FindingKind.LINK_FAILING:
        assert f"is {state}/{physical}" in problems[0].statement
        assert "sminfo" not in problems[0].remedy


@pytest.mark.parametrize(
    ("states", "finding"),
    [
        ("Down/ Polling", None),
        ("Down/   Sleep", None),
        ("Down/PortConfigurationTraining", None),
        ("Down/Disabled", (FindingKind.LINK_NOT_ACTIVE, Verdict.NOTE)),
        ("Down/ PhyTest", (FindingKind.LINK_NOT_ACTIVE, Verdict.NOTE)),
        ("Down/LinkErrorRecovery", (FindingKind.LINK_FAILING, Verdict.MISCONFIGURED)),
    ],
)
def test_the_states_of_a_port_to_which_nothing_answers(
    states: str, finding: tuple[FindingKind, Verdict] | None
) -> None:
    lines = [f'      1 {port:>4}[  ] ==(                {states})==>             [  ] "" ( )\n' for port in (7, 8)]
    ahead, head, rest = pair_of_leaves({}).partition("Switch: 0x0c42a10300a0b201 leaf1:\n")
    fabric = parse_fabric(ahead + head + "".join(lines) + rest)
    problems = check_map(fabric)
    assert {(each.kind, each.verdict) for each in problems} == ({finding} if finding else set())
    assert problems_report(fabric, problems).word == (finding[1] if finding else Verdict.PASS).value


def test_a_state_without_a_name_withholds_the_pass() -> None:
    fabric = parse_fabric(pair_of_leaves({}).replace("Active/  LinkUp", "Active/?( 9 )", 1))
    assert problems_report(fabric, check_map(fabric)).word != Verdict.PASS.value
