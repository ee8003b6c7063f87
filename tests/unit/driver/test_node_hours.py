"""The allocation never costs more than the node-hours given."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.driver.node_selection import SHORTEST_BUDGET_S, fewer_nodes, fit, node_hours_of, within_node_hours
from seatrial.launch.contract import Hosts
from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.settings import CheckSettings


@given(st.floats(0.01, 1e4), st.integers(2, 5000), st.floats(1, 1e5))
def test_it_never_costs_more_and_two_nodes_are_the_fewest(hours: float, nodes: int, budget_s: float) -> None:
    try:
        found = fit(hours, nodes, budget_s)
    except UsageError:
        assert node_hours_of(2, min(budget_s, SHORTEST_BUDGET_S)) > hours
        return
    assert 2 <= found.nodes <= nodes
    assert min(budget_s, SHORTEST_BUDGET_S) <= found.budget_s <= budget_s
    assert node_hours_of(found.nodes, found.budget_s) <= hours * (1 + 1e-9)


def test_time_is_cut_before_nodes() -> None:
    assert fit(100, 4, 600) == fit(1e6, 4, 600)
    half = fit(1.2, 4, 600)
    assert (half.nodes, half.budget_s) == (4, 240)
    few = fit(0.6, 16, 600)
    assert (few.nodes, few.budget_s) == (3, 60)


def test_what_was_cut_is_said_and_who_was_left_out() -> None:
    settings = CheckSettings(archive=Path("a"), node_hours=0.6)
    nodes = tuple(f"n{number}" for number in range(1, 5))
    kept, hosts, left, said = within_node_hours(settings, Hosts(nodes=nodes, fabric=NO_FABRIC), nodes)
    assert (kept.budget_s, hosts.nodes, left) == (60, nodes[:3], nodes[:3])
    assert [(one.node, one.fault) for one in hosts.left_out] == [("n4", False)]
    assert said == (
        "To stay within --node-hours 0.6, 3 of 4 nodes are measured, for 60 s of 600: at most 0.60 node-hours."
    )


def test_without_a_limit_nothing_is_cut() -> None:
    settings = CheckSettings(archive=Path("a"))
    hosts = Hosts(nodes=("n1", "n2"), fabric=NO_FABRIC)
    assert within_node_hours(settings, hosts, hosts.nodes) == (settings, hosts, ("n1", "n2"), "")


def test_too_little_is_refused_with_what_would_do() -> None:
    with pytest.raises(UsageError, match=r"Give at least 0\.4\."):
        fit(0.39, 8, 600)
    assert fit(0.4, 8, 600).nodes == 2


def test_one_node_alone_may_be_enough() -> None:
    settings = CheckSettings(archive=Path("a"), node_hours=0.2)
    hosts = Hosts(nodes=("n1",), fabric=NO_FABRIC)
    kept, _, nodes, said = within_node_hours(settings, hosts, hosts.nodes, fewest=1)
    assert (kept.budget_s, nodes) == (60, ("n1",))
    assert "1 node is measured, for 60 s of 600" in said


def test_a_job_that_runs_already_and_a_replay_are_not_cut() -> None:
    settings = CheckSettings(archive=Path("a"), node_hours=0.01)
    hosts = Hosts(nodes=("n1", "n2"), fabric=NO_FABRIC)
    assert within_node_hours(settings, hosts, hosts.nodes, job="7")[0] is settings
    again = CheckSettings(archive=Path("a"), node_hours=0.01, replay=Path("r"))
    assert within_node_hours(again, hosts, hosts.nodes)[0] is again


@given(st.floats(0.001, 1e3), st.integers(1, 500), st.integers(1, 60), st.integers(1, 2))
def test_fewer_nodes_never_cost_more(hours: float, there: int, limit: int, fewest: int) -> None:
    nodes = [f"n{number}" for number in range(there)]
    try:
        kept, left_out = fewer_nodes(hours, nodes, limit, fewest=fewest)
    except UsageError:
        assert fewest * limit / 60 > hours
        return
    assert [*kept, *(state.node for state in left_out)] == nodes
    assert len(kept) * limit / 60 <= hours * (1 + 1e-9)
    assert len(kept) == there or (len(kept) + 1) * limit / 60 > hours * (1 - 1e-9)


def test_without_node_hours_all_nodes_are_kept() -> None:
    assert fewer_nodes(0.0, ("n1", "n2"), 6) == (("n1", "n2"), ())
