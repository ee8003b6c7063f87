"""`seatrial import`: what tables say of how and when their runs were measured, and names of outputs of their nodes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.benchmark_outputs import hpl
from tests.support.command_line import Seatrial


def written(folder: Path, name: str, lines: list[str]) -> str:
    (folder / name).write_text("\n".join(lines) + "\n")
    return str(folder / name)


@pytest.mark.parametrize("form", ["fleet", "series"])
@pytest.mark.parametrize(
    ("first", "second", "unlike"),
    [
        (("threads", "64"), ("threads", "32"), "benchmark: threads 64 and threads 32"),
        (("threads", "64"), ("note", "7"), "benchmark: threads 64 and none"),
        (("threads", "64"), ("threads", "64"), ""),
        (("rack", "1"), ("rack", "2"), ""),
    ],
)
def test_runs_of_other_conditions_are_not_compared(
    form: str, first: tuple[str, str], second: tuple[str, str], unlike: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    """A column with one cell in all rows says under which condition all of them were measured."""
    words = ["--archive", str(tmp_path / "archive")]
    for name, (column, cell) in (("a", first), ("b", second)):
        nodes = [f"n{node}," for node in range(1, 7)] if form == "fleet" else [""]
        rows = [f"{node}{run},{30000 + 7 * run + len(node)},{cell}" for run in (1, 2, 3) for node in nodes]
        file = written(tmp_path, f"{name}.csv", [f"{'node,' if form == 'fleet' else ''}run,triad,{column}", *rows])
        chosen = ["--column", "triad"] if column in ("rack", "note") else []
        seatrial("import", file, "--as", form, "--name", name, *chosen, *words)
    sets = [",".join(f"{name}-000{run}" for run in (1, 2, 3)) for name in "ab"]
    ran = seatrial("compare", *sets, *words, code=64 if unlike else None)
    assert unlike in ran.err
    if unlike:
        assert seatrial("compare", *sets, *words, "--across", "benchmark", code=None).code != 64


@pytest.mark.parametrize(
    ("change", "dated"),
    [
        (lambda rows: rows, True),
        (lambda rows: sorted(rows, reverse=True), True),
        (lambda rows: rows[1:], True),
        (lambda rows: [*rows[1:2], *rows[:1], *rows[2:]], False),
        (lambda rows: [row.replace("2026-01-01", "first") for row in rows], False),
    ],
)
def test_the_runs_of_a_fleet_have_their_dates(
    change: Callable[[list[str]], list[str]], dated: bool, tmp_path: Path, seatrial: Seatrial
) -> None:
    """They were dated as the import, so that a change was said to be of today."""
    rows = [f"n{node},2026-01-0{day},{100 + node / 10 + day / 100}" for node in range(1, 5) for day in range(1, 4)]
    file = written(tmp_path, "a.csv", ["node,date,rate", *change(rows)])
    words = ["--archive", str(tmp_path / "archive")]
    runs = seatrial("import", file, "--as", "fleet", "--name", "a", "--json", *words).object["data"]["runs"]
    started = [json.loads((tmp_path / "archive" / run / "run.json").read_text())["started"] for run in runs]
    days = sorted(moment[:10] for moment in started)
    assert (days == ["2026-01-01", "2026-01-02", "2026-01-03"]) == dated


@pytest.mark.parametrize(
    ("names", "runs", "nodes"),
    [
        (("hpl_node04.out", "hpl_node05.out"), 1, ["node04", "node05"]),
        (("hpl_n92160_node04.out", "hpl_n92160_node05.out"), 1, ["node04", "node05"]),
        (("node04-hpl-run1.log", "node04-hpl-run2.log", "node05-hpl-run1.log"), 2, ["node04", "node05"]),
        (("monday/hpl_gpu-node04.log", "tuesday/hpl_gpu-node04.log"), 2, ["gpu-node04"]),
        (("host7.cluster.edu.out",), 1, ["host7.cluster.edu"]),
        (("before1.out", "before2.out", "before3.out"), 3, ["all"]),
        (("slurm-104.out", "slurm-105.out"), 2, ["all"]),
        (("hpl-run1.out", "hpl-run2.out"), 2, ["all"]),
        (("hpl_4nodes.out", "hpl_nodes4_b.out"), 2, ["all"]),
    ],
)
def test_outputs_named_by_nodes_are_of_these(
    names: tuple[str, ...], runs: int, nodes: list[str], tmp_path: Path, seatrial: Seatrial
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(hpl())
    files = [tmp_path / name for name in names]
    data = seatrial("import", *files, "--archive", tmp_path / "archive", "--json").object["data"]
    assert (len(data["runs"]), data["nodes"]) == (runs, nodes)
