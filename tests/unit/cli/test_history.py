"""seatrial history: since when a metric is another, and which facts changed then."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seatrial.commands.history import run as history_run
from seatrial.judgement.comparison.history import values_over_runs
from seatrial.model.run import RunKind
from seatrial.model.subject import FABRIC, node, pair
from tests.support.command_line import Seatrial
from tests.support.paths import ROOT
from tests.support.run_archives import healthy_run, slow_run
from tests.support.run_tables import table

pytestmark = pytest.mark.usefixtures("tables_read_once")
Read = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine healthy runs, then nine in which n3 has another MTU and is slow."""
    folder = tmp_path_factory.mktemp("archive")
    for number in range(1, 10):
        healthy_run(folder, number, nodes=3)
        slow_run(folder, number, nodes=3)
    return folder


def printed(archive: Path, *words: str, seatrial: Seatrial, code: int = 1) -> dict[str, Any]:
    (history,) = seatrial("history", *words, "--archive", archive, "--json", code=code).object["data"]["histories"]
    return dict(history)


def test_the_change_of_a_node_has_its_run_and_its_setting(archive: Path, seatrial: Seatrial) -> None:
    found = printed(archive, "bandwidth", "--subject", "n3", seatrial=seatrial)
    (change,) = found["changes"]
    assert change["run"] == "s1"
    assert change["ratio"] == pytest.approx(0.8, abs=0.02)
    assert change["suspects"][0]["facts"][0]["fact"] == "interfaces.eth0.mtu_bytes"
    assert [each["run"] for each in found["values"]][:2] == ["h1", "h2"]


def test_the_text_names_them_too(archive: Path, seatrial: Seatrial) -> None:
    out = seatrial("history", "bandwidth", "--subject", "n3", "--archive", archive, code=1).out
    assert " ".join(out.split()).startswith(
        "SLOW bandwidth 1 MiB x 4 of n3: -20.0 % since 2026-11-11T10:00:00Z run started value"
    )
    assert "Since s1 (2026-11-11T10:00:00Z)" in out
    assert "interfaces.eth0.mtu_bytes" in out


def test_few_runs_are_incomplete(archive: Path, seatrial: Seatrial) -> None:
    found = printed(archive, "latency", "--runs", "h1,h2,h3", seatrial=seatrial, code=2)
    assert (found["undecided"], found["changes"]) == ("fewer than 12 values", [])


def test_a_baseline_is_beside_the_values_and_a_damaged_one_is_noted(
    archive: Path, tmp_path: Path, seatrial: Seatrial
) -> None:
    """The runs of the baseline are gone: its own values count."""
    copied = shutil.copytree(archive, tmp_path / "copied")
    seatrial("baseline", "set", "good", "h1,h2,h3", "--archive", str(copied))
    for name in ("h1", "h2", "h3"):
        shutil.rmtree(copied / name)
    (copied / "baselines" / "torn" / "0001").mkdir(parents=True)
    ran = seatrial("history", "bandwidth", "--subject", "n3", "--archive", str(copied), "--json", code=1)
    (found,) = ran.object["data"]["histories"]
    (kept,) = found["baselines"]
    healthy = [each["value"] for each in found["values"] if each["run"].startswith("h")]
    assert kept["name"] == "good" and kept["value"] == pytest.approx(sum(healthy) / len(healthy), rel=0.01)
    assert kept["newest_ratio"] == pytest.approx(0.8, abs=0.02)
    assert "The baseline torn is left out" in ran.err
    plain = printed(archive, "bandwidth", "--subject", "n3", seatrial=seatrial)
    after = {each["run"]: each["value"] for each in found["values"]}
    assert after == pytest.approx(
        {each["run"]: each["value"] for each in plain["values"] if each["run"] in after}, rel=0.01
    )
    text = seatrial("history", "bandwidth", "--subject", "n3", "--archive", str(copied), code=1).out
    assert re.search(r"baseline +good: [\d.]+ MB/s; the newest run -(19|20)\.\d %", text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("weather",), "measured 'weather'. Measured were: bandwidth 1 MiB x 4, latency 8 B"),
        (("bandwidth", "--subject", "n99"), "measured 'bandwidth' of node n99. Measured nodes: n1, n2, n3."),
    ],
)
def test_what_was_not_measured_is_refused(words: tuple[str, ...], said: str, archive: Path, seatrial: Seatrial) -> None:
    assert said in seatrial("history", *words, "--archive", archive, code=64).err


def test_the_history_of_a_curve_begins_with_its_largest_message(tmp_path: Path, seatrial: Seatrial) -> None:
    shutil.copytree(ROOT / "tests" / "data" / "archives" / "curve", tmp_path / "curve")
    out = seatrial("history", "bandwidth", "--archive", tmp_path, code=2).out
    assert out.startswith("INCONCLUSIVE  fewer than 12 values: bandwidth 4 KiB x 64, curve of all pairs"), (
        "measured are 1 B to 4 KiB"
    )


def test_metrics_with_few_values_are_one_line(tmp_path: Path, seatrial: Seatrial) -> None:
    """The curves of one run have some forty metrics: the first is printed, the others are counted."""
    shutil.copytree(ROOT / "tests" / "data" / "archives" / "curve", tmp_path / "curve")
    ran = seatrial("history", "bandwidth", "--archive", tmp_path, code=2)
    metrics = seatrial("history", "bandwidth", "--archive", tmp_path, "--json", code=2).data["histories"]
    assert ran.out.count("value\n") == 1 and len(metrics) > 2
    assert f"{len(metrics) - 1} more metrics have fewer than 12 values: bandwidth" in ran.out
    assert "Measure until there are 12 runs" in " ".join(ran.out.split())


def test_newer_runs_of_another_command_do_not_hide_those_of_checks(tmp_path: Path, seatrial: Seatrial) -> None:
    """They have the same metric, measured under other conditions; a check under other conditions begins again."""
    for number in (1, 2, 3):
        healthy_run(tmp_path, number, nodes=3)
    healthy_run(tmp_path, 9, nodes=3, kind=RunKind.PLACEMENT, launcher="hosts")
    found = printed(tmp_path, "bandwidth", seatrial=seatrial, code=2)
    assert [each["run"] for each in found["values"]] == ["h1", "h2", "h3"]
    healthy_run(tmp_path, 12, nodes=3, launcher="hosts")
    found = printed(tmp_path, "bandwidth", seatrial=seatrial, code=2)
    assert [each["run"] for each in found["values"]] == ["h9", "h12"]
    found = printed(tmp_path, "bandwidth", "--runs", "h1,h2,h9", seatrial=seatrial, code=2)
    assert [each["run"] for each in found["values"]] == ["h1", "h2"]


def test_few_of_many_metrics_are_listed(archive: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> None:
    """The curves of one run have some hundred."""
    monkeypatch.setattr("seatrial.commands.history.run.MOST_METRICS", 1, raising=False)
    ran = seatrial("history", "weather", "--archive", archive, code=64)
    assert "Measured were: bandwidth 1 MiB x 4 and 1 more." in ran.err


def test_an_archive_without_runs_or_without_values_is_refused(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    ran = seatrial("history", "bandwidth", "--archive", tmp_path, code=64)
    assert f"{tmp_path} has no closed run. Measure first" in ran.err
    monkeypatch.setattr(history_run, "load_tables", lambda *_, **__: ())
    ran = seatrial("history", "bandwidth", "--archive", archive, code=64)
    assert f"The runs of {archive} have no values. Name other runs" in ran.err


def test_values_are_of_the_subjects_pairs() -> None:
    values = table((4, 4), slow={"n3": 0.8}, of_runs=0.0, of_pairs=0.0)
    of_node = values_over_runs(values, node("n3"), {})
    assert of_node[4] / of_node[0] == pytest.approx(0.8)
    assert np.ptp(values_over_runs(values, FABRIC, {})) == pytest.approx(0, abs=1e-3)
    of_pair = values_over_runs(values, pair("n3", "n1"), {})
    assert of_pair[0] == pytest.approx(values.values[0, values.pairs.index(("n3", "n1"))])
    assert np.isnan(values_over_runs(values, node("n99"), {})).all()


def series_csv(name: str, levels: list[float], month: int) -> str:
    rows = [
        f"2026-{month:02d}-{day:02d},{level * (1 + (day * 7 % 5) / 1e3):.5g}" for day, level in enumerate(levels, 1)
    ]
    return "\n".join([f"date,{name}", *rows])


def test_a_newer_run_of_another_kind_does_not_hide_the_metric_and_the_verdict_is_that_of_changepoints(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    archive = tmp_path / "archive"
    for name, levels, month in (("tflops", [2.0] * 14 + [1.6] * 10, 9), ("latency_us", [1.5] * 3, 10)):
        (tmp_path / f"{name}.csv").write_text(series_csv(name, levels, month))
        seatrial("import", tmp_path / f"{name}.csv", "--archive", archive, "--name", name)
    healthy_run(archive, 1, nodes=3)
    ran = seatrial("history", "tflops", "--archive", archive, code=1)
    assert ran.out.startswith("SLOW  tflops of all nodes: -20.0 % since 2026-09-15T00:00:00Z")
    seatrial("judge", tmp_path / "tflops.csv", "--better", "higher", code=1)
    ran = seatrial("history", "latency_us", "--archive", archive, code=2)
    assert ran.out.rpartition("INCONCLUSIVE")[2].startswith("  fewer than 12 values: latency_us of all nodes; 3 runs")


@pytest.mark.parametrize(("factor", "subjects"), [(0.9, ["fabric:all", "node:n3"]), (0.995, ["fabric:all"])])
def test_a_node_that_became_worse_beside_others_is_named(
    factor: float, subjects: list[str], tmp_path: Path, seatrial: Seatrial
) -> None:
    """One node of eight does not move the middle of all."""
    chance = np.random.default_rng(4)
    levels = {(3, day): 200 * factor for day in range(15, 25)}
    rows = [
        f"n{node},2026-10-{day:02d},{levels.get((node, day), 200) * (1 + chance.normal(0, 0.003)):.3f}"
        for day in range(1, 25)
        for node in range(1, 9)
    ]
    (tmp_path / "rates.csv").write_text("\n".join(["node,date,rate", *rows, ""]))
    seatrial("import", tmp_path / "rates.csv", "--archive", tmp_path / "runs", code=0)
    words = ("--archive", str(tmp_path / "runs"))
    ran = seatrial("history", "rate", *words, "--json", code=len(subjects) - 1)
    assert [each["subject"] for each in ran.object["data"]["histories"]] == subjects
    assert [each["verdict"] for each in ran.object["data"]["histories"]] == ["PASS", "SLOW"][: len(subjects)]
    series = seatrial("judge", "--as", "series", "--runs", "..", *words, "--json", code=len(subjects) - 1)
    assert [each["name"] for each in series.object["data"]["series"]] == ["rate", "rate of n3"][: len(subjects)]
