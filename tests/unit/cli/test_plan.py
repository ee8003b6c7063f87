"""seatrial compare --plan: how many runs a claim needs."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrial.model.run import RunKind
from tests.support.command_line import Seatrial
from tests.support.paths import DATA
from tests.support.run_archives import healthy_run

Read = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for number in (1, 2, 3):
        healthy_run(folder, number)
    shutil.copytree(DATA / "archives" / "curve", folder / "curve")
    return folder


def planned(archive: Path, *words: str, seatrial: Seatrial, code: int = 0) -> dict[str, Any]:
    data: dict[str, Any] = seatrial("compare", "--plan", *words, "--archive", archive, "--json", code=code).object[
        "data"
    ]
    return data


def test_smaller_changes_and_more_subjects_take_more_runs(archive: Path, seatrial: Seatrial) -> None:
    large = planned(archive, "bandwidth 1 MiB x 4", "--detect", "5%", "--runs", "h1,h2,h3", seatrial=seatrial)
    small = planned(archive, "bandwidth 1 MiB x 4", "--detect", "0.05%", "--runs", "h1,h2,h3", seatrial=seatrial)
    assert large["runs"] == ["h1", "h2", "h3"]
    assert large["nodes"] == 5
    assert large["node_hours_a_run"] == pytest.approx(5 / 60)
    assert [need["claim"] for need in large["needs"]] == ["everything", "this-node", "any-node"]
    for first, second in zip(large["needs"], small["needs"], strict=True):
        assert first["deviation"] == second["deviation"] > 0
        assert second["runs_each"] is None or first["runs_each"] <= second["runs_each"]
    assert small["needs"][2]["runs_each"] is None or small["needs"][2]["runs_each"] > large["needs"][2]["runs_each"]
    known, unknown = large["needs"][1:]
    assert known["runs_each"] <= unknown["runs_each"]
    assert known["node_hours"] == pytest.approx(known["more_runs"] * 5 / 60)


def test_a_run_of_another_command_hides_no_check(tmp_path: Path, seatrial: Seatrial) -> None:
    for number in (1, 2, 3):
        healthy_run(tmp_path, number)
    healthy_run(tmp_path, 9, kind=RunKind.PLACEMENT, launcher="hosts")
    assert planned(tmp_path, "bandwidth", seatrial=seatrial)["runs"] == ["h1", "h2", "h3"]


def test_a_command_has_all_its_metrics(archive: Path, seatrial: Seatrial) -> None:
    metrics = {need["metric"] for need in planned(archive, "check", seatrial=seatrial)["needs"]}
    assert metrics == {"bandwidth 1 MiB x 4", "latency 8 B"}


def test_one_run_is_too_few(archive: Path, seatrial: Seatrial) -> None:
    assert planned(archive, "curve", seatrial=seatrial, code=2)["needs"] == []
    assert "at least 2 runs" in seatrial("compare", "--plan", "curve", "--archive", archive, code=2).out


def test_the_text_has_a_row_for_each_claim(archive: Path, seatrial: Seatrial) -> None:
    out = seatrial("compare", "--plan", "check", "--archive", archive).out
    said = " ".join(out.split())
    assert said.startswith("2 runs before and 2 after show a change of 2.0 % of all pairs in bandwidth 1 MiB x 4")
    assert "from       3 runs: h1, h2, h3" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "measured 'nonsense'"),
        (("saturate",), "measured 'saturate'"),
        (("check", "--detect", "2"), "--detect '2' is not a share"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    words: tuple[str, ...], said: str, archive: Path, seatrial: Seatrial
) -> None:
    assert said in seatrial("compare", "--plan", *words, "--archive", archive, code=64).err
