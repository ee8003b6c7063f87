"""One archive on a real NFS mount, two nodes that write it, and `runs recover` and `runs list` on both meanwhile."""

import json
from typing import Any

import pytest

from tests.lab.shared import kernel

pytestmark = [pytest.mark.lab, pytest.mark.series]
BOOT_S = 900.0
"""On an idle machine it takes about a minute."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was seen in a kernel that can mount NFS; this machine's own may not."""
    if reason := kernel.why_not():
        pytest.skip(reason)
    reports = tmp_path_factory.mktemp("shared")
    said = kernel.boot("tests.lab.shared.cluster", reports, BOOT_S)
    if kernel.UNABLE in said:
        pytest.skip("User Mode Linux cannot save the registers of this processor (Intel AMX)")
    report = reports / "found.json"
    assert report.exists(), said
    seen: dict[str, Any] = json.loads(report.read_text())
    return seen


def test_no_live_run_is_closed_by_recover_on_either_node(found: dict[str, Any]) -> None:
    for one in found["rounds"]:
        assert one["alive"] == {"first": True, "second": True}, one
        for node in ("n1", "n2"):
            recovered = one["commands"][f"recover on {node}"]
            assert recovered["exit_code"] == 0, recovered
            assert recovered["said"]["recovered"] == [], recovered
    assert found["killed_while_running"]


def test_list_shows_both_runs_while_they_are_written(found: dict[str, Any]) -> None:
    for one in found["rounds"]:
        for node in ("n1", "n2"):
            listed = one["commands"][f"list on {node}"]
            assert listed["exit_code"] == 0, listed
            assert {row["run"] for row in listed["said"]["runs"]} == {"first", "second"}, listed


def test_a_killed_drivers_run_is_recovered_from_the_other_node(found: dict[str, Any]) -> None:
    recovered = found["recovered"]
    assert recovered["exit_code"] == 0, recovered
    assert [one["run"] for one in recovered["said"]["recovered"]] == ["first"], recovered
    assert found["reports"]["first"] == 2


def test_the_other_run_goes_on_to_its_end(found: dict[str, Any]) -> None:
    assert found["second_exit_code"] == 0
    assert found["reports"]["second"] == 0


def test_nothing_that_was_delivered_is_lost(found: dict[str, Any]) -> None:
    assert found["delivered_at_kill"]["first"] > 0
    assert found["lost"] == {"first": 0, "second": 0}
