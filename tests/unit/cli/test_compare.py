"""seatrial compare: two sets of runs of an archive."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrial.frame.command_line import run
from tests.support.command_line import Seatrial
from tests.support.json_objects import parsed
from tests.support.run_archives import healthy_run, slow_run


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for number in (1, 2, 3):
        healthy_run(folder, number)
        slow_run(folder, number)
    return folder


def compared(archive: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = run(["compare", *words, "--archive", str(archive), "--json"])
    found: dict[str, Any] = parsed(capsys.readouterr().out)
    return code, found


def test_the_slow_node_is_in_the_first_line_and_its_setting_is_the_first_suspect(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = compared(archive, "h1,h2,h3", "s1,s2,s3", capsys=capsys)
    assert (code, found["outcome"]) == (1, "slower")
    assert found["headline"].startswith("SLOWER  n3: bandwidth 1 MiB x 4 ")
    assert "; mtu_bytes changed on n3; " in found["headline"]
    assert found["worst"]["subject"] == "node:n3"
    assert found["worst"]["ratio"]["low"] < 0.8 < found["worst"]["ratio"]["high"]
    first = found["suspects"][0]
    assert [each["fact"] for each in first["facts"]] == ["interfaces.eth0.mtu_bytes"]
    assert (first["nodes"], first["slower_nodes"], first["all_slower"]) == (["n3"], 1, 1)
    assert any("mtu-differs" in line for line in found["new_problems"])


def test_the_text_says_the_same(archive: Path, seatrial: Seatrial) -> None:
    out = seatrial("compare", "2026-11-01..2026-11-03", "2026-11-11..", "--archive", archive, code=1).out
    assert re.match(r"SLOWER  n3: bandwidth 1 MiB x 4 (19\.9|20\.\d) % lower ", out)
    assert "1  interfaces.eth0.mtu_bytes: " in out
    assert "whole runs" in out
    assert "Benjamini and Hochberg" in out


def test_healthy_runs_are_the_same_or_undecided(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = compared(archive, "h1,h2", "h3", "--effect", "5%", capsys=capsys)
    assert found["outcome"] in ("same", "inconclusive")
    assert code == (0 if found["outcome"] == "same" else 2)
    assert found["suspects"] == []
    assert all(metric["changed"] == [] or metric["nodes"]["slower"] == 0 for metric in found["metrics"])


def test_one_run_each_is_inconclusive(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = compared(archive, "h1", "s1", capsys=capsys)
    assert (code, found["outcome"]) == (2, "inconclusive")
    assert "more run" in found["headline"]
    assert found["worst"]["ratio"]["high"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("h1", "nothing"), "There is no run 'nothing'"),
        (("h1", "h1"), "h1 has no run that h1 does not have"),
        (("h1,", "h2"), "A run without a name"),
        (("2027-01-01..", "h1"), "No closed run of"),
        (("2026-13-01..", "h1"), "'2026-13-01..' is not a valid range of dates"),
        (("h1", "h2", "--across", "weather"), "--across 'weather' is not a condition"),
        (("h1", "h2", "--effect", "3"), "--effect '3' is not a share"),
    ],
)
def test_wrong_words_are_refused(words: tuple[str, ...], said: str, archive: Path, seatrial: Seatrial) -> None:
    assert said in seatrial("compare", *words, "--archive", archive, code=64).err


def test_unlike_conditions_are_refused_by_name(archive: Path, tmp_path: Path, seatrial: Seatrial) -> None:
    other = tmp_path / "archive"
    shutil.copytree(archive / "h1", other / "h1")
    healthy_run(other, 2, mpi_library="MPICH 4.1", environment="module:mpich")
    said = seatrial("compare", "h1", "h2", "--archive", str(other), code=64).err
    assert "environment: none and module:mpich" in said
    permitted = [word for name in ("environment", "mpi-library") for word in ("--across", name)]
    assert "across" in seatrial("compare", "h1", "h2", *permitted, "--archive", str(other), code=2).out


def test_a_run_whose_journal_was_cut_is_refused(archive: Path, tmp_path: Path, seatrial: Seatrial) -> None:
    shutil.copytree(archive, tmp_path / "archive")
    with (tmp_path / "archive" / "h1" / "journal.jsonl").open("a") as journal:
        journal.write("{}\n")
    assert "has another length" in seatrial("compare", "h1", "s1", "--archive", tmp_path / "archive", code=2).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["h1", "h2", "--detect", "2%"], "--detect does not go with two sets of runs, only with --plan"),
        (["h1", "h2", "--dry-run"], "--dry-run does not go with two sets of runs, only with --prove"),
        (["h1", "h2", "--partition", "p"], "--partition does not go with two sets of runs, only with --prove"),
        (["--plan", "check", "--html", "page.html"], "--html does not go with --plan, only with two sets of runs or"),
        (["--plan", "check", "--prove"], "--prove does not go with --plan"),
        (["--restore", "--toggle", "a", "b"], "--toggle does not go with --restore"),
        (["--restore", "--json"], "--json does not go with --restore"),
        (["--plan"], "--plan takes one kind of run or one metric"),
        (["--plan", "check", "curve"], "--plan takes one kind of run or one metric"),
    ],
)
def test_options_of_another_way_are_refused(archive: Path, seatrial: Seatrial, words: list[str], said: str) -> None:
    assert said in seatrial("compare", *words, code=64).err
