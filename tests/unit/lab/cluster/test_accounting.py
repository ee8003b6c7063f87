"""A lab with accounts and a lab with two rates: configuration, and what sacctmgr is asked for."""

import pytest

from seatrial.lab.cluster import accounting
from seatrial.lab.cluster.accounting import entries, gres_conf, require_accounting, slurmdbd_conf
from seatrial.lab.cluster.network import host_side, port_rates, speed_file
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.slurm_conf import slurm_conf
from seatrial.model.errors import SeatrialError

PLAIN = make_plan(name="a", nodes=4)
ENFORCED = make_plan(name="a", nodes=4, accounts=True)
MIXED = make_plan(name="a", nodes=5, second_rate="500mbit")


def test_accounts_and_qos_are_enforced_and_counted_things_are_on_every_node() -> None:
    text = slurm_conf(ENFORCED, "/x")
    assert "AccountingStorageEnforce=associations,limits,qos\n" in text
    assert "AccountingStorageType=accounting_storage/slurmdbd\n" in text
    assert text.count(f"Gres={accounting.GRES}:2") == 4
    assert gres_conf(ENFORCED) == f"Name={accounting.GRES} Count=2\n"
    assert "StoragePort=3306\n" in slurmdbd_conf(ENFORCED, "/x")


def test_a_plain_lab_has_neither() -> None:
    text = slurm_conf(PLAIN, "/x")
    assert "AccountingStorageType=accounting_storage/none\n" in text
    assert not [word for word in ("Enforce", "Gres", "Feature") if word in text]
    assert gres_conf(PLAIN) == ""


def test_a_cluster_comes_before_its_accounts_and_these_before_their_users() -> None:
    order = [words[1] for words in entries(ENFORCED) if words[0] == "add"]
    assert order == ["cluster", "qos", "account", "account", "user"]


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if "db" in name else name)
    with pytest.raises(SeatrialError, match="mariadb-server slurmdbd"):
        require_accounting()


def rates(plan: LabPlan) -> dict[str, str]:
    return {line.split()[3]: line.split()[7] for line in port_rates(plan)}


def test_the_second_half_of_the_nodes_has_the_second_rate() -> None:
    assert [MIXED.rate_of(node) for node in MIXED.node_names] == [10**9] * 3 + [5 * 10**8] * 2
    assert (speed_file(MIXED, "n3"), speed_file(MIXED, "n4")) == ("1000\n", "500\n")
    assert rates(MIXED)["p-n3"] != rates(MIXED)["p-n4"]
    assert rates(MIXED)["p-n3"] == rates(make_plan(name="a", nodes=5))["p-n3"]
    assert host_side(MIXED, "n3") != host_side(MIXED, "n4")
    assert MIXED.second_nodes == ("n4", "n5")
    assert PLAIN.second_nodes == ()
    text = slurm_conf(MIXED, "/x")
    assert (text.count("Feature=1gbit"), text.count("Feature=500mbit")) == (3, 2)
