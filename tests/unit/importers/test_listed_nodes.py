"""JSON: nodes named beside the list of results, and objects whose members are nodes."""

import json
from typing import Any

import pytest

from seatrial.importers.columns import read_columns
from seatrial.importers.fleets import FleetTable, read_fleet_table
from seatrial.importers.listed_nodes import with_listed_nodes
from seatrial.model.errors import UsageError

ROWS = [{"node": f"cn{number}", "gflops": 2100 + number} for number in range(1, 6)]


def _table(**beside: Any) -> FleetTable:
    text = json.dumps({"benchmark": "hpl", "results": ROWS} | beside)
    return with_listed_nodes(read_fleet_table(text), text)


@pytest.mark.parametrize(
    "beside",
    [
        {"failed": ["cn6", "cn7"]},
        {"missing_nodes": ["cn6", "cn7"]},
        {"summary": {"unreachable": ["cn6", "cn7"], "count": 7}},
        {"nodes": ["cn1", "cn2", "cn3", "cn4", "cn5", "cn6", "cn7"]},
        {"failed": ["cn6", "cn7"], "summary": {"failed": 2}},
    ],
)
def test_nodes_beside_the_results_have_no_value(beside: dict[str, Any]) -> None:
    table = _table(**beside)
    assert (table.without_value, table.failed) == (("cn6", "cn7"), ("cn6", "cn7"))


def test_a_node_with_a_result_that_is_listed_as_failed() -> None:
    table = _table(errors=["cn2"])
    assert (table.without_value, table.failed) == ((), ("cn2",))


@pytest.mark.parametrize("beside", [{"summary": {"failed": 1}}, {"errors": 3}, {"status": {"timeout": 2, "ok": 5}}])
def test_more_failures_than_results_show_are_refused(beside: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="beside the list of results, in which 0 nodes failed"):
        _table(**beside)


@pytest.mark.parametrize(
    "beside", [{"tags": ["production", "h100"]}, {"failed": []}, {"summary": {"failed": 0}}, {"nodes": ["cn1", "cn2"]}]
)
def test_other_members_change_nothing(beside: dict[str, Any]) -> None:
    table = _table(**beside)
    assert (table.without_value, table.failed) == ((), ())


@pytest.mark.parametrize(
    "value",
    [
        {"cn1": 2101, "cn2": 2102, "cn3": None},
        {"cn1": {"gflops": 2101}, "cn2": {"gflops": 2102}, "cn3": {"error": "no device"}},
        {"nodes": {"cn1": {"gflops": 2101}, "cn2": {"gflops": 2102}, "cn3": {"gflops": None}}},
        {"results": {"cn1": 2101, "cn2": 2102, "cn3": "FAILED"}},
    ],
)
def test_an_object_with_a_member_for_each_node(value: dict[str, Any]) -> None:
    table = read_fleet_table(json.dumps(value))
    assert table.values == {"cn1": [2101.0], "cn2": [2102.0], "cn3": []}


@pytest.mark.parametrize("value", [{"copy": 340, "triad": 380}, {"2026-01-01": 380, "2026-01-02": 381}, {"gflops": 3}])
def test_members_that_may_be_other_things_are_asked_about(value: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="nothing shows that their names are those of nodes"):
        read_columns(json.dumps(value))
