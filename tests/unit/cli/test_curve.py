"""seatrial link over a synthetic pair with two protocols, measured by script and played again from the archive."""

import csv
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.export import export
from seatrial.archive.layout import ExportFormat
from seatrial.archive.reader import read_info, read_run, run_folders
from seatrial.cli.link import message_size
from seatrial.commands.link.curve.judge import judge_curve
from seatrial.frame.command_line import run
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.measurement import Kernel, Round
from seatrial.model.run import Ending
from tests.support.builders import HEALTHY, Cluster, names
from tests.support.command_line import link
from tests.support.json_objects import parsed
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher

SWITCH = 5000
Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Pairwise(Cluster):
    """Eager up to `SWITCH` bytes; above, a rendezvous that costs two latencies more."""

    def _times(self, wanted: Round, pair: Pair, draw: random.Random) -> list[float]:
        shape = wanted.shape
        one_way = 20e-6 * (3 if shape.message_bytes > SWITCH else 1) + shape.message_bytes / HEALTHY
        if shape.kernel is Kernel.PINGPONG:
            usual = 2 * one_way
        else:
            usual = 20e-6 + shape.window * shape.message_bytes / (HEALTHY * self.everything)
        return [usual * draw.gauss(1.0, 0.01) for _ in range(shape.iterations)]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path / "archive"


def script(cluster: Cluster, **trouble: Any) -> ScriptedLauncher:
    launcher = ScriptedLauncher(cluster, **trouble)
    use_launcher(launcher)
    return launcher


def measured(capsys: pytest.CaptureFixture[str], archive: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    code = link(archive=archive, as_json=True, **options)
    return code, parsed(capsys.readouterr().out)


GOOD = Pairwise(nodes=names(2))


def test_the_switch_is_placed_to_two_percent_and_the_plateau_held_against_the_limit(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    launcher = script(GOOD)
    code, found = measured(capsys, archive)
    assert (code, found["verdict"], found["exit_code"]) == (0, "PASS", 0)
    (switch,) = found["latency"]["switches"]
    assert switch["last_bytes"] <= SWITCH < switch["first_bytes"] <= switch["last_bytes"] * 1.02
    assert switch["jump"] == pytest.approx(2 * 20e-6 / (20e-6 + SWITCH / HEALTHY), rel=0.1)
    assert 0.98 < found["plateau"]["bandwidth_bytes_per_s"]["value"] / found["limit"]["limit_bytes_per_s"] < 1
    assert 2340 * 0.7 < found["latency"]["segments"][0]["bytes_per_s"]["value"] / HEALTHY * 2340 < 2340 * 1.3
    assert found["points"][0]["latency_s"]["value"] == pytest.approx(20e-6, rel=0.05)
    assert launcher.closed
    assert launcher.starts == [("n1", "n2")]


def test_a_replay_says_the_same_and_the_archive_gives_the_samples(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    script(GOOD)
    _, first = measured(capsys, archive, run="before")
    _, again = measured(capsys, archive, run="again", replay="before")
    other = {"run": "", "launcher": "", "time": ""}
    assert {**again, **other} == {**first, **other}
    assert run(["report", "before", "--archive", str(archive), "--json"]) == 0
    assert parsed(capsys.readouterr().out) == first
    folder = archive / "before"
    info = read_info(folder)
    assert info.design is not None
    assert (info.design.name, info.ending) == ("curve", Ending.COMPLETE)
    assert json.loads(json.dumps(first["plateau"])) == again["plateau"]
    assert judge_curve(read_run(folder)).latency == judge_curve(read_run(archive / "again")).latency
    target = archive.parent / "samples.csv"
    assert export([folder], target, ExportFormat.CSV) > 10_000
    with target.open() as lines:
        assert {row["phase"] for row in csv.DictReader(lines)} == {"pilot", "curve"}


def test_text_and_page(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    script(GOOD)
    page = archive.parent / "page.html"
    assert link("n1", "n2", archive=archive, html=page) == 0
    said = capsys.readouterr().out
    assert said.startswith("PASS  n1 to n2: ")
    assert "protocol switch at " in said
    assert "*" in said  # where no terminal reads, pictures are ASCII
    assert f"Page: {page}" in said
    assert max(len(line) for line in said.splitlines() if "Archive" not in line and "Page" not in line) <= 100
    text = page.read_text()
    assert text.count("<svg") == 2
    assert text.count('<line class="level"') == 1
    assert ">limit 117.7 MB/s, set by" in text
    assert "<script" not in text


@pytest.mark.parametrize(("everything", "verdict", "code"), [(0.5, "SLOW", 1), (1.2, "INVALID", 1), (0.8, "PASS", 0)])
def test_verdicts_against_the_limit(
    capsys: pytest.CaptureFixture[str], archive: Path, everything: float, verdict: str, code: int
) -> None:
    script(Pairwise(nodes=names(2), everything=everything))
    ended, found = measured(capsys, archive, max_size="1MiB", per_octave=1)
    assert (ended, found["verdict"]) == (code, verdict)


def test_without_a_limit_there_is_no_verdict(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    script(Pairwise(nodes=names(2), megabits=None))
    code, found = measured(capsys, archive, max_size="64KiB", per_octave=1)
    assert (code, found["verdict"], found["limit"]["type"]) == (0, "MEASURED", "no-limit")
    assert "speed is unknown" in found["limit"]["reason"]


def test_a_pair_that_hangs_is_not_run(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    script(GOOD, hangs=[("n1", "n2")])
    code, found = measured(capsys, archive)
    assert (code, found["verdict"], found["complete"], found["latency"]) == (2, "NOT_RUN", False, None)
    assert "left out" in " ".join(found["notes"])


def test_ctrl_c_keeps_what_was_measured(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    def interrupt(number: int) -> None:
        if number == 150:
            raise KeyboardInterrupt

    script(GOOD, on_round=interrupt)
    code, found = measured(capsys, archive)
    assert (code, found["complete"]) == (2, False)
    assert found["plateau"] is not None
    assert "Interrupted" in " ".join(found["notes"])


def test_a_spent_budget_is_said(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    script(GOOD)
    _, found = measured(capsys, archive, budget="0.001s")
    assert "was spent before all sizes" in " ".join(found["notes"])


@pytest.mark.parametrize(
    ("ends", "error", "said"),
    [
        (("n1",), UsageError, "Two different nodes"),
        (("n1", "n1"), UsageError, "Two different nodes"),
        ((), UsageError, "none was named"),
        (("n1", "n9"), SeatrialError, "n9 cannot be measured"),
    ],
)
def test_nodes_that_make_no_pair(archive: Path, ends: tuple[str, ...], error: type[Exception], said: str) -> None:
    script(Pairwise(nodes=names(3)))
    with pytest.raises(error, match=said):
        link(*ends, archive=archive)
    assert run_folders(archive) == []


def test_node_hours_cut_the_time_of_a_pair_and_say_so(archive: Path) -> None:
    script(GOOD).job = ""
    link(archive=archive, run="cut", max_size="4KiB", node_hours=0.4)
    said = "To stay within --node-hours 0.4, 2 nodes are measured, for 60 s of 300: at most 0.40 node-hours."
    assert said in read_run(archive / "cut").info.reason
    with pytest.raises(UsageError, match=r"Give at least 0\.4\."):
        link(archive=archive, run="none", node_hours=0.3)
    assert len(run_folders(archive)) == 1


@pytest.mark.parametrize(("text", "size"), [("4MiB", 4 << 20), ("64K", 65536), ("1500", 1500), ("1 GiB", 1 << 30)])
def test_sizes_are_read(text: str, size: int) -> None:
    assert message_size(text, "--max-size") == size


@pytest.mark.parametrize("text", ["", "4MB", "x", "-1", "0", "2GiB", "1.5MiB", "99999999999"])
def test_sizes_that_are_none_are_shown(text: str) -> None:
    with pytest.raises(UsageError, match=f"--max-size '{text}'"):
        message_size(text, "--max-size")


def test_names_of_runs_are_checked(archive: Path) -> None:
    with pytest.raises(UsageError, match="--run"):
        link(archive=archive, run="../up")
