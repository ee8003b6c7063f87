"""Runs of `seatrial nodes` against earlier ones: a node that was faster is named, though it is as good as its peers."""

import json
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.run_sets import find_runs, load_tables
from seatrial.commands.nodes.judge import judge_nodes
from seatrial.driver.past import find_past, with_past
from seatrial.frame.command_line import run
from seatrial.model.past import EarlierRun, Past
from seatrial.model.run import RecordedRun, RunKind
from seatrial.model.settings import CheckSettings, NodesSettings, Settings, SiteSettings, Trial
from tests.support.builders import names
from tests.support.command_line import Seatrial
from tests.support.node_series import GOOD, Machine, recorded
from tests.support.run_archives import archived_groups

FOUR = names(4)
TRIALS = (Trial.MEMORY, Trial.ARITHMETIC, Trial.NOISE, Trial.PIPE, Trial.STORAGE)
TRIAD = "STREAM triad of all cores, arrays of 1 MiB"


def measured(seed: int, **changed: Machine) -> RecordedRun:
    return recorded({**dict.fromkeys(FOUR, GOOD), **changed}, trials=TRIALS, seed=seed)


def archived(archive: Path, name: str, day: int, series: RecordedRun, settings: Settings | None = None) -> None:
    """A closed run of a day of November."""
    settings = settings or NodesSettings(site=SiteSettings(archive=archive), trials=TRIALS)
    archived_groups(
        archive, series, series.info.nodes, run=name, settings=settings,
        started=f"2026-11-{day:02d}T10:00:00Z", ended=f"2026-11-{day:02d}T10:01:00Z",
    )  # fmt: skip


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs in which n3 was 12 % faster than its peers, as the baseline `good`; today all nodes are alike."""
    folder = tmp_path_factory.mktemp("archive")
    for day in (1, 2, 3, 4):
        archived(folder, f"h{day}", day, measured(day, n3=Machine(memory=1.12)))
    assert run(["baseline", "set", "good", "h1", "h2", "h3", "h4", "--archive", str(folder)]) == 0
    today = measured(9)
    archived(folder, "today", 9, today)
    archived(folder, "later", 10, measured(10))
    settings = NodesSettings(site=SiteSettings(archive=folder), trials=TRIALS, baseline="good")
    info = msgspec.structs.replace(today.info, run="again", settings=settings)
    past = find_past(settings, info)
    assert past is not None
    archived(folder, "again", 9, msgspec.structs.replace(today, info=with_past(info, past, FOUR, today.facts)))
    return folder


def test_a_node_that_was_faster_is_named_and_only_with_a_baseline(archive: Path, seatrial: Seatrial) -> None:
    seatrial("report", "today", "--archive", archive)
    report = json.loads(seatrial("report", "again", "--archive", archive, "--json", code=1).out)
    (finding,) = report["findings"]
    assert (finding["kind"], finding["subject"]) == ("slower-than-before", "node:n3")
    assert "4 runs of good, 2026-11-01 to 2026-11-04" in finding["statement"]
    assert " lower (95 % CI -1" in finding["statement"]
    past = report["data"]["past"]
    assert past["runs"] == ["h1", "h2", "h3", "h4"]
    (triad,) = [one for one in past["nodes"] if (one["metric"], one["node"]) == (TRIAD, "n3")]
    assert triad["slower"] and triad["ratio"]["low"] < 1 / 1.12 < triad["ratio"]["high"]
    assert triad["ratio"]["runs"] == 5
    assert {one["node"] for one in past["nodes"] if one["slower"]} == {"n3"}


def test_runs_of_nodes_are_compared_and_have_a_history(archive: Path, seatrial: Seatrial) -> None:
    ran = seatrial("compare", "good", "today,later", "--archive", archive, "--json", code=1)
    report = json.loads(ran.out)["data"]
    by_name = {one["metric"]: one for one in report["metrics"]}
    (row,) = [one for one in by_name[TRIAD]["changed"] if one["outcome"] == "slower"]
    assert (row["subject"], row["ratio"]["value"]) == ("node:n3", pytest.approx(1 / 1.12, rel=0.01))
    assert {"memory latency, arrays of 8 MiB", "arithmetic of all cores", "slowdown by noise of the noisiest core",
            "pipe round trip on one core", "writing of one stream, in the archive"} <= by_name.keys()  # fmt: skip
    ran = seatrial("history", TRIAD, "--subject", "n3", "--archive", archive, "--runs", "h1,h2,today", "--json", code=2)
    (history,) = json.loads(ran.out)["data"]["histories"]
    assert [round(one["value"] / 1e9) for one in history["values"]] == [45, 45, 40]


def test_runs_of_another_command_are_no_past(archive: Path, seatrial: Seatrial) -> None:
    ran = seatrial("check", "--baseline", "good", "--archive", archive, "--replay", archive / "today", code=64)
    assert "good has no run of `seatrial check`" in ran.err


def test_figures_of_a_check_are_kept_in_a_baseline_but_not_compared_as_a_whole(tmp_path: Path) -> None:
    """They are a short look, which varies much; `check --baseline` judges them by node."""
    settings = CheckSettings(archive=tmp_path, node_trials=True)
    series = measured(1)
    info = msgspec.structs.replace(series.info, kind=RunKind.CHECK)
    archived(tmp_path, "c1", 1, msgspec.structs.replace(series, info=info), settings)
    assert run(["baseline", "set", "good", "c1", "--archive", str(tmp_path)]) == 0
    for words in ("c1", "good"):
        stored = find_runs(tmp_path, words)
        assert load_tables([stored]) == ()
        tables = {table.metric.name: table for table in load_tables([stored], trials=True)}
        assert tables[TRIAD].values[0] == pytest.approx([40e9] * 4, rel=0.01)
        assert tables[TRIAD].pairs == tuple((name, name) for name in FOUR)


def past_of(figures: dict[str, dict[str, float]], seatrial: str = "") -> Past:
    """Five runs of healthy values, a few thousandths apart."""
    runs = tuple(
        EarlierRun(
            run=f"h{number}", started=f"2026-11-0{number}T10:00:00Z", seatrial=seatrial,
            figures={metric: {name: value * (1 + 0.002 * ((number + place) % 3)) for place, (name, value)
                     in enumerate(of.items())} for metric, of in figures.items()},
        )
        for number in range(1, 6)
    )  # fmt: skip
    return Past(name="good", runs=runs)


@pytest.mark.parametrize(
    ("metric", "then", "named"),
    [
        (TRIAD, dict.fromkeys(FOUR, 40e9), []),
        (TRIAD, {**dict.fromkeys(FOUR, 40e9), "n2": 44e9}, ["node:n2"]),
        (TRIAD, {**dict.fromkeys(FOUR, 40e9), "n2": 41e9}, []),
        (TRIAD, {**dict.fromkeys(FOUR, 40e9), "n2": 30e9}, []),
        (TRIAD, dict.fromkeys(FOUR, 46e9), ["cluster:all"]),
        ("STREAM triad of all cores, arrays of 64 MiB", dict.fromkeys(FOUR, 46e9), []),
        ("memory latency, arrays of 8 MiB", {**dict.fromkeys(FOUR, 90e-9), "n4": 70e-9}, ["node:n4"]),
        ("slowdown by noise of the noisiest core", {**dict.fromkeys(FOUR, 1.1), "n1": 1.09}, []),
        ("writing of one stream, in the archive", {**dict.fromkeys(FOUR, 120e6), "n1": 200e6}, ["node:n1"]),
        ("writing of one stream, in /scratch", {**dict.fromkeys(FOUR, 120e6), "n1": 200e6}, []),
    ],
)
def test_losses_count_in_the_direction_and_size_of_each_figure(
    metric: str, then: dict[str, float], named: list[str]
) -> None:
    today = measured(9)
    past = past_of({metric: then})
    result = judge_nodes(msgspec.structs.replace(today, info=msgspec.structs.replace(today.info, past=past)))
    assert [one.subject.text for one in result.findings] == named
    assert ("compared with the past" in result.reason) == bool(result.past)


def test_figures_of_another_version_are_not_compared() -> None:
    today = measured(9)
    past = past_of({TRIAD: dict.fromkeys(FOUR, 52e9)}, seatrial="0.0.1")
    result = judge_nodes(msgspec.structs.replace(today, info=msgspec.structs.replace(today.info, past=past)))
    assert (result.findings, result.past) == ((), ())
    assert any("another version of seatrial (0.0.1)" in note for note in result.notes)
