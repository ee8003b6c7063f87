"""The table of a series: exact counts, and what went wrong."""

from typing import Any

from tests.series.__main__ import SCENARIOS
from tests.series.table import row, text
from tests.support.paths import ROOT

MISSED = "missed: slow-link node:n3"
FOUND: dict[str, Any] = {
    "verdicts": {"SLOW": 2, "PASS": 1},
    "results": [{"seconds": 8.0}, {"seconds": 9.0}, {"seconds": 30.5}],
    "wrong": [{"run": 2, "kept": "/kept/x-2", "complaints": [MISSED, "wrong exit code 0"]}],
}


def test_runs_are_counted_and_what_went_wrong_is_listed() -> None:
    one = row("x", 3, FOUND)
    assert (one["right"], one["runs"], one["median_s"], one["longest_s"]) == (2, 3, 9.0, 30.5)
    assert one["complaints"] == {MISSED: 1, "wrong exit code 0": 1}
    shown = text([one, row("healthy", 1, {"verdicts": {"PASS": 1}, "results": [{"seconds": 7.0}], "wrong": []})])
    assert shown.splitlines() == [
        "scenario  right  median s  longest s  verdicts",
        "x         2/3    9.0       30.5       SLOW 2, PASS 1",
        f"    1 x {MISSED}",
        "    1 x wrong exit code 0",
        "    run 2: /kept/x-2",
        "healthy   1/1    7.0       7.0        PASS 1",
    ]


def test_runs_that_never_came_are_wrong() -> None:
    assert row("x", 20, {})["right"] == 0
    assert row("x", 20, {})["complaints"] == {"the trial ended early": 20}
    assert row("x", 5, FOUND)["complaints"]["the trial ended early"] == 2


def test_statements_do_not_keep_equal_complaints_apart() -> None:
    wrong = [
        {"run": number, "kept": "", "complaints": [f"false name: slow-pair pair:n1>n2 ({number} % of peers)"]}
        for number in (1, 2)
    ]
    found = {"results": [{"seconds": 1.0}] * 2, "verdicts": {}, "wrong": wrong}
    assert row("x", 2, found)["complaints"] == {"false name: slow-pair pair:n1>n2": 2}


def test_the_scenarios_of_the_series_are_there() -> None:
    folder = ROOT / "tests" / "scenarios"
    assert [name for name in SCENARIOS if not (folder / f"{name}.toml").exists()] == []
