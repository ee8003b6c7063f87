"""Names, addresses, rates and the texts made of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.lab.cluster.network import host_side, hosts_file, port_rates, speed_file, switches
from seatrial.lab.cluster.plan import LabPlan, MpiSettings, make_plan, own_space, parameters, parse_rate, rate_text
from seatrial.lab.cluster.slurm_conf import cgroup_conf, slurm_conf, topology_conf
from seatrial.lab.cluster.sysroot import dress_script, outermost, sees
from seatrial.model.errors import UsageError


def plan_of(nodes: int, leaves: int | None = None) -> LabPlan:
    return make_plan(name="a", nodes=nodes, leaves=leaves)


@pytest.mark.parametrize(
    ("nodes", "leaves", "members"),
    [
        (1, None, [("n1",)]),
        (4, None, [("n1", "n2"), ("n3", "n4")]),
        (5, 2, [("n1", "n2", "n3"), ("n4", "n5")]),
        (6, 3, [("n1", "n2"), ("n3", "n4"), ("n5", "n6")]),
    ],
)
def test_nodes_are_spread_in_contiguous_even_blocks(
    nodes: int, leaves: int | None, members: list[tuple[str, ...]]
) -> None:
    plan = plan_of(nodes, leaves)
    assert [plan.members(leaf) for leaf in plan.leaf_names] == members


@given(st.integers(1, 64), st.integers(1, 64))
def test_every_leaf_has_a_node_and_every_node_a_leaf(nodes: int, leaves: int) -> None:
    plan = plan_of(nodes, min(nodes, leaves))
    blocks = [plan.members(leaf) for leaf in plan.leaf_names]
    assert all(blocks)
    assert tuple(node for block in blocks for node in block) == plan.node_names
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1
    assert len({plan.address(host) for host in plan.hosts}) == nodes + 1


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"name": "Lab"}, "'Lab'"),
        ({"name": "-a"}, "'-a'"),
        ({"name": "../x"}, "'../x'"),
        ({"name": "a" * 17}, "a" * 17),
        ({"nodes": 0}, "0 nodes"),
        ({"nodes": 65}, "65 nodes"),
        ({"leaves": 5}, "5 leaves"),
        ({"rate": "fast"}, "'fast'"),
        ({"rate": "1"}, "'1'"),
        ({"uplink_rate": "0mbit"}, "'0mbit'"),
        ({"mtu": 100}, "100"),
        ({"mpi_settings": "fast"}, "'fast'"),
    ],
)
def test_a_wrong_value_is_refused_and_shown(change: dict[str, object], shown: str) -> None:
    with pytest.raises(UsageError, match=re.escape(shown)) as caught:
        make_plan(**{"name": "a", "nodes": 4, **change})  # type: ignore[arg-type]
    assert caught.value.remedy


@pytest.mark.parametrize(("text", "rate"), [("1gbit", 10**9), ("600mbit", 6 * 10**8), ("2.5Gbit", 25 * 10**8)])
def test_rates_parse_and_print(text: str, rate: int) -> None:
    assert parse_rate(text) == rate
    assert parse_rate(rate_text(rate)) == rate


def test_a_namespace_belongs_to_one_lab_only() -> None:
    names = ("a", "a-n1", "ab")
    for name in names:
        for space in make_plan(name=name, nodes=3).spaces:
            assert [other for other in names if own_space(other, space)] == [name]


def test_every_port_is_plugged_in_and_every_link_shaped_at_both_ends() -> None:
    plan = plan_of(4)
    assert "link set p-n3 master leaf2 up" in switches(plan)
    assert "link set p-login master spine up" in switches(plan)
    shaped = {line.split()[3] for line in port_rates(plan)}
    assert shaped == {"p-n1", "p-n2", "p-n3", "p-n4", "up-leaf1", "dn-leaf1", "up-leaf2", "dn-leaf2"}
    assert "address add 10.77.1.3/16 dev eth0" in host_side(plan, "n3")


def test_the_files_of_a_host() -> None:
    plan = plan_of(2)
    assert "10.77.1.2 n2\n" in hosts_file(plan)
    assert "10.77.0.1 login\n" in hosts_file(plan)
    assert speed_file(plan) == "1000\n"
    assert "btl_tcp_if_include = eth0\n" in parameters()
    assert "pml" not in parameters(MpiSettings.NONE)
    assert "oob_tcp_if_include = eth0\n" in parameters(MpiSettings.NONE)


def test_the_configuration_of_slurm() -> None:
    plan = plan_of(4)
    text = slurm_conf(plan, "/x")
    assert "SlurmctldHost=login(10.77.0.1)\n" in text
    assert "NodeName=n4 NodeAddr=10.77.1.4 " in text
    assert "SlurmdSpoolDir=/x/spool/%n\n" in text
    assert topology_conf(plan).splitlines() == [
        "SwitchName=leaf1 Nodes=n1,n2",
        "SwitchName=leaf2 Nodes=n3,n4",
        "SwitchName=spine Switches=leaf1,leaf2",
    ]
    assert "cgroup/v1" in cgroup_conf(1)
    assert "cgroup/v2" in cgroup_conf(2)


def test_folders_under_tmp_stay_visible_and_others_need_nothing() -> None:
    folders = ["/tmp/a", "/tmp/a/b", "/home/x", "/tmp", "/tmp/c d"]
    assert outermost(folders) == ["/tmp/a", "/tmp/c d"]
    assert sees(folders, "/home/y")
    assert sees(folders, "/tmp/a/b/c")
    assert not sees(folders, "/tmp/other")
    assert not sees(folders, "/tmp/ab")


def test_the_dress_script_quotes_what_a_user_named() -> None:
    script = dress_script("n1", stage="/s/n1", folders=["/tmp/c d"], overlay={"/etc/hosts": "/s/h"})
    assert "mount --rbind '/s/n1/c d' '/tmp/c d'" in script
    assert "mount --bind /s/h /etc/hosts" in script
    assert script.startswith("set -eu\n")
