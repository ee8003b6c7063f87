"""Forwarding tables: what the real tools print of a simulated fabric, and what is wrong with made-up ones."""

import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.fabric.forwarding import TableForwarding, Tables, parse_tables
from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.routes import Routes
from seatrial.fabric.table_check import TableReport, check_tables
from seatrial.model.errors import UsageError
from seatrial.model.verdict import FindingKind
from tests.support.command_line import Seatrial
from tests.support.fabrics import fat_tree, simulated_fabric, tables_of
from tests.support.json_objects import parsed
from tests.support.paths import DATA, data

RECORDED = DATA / "forwarding"
"""ibsim, opensm -R ftree and infiniband-diags of Debian 12: two leaves with two nodes each, two spines."""
WHOLE = ("dump_fts.txt", "opensm-lfts.dump", "opensm.fdbs")
TREE = fat_tree(3, 4, 4)


def of_file(name: str) -> Tables:
    return parse_tables((RECORDED / name).read_text(), parse_fabric((RECORDED / "ibnetdiscover.txt").read_text()))


def named(tables: Tables) -> dict[str, tuple[int, ...]]:
    fabric = parse_fabric((RECORDED / "ibnetdiscover.txt").read_text())
    return {fabric.by_key[key].name: ports for key, ports in sorted(tables.ports.items())}


def report(text: str) -> TableReport:
    fabric = parse_fabric(TREE)
    return check_tables(fabric, parse_tables(text, fabric))


def entries(text: str, switch: str) -> list[str]:
    """The lines of one switch's table."""
    blocks = text.split("Unicast lids")
    return next(block for block in blocks if f"({switch})" in block).splitlines()


@pytest.mark.parametrize("name", WHOLE)
def test_what_the_tools_print(name: str) -> None:
    assert named(of_file(name)) == {
        "leaf1": (1, 2, 5, 6),
        "leaf2": (5, 6, 1, 2),
        "spine1": (1, 1, 2, 2),
        "spine2": (1, 1, 2, 2),
    }


def test_a_table_without_names_of_destinations() -> None:
    assert named(of_file("ibroute-n.txt")) == {"leaf1": (1, 2, 5, 6)}


def test_real_tables_lead_everywhere() -> None:
    fabric = parse_fabric((RECORDED / "ibnetdiscover.txt").read_text())
    tables = of_file("dump_fts.txt")
    routes = Routes(fabric, TableForwarding(tables))
    for source, target in itertools.permutations(routes.adapters, 2):
        path = routes.path(source, target)
        assert routes.ends(path[0])[0].device == source
        assert routes.ends(path[-1])[1].device == target
        assert len(path) == (2 if routes.leaf_of[source] == routes.leaf_of[target] else 4)
    found = check_tables(fabric, tables)
    assert (found.problems, found.reached, found.ways) == ((), 8, 8)


def test_tables_as_a_mapping() -> None:
    tables = of_file("dump_fts.txt")
    mapping = TableForwarding(tables)
    assert len(mapping) == len(dict(mapping)) == 16
    assert mapping.get((next(iter(tables.ports)), "nobody")) is None
    assert len(TableForwarding(tables.only(tables.adapters[:1]))) == 4


def test_good_tables_have_nothing_against_them() -> None:
    found = report(tables_of(TREE))
    assert found.problems == ()
    assert found.statement == "3 leaf switches with 12 uplinks; routes use all of them."


def test_a_switch_without_a_table() -> None:
    text = tables_of(TREE)
    found = report(text.replace("\n".join(entries(text, "spine2")), "").replace("Unicast lidsUnicast", "Unicast"))
    (problem,) = found.problems
    assert (problem.kind, problem.subject.name) == (FindingKind.TABLE_MISSING, "spine2")
    assert found.reached < found.ways


def test_an_adapter_that_a_table_lacks() -> None:
    lines = tables_of(TREE).splitlines()
    place = next(number for number, line in enumerate(lines) if "'n5 " in line)  # in leaf1's table, which comes first
    found = report("\n".join(lines[:place] + lines[place + 1 :]))
    (problem,) = found.problems
    assert problem.kind is FindingKind.DESTINATION_UNREACHABLE
    assert "from leaf1 to n5 mlx5_0" in problem.statement
    assert found.ways - found.reached == 1


def test_a_route_that_runs_in_a_circle() -> None:
    """The spine sends n5's data back up to leaf1, which sends it to that spine."""
    text = tables_of(TREE)
    spine = "\n".join(entries(text, "spine1"))
    n5 = " : (Channel Adapter portguid 0x0000000000001048: 'n5"
    wrong = spine.replace(f"002{n5}", f"001{n5}")
    assert wrong != spine
    found = report(text.replace(spine, wrong))
    (problem,) = found.problems
    assert problem.kind is FindingKind.ROUTE_IN_A_CIRCLE
    assert problem.subject.name == "n5 mlx5_0"
    routes = Routes(parse_fabric(TREE), TableForwarding(parse_tables(text.replace(spine, wrong), parse_fabric(TREE))))
    assert routes.path("H-0000000000001000", "H-0000000000001040") == ()


def test_uplinks_that_no_route_uses() -> None:
    text = tables_of(TREE)
    leaf = "\n".join(entries(text, "leaf1"))
    found = report(text.replace(leaf, leaf.replace(" 008 :", " 005 :").replace(" 007 :", " 005 :")))
    assert found.problems == ()
    assert "no route uses 2 of them: leaf1[7], leaf1[8]" in found.statement
    assert "very uneven: leaf1 (0 to 6 destinations a port)" in found.statement


def test_what_is_no_table_is_refused() -> None:
    fabric = parse_fabric(TREE)
    with pytest.raises(UsageError, match="hello"):
        parse_tables("\nhello\n", fabric)
    with pytest.raises(UsageError, match="another fabric"):
        parse_tables((RECORDED / "dump_fts.txt").read_text(), fabric)


def test_the_commands(seatrial: Seatrial) -> None:
    fabric, tables = str(RECORDED / "ibnetdiscover.txt"), str(RECORDED / "dump_fts.txt")
    ran = seatrial("fabric", "check", fabric, "--routes", tables)
    assert "8 of 8 routes from a leaf switch reach their adapter; 2 leaf switches" in ran.out
    uplinks = seatrial("fabric", "show", fabric, "--routes", tables, "--json").data["routes"]["uplinks"]
    assert uplinks[0] == {"leaf": "leaf1", "destinations": {"5": 1, "6": 1}}
    ran = seatrial("fabric", "check", fabric, "--routes", str(RECORDED / "ibroute-n.txt"), code=1)
    assert "table-missing" in ran.out
    seatrial("fabric", "check", fabric, "--routes", fabric, code=64)
    assert seatrial("fabric", "show", fabric, "--json").data["routes"] is None


def test_locate_names_the_cable(tmp_path: Path, seatrial: Seatrial) -> None:
    map_file, tables = tmp_path / "map", tmp_path / "tables"
    map_file.write_text(TREE)
    tables.write_text(tables_of(TREE))
    fabric = parse_fabric(TREE)
    routes = Routes(fabric, TableForwarding(parse_tables(tables_of(TREE), fabric)))
    hosts = {fabric.by_key[key].host: key for key in routes.adapters}
    slow = next(hop for hop in routes.path(hosts["n1"], hosts["n6"]) if routes.ends(hop)[1].device.endswith("101"))
    rows = ["source,target,bandwidth_mb_s"]
    for one, other in itertools.permutations(hosts, 2):
        rows.append(f"{one},{other},{500 if slow in routes.path(hosts[one], hosts[other]) else 1000}")
    (tmp_path / "pairs.csv").write_text("\n".join(rows) + "\n")
    words = ["judge", str(tmp_path / "pairs.csv"), "--topology", str(map_file)]
    (fault,) = seatrial(*words, "--routes", str(tables), "--json", code=1).data["faults"]
    assert (fault["subject"], fault["direction"]) == ("link:leaf1[6]-spine2[1]", "out")
    seatrial("judge", tmp_path / "pairs.csv", "--routes", str(tables), code=64)


LIVE = data("fabric/four-hosts.ibsim")
TOOLS = ("ibsim", "opensm", "ibnetdiscover", "dump_fts")


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Iterator[subprocess.Popen[str]]":
    """ibsim; its console is the process's standard input."""
    yield from simulated_fabric(LIVE, tmp_path, monkeypatch)


@pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason=f"one of {', '.join(TOOLS)} is not here")
def test_the_tables_of_a_real_subnet_manager(simulated: "subprocess.Popen[str]", tmp_path: Path) -> None:
    environment = {**os.environ, "SIM_HOST": "n1"}

    def simulate(*words: str) -> "subprocess.CompletedProcess[str]":
        argv = ["timeout", "-s", "KILL", "30", "ibsim-run", *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=environment)

    deadline = time.monotonic() + 60
    while simulate("ibnetdiscover").returncode and time.monotonic() < deadline:
        time.sleep(0.2)
    managed = simulate("opensm", "-o", "-f", str(tmp_path / "opensm.log"), "-R", "ftree")
    assert managed.returncode == 0, managed.stdout
    done = simulate(sys.executable, "-m", "seatrial", "fabric", "check", "--live", "--routes", "live", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    routes = parsed(done.stdout)["routes"]
    assert (routes["arriving"], routes["ways"]) == (4, 4)
    assert [sum(one["destinations"].values()) for one in routes["uplinks"]] == [1, 1]
    assert simulated.poll() is None
