"""Columns that say how a run ended: successes, failures, and words that are asked about."""

import math
from pathlib import Path

import pytest

from seatrial.commands.judge.kinds import Kind
from seatrial.commands.judge.recognition import kind_of
from seatrial.commands.judge.sources import Sources
from seatrial.importers.columns import TableColumn
from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.formats import read_matrix
from seatrial.importers.row_outcomes import failed_rows
from seatrial.importers.series import read_series
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import DEAD_BANDWIDTH


def _failed(name: str, *cells: str) -> set[int]:
    return failed_rows([TableColumn(name=name, cells=cells)])


@pytest.mark.parametrize(
    "good",
    ["OK", "ok.", "PASS", "Passed", "DONE", "0", "COMPLETED", "success", "true", "valid", "", "n/a", "PASSED (0.0024)",
     "Yes", "finished", "0:0", "no errors"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["status", "Result", "run_state", "passed"])
def test_words_of_success(name: str, good: str) -> None:
    assert _failed(name, good, "ok", "FAILED") == {2}


@pytest.mark.parametrize(
    "bad",
    ["FAILED", "fail!", "Failed (residual 12)", "timeout after 60 s", "CANCELLED by 1000", "NODE_FAIL", "node-fail",
     "error: no device", "killed", "not ok", "false", "OUT_OF_MEMORY", "aborted", "skipped"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["status", "verdict", "check"])
def test_words_of_failure(name: str, bad: str) -> None:
    assert _failed(name, "ok", bad) == {1}


@pytest.mark.parametrize("word", ["degraded", "WARN", "OK but slow", "completed in 3 of 4", "partial", "2/3", "?"])
def test_a_word_that_is_in_no_list_is_asked_about(word: str) -> None:
    with pytest.raises(UsageError, match="nothing shows whether such a run counts") as refused:
        _failed("status", "OK", word)
    assert "row 2" in refused.value.what


@pytest.mark.parametrize(
    ("name", "cells"),
    [("state", ("alloc", "mixed")), ("state", ("idle", "drained")), ("check", ("stream", "hpl")),
     ("comment", ("slow start", "none")),
     ("error_text", ("", "see log"))],
)  # fmt: skip
def test_other_contents_are_left_alone(name: str, cells: tuple[str, ...]) -> None:
    assert _failed(name, *cells) == set()


@pytest.mark.parametrize(
    ("name", "cells", "failed"),
    [
        ("exit_code", ("0", "0", "137"), {2}),
        ("rc", ("1", "1"), {0, 1}),
        ("status", ("0", "0", "1"), {2}),
        ("status", ("1", "1"), set()),
        ("passed", ("1", "0", "1"), {1}),
        ("residual", ("0", "3"), set()),
    ],
)
def test_numbers(name: str, cells: tuple[str, ...], failed: set[int]) -> None:
    assert _failed(name, *cells) == failed


@pytest.mark.parametrize(
    ("name", "cells", "failed"),
    [
        ("errors", ("0", "5", "0"), {1}),
        ("errors", ("0 errors", "5 errors", "1 error"), {1, 2}),
        ("mismatches", ("0", "0", "3"), {2}),
        ("status", ("ok", "2 mismatches", "0 failures"), {1}),
        ("errors", ("1.5e-9", "2.5e-9", "0"), set()),
    ],
)
def test_a_run_with_counted_errors_failed(name: str, cells: tuple[str, ...], failed: set[int]) -> None:
    assert _failed(name, *cells) == failed


def test_a_status_of_numbers_that_may_mean_either_is_asked_about() -> None:
    with pytest.raises(UsageError, match="which of them is a success"):
        _failed("status", "0", "1", "1")


def test_a_failed_row_of_a_table_has_no_value() -> None:
    rows = [f"n{node},{run},100,ok" for node in (1, 2, 3) for run in (1, 2)]
    table = read_fleet_table("node,run,triad_MB_s,status\n" + "\n".join([*rows[:-1], "n3,2,100,timeout"]) + "\n")
    assert (table.failed, table.without_value) == (("n3",), ("n3",))
    with pytest.raises(UsageError, match="degraded"):
        read_fleet_table("node,run,triad_MB_s,status\n" + "\n".join([*rows[:-1], "n3,2,100,degraded"]) + "\n")


@pytest.mark.parametrize("column", ["exit_code", "rc", "status", "passed"])
def test_numbers_that_say_how_runs_ended_are_no_condition(column: str) -> None:
    good, bad = ("1", "0") if column == "passed" else ("0", "139")
    rows = [f"n{node},{run},100,{bad if (node, run) == (2, 1) else good}" for node in (1, 2, 3) for run in (1, 2, 3)]
    table = read_fleet_table(f"node,run,triad_MB_s,{column}\n" + "\n".join(rows) + "\n")
    assert (len(table.strata), table.failed) == (1, ("n2",))


def test_a_unit_below_a_result_in_json_is_no_outcome() -> None:
    assert _failed("result.triad.unit", "GB/s", "GB/s") == set()
    assert _failed("result_unit", "GB/s", "GB/s") == set()


def test_a_pair_whose_test_failed_is_dead() -> None:
    names = [f"a{number}" for number in range(1, 7)]
    lines = [f"{a},{b},12000.5,{'FAILED' if (a, b) == ('a1', 'a2') else 'OK'}" for a in names for b in names if a != b]
    table = read_matrix("source,target,bandwidth_MB_s,status\n" + "\n".join(lines) + "\n")
    assert table.pairs == 30
    assert sum(table.bandwidth_bytes_per_s == DEAD_BANDWIDTH) == 1
    with pytest.raises(UsageError, match="unclear"):
        read_matrix("source,target,bandwidth_MB_s,status\n" + "\n".join(lines).replace("FAILED", "unclear") + "\n")


def test_a_status_does_not_make_a_series_ambiguous(tmp_path: Path) -> None:
    rows = "".join(f"2026-03-{day:02},100.{day},{'timeout' if day == 4 else 'ok'}\n" for day in range(1, 20))
    (tmp_path / "t.csv").write_text(f"date,rate,status\n{rows}")
    assert kind_of(Sources([tmp_path / "t.csv"], print), tuple(Kind)) is Kind.SERIES


@pytest.mark.parametrize("column", ["check", "test"])
def test_a_column_of_names_of_checks_stays_a_condition(column: str) -> None:
    rows = [f"n{node},{run},{name},{value + run}" for node in (1, 2, 3) for run in (1, 2)
            for name, value in (("stream", 200), ("hpl", 3000))]  # fmt: skip
    table = read_fleet_table(f"node,run,{column},rate\n" + "\n".join(rows) + "\n")
    assert [stratum.text for stratum in table.strata] == [f"{column} stream", f"{column} hpl"]


def test_the_user_may_call_such_a_column_a_condition() -> None:
    rows = [f"n{node},{run},100,{word}" for node in (1, 2, 3) for run in (1, 2) for word in ("warm", "cold")]
    table = read_fleet_table("node,run,triad_MB_s,outcome\n" + "\n".join(rows) + "\n", by=("outcome",))
    assert [stratum.text for stratum in table.strata] == ["outcome warm", "outcome cold"]


def test_a_failed_run_of_a_series_has_no_value() -> None:
    (series,) = read_series("time,rate,status\n1,10,ok\n2,0.1,FAILED\n3,10,ok\n")
    assert [math.isnan(value) for value in series.values] == [False, True, False]
