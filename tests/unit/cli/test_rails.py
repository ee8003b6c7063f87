"""seatrial link --rails over a synthetic pair with two rails, measured by script and played again."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.reader import read_info
from seatrial.cli.options import rail_names
from seatrial.frame.command_line import run
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.verdict import FindingKind
from tests.support.builders import names
from tests.support.command_line import link
from tests.support.json_objects import parsed
from tests.support.launchers import use_launcher
from tests.support.rail_cluster import INCLUDE, Railed, RailedLauncher

BOTH = "eth0+eth1"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path / "archive"


def pair_of(**truth: Any) -> Railed:
    return Railed(nodes=names(2), **truth)


def measured(
    capsys: pytest.CaptureFixture[str],
    archive: Path,
    cluster: Railed,
    trouble: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[int, dict[str, Any], RailedLauncher]:
    launcher = RailedLauncher(cluster, **(trouble or {}))
    use_launcher(launcher)
    code = link(archive=archive, as_json=True, **{"rails": "auto", "budget": "6s", **options})
    return code, parsed(capsys.readouterr().out), launcher


def kinds(found: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in found["findings"]]


def test_two_good_rails_double_the_bandwidth_and_nothing_is_found(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    code, found, launcher = measured(capsys, archive, pair_of())
    assert (code, found["verdict"], found["findings"]) == (0, "PASS", [])
    assert [one["variant"] for one in found["rails"]] == ["eth0", "eth1", BOTH]
    assert found["gain"]["ratio"]["value"] == pytest.approx(2, rel=0.01)
    assert found["gain"]["permitted"] == pytest.approx(2)
    assert found["gain"]["ratio"]["runs"] == 6
    assert found["rails"][2]["limit"]["limit_bytes_per_s"] == pytest.approx(
        2 * found["rails"][0]["limit"]["limit_bytes_per_s"]
    )
    asked = [manner.environment.get(INCLUDE) for manner in launcher.manners]
    assert asked == [None, *(["eth0", "eth1", "eth0,eth1", "eth1"] * 3), "eth0"]
    assert launcher.closed


def test_a_budget_that_allows_it_gives_whole_curves(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    _, coarse, _ = measured(capsys, archive, pair_of())
    _, fine, _ = measured(capsys, archive, pair_of(), budget="5m", max_size="64KiB", per_octave=1)
    assert [len(one["points"]) for one in coarse["rails"]] == [3, 3, 3]
    assert [len(one["points"]) for one in fine["rails"]] == [17, 17, 17]
    assert fine["rails"][0]["plateau"]["bandwidth_bytes_per_s"]["runs"] == 9


def test_every_launch_measures_each_variant_once_there_and_back(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    _, _, launcher = measured(capsys, archive, pair_of())
    turns = list(dict.fromkeys((one.repetition, one.variant) for one in launcher.rounds if one.variant))
    assert [variant for repetition, variant in turns if repetition == 0] == ["eth0", "eth1", BOTH]
    assert [variant for repetition, variant in turns if repetition == 1] == [BOTH, "eth1", "eth0"]


def test_a_slow_rail_is_named_and_so_is_what_it_costs_both(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    cluster = pair_of(shares={"eth0": 1.0, "eth1": 0.6})
    code, found, _ = measured(capsys, archive, cluster)
    assert (code, found["verdict"]) == (1, "SLOW")
    assert kinds(found) == ["slow-rail", "rails-held-back"]
    slow, held = found["findings"]
    assert slow["statement"].startswith("From n1 to n2 eth1 alone carries 70.")
    assert " MB/s, 60 % [60 %-60 %] of what eth0 does (1" in slow["statement"]
    assert "no more than the rate of eth1 on each of 2 rails (140" in held["statement"]
    assert "Repair eth1" in held["remedy"]
    assert held["subject"] == "pair:n1>n2"
    assert found["ratios"][0]["variant"] == "eth1"


def test_two_rails_that_carry_no_more_than_one_are_named_with_a_cause(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    code, found, _ = measured(capsys, archive, pair_of(striping=False))
    assert (code, kinds(found)) == (1, ["rails-held-back"])
    assert "no more than one rail" in found["findings"][0]["statement"]
    assert "where physics permits 2.00 times" in found["findings"][0]["statement"]
    assert "UCX_MAX_RNDV_RAILS" in found["findings"][0]["remedy"]


def test_both_rails_slow_are_named_though_they_are_alike(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    _, found, _ = measured(capsys, archive, pair_of(shares={"eth0": 0.5, "eth1": 0.5}))
    assert kinds(found) == ["slow-rail", "slow-rail", "rails-held-back"]
    assert all("50 % of its limit" in finding["statement"] for finding in found["findings"][:2])


def test_a_late_rail_is_named(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    _, found, _ = measured(capsys, archive, pair_of(slower={"eth1": 3.0}))
    assert kinds(found) == ["slow-rail"]
    assert found["findings"][0]["metric"] == "latency_s"
    assert "over eth1 alone" in found["findings"][0]["statement"]


def test_a_setting_that_is_not_heeded_is_no_measurement_of_one_rail(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    code, found, _ = measured(capsys, archive, pair_of(deaf=True))
    assert (code, found["verdict"], found["findings"], found["gain"]) == (1, "INVALID", [], None)
    assert "the setting did not hold the MPI to eth" in found["reason"]


def test_few_runs_settle_nothing(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    def interrupt(number: int) -> None:
        if number == 42:
            raise KeyboardInterrupt

    cluster = pair_of(shares={"eth0": 1.0, "eth1": 0.6})
    code, found, _ = measured(capsys, archive, cluster, {"on_round": interrupt})
    assert 1 < found["rails"][0]["plateau"]["bandwidth_bytes_per_s"]["runs"] < 6
    assert (code, found["verdict"], found["findings"]) == (2, "INCONCLUSIVE", [])
    assert found["reason"].startswith("eth1 alone: 60 % of its limit, below 75 %"), "what holds both back"
    assert "and 6 are needed" in found["reason"]


def test_runs_on_both_sides_of_the_line_are_inconclusive(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    cluster = pair_of(shares={"eth0": 1.0, "eth1": 0.9}, wobble=0.04, seed=1)
    code, found, _ = measured(capsys, archive, cluster)
    assert (code, found["verdict"], found["findings"]) == (2, "INCONCLUSIVE", [])


@pytest.mark.parametrize(
    ("trouble", "said"), [({"unstartable": "eth1"}, "no route to host"), ({"silent_over": "eth1"}, "is left out")]
)
def test_a_rail_over_which_nothing_runs_does_not_cost_the_others(
    capsys: pytest.CaptureFixture[str], archive: Path, trouble: dict[str, Any], said: str
) -> None:
    code, found, _ = measured(capsys, archive, pair_of(), trouble, run="r")
    assert (code, found["complete"], found["verdict"]) == (2, False, "NOT_RUN")
    assert [one["verdict"] for one in found["rails"]] == ["PASS", "NOT_RUN", "PASS"]
    note = " ".join(found["notes"])
    assert "With only eth1 in its settings the probe failed" in note
    assert said in note
    assert read_info(archive / "r").hanging_pairs == ()


def test_a_job_that_is_over_ends_the_run(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    code, found, launcher = measured(capsys, archive, pair_of(), {"over_after": 3})
    assert (code, found["verdict"], found["complete"]) == (2, "INCONCLUSIVE", False)
    assert "Job 7 is over." in found["notes"]
    assert not any("in its settings" in note for note in found["notes"])
    assert len(launcher.manners) == 3


def test_a_rail_that_is_down_is_said_before_anything_is_measured(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    with pytest.raises(SeatrialError, match="share fewer than two rails that are up: eth0; n2 has eth1, but it is not"):
        measured(capsys, archive, pair_of(down="eth1"))
    with pytest.raises(UsageError, match="--rails eth1: n2 has eth1, but it is not up"):
        measured(capsys, archive, pair_of(down="eth1"), rails="eth0,eth1")
    with pytest.raises(UsageError, match="--rails ib0: n1 has no ib0: it has eth0, eth1"):
        measured(capsys, archive, pair_of(), rails="eth0,ib0")


def test_replay_report_text_and_page_say_the_same(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    cluster = pair_of(shares={"eth0": 1.0, "eth1": 0.6})
    _, first, _ = measured(capsys, archive, cluster, run="before")
    link(archive=archive, as_json=True, replay="before", run="again", rails="auto", budget="6s")
    again = parsed(capsys.readouterr().out)
    other = {"run": "", "launcher": "", "time": ""}
    assert {**again, **other} == {**first, **other}
    assert run(["report", "before", "--archive", str(archive), "--json"]) == 1
    assert parsed(capsys.readouterr().out) == first
    page = archive.parent / "page.html"
    assert run(["report", "before", "--archive", str(archive), "--html", str(page)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("SLOW  n1>n2: eth1 alone carries 70")
    assert "; 1 more finding" in " ".join(said.split())
    assert "gain" in said
    assert max(len(line) for line in said.splitlines() if "Archive" not in line and "Page" not in line) <= 100
    text = page.read_text()
    assert (text.count("<svg"), text.count('class="curve"')) == (1, 3), "all rails over each other"
    assert "<script" not in text
    assert FindingKind.SLOW_RAIL in text


def test_lists_of_rails_are_read() -> None:
    assert rail_names("auto", "--rails") == ()
    assert rail_names("eth0, eth1", "--rails") == ("eth0", "eth1")
    assert rail_names("mlx5_0:1,mlx5_1:1", "--rails") == ("mlx5_0:1", "mlx5_1:1")


@pytest.mark.parametrize("text", ["eth0", "eth0,", "eth0,$(x)", "eth0+eth1", "eth0,é"])
def test_lists_that_are_none_are_shown(text: str) -> None:
    with pytest.raises(UsageError, match="--rails"):
        rail_names(text, "--rails")


def test_the_rails_of_a_run_are_configurations_side_by_side(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    measured(capsys, archive, pair_of(), run="r")
    assert run(["compare", "--side-by-side", "r", "--archive", str(archive)]) == 0
    line = capsys.readouterr().out.partition("\n")[0]
    assert line.startswith("MEASURED  eth0+eth1: ")
