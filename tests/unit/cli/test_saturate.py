"""seatrial link --ranks-per-node over a synthetic pair of nodes whose ranks share a port; places of several ranks."""

import random
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from seatrial.cli.options import rank_counts
from seatrial.commands.link.saturate.judge import AtSize, Saturation
from seatrial.commands.link.saturate.view import saturation_report
from seatrial.frame.command_line import run
from seatrial.launch.probe_text import nodes_by_rank
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.limit import NoLimit
from seatrial.model.measurement import Estimate, Kernel, Round
from seatrial.model.verdict import Verdict
from seatrial.pairs.rank_pairs import doubling, place_pairs
from seatrial.render.html import as_html
from seatrial.render.plots import BOTTOM, TOP, Plot, round_steps
from seatrial.slurm import argv as slurm_argv
from tests.support.builders import HEALTHY, Cluster, info_of, names
from tests.support.command_line import link
from tests.support.json_objects import parsed
from tests.support.launchers import use_launcher
from tests.support.scripted import ScriptedLauncher

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Shared(Cluster):
    """Ranks of which each carries `one` bytes per second at most, over a port that carries `HEALTHY`."""

    one: float = 40e6
    scatter: float = 0.0
    """How much the rate `one` varies from round to round, as a share."""

    def _times(self, wanted: Round, pair: Pair, draw: random.Random) -> list[float]:
        ranks = len(wanted.pairs)
        one = self.one * draw.gauss(1.0, self.scatter)
        if wanted.shape.kernel is Kernel.PINGPONG:
            usual = 40e-6
        else:
            sent = wanted.shape.message_bytes * wanted.shape.window
            usual = 20e-6 + ranks * sent / min(HEALTHY, ranks * one)
        return [usual * draw.gauss(1.0, 0.005) for _ in range(wanted.shape.iterations)]


def measured(
    capsys: pytest.CaptureFixture[str], archive: Path, cluster: Cluster, **options: Any
) -> tuple[int, dict[str, Any]]:
    launcher = ScriptedLauncher(cluster)
    use_launcher(launcher)
    code = link(archive=archive, as_json=True, **options)
    return code, parsed(capsys.readouterr().out)


@pytest.mark.parametrize(("share", "verdict"), [(0.89, "INCONCLUSIVE"), (0.99, "PASS")])
def test_a_share_of_one_rank_on_both_sides_of_the_line_is_open(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, share: float, verdict: str
) -> None:
    cluster = Shared(nodes=names(2), one=share * HEALTHY, scatter=0.05 if share < 0.95 else 0.0)
    code, found = measured(capsys, tmp_path, cluster, ranks_per_node="1,2", run="one")
    assert (code, found["verdict"]) == (2 if verdict == "INCONCLUSIVE" else 0, verdict)
    assert ("90 % is open; --budget" in found["reason"]) == (verdict == "INCONCLUSIVE")


def test_ranks_that_cannot_drive_the_port_alone_are_a_finding(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = Shared(nodes=names(2))
    code, found = measured(capsys, tmp_path, cluster, ranks_per_node="1,2,4,8", run="before")
    assert (code, found["verdict"], found["ranks_needed"]) == (1, "SLOW", 4)
    assert found["finding"].startswith("One rank of n1 cannot drive its port: it carries 40.0 MB/s, 34 %")
    assert found["model"]["node_bytes_per_s"]["value"] == pytest.approx(HEALTHY, rel=0.02)
    assert found["model"]["rank_bytes_per_s"]["value"] == pytest.approx(40e6, rel=0.02)
    assert [one["ranks"] for one in found["by_ranks"]] == [1, 2, 4, 8]
    assert found["by_ranks"][1]["latency_s"]["value"] == pytest.approx(20e-6, rel=0.02)
    rates = [one["message_rate_per_s"]["value"] for one in found["by_ranks"]]
    assert rates[0] == pytest.approx(64 / (20e-6 + 64 * 8 / 40e6), rel=0.02)
    assert rates[3] == pytest.approx(8 * 64 / (20e-6 + 8 * 64 * 8 / HEALTHY), rel=0.02)
    assert run(["report", "before", "--archive", str(tmp_path), "--json"]) == 1
    assert parsed(capsys.readouterr().out) == found
    assert run(["report", "before", "--archive", str(tmp_path), "--html", str(tmp_path / "x.html")]) == 1
    text, page = capsys.readouterr().out, (tmp_path / "x.html").read_text()
    assert "1 rank " in text and "4 ranks" in text and "cannot drive its port" in text
    assert "Bandwidth over ranks at once" in page and "One rank of n1 cannot drive its port" in page
    assert page.count('class="curve"') == 4
    assert "limit 117.7 MB/s, set by n1 eth0" in page
    assert "64 KiB, 2 ranks: 79" in page
    assert [one["message_bytes"] for one in found["by_size"]] == sorted([64 << 10, 256 << 10, 1 << 20, 4 << 20] * 4)
    capsys.readouterr()
    again = link(archive=tmp_path, as_json=True, ranks_per_node="1,2,4,8", replay="before", run="again")
    assert again == 1
    other = {"run": "", "time": ""}
    assert {**parsed(capsys.readouterr().out), **other} == {**found, **other}


def test_a_rank_that_drives_the_port_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, found = measured(capsys, tmp_path, Shared(nodes=names(2), one=1e9), ranks_per_node="2")
    assert (code, found["verdict"], found["finding"], found["ranks_needed"]) == (0, "PASS", "", 1)
    assert "1 rank drives the port, " in found["headline"]
    assert found["model"]["rank_bytes_per_s"]["value"] is None
    assert 0.97 < found["one_rank_share"]["value"] < 1.03


def test_numbers_of_ranks() -> None:
    assert [doubling(most) for most in (1, 2, 6, 8)] == [(1,), (1, 2), (1, 2, 4, 6), (1, 2, 4, 8)]
    assert place_pairs(("a", "b"), 2) == (("a:0", "b:0"), ("a:1", "b:1"))
    assert rank_counts("4, 1,2,4", "--ranks-per-node") == (1, 2, 4)
    assert rank_counts("", "--ranks-per-node") is None
    assert rank_counts("auto", "--ranks-per-node") == ()


@pytest.mark.parametrize("text", ["0", "x", "1,", "-1", "1;2", "2000", "²"])
def test_what_is_no_list_of_numbers_is_shown(text: str) -> None:
    with pytest.raises(UsageError, match=f"--ranks-per-node '{text}'"):
        rank_counts(text, "--ranks-per-node")


def test_several_ranks_a_node_get_places_in_the_order_of_ranks() -> None:
    came = [{"rank": rank, "host": host} for rank, host in enumerate(("n1", "n2.x", "n1", "n2.x"))]
    assert nodes_by_rank(came, ("n1", "n2"), 2) == ("n1:0", "n2:0", "n1:1", "n2:1")
    with pytest.raises(LaunchError, match="3 ranks came up on n1, where 2 was asked for"):
        nodes_by_rank([{"host": "n1"}] * 3, ("n1", "n2"), 2)


def test_a_step_of_several_ranks_a_node() -> None:
    argv = slurm_argv.probe_step("7", ["n1", "n2"], "", "probe", ranks_per_node=4)
    assert {"--nodes=2", "--ntasks=8", "--ntasks-per-node=4"} <= set(argv)


def test_a_drawing_of_nothing_of_one_number_and_without_a_limit() -> None:
    nothing = Saturation(
        pair=("a", "b"), message_bytes=0, by_ranks=(), by_size=(), model=None, ranks_needed=None, one_rank_share=None,
        limit=NoLimit(path="a > b", reason="unknown"), verdict=Verdict.MEASURED, reason="r", notes=(), complete=False,
    )  # fmt: skip
    report_of = partial(saturation_report, info_of(Cluster(nodes=names(2))))
    assert "<svg" not in as_html(report_of(nothing))
    value = Estimate(value=1e9, low=0.9e9, high=1.1e9, runs=5, confidence=0.95, method="m")
    sizes = tuple(AtSize(message_bytes=1024, ranks=ranks, bandwidth_bytes_per_s=value) for ranks in (1, 2))
    one, two = (replace(nothing, by_size=sizes[:number]) for number in (1, 2))
    drawn = [block.svg for each in (one, two) for block in report_of(each).page() if isinstance(block, Plot)]
    assert [places.levels for places in drawn] == [()], "a single number of ranks is no curve"
    assert all(TOP <= place <= BOTTOM for dot in drawn[0].curves[0].dots for place in (dot.y, dot.low, dot.high))
    assert [label for _, label in drawn[0].x_ticks] == ["1 rank", "2 ranks"]


@pytest.mark.parametrize("top", [1e-3, 1.0, 117e6, 1.23e11, 0.0, float("inf")])
def test_ticks_are_few_and_round(top: float) -> None:
    found = round_steps(top)
    assert found[0] == 0
    assert len(found) <= 6
    assert max(found) <= top


def test_message_rates_of_two_adapters_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, one in (("edr", 40e6), ("opa", 20e6)):
        use_launcher(ScriptedLauncher(Shared(nodes=names(2), one=one)))
        link("n1", "n2", archive=tmp_path, ranks_per_node="1,2,4", run=name)
    capsys.readouterr()
    assert run(["compare", "--side-by-side", "edr", "opa", "--archive", str(tmp_path), "--json"]) == 0
    figures = {each["figure"]["name"]: each for each in parsed(capsys.readouterr().out)["figures"]}
    rate = figures["message rate"]
    best, figure = rate["curves"][0], rate["figure"]
    assert (best["label"], figure["over"], figure["unit"], rate["size"]) == ("edr", "ranks", "1/s", 4)
    assert next(iter(best["points"].values()))["value"] == pytest.approx(1.95e6, rel=0.05)
    assert {"bandwidth 4 MiB", "latency 8 B"} <= figures.keys()


def test_limits_of_runs_are_those_of_their_facts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("a", "b"):
        use_launcher(ScriptedLauncher(Shared(nodes=names(2), one=1e9)))
        link("n1", "n2", archive=tmp_path, ranks_per_node="1,2", run=name)
    capsys.readouterr()
    assert run(["compare", "--side-by-side", "a", "b", "--archive", str(tmp_path), "--json"]) == 0
    figures = {each["figure"]["name"]: each for each in parsed(capsys.readouterr().out)["figures"]}
    (first, second) = figures["bandwidth 4 MiB"]["curves"]
    assert first["limit"] == second["limit"] == pytest.approx(117.7e6, rel=0.01)
    assert 0.9 < next(iter(first["points"].values()))["value"] / first["limit"] < 1.01
    assert figures["latency 8 B"]["curves"][0]["limit"] is None
