"""What seatrial link gives to compare with other tools: means, percentiles, places of ranks, and the clock."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from seatrial.archive.reader import read_run
from seatrial.commands.link.curve import run as experiment
from seatrial.commands.link.curve.judge import fit_latency, judge_curve
from seatrial.launch.contract import PLAIN, StartManner
from seatrial.model.measurement import DefaultStart, Kernel, Phase
from seatrial.statistics.segments import Segmentation
from tests.support.builders import names
from tests.support.command_line import link
from tests.support.json_objects import parsed
from tests.support.launchers import use_launcher
from tests.support.reports import curve_page, curve_text
from tests.support.scripted import ScriptedLauncher, ScriptedSession
from tests.unit.cli.test_curve import Pairwise

CLOCK = {"clock_resolution_s": 1e-6, "clock_overhead_s": 1e-6}


def rank(node: str, cpus: str) -> dict[str, Any]:
    return {"record": "rank", "host": node, "cpus": cpus, "cpu": 0, "pid": 7, **CLOCK}


class PlacedLauncher(ScriptedLauncher):
    """Its ranks say where they are, and so do those of its mpirun."""

    def start(self, nodes: Any, log: Path, manner: StartManner = PLAIN) -> ScriptedSession:
        session = super().start(nodes, log, manner)
        session.ranks = tuple(rank(node, str(place)) for place, node in enumerate(nodes))
        return session

    def default_start(self, nodes: Any, log: Path) -> DefaultStart | None:
        return DefaultStart(line="mpirun -n 2", nodes=tuple(nodes), ranks=tuple(rank(node, "0") for node in nodes))


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    launcher = PlacedLauncher(Pairwise(nodes=names(2), boot_id="one"))
    use_launcher(launcher)
    return tmp_path / "archive"


def measured(capsys: pytest.CaptureFixture[str], archive: Path, **options: Any) -> dict[str, Any]:
    link("n1", "n2", archive=archive, as_json=True, max_size="64KiB", **options)
    found: dict[str, Any] = parsed(capsys.readouterr().out)
    return found


def test_mean_and_p99_are_of_all_round_trips(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    found = measured(capsys, archive, run="r")
    taken = [one for one in read_run(archive / "r").measurements if one.phase is Phase.CURVE]
    for point in found["points"]:
        trips = [
            one.times_s
            for one in taken
            if one.shape.kernel is Kernel.PINGPONG and one.shape.message_bytes == point["message_bytes"]
        ]
        everything = np.concatenate([np.array(times) for times in trips]) / 2
        assert point["round_trips"] == len(everything)
        assert point["latency_mean_s"]["value"] == pytest.approx(everything.mean(), rel=1e-9)
        assert point["latency_mean_s"]["runs"] == len(trips)
        late = point["latency_p99_s"]
        assert (late is None) == (len(everything) < 100)
        if late:
            assert 0.985 <= np.mean(everything <= late["value"]) <= 0.995
            assert late["low"] <= late["value"] <= late["high"]


def test_mean_bandwidth_is_all_bytes_over_all_time(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    found = measured(capsys, archive, run="r")
    windows = [
        one
        for one in read_run(archive / "r").measurements
        if one.phase is Phase.CURVE and one.shape.kernel is Kernel.ONEWAY and one.shape.message_bytes == 65536
    ]
    moved = sum(65536 * one.shape.window * len(one.times_s) for one in windows)
    (point,) = [one for one in found["points"] if one["message_bytes"] == 65536]
    mean = point["bandwidth_mean_bytes_per_s"]
    assert mean["value"] == pytest.approx(moved / sum(sum(one.times_s) for one in windows), rel=1e-9)
    assert mean["low"] < mean["value"] < mean["high"]


def test_one_late_round_trip_of_many_moves_the_mean_and_neither_median_nor_p99(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    measured(capsys, archive, run="r")
    recorded = read_run(archive / "r")
    before = judge_curve(recorded).points[0]
    late = next(
        place
        for place, one in enumerate(recorded.measurements)
        if one.phase is Phase.CURVE and one.shape.kernel is Kernel.PINGPONG and one.shape.message_bytes == 1
    )
    changed = list(recorded.measurements)
    changed[late] = replace(changed[late], times_s=(0.2, *changed[late].times_s[1:]))
    after = judge_curve(replace(recorded, measurements=tuple(changed))).points[0]
    assert before.latency_s and after.latency_s and before.latency_mean_s and after.latency_mean_s
    assert after.latency_s.value == pytest.approx(before.latency_s.value, rel=0.001)
    assert after.latency_mean_s.value > 2 * before.latency_mean_s.value
    assert before.latency_p99_s and after.latency_p99_s
    assert after.latency_p99_s.value == pytest.approx(before.latency_p99_s.value, rel=0.01)


def test_where_the_ranks_ran_and_what_the_default_would_do(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    found = measured(capsys, archive, run="r")
    assert [one["cpus"] for one in found["ranks"]["measured"]["ranks"]] == [[0], [1]]
    assert [one["cpus"] for one in found["ranks"]["default"]["ranks"]] == [[0], [0]]
    assert (found["ranks"]["measured"]["share"], found["ranks"]["default"]["share"]) == (False, True)
    recorded = read_run(archive / "r")
    said = " ".join(curve_text(judge_curve(recorded)).split())
    assert "mpirun -n 2 puts n1 on CPU 0, n2 on CPU 0, where they share a core" in said
    assert "where they share a core" in curve_page(recorded.info, judge_curve(recorded))


def test_an_interrupted_curve_keeps_its_places_and_asks_no_default(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupt(number: int) -> None:
        if number == 60:
            raise KeyboardInterrupt

    launcher = PlacedLauncher(Pairwise(nodes=names(2)), on_round=interrupt)
    use_launcher(launcher)
    found = measured(capsys, tmp_path / "archive", run="r")
    assert not found["complete"]
    assert found["ranks"]["default"] is None
    assert "started by scripted" in curve_text(judge_curve(read_run(tmp_path / "archive" / "r")))


def test_the_report_says_for_which_sizes_the_clock_is_too_coarse(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    """Its smallest step is 1 µs here, and a round trip 40 µs and more."""
    found = measured(capsys, archive, run="r")
    assert found["clock"]["resolution_s"] == 1e-6
    coarse = found["clock"]["coarse_up_to_bytes"]
    assert {one["message_bytes"] for one in found["points"] if 2 * one["latency_s"]["value"] < 100 * 1e-6} == {
        one["message_bytes"] for one in found["points"] if one["message_bytes"] <= coarse
    }
    said = " ".join(curve_text(judge_curve(read_run(archive / "r"))).split())
    assert "last fewer than 100 of the clock's smallest steps (1.00 µs)" in said
    assert "reading the clock takes 1.00 µs, 2.5 % of the shortest round trip" in said


def test_text_has_a_row_for_each_power_of_two_with_its_labels(
    capsys: pytest.CaptureFixture[str], archive: Path
) -> None:
    measured(capsys, archive, run="r")
    text = curve_text(judge_curve(read_run(archive / "r")))
    assert "osu_latency, IMB PingPong and osu_bw print the mean; osu_latency -z also P50 and P99" in text
    rows = [line.split() for line in text.splitlines() if line.strip().startswith(("8 B ", "64 KiB "))]
    assert [len(row) for row in rows] == [12, 10], "fewer than 100 round trips of 64 KiB have no P99"
    assert max(len(line) for line in text.splitlines()) <= 100


def test_one_run_gives_numbers_without_intervals(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    measured(capsys, archive, run="r")
    recorded = read_run(archive / "r")
    once = replace(recorded, measurements=tuple(one for one in recorded.measurements if one.repetition == 0))
    found = judge_curve(once)
    assert found.latency is not None
    assert found.latency.switches == ()
    mean = found.points[0].latency_mean_s
    assert mean is not None
    assert mean.low == mean.value == mean.high
    assert "it takes 3 runs to confirm a switch" in " ".join(curve_text(found).split())


def test_round_trips_of_no_time_do_no_harm(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    measured(capsys, archive, run="r")
    recorded = read_run(archive / "r")
    nothing = tuple(replace(one, times_s=(0.0,) * len(one.times_s)) for one in recorded.measurements)
    found = judge_curve(replace(recorded, measurements=nothing))
    assert found.points[0].latency_mean_s is not None
    assert found.points[0].latency_mean_s.value == 0
    assert curve_text(found)
    assert curve_page(recorded.info, found)


@pytest.mark.parametrize("all_of_them", [True, False])
def test_times_that_are_no_numbers_are_left_out(
    capsys: pytest.CaptureFixture[str], archive: Path, *, all_of_them: bool
) -> None:
    measured(capsys, archive, run="r")
    recorded = read_run(archive / "r")
    spoilt = tuple(
        replace(one, times_s=(float("nan"), *(() if all_of_them else one.times_s))) for one in recorded.measurements
    )
    found = judge_curve(replace(recorded, measurements=spoilt))
    assert curve_text(found)
    if all_of_them:
        assert (found.points, found.latency, found.plateau) == ((), None, None)
    else:
        assert found.points == judge_curve(recorded).points


def test_a_step_in_doubt_gets_six_more_runs_once(
    capsys: pytest.CaptureFixture[str], archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fit_latency

    def doubting(*args: Any, **options: Any) -> Segmentation | None:
        """Every step is found in two thirds of the resamples."""
        found = real(*args, **options)
        if found is None or options.get("resamples") == 0:
            return found
        return replace(found, breaks=tuple(replace(one, found_share=0.66) for one in found.breaks))

    monkeypatch.setattr(experiment, "fit_latency", doubting)
    found = measured(capsys, archive, run="r")
    assert {one["latency_s"]["runs"] for one in found["points"]} == {12}
    assert found["points"][0]["bandwidth_bytes_per_s"]["runs"] == 6
    assert len(found["latency"]["switches"]) == 1
    assert found["complete"]


def test_a_step_without_doubt_gets_no_more_runs(capsys: pytest.CaptureFixture[str], archive: Path) -> None:
    found = measured(capsys, archive)
    assert {one["latency_s"]["runs"] for one in found["points"]} == {6}
    assert len(found["latency"]["switches"]) == 1
