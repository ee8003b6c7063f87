"""seatrial lab simulate: what it prints, and its exit codes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seatrial.model.errors import UsageError
from tests.support.command_line import Value, call
from tests.support.fabrics import fabric_text
from tests.support.json_objects import parsed


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def simulate(topology: str, fault: Sequence[str] = (), **options: Value) -> int:
    """`seatrial lab simulate`."""
    words = [word for planted in fault for word in ("--fault", planted)]
    return call("lab", "simulate", "--topology", topology, *words, **options)


def test_one_trial_prints_the_report_of_the_check_and_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("fat-tree:48", ["node:0.6:both"], seed=4) == 0
    told = capsys.readouterr()
    for words in ("slow-link", "Planted:", "40.0 % lost: named", "Right: recall 1.000 (1 of 1", "node-seconds"):
        assert words in told.out
    assert "Measuring" in told.err
    assert list(Path().iterdir()) == [], "runs are not kept unless that is asked for"


def test_the_same_as_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("fat-tree:48", ["node:0.6:both"], seed=4, as_json=True) == 0
    told = parsed(capsys.readouterr().out)
    assert (told["format"], told["right"], told["totals"]["trials"]) == (2, True, 1)
    (trial,) = told["trials"]
    assert trial["score"]["claims"][0]["subject"] == trial["score"]["faults"][0]["subject"]
    assert trial["score"]["faults"][0] | {"subject": ""} == {
        "kind": "node", "subject": "", "direction": "both", "loss_ratio": pytest.approx(0.4), "match": "named"
    }  # fmt: skip
    assert (trial["seed"], trial["verdict"], trial["exit_code"]) == (4, "SLOW", 1)
    assert {"measurements", "elapsed_s", "node_s", "wall_s", "cpu_s", "simulated_s", "peak_bytes"} == trial[
        "cost"
    ].keys()
    assert told["totals"]["recall"].keys() == {"hits", "count", "ratio", "low", "high"}


def test_several_trials_are_a_line_each_and_totals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = simulate("fat-tree:24", ["node:0.6:both"], seed=1, repeat=2, archive=tmp_path / "runs", run="many")
    lines = capsys.readouterr().out.splitlines()
    assert said == 0
    assert [line.split(":")[0] for line in lines[:2]] == ["Seed 1", "Seed 2"]
    assert lines[2].startswith("2 of 2 trials right (2 SLOW; 0 false PASS)")
    assert any(line.startswith("Recall by kind: node 1.000") for line in lines)
    assert {one.name for one in (tmp_path / "runs").iterdir()} >= {"many-1", "many-2"}


def test_the_exit_code_shows_a_miss(capsys: pytest.CaptureFixture[str]) -> None:
    """A loss of 0.1 % lies within the noise."""
    assert simulate("fat-tree:24", ["node:0.999:both"], seed=1) == 1
    assert "WRONG" in capsys.readouterr().out


def test_runs_pages_and_pictures_are_written_where_asked_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], with_samples: None
) -> None:
    page, plot = tmp_path / "page.html", tmp_path / "maps.svg"
    simulate("fat-tree:24", faults=1, seed=4, routed=True, archive=tmp_path / "runs", run="sim", html=page, plot=plot)
    lines = capsys.readouterr().out.splitlines()
    assert [lines.count(line) for line in (f"Page: {page}", f"Plot: {plot}", f"Archive: {tmp_path / 'runs'}")] == [
        1
    ] * 3
    assert plot.read_bytes().startswith(b"<?xml")
    info = json.loads((tmp_path / "runs" / "sim" / "run.json").read_text())
    assert info["launcher"] == "simulated"
    assert info["seed"] != 4, "the design has a random stream of its own"
    assert (tmp_path / "runs" / "sim" / "samples.parquet").is_file()
    assert page.read_text().startswith("<!doctype html>")


def test_a_generated_file_of_ibnetdiscover_is_a_topology(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fabric").write_text(fabric_text("6 leaves x 8 hosts, 4 spines, 4xNDR, engines"))
    assert simulate(str(tmp_path / "fabric"), ["node:0.6:both"], seed=2, as_json=True) == 0
    assert parsed(capsys.readouterr().out)["trials"][0]["nodes"] == 48


@pytest.mark.parametrize(
    ("topology", "options"),
    [
        ("nowhere.txt", {}),
        ("fat-tree:20", {"fault": ["lamp:0.5"]}),
        ("fat-tree:20", {"noise": "much"}),
        ("fat-tree:20", {"drift": "120%"}),
        ("fat-tree:20", {"faults": 50}),
        ("fat-tree:20", {"run": "kept"}),
        ("fat-tree:20", {"repeat": 2, "html": Path("page.html")}),
    ],
)
def test_wrong_options_are_refused(topology: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        simulate(topology, **options)
