"""seatrial bench scale --beside: two curves of files or of a table, with intervals only where there are repetitions."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.model.errors import ExitCode
from tests.support.benchmark_outputs import openfoam
from tests.support.command_line import Seatrial

HEAD = "env,nodes,throughput\n"


def table(folder: Path, rows: str) -> str:
    (folder / "both.csv").write_text(HEAD + rows)
    return str(folder / "both.csv")


def logs(folder: Path, group: str, seconds: dict[int, float], cells: int = 0) -> list[str]:
    (folder / group).mkdir()
    paths = []
    for ranks, time in seconds.items():
        path = folder / group / f"{ranks}.log"
        path.write_text(openfoam(ranks=ranks, seconds=time, cells=cells or 1000))
        paths.append(str(path))
    return paths


def compared(seatrial: Seatrial, words: list[str], code: int = ExitCode.PASS) -> dict[str, Any]:
    return seatrial("judge", "--as", "scaling", "--json", *words, code=code).object


def test_single_runs_are_compared_and_not_judged(tmp_path: Path, seatrial: Seatrial) -> None:
    files = logs(tmp_path, "july", {2: 40.0, 4: 21.0, 8: 12.0}) + logs(tmp_path, "nov", {2: 30.0, 4: 16.0})
    printed = compared(seatrial, [*files, "--beside", "july,nov"])
    both = printed["data"]["beside"]
    assert (both["first"], both["second"]) == ("july", "nov")
    assert [(pair["first"]["size"], pair["difference"]) for pair in both["pairs"]] == [(1, ""), (2, "")]
    assert both["pairs"][0]["ratio"]["value"] == pytest.approx(4 / 3)
    assert both["pairs"][0]["ratio"]["low"] == both["pairs"][0]["ratio"]["high"]
    assert both["only"] == [["july", [4]]]
    assert "nov is 1.31 times as fast as july at 2 nodes; single runs" in printed["headline"]


def test_repetitions_give_intervals_and_show_a_difference_or_none(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = "".join(
        f"old,{nodes},{base + step}\nnew,{nodes},{base * gain + step}\n"
        for nodes, base, gain in ((1, 100, 1.5), (2, 180, 1.0))
        for step in range(6)
    )
    (first, second) = compared(seatrial, [table(tmp_path, rows), "--beside", "old,new"])["data"]["beside"]["pairs"]
    assert first["difference"] == "faster"
    assert 1 < first["ratio"]["low"] < first["ratio"]["value"] < first["ratio"]["high"]
    assert second["difference"] == "not-shown"
    assert second["ratio"]["low"] < 1 < second["ratio"]["high"]


@pytest.mark.parametrize(("gain", "difference"), [(1.0, "not-shown"), (1.1, "faster")])
def test_two_runs_each_show_no_difference_by_their_order_alone(
    gain: float, difference: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    """Both runs of the second curve are the faster ones of four alike in 1 case of 6."""
    runs = (("old", 100.0), ("old", 102.0), ("new", 103 * gain), ("new", 105 * gain))
    rows = "".join(f"{name},{nodes},{nodes * value}\n" for nodes in (1, 2) for name, value in runs)
    pairs = compared(seatrial, [table(tmp_path, rows), "--beside", "old,new"])["data"]["beside"]["pairs"]
    assert [pair["difference"] for pair in pairs] == [difference, difference]


def test_a_slower_second_curve_is_called_slower_and_both_are_drawn(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = "".join(f"old,{nodes},{100 * nodes}\nnew,{nodes},{80 * nodes + k}\n" for nodes in (1, 2, 4) for k in (0, 1))
    rows += "".join(f"old,{nodes},{100 * nodes + 1}\n" for nodes in (1, 2, 4))
    page = tmp_path / "both.html"
    words = [table(tmp_path, rows), "--beside", "old,new", "--html", str(page)]
    pairs = compared(seatrial, words)["data"]["beside"]["pairs"]
    assert {pair["difference"] for pair in pairs} == {"slower"}
    text = page.read_text()
    assert text.count('<polyline class="curve"') == 4  # values, and efficiencies
    assert text.count("<svg viewBox") == 2


def test_other_work_at_the_same_size_is_invalid(tmp_path: Path, seatrial: Seatrial) -> None:
    files = logs(tmp_path, "july", {2: 40.0, 4: 21.0}, 1000) + logs(tmp_path, "nov", {2: 20.0, 4: 11.0}, 500)
    printed = compared(seatrial, [*files, "--beside", "july,nov"], ExitCode.FINDINGS)
    assert printed["verdict"] == "INVALID"
    assert "500 cells, and 1000" in printed["headline"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--beside", "old"], "takes two different words"),
        (["--beside", "old,other"], "no curve of the tables have 'other' in their name"),
        (["--beside", "old,new", "--metric", "nothing"], "no numbers of 'nothing'"),
    ],
)
def test_what_cannot_be_compared_is_refused(words: list[str], says: str, tmp_path: Path, seatrial: Seatrial) -> None:
    assert (
        says
        in seatrial("judge", "--as", "scaling", table(tmp_path, "old,1,5\nnew,2,6\n"), *words, code=ExitCode.USAGE).err
    )


def test_a_file_of_neither_group_and_curves_without_a_common_size_are_refused(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    files = logs(tmp_path, "july", {2: 40.0, 4: 21.0})
    ran = seatrial("judge", "--as", "scaling", *files, "--beside", "june,nov", code=ExitCode.USAGE)
    assert "contains none of the two words" in ran.err
    ran = seatrial(
        "judge", "--as", "scaling", table(tmp_path, "old,1,5\nnew,2,6\n"), "--beside", "old,new", code=ExitCode.USAGE
    )
    assert "no common size: 1; 2" in ran.err
