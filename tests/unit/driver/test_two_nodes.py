"""The two nodes of a curve: those that are named, or a pair of each kind to choose from."""

import pytest

from seatrial.driver.two_nodes import pairs_of_kinds, pick_ends
from seatrial.launch.contract import Hosts
from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_FABRIC

NODES = ("n1", "n2", "n3", "n4", "n5")


def hosts(**features: tuple[str, ...]) -> Hosts:
    return Hosts(nodes=NODES, fabric=NO_FABRIC, features=features)


def test_a_pair_of_each_kind_is_proposed() -> None:
    mixed = hosts(n1=("opa",), n2=("opa",), n3=("eth",), n4=("eth",), n5=("opa",))
    assert pairs_of_kinds(NODES, mixed) == (("n1", "n2"), ("n3", "n4"))
    with pytest.raises(UsageError, match="One pair of each kind: n1 n2, n3 n4"):
        pick_ends(NODES, mixed, ())
    assert pick_ends(NODES, mixed, ("n1", "n3")) == ("n1", "n3")


def test_declared_kinds_come_before_words_of_the_scheduler() -> None:
    words = {node: ("rack1", "kind=thin") if node in ("n1", "n3") else ("rack2", "kind=fat") for node in NODES}
    assert pairs_of_kinds(NODES, hosts(**words)) == (("n1", "n3"), ("n2", "n4"))


@pytest.mark.parametrize("words", [{}, dict.fromkeys(NODES, ("hdr",)), {node: (node,) for node in NODES}])
def test_alike_nodes_and_nodes_that_are_all_different_have_no_kinds(words: dict[str, tuple[str, ...]]) -> None:
    assert pairs_of_kinds(NODES, hosts(**words)) == ()
