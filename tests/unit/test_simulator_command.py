"""seatrial lab simulate: what it prints, and its exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from seatrial.cli.simulate import simulate
from seatrial.model.errors import UsageError

NDR = Path(__file__).resolve().parents[3] / "shared" / "data" / "fabrics" / "ndr-582-cas.ibnetdiscover"


def test_truth_names_score_and_cost_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("fat-tree:100", ["link:0.5", "node:0.8:in"], seed=4) == 0
    said = capsys.readouterr().out
    for word in ("Planted:", "Named:", "50.0 % left", "Right: recall 1.000", "6 rounds of shifts", "Cost:"):
        assert word in said


def test_the_same_as_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("fat-tree:100", ["uplink:0.5"], seed=4, repeat=2, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["format"], told["right"], told["totals"]["trials"]) == (1, True, 2)
    first = told["trials"][0]
    assert first["named"][0]["kind"] == first["planted"][0]["kind"] == "uplink"
    assert first["named"][0]["loss_ratio"] == pytest.approx(0.5, abs=0.01)
    assert {"pairs", "adaptive_pairs", "pieces", "plan_s", "locate_s", "report_s", "peak_bytes"} <= first["cost"].keys()


def test_many_trials_are_one_line_each_and_a_sum(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("dragonfly:72", [], seed=1, repeat=3) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[3].startswith("3 of 3 trials right")


def test_the_exit_code_tells_of_a_miss(capsys: pytest.CaptureFixture[str]) -> None:
    """A loss of 0.2 % lies within the noise."""
    assert simulate("fat-tree:60", ["link:0.998:both"], seed=1) == 1
    assert "WRONG" in capsys.readouterr().out


@pytest.mark.skipif(not NDR.exists(), reason="../shared/data/fabrics is not here")
def test_a_file_of_ibnetdiscover_is_a_topology(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(str(NDR), ["spine:0.8"], seed=2) == 0
    assert "Seed 2: 542 adapters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("topology", "fault", "design"),
    [("nowhere.txt", "link:0.5", ""), ("fat-tree:20", "lamp:0.5", ""), ("fat-tree:20", "link:0.5", "rings")],
)
def test_what_is_wrong_is_refused(topology: str, fault: str, design: str) -> None:
    with pytest.raises(UsageError):
        simulate(topology, [fault], seed=0, design=design)


def test_check_is_the_real_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = simulate("fat-tree:24", ["node:0.6:both"], seed=4, check=True, archive=tmp_path, run="sim", as_json=True)
    told = capsys.readouterr()
    report = json.loads(told.out)
    (finding,) = report["findings"]
    assert (said, report["exit_code"], report["launcher"]) == (1, 1, "simulated")
    assert f"planted: {finding['subject'].replace(':', ' ')} mlx5_0, 60.0 % left" in told.err
    assert report["design"]["name"] == "sparse"
    assert (tmp_path / "sim" / "samples.parquet").is_file()


@pytest.mark.parametrize("options", [{"rounds": 3}, {"at_once": True}, {"repeat": 2}, {"design": "shifts"}])
def test_what_does_not_go_with_check_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        simulate("fat-tree:20", [], seed=0, check=True, archive=tmp_path, **options)


@pytest.mark.parametrize("options", [{"archive": Path("a")}, {"html": Path("p.html")}, {"run": "r"}])
def test_what_is_for_check_alone_is_refused_without(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is for --check"):
        simulate("fat-tree:20", [], seed=0, **options)
