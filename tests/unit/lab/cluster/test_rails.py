"""A lab of two rails: a second network beside the first, and faults of one rail."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster.network import host_side, port_rates, switches, wiring
from seatrial.lab.cluster.plan import make_plan, parameters
from seatrial.lab.cluster.planting import fault_named
from seatrial.lab.cluster.start import overlay
from seatrial.lab.cluster.sysroot import CARDS, base_files, base_links, width_files
from seatrial.lab.faults import links, nodes
from seatrial.lab.faults.base import Parameters, check_parameters, check_rail
from seatrial.lab.trial.scenario import parse_scenario
from seatrial.model.errors import UsageError

ONE = make_plan(name="a", nodes=3)
TWO = make_plan(name="a", nodes=3, rails=2)
WITH_RAIL = {"link-rate", "one-way-rate", "mtu", "packet-loss", "data-corrupt"}


def test_a_second_rail_adds_a_network_and_changes_nothing_of_the_first() -> None:
    for text in (wiring, switches, port_rates):
        first, both = text(ONE), text(TWO)
        assert [line for line in both if line in first] == first
        assert len(both) > len(first)
    assert host_side(TWO, "login") == host_side(ONE, "login")
    assert host_side(TWO, "n2")[:3] == host_side(ONE, "n2")
    assert "address add 10.78.1.2/16 dev eth1" in host_side(TWO, "n2")


def test_the_two_networks_never_touch() -> None:
    first = {line.split()[2] for line in switches(ONE) if " master " in line}
    masters = {line.split()[2]: line.split()[4] for line in switches(TWO) if " master " in line}
    assert all(masters[port].endswith("-1") for port in masters.keys() - first)
    assert not any(masters[port].endswith("-1") for port in first)
    assert not {port for port in masters if port.endswith("-login")} - first


def test_names_of_devices_fit_into_the_kernel_s_fifteen_characters() -> None:
    large = make_plan(name="a", nodes=64, leaves=64, rails=2)
    words = {word for line in (*wiring(large), *switches(large)) for word in line.split()}
    assert max(len(word) for word in words if word.startswith(("p", "up", "dn", "leaf", "spine", "eth"))) <= 15


def test_mpi_and_facts_know_of_both_rails() -> None:
    assert "btl_tcp_if_include = eth0,eth1" in parameters(rails=TWO.rail_names)
    assert "btl_tcp_if_include = eth0\n" in parameters()
    assert "oob_tcp_if_include = eth0\n" in parameters(rails=TWO.rail_names)
    speeds = {path for path in overlay(Path("/x"), "n1", TWO.rail_names) if path.endswith("/speed")}
    assert speeds == {"/sys/class/net/eth0/speed", "/sys/class/net/eth1/speed"}
    assert not any("eth" in path for path in overlay(Path("/x"), "login", TWO.rail_names))


def test_the_second_interface_is_the_card_s_second_port() -> None:
    assert base_links(2)["/sys/class/net/eth1"].endswith(f"{CARDS[1]}/net/eth1")
    assert base_links(1).items() <= base_links(2).items()
    assert base_files([0]).items() <= base_files([0], 2).items()
    assert len(width_files(4, 2)) == len(width_files(4)) + 1


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that faults give to ip and tc, each after its namespace."""
    lines: list[str] = []

    def batch(program: str, space: str | None, given: list[str]) -> None:
        lines.extend(f"{space} {program} {line}" for line in given)

    for module in (links, nodes):
        monkeypatch.setattr(module, "batch", batch)
    return lines


def test_a_fault_befalls_the_rail_named_and_else_the_first(typed: list[str]) -> None:
    fault_named("link-rate").plant(TWO, "n3", Parameters(percent=60, rail="eth1"))
    assert [line.partition(" root")[0] for line in typed] == [
        "st-a-n3 tc qdisc replace dev eth1",
        "st-a-fabric tc qdisc replace dev p1-n3",
    ]
    typed.clear()
    fault_named("link-rate").plant(TWO, "n3", Parameters(percent=60))
    fault_named("mtu").plant(TWO, "n3", Parameters(mtu=1400, rail="eth1"))
    assert ["eth0" in typed[0], "p-n3" in typed[1], typed[2]] == [True, True, "st-a-n3 ip link set eth1 mtu 1400"]
    assert links.drop_places(TWO, "n3", "eth1") != links.drop_places(TWO, "n3") == links.drop_places(ONE, "n3")


def test_clearing_sets_every_rail_back(typed: list[str]) -> None:
    fault_named("link-rate").clear(TWO, "n3")
    assert sum("eth0" in line for line in typed) == sum("p1-n3" in line for line in typed) == 1
    typed.clear()
    fault_named("mtu").clear(TWO, "n3")
    assert [line.split()[-3] for line in typed] == ["eth0", "eth1"]


def test_a_node_that_loses_power_loses_both_links(typed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "kill_all", lambda _: None)
    fault_named("node-down").plant(TWO, "n3", Parameters())
    assert typed == ["st-a-fabric ip link set p-n3 down", "st-a-fabric ip link set p1-n3 down"]


@pytest.mark.parametrize("kind", sorted(WITH_RAIL))
def test_faults_of_links_take_a_rail(kind: str) -> None:
    assert "rail" in fault_named(kind).may


def test_others_do_not_and_no_lab_has_a_third() -> None:
    with pytest.raises(UsageError, match="takes no rail"):
        check_parameters(fault_named("node-down"), Parameters(rail="eth1"))
    with pytest.raises(UsageError, match="no rail 'eth1'"):
        check_rail(ONE, Parameters(rail="eth1"))
    with pytest.raises(UsageError, match="3 rails"):
        make_plan(name="a", nodes=2, rails=3)


@pytest.mark.parametrize(("rails", "refused"), [(2, ""), (1, "no rail 'eth1'")])
def test_scenarios_name_rails(rails: int, refused: str) -> None:
    text = f"""
        name = "x"
        nodes = 3
        rails = {rails}
        [[faults]]
        kind = "link-rate"
        subject = "n3"
        percent = 60
        rail = "eth1"
    """
    if refused:
        with pytest.raises(UsageError, match=refused):
            parse_scenario(text, "x")
        return
    scenario: Any = parse_scenario(text, "x")
    assert scenario.plan("x").rail_names == ("eth0", "eth1")
    assert scenario.faults[0].parameters.rail == "eth1"
