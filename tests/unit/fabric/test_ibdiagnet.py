"""ibdiagnet: the map in its db_csv, the problems in its logs, and `iblinkinfo -l`, which has one line for each link."""

import re

import pytest

from seatrial.benchmarks.catalogue import recognised
from seatrial.commands.fabric.view import problems_report
from seatrial.fabric.ibnetdiscover import NoMapError, parse_fabric
from seatrial.fabric.map_check import check_map
from seatrial.model.errors import UsageError
from seatrial.model.fabric import DeviceKind
from seatrial.model.verdict import FindingKind, Verdict

LEAF, FIRST, SECOND = "0x0c42a1030a0b2c40", "0x0c42a103006c0001", "0x0c42a103006c0002"
HDR, EDR, UP_TO_HDR, UP_TO_4X = 1024, 512, 1799, 19


def _db_csv(
    *,
    speed: int = HDR,
    width: int = 2,
    states: tuple[str, str] | None = None,
    errors: str = "",
    column: str = ",PortState",
    active: str = ",4",
) -> str:
    """`states`: of the second adapter's port and that of the switch; None: the table has no such column."""
    column, active = (column, active) if states else ("", "")
    near, far = (f",{state}" for state in states) if states else ("", "")
    return f"""START_NODES
NodeDesc,NumPorts,NodeType,SystemImageGUID,NodeGUID
"MF0;leaf, row 1:MQM8700/U1",41,2,{LEAF},{LEAF}
"a1 mlx5_0",1,1,{FIRST},{FIRST}
"a2 mlx5_0",1,1,{SECOND},{SECOND}
END_NODES

START_PORTS
NodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkWidthSup,LinkSpeedActv,LinkSpeedSup{column}
{LEAF},{LEAF},3,1,2,{UP_TO_4X},{HDR},{UP_TO_HDR}{active}
{LEAF},{LEAF},4,1,{width},{UP_TO_4X},{speed},{UP_TO_HDR}{far}
{FIRST},{FIRST},1,8,2,{UP_TO_4X},{HDR},{UP_TO_HDR}{active}
{SECOND},{SECOND},1,9,{width},{UP_TO_4X},{speed},{UP_TO_HDR}{near}
END_PORTS

START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
{FIRST},1,{LEAF},3
{SECOND},1,{LEAF},4
END_LINKS
{errors}"""


def test_the_map_of_a_db_csv() -> None:
    fabric = parse_fabric(_db_csv())
    assert {device.name: device.kind for device in fabric.devices} == {
        "MF0;leaf, row 1:MQM8700/U1": DeviceKind.SWITCH,
        "a1 mlx5_0": DeviceKind.ADAPTER,
        "a2 mlx5_0": DeviceKind.ADAPTER,
    }
    assert [(link.width, link.speed, link.other_speed) for link in fabric.links] == [(4, "HDR", "HDR")] * 2
    assert [address.lid for address in fabric.addresses] == [8, 9]
    assert problems_report(fabric, check_map(fabric)).word == Verdict.PASS.value


@pytest.mark.parametrize(
    ("own", "others", "kinds"),
    [
        ("1", "1", []),
        ("1", "0", []),
        ("1", "77", []),  # what other ports of a switch have is not defined
        (None, "0", []),
        (None, "1", []),
        (None, "8", [FindingKind.DUPLICATE_LID]),
        ("8", "8", [FindingKind.DUPLICATE_LID]),
        ("9", "0", [FindingKind.DUPLICATE_LID]),
        ("0", "1", [FindingKind.NO_LID]),
        ("65535", "0", [FindingKind.NO_LID]),
    ],
)
def test_the_lid_of_a_switch_is_that_of_its_port_0(own: str | None, others: str, kinds: list[FindingKind]) -> None:
    text = re.sub(rf"^({LEAF},{LEAF},\d),1,", rf"\1,{others},", _db_csv(), flags=re.MULTILINE)
    if own is not None:
        text = text.replace("END_PORTS", f"{LEAF},{LEAF},0,{own},2,{UP_TO_4X},{HDR},{UP_TO_HDR}\nEND_PORTS")
    assert [problem.kind for problem in check_map(parse_fabric(text))] == kinds


def test_cables_without_any_rate_do_not_pass() -> None:
    before, _, rest = _db_csv().partition("START_PORTS\n")
    fabric = parse_fabric(before + rest.partition("END_PORTS\n")[2])
    report = problems_report(fabric, check_map(fabric))
    assert report.word == Verdict.INCONCLUSIVE.value
    assert report.sentence == "2 of 2 cables without a rate; none missing, and no other fault."


@pytest.mark.parametrize(
    ("speed", "width", "kind"),
    [
        (EDR, 2, FindingKind.LINK_BELOW_SUPPORT),
        (HDR, 1, FindingKind.LINK_NARROW),
        (7, 2, FindingKind.LINK_RATE_UNKNOWN),
    ],
)
def test_a_link_of_a_db_csv_below_what_both_ends_support(speed: int, width: int, kind: FindingKind) -> None:
    (problem,) = check_map(parse_fabric(_db_csv(speed=speed, width=width)))
    assert (problem.kind, "a2 mlx5_0[1]" in problem.subject.name) == (kind, True)


@pytest.mark.parametrize(
    ("states", "says"),
    [
        (("4", "4"), ""),
        (("N/A", "N/A"), ""),
        (("2", "2"), "Initialize"),
        (("3", "3"), "Armed"),
        (("2", "3"), "Armed and Initialize"),
        (("4", "3"), "Armed"),
        (("1", "1"), "Down"),
    ],
)
def test_the_states_of_ports_of_a_db_csv(states: tuple[str, str], says: str) -> None:
    named = [(each.kind, each.statement) for each in check_map(parse_fabric(_db_csv(states=states)))]
    says = f"a2 mlx5_0[1] - MF0;leaf, row 1:MQM8700/U1[4] is {says}, not Active: it carries no data." if says else ""
    assert named == ([(FindingKind.LINK_NOT_ACTIVE, says)] if says else [])


@pytest.mark.parametrize(
    ("states", "kind"),
    [
        (("4,5", "4,5"), None),
        (("4,6", "4,5"), FindingKind.LINK_FAILING),
        (("4,5", "4,2"), FindingKind.LINK_FAILING),
        (("1,3", "1,2"), FindingKind.LINK_NOT_ACTIVE),
        (("2,5", "2,5"), FindingKind.LINK_NOT_ACTIVE),
        (("N/A,N/A", "4,5"), None),
    ],
)
def test_the_physical_states_of_ports_of_a_db_csv(states: tuple[str, str], kind: FindingKind | None) -> None:
    text = _db_csv(states=states, column=",PortState,PortPhyState", active=",4,5")
    assert [each.kind for each in check_map(parse_fabric(text))] == [kind] * (kind is not None)


def test_the_warning_of_a_db_csv_of_a_state_counts_where_no_port_has_one() -> None:
    warning = f"""
START_WARNINGS_LINKS
Scope,NodeGUID,PortGUID,PortNumber,EventName,Summary
PORT,{SECOND},{SECOND},1,LINK_LOGICAL_STATE_NOT_ACTIVE,"Logical state of the link is INIT"
END_WARNINGS_LINKS
"""
    for states, subject in ((None, "a2 mlx5_0[1]"), (("2", "2"), "a2 mlx5_0[1] - MF0;leaf, row 1:MQM8700/U1[4]")):
        (problem,) = check_map(parse_fabric(_db_csv(states=states, errors=warning)))
        assert (problem.kind, problem.subject.name) == (FindingKind.LINK_NOT_ACTIVE, subject)


@pytest.mark.parametrize(
    ("text", "is_fault"),
    [
        ('link with LOG=INI found at direct path "0,1"', True),
        ("Link: a4/U1/P1<-->leaf2/P28 - Logical state of the link is not ACTIVE", True),
        ("The local link is in INIT state, no PM counter reading could take place", True),
        ("Links INIT Check finished with errors", False),
        ("a2/mlx5_0 - Node with Devid:4129(0x1021) has FW version 28.1", False),
    ],
)
def test_a_log_warns_of_links_that_are_not_active(text: str, *, is_fault: bool) -> None:
    log = f"-I- Discovering ... 12 nodes (4 Switches & 8 CA-s) discovered.\n-W- {text}\n"
    assert [each.kind for each in check_map(parse_fabric(log))] == [FindingKind.LINK_NOT_ACTIVE] * is_fault


def test_a_db_csv_that_ends_in_its_links_is_refused() -> None:
    text = _db_csv()
    with pytest.raises(UsageError, match="ends before its table of links"):
        parse_fabric(text[: text.index("END_LINKS")])


def test_problems_that_a_db_csv_lists() -> None:
    errors = f"""START_ERRORS_PORT_COUNTERS
Scope,NodeGUID,PortGUID,PortNumber,EventName,Summary
PORT,{FIRST},{FIRST},1,PM,"""
    for text, kind in (
        ('"""symbol_error_counter"" increased during the run (difference value=12)"', FindingKind.LINK_ERRORS_RISING),
        ('"Cable High Temperature Alarm reported"', FindingKind.FABRIC_ERROR),
    ):
        (problem,) = check_map(parse_fabric(_db_csv(errors=f"\n{errors}{text}\nEND_ERRORS_PORT_COUNTERS\n")))
        assert (problem.kind, problem.subject.name) == (kind, "a1 mlx5_0[1]")


LOG = """-I- Discovering ... 7 nodes (2 Switches & 5 CA-s) discovered.
-I- Links Check finished successfully
-E- Ports counters Difference Check (during run) finished with errors
-E- a7/mlx5_0/P1 - "symbol_error_counter" increased during the run (difference value=31,difference allowed threshold=1)
-W- a2/mlx5_0 - Node with Devid:4129(0x1021) has FW version 28.1 while the latest FW version is 28.2
-W- Link: a4/U1/P1<-->leaf2/P28 - Unexpected actual link width 1x (therefore final width should be 4x)
-E- Routers: no response for MAD
-I- Stage                     Warnings   Errors     Comment
-I- Port Counters             0          1
"""


def test_a_log_names_its_errors_and_slow_links_and_no_other_warnings() -> None:
    problems = check_map(parse_fabric(LOG))
    assert [(problem.kind, problem.subject.name) for problem in problems] == [
        (FindingKind.LINK_ERRORS_RISING, "a7/mlx5_0/P1"),
        (FindingKind.LINK_BELOW_SUPPORT, "a4/U1/P1 - leaf2/P28"),
        (FindingKind.FABRIC_ERROR, "all"),
    ]


def test_a_part_of_a_log_that_has_no_stages() -> None:
    """Counters of a port are a list; that of packets which multicast drops is no error."""
    text = """-E- lid=0x0008 dev=51000 Se468a303005527c3/Ne468a303005527c0/P27
 Performance Monitor counter         : Value
 port_rcv_switch_relay_errors        : 65535     (overflow)
-E- lid=0x0008 dev=51000 Se468a303005527c3/Ne468a303005527c0/P31
 Performance Monitor counter         : Value
 port_xmit_discard                   : 65535     (overflow)
-E- S200bc703001df4bc/U1 - Node has wrong FW version 2.11.1250.
"""
    problems = check_map(parse_fabric(text))
    assert [(problem.kind, problem.subject.name) for problem in problems] == [
        (FindingKind.LINK_ERRORS_RISING, "Se468a303005527c3/Ne468a303005527c0/P31"),
        (FindingKind.FABRIC_ERROR, "S200bc703001df4bc/U1"),
    ]
    with pytest.raises(NoMapError):
        parse_fabric(text.replace("-E- ", "E: "))


def test_a_log_without_errors_is_no_pass() -> None:
    fabric = parse_fabric("".join(line for line in LOG.splitlines(keepends=True) if line.startswith("-I-")))
    report = problems_report(fabric, check_map(fabric))
    assert (report.word, report.exit_code) == (Verdict.NOT_RUN.value, 2)
    assert "db_csv" in report.sentence


def test_the_log_of_version_1() -> None:
    text = """-I- Discovering ... 12 nodes (4 Switches & 8 CA-s) discovered.
-W- lid=0x0007 guid=0x0002c9020025874a dev=25218 Port=1
      Performance Monitor counter     : Value
      symbol_error_counter            : 0x1234
-W- link with PHY=1x found at direct path "0,1"
    From: a Switch PortGUID=0x000b8cffff002347 Port=5
    To:   a3/U1 PortGUID=0x0002c90200258799 Port=1
"""
    problems = check_map(parse_fabric(text))
    assert [(problem.kind, problem.subject.name) for problem in problems] == [
        (FindingKind.LINK_ERRORS_RISING, "0x0002c9020025874a[1]"),
        (FindingKind.LINK_BELOW_SUPPORT, "0x000b8cffff002347[5] - 0x0002c90200258799[1]"),
    ]


LINES = f"""{FIRST} "                  a1 mlx5_0"      8    1[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  {LEAF}      1    3[  ] "leaf" ( )
{SECOND} "                  a2 mlx5_0"      9    1[  ] ==( 2X 53.125 Gbps Active/  LinkUp)==>  {LEAF}      1    4[  ] "leaf" ( )
{LEAF} "                       leaf"      1    3[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  {FIRST}      8    1[  ] "a1 mlx5_0" ( )
{LEAF} "                       leaf"      1    4[  ] ==( 2X 53.125 Gbps Active/  LinkUp)==>  {SECOND}      9    1[  ] "a2 mlx5_0" ( Could be 4X)
{LEAF} "                       leaf"      1    5[  ] ==(           Down/ Polling)==>             [  ] "" ( )
"""  # noqa: E501


def test_one_line_for_each_link() -> None:
    fabric = parse_fabric(LINES)
    assert {device.name: (device.kind, device.lid) for device in fabric.devices} == {
        "leaf": (DeviceKind.SWITCH, 1),
        "a1 mlx5_0": (DeviceKind.ADAPTER, None),
        "a2 mlx5_0": (DeviceKind.ADAPTER, None),
    }
    assert [end.port for end in fabric.down] == [5]
    (problem,) = check_map(fabric)
    assert (problem.kind, problem.subject.name) == (FindingKind.LINK_BELOW_SUPPORT, "a2 mlx5_0[1] - leaf[4]")


@pytest.mark.parametrize("text", [LINES, LOG, _db_csv()])
def test_judge_says_which_command_reads_it(text: str) -> None:
    output = recognised(text)
    assert output is not None
    assert "seatrial fabric check" in output.remedy
