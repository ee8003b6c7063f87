"""seatrial bench scale with a benchmark: its runs, their order, what is kept, and the curves."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.frame.command_line import run
from tests.support.builders import Cluster
from tests.support.collecting import program
from tests.support.command_line import Seatrial
from tests.support.json_objects import frame
from tests.support.launchers import use_launcher
from tests.support.program_launcher import ProgramLauncher

HEAT = """
name = "heat"
mark = '^Heat'
complete = '^Done'
scaling = "SCALING"
[metrics.solve_time_s]
pattern = 'Solved in (\\S+) s'
unit = "s"
better = "less"
[evidence.cells]
pattern = '(\\d+) cells'
[run]
command = ["PROGRAM", "{nodes}", "{ranks}"]
mpi = false
"""
STRONG = 'echo "Heat, 1000 cells"; echo "Solved in $((1200 / $2)) s"; echo Done'
"""Perfect scaling over ranks."""


@pytest.fixture
def heat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the benchmark, for four nodes of one core."""
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    use_launcher(ProgramLauncher(Cluster(nodes=("n1", "n2", "n3", "n4"))))
    declare(tmp_path, "strong")
    logged(tmp_path, STRONG)
    return tmp_path


def declare(folder: Path, scaling: str) -> None:
    text = HEAT.replace("SCALING", scaling).replace("PROGRAM", str(folder / "heat.sh"))
    (folder / "heat.toml").write_text(text)


def logged(folder: Path, text: str) -> None:
    program(folder, "heat.sh", f'echo "$1 $2" >>"{folder / "log"}"\n{text}')


def scaled(folder: Path, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    asked = ["bench", "scale", str(folder / "heat.toml"), *words, "--ranks-per-node", "1", "--json"]
    assert run(asked) == code, capsys.readouterr()
    return frame(capsys.readouterr().out)


def lines(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


def test_every_size_is_run_in_each_repetition_in_a_random_order(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = heat / "page.html"
    words = ["--node-count", "1,2,4", "--repeat", "3", "--run", "up", "--html", str(page)]
    data = scaled(heat, capsys, *words)["data"]
    (curve,) = data["curves"]
    assert [(point["size"], point["value"]["runs"]) for point in curve["points"]] == [(1, 3), (2, 3), (4, 3)]
    assert [point["speedup"]["value"] for point in curve["points"]] == [1, 2, 4]
    order = lines(heat)
    assert [sorted(order[place : place + 3]) for place in (0, 3, 6)] == [["1 1", "2 2", "4 4"]] * 3
    assert len({tuple(order[place : place + 3]) for place in (0, 3, 6)}) > 1
    assert (heat / "archive" / "up-n4-3" / "run.json").is_file()
    assert "9 of 9" in page.read_text()


def test_it_continues_where_it_was_interrupted(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logged(heat, f'[ "$1" = 4 ] && exit 3; {STRONG}')
    printed = scaled(heat, capsys, "--node-count", "1,2,4", "--repeat", "2", "--run", "up", code=2)
    assert printed["headline"].startswith("INCOMPLETE  up-n4-1: run ended with exit code 3")
    assert "--run up --nodes n[1-4] measures what is missing" in printed["data"]["left"][-1]
    assert [point["size"] for point in printed["data"]["curves"][0]["points"]] == [1, 2]
    assert printed["data"]["node_hours"] > sum(item["node_hours"] for item in printed["data"]["runs"])
    logged(heat, STRONG)
    before = len(lines(heat))
    again = scaled(heat, capsys, "--node-count", "1,2,4", "--repeat", "2", "--run", "up")
    assert lines(heat)[before:] == ["4 4", "4 4"]
    assert sum(one["earlier"] for one in again["data"]["runs"]) == 4
    assert [point["size"] for point in again["data"]["curves"][0]["points"]] == [1, 2, 4]


def test_another_program_is_not_mixed_into_a_series(
    heat: Path, capsys: pytest.CaptureFixture[str], seatrial: Seatrial
) -> None:
    scaled(heat, capsys, "--node-count", "1,2", "--run", "up")
    declare(heat, "weak")
    words = ["--node-count", "1,2", "--weak", "--ranks-per-node", "1", "--run", "up"]
    refused = seatrial("bench", "scale", heat / "heat.toml", *words, code=64).err
    assert "was made with other settings than now: the file of the benchmark" in refused


def test_points_that_did_other_work_are_invalid(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logged(heat, STRONG.replace("1000 cells", "$((1000 - 300 * ($1 > 2))) cells"))
    printed = scaled(heat, capsys, "--node-count", "1,2,4", "--run", "up", code=1)
    assert printed["verdict"] == "INVALID"
    assert "up-n4-1: mesh-differs: 700 cells, and 1000 in up-n1-1" in printed["headline"]


def test_cores_and_nodes_make_two_curves_with_one_core_as_base(heat: Path, seatrial: Seatrial) -> None:
    logged(heat, STRONG)
    words = ["--cores", "1,2", "--node-count", "1,2", "--run", "up"]
    asked = ["bench", "scale", str(heat / "heat.toml"), *words, "--ranks-per-node", "2", "--json"]
    cores, nodes = seatrial(*asked).object["data"]["curves"]
    assert [(point["size"], point["value"]["runs"]) for point in cores["points"]] == [(1, 1), (2, 2), (4, 1)]
    assert cores["points"][2]["speedup"]["value"] == 4
    assert nodes["points"][1]["speedup"]["value"] == 2


def test_own_rates_of_different_nodes_give_the_fair_efficiency(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second node has half the speed: together they do what the two do alone, at most 2/3 with equal shares."""
    count = heat / "slow"
    slow = f'[ "$1" = 2 ] && t=1200; [ "$1" = 1 ] && {{ [ -e "{count}" ] && t=1200 || t=600; }}'
    logged(heat, f'{slow}; echo "Heat, 1000 cells"; echo "Solved in ${{t}} s"; echo Done')
    scaled(heat, capsys, "--node-count", "1,2", "--run", "up", code=1)
    count.touch()
    found = scaled(heat, capsys, "--node-count", "1,2", "--own", "--run", "up", code=1)
    assert found["verdict"] == "SLOW", "two nodes take twice as long as the first alone"
    points = found["data"]["curves"][0]["points"]
    assert points[1]["of_own"] == pytest.approx((1 / 1200) / (1 / 600 + 1 / 1200))
    assert points[1]["own_bound"] == pytest.approx(2 / 3)


def test_weak_scaling_of_a_program_that_grows_by_itself(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(heat, "weak")
    logged(heat, 'echo "Heat, $((1000 * $1)) cells"; echo "Solved in 10 s"; echo Done')
    (curve,) = scaled(heat, capsys, "--node-count", "1,2,4", "--weak", "--run", "up")["data"]["curves"]
    assert [point["efficiency"]["value"] for point in curve["points"]] == [1, 1, 1]


def test_a_dry_run_shows_order_and_cost_and_starts_nothing(heat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = scaled(heat, capsys, "--node-count", "1,4", "--repeat", "2", "--own", "--dry-run", "--run", "up")["data"]
    assert sorted(one["run"] for one in data["runs"]) == sorted(
        f"up-{label}-{number}" for label in ("n1", "n4", "own2", "own3", "own4") for number in (1, 2)
    )
    assert not (heat / "archive").exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("heat.toml --node-count 1,8", 2, "8 nodes are needed, and 4 can be used"),
        ("heat.toml --node-count 1,x", 64, "--node-count '1,x': 'x' is not a number of nodes"),
        ("heat.toml", 64, "There is no size to measure"),
        ("heat.toml --node-count 1,2 --weak", 64, "heat has no input that grows"),
        ("heat.toml --node-count 1,2 --metric speed", 64, "heat has no such metric"),
        ("hpl --node-count 1,2", 64, "memory of its nodes. Add --weak, or keep it the same: --set order"),
        ("netpipe --node-count 1,2", 64, "netpipe has no scaling"),
        ("hpcg --node-count 1,2", 64, "The work of hpcg grows with its ranks. Add --weak"),
        ("hpl lammps --node-count 1,2", 64, "unexpected extra argument"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    heat: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial, words: str, code: int, says: str
) -> None:
    monkeypatch.chdir(heat)
    assert says in " ".join(seatrial("bench", "scale", *words.split(), code=code).err.split())
