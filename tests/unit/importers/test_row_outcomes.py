"""Columns that say how a run ended: successes, failures, and words that are asked about."""

import math
from pathlib import Path

import pytest

from seatrial.commands.judge.kinds import Kind
from seatrial.commands.judge.recognition import kind_of
from seatrial.commands.judge.sources import Sources
from seatrial.importers.columns import TableColumn
from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.row_outcomes import failed_rows
from seatrial.importers.series import read_series
from seatrial.model.errors import UsageError


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
    ("name", "cells", "failed"),
    [
        ("exit_code", "0 0 137", {2}), ("rc", "1 1", {0, 1}), ("status", "0 0 1", {2}), ("status", "1 1", set()),
        ("passed", "1 0 1", {1}), ("residual", "0 3", set()), ("errors", "0 5 0", {1}), ("mismatches", "0 0 3", {2}),
        ("errors", "1.5e-9 2.5e-9 0", set()), ("exit code", "0 0 137 0", {2}), ("Exit-Code", "0 0 1 0", {2}),
        ("signal", "0 0 11 0", {2}), ("failed", "0 0 1 0", {2}), ("#wrong", "0 0 5 0", {2}),
        ("mismatch", "0 0 2 0", {2}), ("xid", "0 0 79 0", {2}), ("ecc_uncorrectable", "0 0 3 0", {2}),
        ("crc_errors", "0 0 8 0", {2}), ("rx_errors", "7 0 9", set()), ("retries", "0 0 2", set()),
        ("error_rate", "0 0.5 0", set()), ("passes", "10/10 10/10 7/10 10/10", {2}), ("slot", "1/2 2/2 1/2 2/2", set()),
    ],
)  # fmt: skip
def test_numbers_say_that_a_run_failed_by_the_name_of_their_column(name: str, cells: str, failed: set[int]) -> None:
    assert _failed(name, *cells.split()) == failed


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("errors", "0 errors", "5 errors"), ("status", "ok", "2 mismatches"), ("validation", "Pass", "Failed"),
        ("HPL", "PASSED", "FAILED"), ("health", "OK", "CRITICAL"), ("verified", "yes", "no"),
        ("completed", "true", "False"), ("failed", "no", "yes"), ("crashed", "", "true"), ("ExitCode", "0:0", "0:9"),
        ("reason", "-", "TIMEOUT"), ("Ergebnis", "bestanden", "nicht bestanden"),
        ("numerics", "verified", "not verified"), ("steps", "4 / 4", "3 / 4"), ("error", "", "CUDA error 700"),
        ("last_error", "-", "NCCL WARN unhandled system problem"), ("message", "-", "Segmentation fault"),
        ("comment", "", "residual check FAILED"), ("Notes", "", "run 2 crashed, ECC error"),
        ("Bemerkung", "", "fehlerhaft, neu starten"), ("info", "no errors", "died with 3 errors"),
    ],
)  # fmt: skip
def test_contents_say_that_a_run_failed_whatever_the_name(name: str, good: str, bad: str) -> None:
    assert _failed(name, good, good, bad, good) == {2}


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("state", ("alloc", "mixed")), ("state", ("idle", "drained")), ("check", ("stream", "hpl")),
        ("comment", ("slow start", "none")), ("error_text", ("", "see log")), ("turbo", ("yes", "no", "yes", "yes")),
        ("hyperthreading", ("true", "true", "false", "true")), ("mode", ("normal", "boost", "normal", "normal")),
        ("model", ("H100", "H100", "A100", "H100")), ("note", ("", "no ECC errors", "error-free", "max error 1.2e-9")),
        ("remark", ("", "", "0 failures", "ohne Fehler")), ("link", ("up", "up", "down", "up")),
        ("governor", ("performance", "performance", "powersave", "performance")),
        ("result.triad.unit", ("GB/s", "GB/s")), ("result_unit", ("GB/s", "GB/s")),
    ],
)  # fmt: skip
def test_columns_of_other_things_are_left_alone(name: str, cells: tuple[str, ...]) -> None:
    assert _failed(name, *cells) == set()


def test_a_status_of_numbers_that_may_mean_either_is_asked_about() -> None:
    with pytest.raises(UsageError, match="which of them is a success"):
        _failed("status", "0", "1", "1")


@pytest.mark.parametrize("column", ["exit_code", "rc", "status", "passed"])
def test_numbers_that_say_how_runs_ended_are_no_condition(column: str) -> None:
    good, bad = ("1", "0") if column == "passed" else ("0", "139")
    rows = [f"n{node},{run},100,{bad if (node, run) == (2, 1) else good}" for node in (1, 2, 3) for run in (1, 2, 3)]
    table = read_fleet_table(f"node,run,triad_MB_s,{column}\n" + "\n".join(rows) + "\n")
    assert (len(table.strata), table.failed) == (1, ("n2",))


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


@pytest.mark.parametrize("name", ["health", "burn-in", "validation"])
def test_an_unknown_word_among_successes_is_asked_about(name: str) -> None:
    with pytest.raises(UsageError, match="nothing shows whether such a run counts"):
        _failed(name, "OK", "OK", "DEGRADED", "OK")


@pytest.mark.parametrize(("name", "usual", "less"), [("ranks", 64, 60), ("N", 176640, 1000), ("threads", 128, 127)])
def test_a_run_of_less_work_is_not_compared_with_the_others(name: str, usual: int, less: int) -> None:
    rows = [f"cn{node},{2100 + node % 5},{less if node == 7 else usual}" for node in range(1, 17)]
    table = read_fleet_table(f"node,gflops,{name}\n" + "\n".join(rows) + "\n")
    assert [stratum.text for stratum in table.strata] == [f"{name} {usual}", f"{name} {less}"]


@pytest.mark.parametrize(
    "word",
    ["DOWN", "drained", "unreachable", "no data", "Segmentation fault", "***", "?", "srun: error: no step", "inf"],
)
def test_words_in_place_of_a_number(word: str) -> None:
    rows = [f'cn{node},"{word if node == 3 else 2100 + node}"' for node in range(1, 7)]
    table = read_fleet_table("node,gflops\n" + "\n".join(rows) + "\n")
    assert (table.failed, table.without_value) == (("cn3",), ("cn3",))
