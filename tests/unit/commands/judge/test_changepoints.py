"""The judgement and the report of `seatrial judge --as series`."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from seatrial.commands.judge.series_view import changes_report
from seatrial.frame.command_line import run
from seatrial.importers.series import ValueSeries
from seatrial.judgement.series_changes import judge_series
from seatrial.model.imported import SeriesSense
from seatrial.model.verdict import Verdict
from tests.support.command_line import Seatrial, Text


def series(*levels: float, each: int = 40, name: str = "rate") -> ValueSeries:
    """Levels of that many values each, with noise of 1."""
    noise = np.random.default_rng(7).normal(size=each * len(levels))
    return ValueSeries(name=name, values=tuple((np.repeat(levels, each) + noise).tolist()))


@pytest.mark.parametrize(
    ("levels", "better", "verdict"),
    [
        ((100.0,), SeriesSense.HIGHER, Verdict.PASS),
        ((100.0, 90.0), SeriesSense.UNKNOWN, Verdict.NOTE),
        ((100.0, 90.0), SeriesSense.HIGHER, Verdict.SLOW),
        ((100.0, 90.0), SeriesSense.LOWER, Verdict.NOTE),
        ((90.0, 100.0), SeriesSense.LOWER, Verdict.SLOW),
        ((100.0, 80.0, 100.2), SeriesSense.HIGHER, Verdict.NOTE),
        ((90.0, 100.0, 95.0), SeriesSense.HIGHER, Verdict.SLOW),
    ],
)
def test_a_series_is_slow_if_it_is_worse_than_it_was(
    levels: tuple[float, ...], better: SeriesSense, verdict: Verdict
) -> None:
    assert judge_series([series(*levels)], better=better, effect=0.01).verdict is verdict


def test_changes_below_the_effect_are_only_counted() -> None:
    judged = judge_series([series(100.0, 95.0)], better=SeriesSense.HIGHER, effect=0.1)
    assert (judged.verdict, judged.series[0].changes, judged.series[0].small) == (Verdict.PASS, (), 1)


def test_a_short_series_is_inconclusive() -> None:
    judged = judge_series([series(100.0, each=5), series(100.0, name="b")])
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert changes_report(judged).sentence == "fewer than 12 values: rate"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([0.0] * 40, "every value is 0"),
        ([0.0, 0.0, 7.0, *[0.0] * 60], "every value is 0"),
        ([*[5.0] * 20, 0.0, *[5.0] * 9], "1 of 30 values is 0"),
        ([*[5.0] * 29, 0.0], "the newest value is 0 in place of 5"),
        ([5.0, 5.1, 5.0, 0.0, 5.0, 4.9] * 6, "6 of 36 values are 0"),
        ([1.0, 1.0, 1.0, 9.0, 9.0, 9.0] * 2, "a change of any size could have been missed"),
        ([1.0, 2.0, 3.0, 4.0, 3.0, 2.0] * 2, "even a fall to 0 could have been missed"),
    ],
)
def test_a_series_without_a_change_that_shows_nothing_is_inconclusive(values: list[float], why: str) -> None:
    judged = judge_series([ValueSeries(name="rate", values=tuple(values))], better=SeriesSense.HIGHER)
    assert (judged.verdict, int(changes_report(judged).exit_code)) == (Verdict.INCONCLUSIVE, 2)
    assert changes_report(judged).sentence == f"{why}: rate"


@pytest.mark.parametrize(
    ("scatter", "least", "undecided"),
    [(0.5, 1.0, "even twice as much could have been missed"), (0.02, 1.0, ""), (0.5, 0.0, "")],
)
def test_times_of_which_a_doubling_could_be_missed_show_nothing(scatter: float, least: float, undecided: str) -> None:
    values = tuple(least + scatter * step for step in (0, 2, 1, 4, 3, 5) * 2)
    judged = judge_series([ValueSeries(name="t_s", values=values)], better=SeriesSense.LOWER).series[0]
    assert judged.undecided == undecided


@pytest.mark.parametrize("better", [SeriesSense.UNKNOWN, SeriesSense.LOWER])
def test_a_dead_value_is_no_pass_whichever_values_are_good(better: SeriesSense) -> None:
    dead = judge_series([ValueSeries(name="rate", values=(*[100.0] * 20, 0.0, *[100.0] * 9))], better=better)
    assert (dead.verdict, dead.series[0].undecided) == (Verdict.INCONCLUSIVE, "1 of 30 values is 0")
    counts = judge_series([ValueSeries(name="errors", values=(0.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0) * 9)], better=better)
    assert not counts.series[0].undecided.startswith("9 of")


def test_a_constant_series_and_one_about_zero_say_what_would_have_been_found() -> None:
    constant = judge_series([ValueSeries(name="rate", values=(5.0,) * 40)])
    assert (constant.verdict, changes_report(constant).exit_code) == (Verdict.PASS, 0)
    balanced = judge_series([ValueSeries(name="offset", values=(-1.0, 1.0, 1.0, -1.0) * 10)])
    assert changes_report(balanced).sentence.startswith("no change in 1 series; one by ")


@pytest.mark.parametrize(("value", "found"), [(12.0, "8.3 %"), (12.5, "0.8 %")])
def test_a_constant_series_could_hide_a_step_of_its_last_digit(
    value: float, found: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    (tmp_path / "t.csv").write_text("GB/s\n" + f"{value}\n" * 40)
    assert f"one of {found} in the middle would have been found" in seatrial("judge", tmp_path / "t.csv").out


def test_each_series_is_a_test_case(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"rate": list(series(100.0, 90.0).values), "dead": [0] * 80}))
    arguments = [
        "judge",
        "--as",
        "series",
        str(tmp_path / "a.json"),
        "--better",
        "higher",
        "--junit",
        str(tmp_path / "j.xml"),
    ]
    assert run(arguments) == 1
    written = (tmp_path / "j.xml").read_text()
    assert 'name="rate">\n   <failure message="-9.6 % since value 40"' in written
    assert 'name="dead">\n   <skipped message="INCONCLUSIVE: every value is 0"' in written


def test_a_headline_names_the_series_the_size_and_the_place() -> None:
    judged = judge_series([series(100.0, 90.0), series(100.0, name="b")], better=SeriesSense.HIGHER)
    assert changes_report(judged).headline == "SLOW  rate: -9.6 % since value 40, among 2 series"
    assert "; one of" in changes_report(judge_series([series(100.0)])).sentence


@pytest.mark.parametrize(
    ("levels", "size"),
    [
        ((100.0, 75.0, 90.0), "-10.0 % since value 40"),
        ((100.0, 80.0, 100.0, 90.0), "-10.0 % since value 120"),
        ((100.0, 95.0, 90.0), "-5.3 % since value 80"),
        ((50.0, 100.0, 80.0, 75.0), "-6.2 % since value 120"),
    ],
)
def test_the_size_is_that_of_the_newest_level_beside_a_better_one(levels: tuple[float, ...], size: str) -> None:
    values = [level + (-0.1) ** place for level in levels for place in range(40)]
    judged = judge_series([ValueSeries(name="rate", values=tuple(values))], better=SeriesSense.HIGHER, effect=0.01)
    assert changes_report(judged).headline == f"SLOW  rate: {size}"


def test_places_count_missing_values(tmp_path: Path, seatrial: Seatrial) -> None:
    values: list[float | None] = list(series(100.0, 90.0).values)
    values[10:10] = [None] * 7
    (tmp_path / "a.json").write_text(json.dumps({"t": list(range(1000, 1087)), "rate": values}))
    found = seatrial("judge", "--as", "series", tmp_path / "a.json", "--json", code=1).object
    assert found["verdict"] == "SLOW"
    rate = found["data"]["series"][0]
    assert (rate["values"], rate["missing"]) == (80, 7)
    change = rate["changes"][0]
    assert (change["index"], change["time"]) == (47, "1047")
    assert change["low_index"] <= 47 <= change["high_index"]
    assert change["ratio_low"] < 0.9 < change["ratio_high"]
    assert [(one["first"], one["end"]) for one in rate["pieces"]] == [(0, 47), (47, 87)]


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--better", "higher"], 1, "SLOW  rate: -9.6 % since value 40"),
        (["--better", "faster"], 64, "'faster' is not one of"),
        (["--column", "b"], 64, "no column of numbers 'b'"),
        (["--error-rate", "2"], 64, "--error-rate '2'"),
        ([], 1, "SLOW  rate: -9.6 % since value 40"),
    ],
)
def test_the_command(arguments: list[str], code: int, part: str, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "a.csv").write_text("rate\n" + "\n".join(map(str, series(100.0, 90.0).values)))
    printed = seatrial("judge", tmp_path / "a.csv", *arguments, code=code)
    assert part in printed.out + printed.err


@pytest.mark.parametrize("names", [("rate",), ("rate", "copy", "triad")])
def test_missing_values_are_said_with_the_power(names: tuple[str, ...], seatrial: Seatrial) -> None:
    """No change in what is there does not pass for no change in what is not: 12 of 40 values are missing."""
    values = [f"{value:.3f}" for value in series(100.0).values]
    rows = [f"2026-01-{place // 2 + 1:02d}T{place % 2 * 12:02d}:00,"
            + ",".join("" if 20 <= place < 32 and name == names[-1] else value for name in names)
            for place, value in enumerate(values)]  # fmt: skip
    out = seatrial("judge", Text("\n".join([",".join(["time", *names]), *rows]), "a.csv"), "--as", "series").out
    first = out.partition("\n")[0]
    assert len(first) <= 80
    assert first.startswith(f"PASS  no change in {len(names)} series; 3.3 % in the middle would show; ")
    assert first.endswith("; 12 values missing")
    assert f"Values are missing, and nothing is known of changes there: {names[-1]} (12)" in " ".join(out.split())


@pytest.mark.parametrize(
    ("gap", "undecided"), [(1, "the newest value is missing"), (6, "the newest 6 values are missing")]
)
def test_missing_newest_values_withhold_pass_unless_such_gaps_are_usual(gap: int, undecided: str) -> None:
    values, gone = series(100.0).values, (math.nan,) * gap
    lacking = judge_series([ValueSeries(name="rate", values=values + gone)])
    assert (lacking.verdict, lacking.series[0].undecided) == (Verdict.INCONCLUSIVE, undecided)
    usual = ValueSeries(name="rate", values=values[:20] + gone + values[20:] + gone)
    assert judge_series([usual]).verdict is Verdict.PASS


@pytest.mark.parametrize("scatter", [np.repeat([1.0, 10.0], [60, 30]), np.linspace(0.3, 8, 90)])
def test_newest_values_that_scatter_more_withhold_pass(scatter: np.ndarray) -> None:
    values = 1000 + scatter * np.random.default_rng(2).normal(size=90)
    judged = judge_series([ValueSeries(name="rate", values=tuple(values.tolist()))])
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert judged.series[0].undecided == "the newest values scatter more than earlier ones"


def test_several_bad_nights_withhold_pass_and_a_single_one_does_not() -> None:
    values = list(series(100.0, each=60).values)
    values[30] = 60.0
    assert judge_series([ValueSeries(name="rate", values=tuple(values))]).verdict is Verdict.PASS
    for night in (5, 13, 22, 38, 44, 52):
        values[night] = 60.0
    (judged,) = judge_series([ValueSeries(name="rate", values=tuple(values))], better=SeriesSense.HIGHER).series
    assert judged.undecided == "7 of 60 values are far lower than the others"


@pytest.mark.parametrize(("better", "wild"), [(SeriesSense.HIGHER, 1e5), (SeriesSense.LOWER, 0.1)])
def test_a_value_that_cannot_be_withholds_pass(better: SeriesSense, wild: float) -> None:
    values = [*series(100.0).values]
    assert judge_series([ValueSeries(name="rate", values=tuple(values))], better=better).verdict is Verdict.PASS
    values[20] = wild
    (judged,) = judge_series([ValueSeries(name="rate", values=tuple(values))], better=better).series
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert judged.undecided.startswith(f"check the unit: {wild:.4g} beside a level of ")


def test_a_count_of_errors_that_rises_by_one_is_no_time(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "errors.csv").write_text(
        "errors_total,rate\n" + "".join(f"{night},{value}\n" for night, value in enumerate(series(100.0).values))
    )
    assert "errors_total" in seatrial("judge", tmp_path / "errors.csv", "--as", "series", code=2).out


def test_a_first_column_that_counts_the_rows_is_no_series(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "nights.csv").write_text(
        "night,rate\n" + "".join(f"{night},{value}\n" for night, value in enumerate(series(100.0).values))
    )
    assert seatrial("judge", tmp_path / "nights.csv", "--as", "series").out.startswith("PASS  no change in 1 series")


def test_failed_newest_runs_withhold_pass(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "a.csv").write_text(
        "date,triad\n"
        + "".join(f"{k:02d}.09.2026,{380 + k * 37 % 11 / 5 if k < 27 else 'FAILED'}\n" for k in range(1, 31))
    )
    said = seatrial("judge", tmp_path / "a.csv", "--better", "higher", code=2).out
    assert said.startswith("INCONCLUSIVE  the newest 4 runs failed: triad; 4 of 30 values missing")


@pytest.mark.parametrize("better", SeriesSense)
def test_a_bad_last_night_is_no_pass_and_no_change_yet(better: SeriesSense) -> None:
    values = series(100.0).values
    judged = judge_series([ValueSeries(name="rate", values=(*values, 49.0, 50.0))], better=better)
    assert (judged.verdict, changes_report(judged).sentence) == (
        Verdict.INCONCLUSIVE, "the newest 2 values are 50 % lower: rate",
    )  # fmt: skip
    nights = judge_series([ValueSeries(name="rate", values=(*values, 97.0))], better=better, effect=0.1)
    assert nights.verdict is Verdict.PASS


def test_a_fall_is_named_although_the_newest_value_seems_good_again(seatrial: Seatrial) -> None:
    values = [*series(100.0, 80.0).values, 100.0]
    said = seatrial("judge", Text(json.dumps(values), "a.json"), "--better", "higher", code=1).out
    assert said.startswith("SLOW  value: -19.6 % since value 40; the newest value is 25 % higher\n")
    assert "Not decided: value: the newest value is 25 % higher." in " ".join(said.split())
    rows = "".join(f"2026-{9 + day // 28:02d}-{1 + day % 28:02d},{value}\n" for day, value in enumerate(values))
    said = seatrial("judge", Text(f"date,bandwidth_GBps\n{rows}", "a.csv"), "--better", "higher", code=1).out
    assert said.startswith("SLOW  bandwidth_GBps: -19.6 % since 2026-10-13; the newest value is 25 % higher\n")


@pytest.mark.parametrize(
    ("name", "words", "better", "verdict"),
    [
        ("latency_us", [], "lower", "NOTE"), ("busbw", [], "higher", "SLOW"), ("score", [], "unknown", "NOTE"),
        ("boot [s]", [], "lower", "NOTE"), ("latency_us", ["--better", "higher"], "higher", "SLOW"),
        ("busbw", ["--better", "lower"], "lower", "NOTE"),
    ],
)  # fmt: skip
def test_the_name_of_a_series_says_which_values_are_good(
    name: str, words: list[str], better: str, verdict: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    rows = "".join(f"{place},{value}\n" for place, value in enumerate(series(100.0, 90.0).values))
    (tmp_path / "a.csv").write_text(f"run,{name}\n{rows}")
    found = seatrial("judge", tmp_path / "a.csv", "--json", *words, code=int(verdict == "SLOW")).object
    assert (found["verdict"], found["data"]["series"][0]["better"]) == (verdict, better)


@pytest.mark.parametrize(
    ("swaps", "better", "undecided"),
    [
        (0, SeriesSense.LOWER, "the newest 20 values drift up by 33 %"), (0, SeriesSense.HIGHER, ""),
        (4, SeriesSense.LOWER, "the newest 20 values drift up by 33 %"),
    ],
)  # fmt: skip
def test_a_smooth_drift_is_not_explained_by_neighbours_that_are_alike(
    swaps: int, better: SeriesSense, undecided: str
) -> None:
    """A curve leaves residuals of which each is like the next, so that 20 values were worth one."""
    values = [1 / (1 - 0.25 * place / 20) for place in range(20)]
    for place in range(0, 4 * swaps, 4):
        values[place], values[place + 1] = values[place + 1], values[place]
    judged = judge_series([ValueSeries(name="t_s", values=tuple(values))], better=better).series[0]
    assert (judged.verdict is Verdict.INCONCLUSIVE) == bool(undecided)
    assert judged.undecided[:34] == undecided[:34]
