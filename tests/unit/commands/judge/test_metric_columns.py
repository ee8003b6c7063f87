"""`seatrial judge` on tables with a column for each metric: every column is judged, and what is none is asked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.model.errors import UsageError
from tests.support.command_line import Seatrial, Text

USUAL = {
    "copy": 170e3, "scale": 171e3, "add": 180e3, "triad": 181e3, "h2d_GBs": 55.0, "d2h_GBs": 54.0, "bw_GBs": 24.0,
    "bw_min": 22.0, "bw_avg": 24.0, "bw_max": 25.0, "hpl_gflops": 3100.0, "lat_us": 1.6, "temp_c": 60.0,
    "ior_1M_MBs": 2100.0, "ior_4M_MBs": 2500.0, "lat_min_us": 1.5, "lat_max_us": 9.0, "lat_avg_us": 2.0,
    "cpu_power_w": 320.0, "hpl_eff_pct": 81.0, "fan": 8400.0, "score": 77.0,
}  # fmt: skip
"""Usual value of each column of these tables."""


def table(*names: str, slow: dict[str, float] | None = None, unit: str = "") -> str:
    """Twelve nodes with three runs each; `slow`: column -> factor of the values of n05."""
    random, factors = Random(7), slow or {}
    rows = [",".join(("node", "run", *names))]
    for node, run in ((node, run) for node in range(1, 13) for run in range(1, 4)):
        cells = [
            f"{USUAL[name] * (factors.get(name, 1) if node == 5 else 1) * random.gauss(1, 0.005):.5g}{unit}"
            for name in names
        ]
        rows.append(",".join((f"n{node:02d}", str(run), *cells)))
    return "\n".join(rows) + "\n"


def judged(seatrial: Seatrial, folder: Path, text: str, *words: str) -> tuple[str, dict[str, Any]]:
    file = folder / "table.csv"
    file.write_text(text)
    report = seatrial("judge", str(file), *words, "--json", code=None).object
    data: dict[str, Any] = report["data"]
    return report["verdict"], data


@pytest.mark.parametrize(
    ("names", "slow"),
    [
        (("copy", "scale", "add", "triad"), {"add": 0.85}),
        (("h2d_GBs", "d2h_GBs"), {"d2h_GBs": 0.9}),
        (("bw_GBs", "lat_us"), {"lat_us": 1.3}),
        (("hpl_gflops", "bw_GBs", "lat_us"), {"bw_GBs": 0.9}),
        (("ior_1M_MBs", "ior_4M_MBs"), {"ior_4M_MBs": 0.85}),
        (("lat_min_us", "lat_max_us"), {"lat_max_us": 1.5}),
    ],
)
def test_each_column_is_judged(
    names: tuple[str, ...], slow: dict[str, float], tmp_path: Path, seatrial: Seatrial
) -> None:
    verdict, data = judged(seatrial, tmp_path, table(*names, slow=slow))
    (column,) = slow
    assert (verdict, data["slow"]) == ("SLOW", ["n05"])
    assert [each["where"] for each in data["named"]] == [[f"metric {column}"]]
    verdict, data = judged(seatrial, tmp_path, table(*names))
    assert (verdict, data["named"], len(data["strata"])) == ("PASS", [], len(names))


def test_units_in_the_cells_say_which_values_are_good(tmp_path: Path, seatrial: Seatrial) -> None:
    verdict, data = judged(seatrial, tmp_path, table("copy", "add", slow={"copy": 0.8}, unit=" MB/s"))
    assert (verdict, data["slow"], data["better_known"]) == ("SLOW", ["n05"], True)


def test_of_mean_and_extremes_the_mean_counts() -> None:
    text = table("bw_min", "bw_avg", "bw_max")
    assert read_fleet_table(text).roles.value == "bw_avg"


def test_what_a_mean_stands_for_is_listed_as_not_used() -> None:
    roles = read_fleet_table(table("bw_GBs", "lat_min_us", "lat_avg_us", "lat_max_us")).roles
    assert (roles.conditions, roles.unused) == (("metric",), ("lat_min_us", "lat_max_us"))


def test_of_the_summary_of_each_test_the_mean_counts(seatrial: Seatrial, tmp_path: Path) -> None:
    """The usual form of summaries: a row for each node and test, with mean, deviation, minimum, maximum and number."""
    random = Random(9)
    rows = [
        f"n{node},{test},{mean:.0f},{usual / 250:.0f},{mean * 0.99:.0f},{mean * 1.01:.0f},10"
        for node in range(1, 13)
        for test, usual in (("copy", 100e3), ("triad", 110e3))
        for mean in [usual * random.gauss(1, 0.003) * (0.8 if (node, test) == (6, "triad") else 1)]
    ]
    verdict, data = judged(seatrial, tmp_path, "\n".join(("node,metric,mean,stddev,min,max,n", *rows)) + "\n")
    (columns,) = data["columns"]
    assert (columns["value"], columns["conditions"], columns["unused"]) == ("mean", ["metric"], ["stddev"])
    assert verdict == "INCONCLUSIVE", "one mean of each node"
    assert [named["subject"] for named in data["named"]] == ["n6"]


def losses(cells: Callable[[int, int], int], nodes: int = 8, runs: int = 3) -> str:
    """A table of rates with a count of lost packets of each node and run."""
    rows = [
        f"n{node},{run},{24 + (node * 7 + run * 3) % 5 / 100},{cells(node, run)}"
        for node in range(1, nodes + 1)
        for run in range(1, runs + 1)
    ]
    return "\n".join(("node,run,bw_GBs,retransmits", *rows)) + "\n"


def test_a_count_of_losses_that_is_often_0_is_asked_about() -> None:
    with pytest.raises(UsageError, match=r"bw_GBs, retransmits\. Choose one"):
        read_fleet_table(losses(lambda node, run: node * run % 5))


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (lambda node, _: 800 * (node == 4), "n4 has retransmits 800, others 0"),
        (lambda node, run: (700 + run) * (node == 4), "n4 has retransmits 702, others 0"),
        (lambda node, run: 12 * ((node, run) == (4, 2)), "n4 has retransmits 12, others 0"),
        (lambda node, _: 800 if node == 4 else 3, "n4 has retransmits 800, others 3"),
        (lambda node, _: 16 // (1 + (node == 4)), "n4 has retransmits 8, others 16"),
    ],
)
def test_losses_of_one_node_withhold_the_pass(
    cells: Callable[[int, int], int], text: str, seatrial: Seatrial, tmp_path: Path
) -> None:
    """However they lie over its runs; also in a table with one run of each node."""
    verdict, data = judged(seatrial, tmp_path, losses(cells))
    assert verdict == "NOTE"
    assert [cell["subject"] for cell in data["lone"]] == ["n4"]
    assert seatrial("judge", tmp_path / "table.csv", code=0).out.startswith(f"NOTE  {text}; 8 nodes alike")
    once = losses(lambda node, _: cells(node, 2), nodes=16, runs=1)
    assert judged(seatrial, tmp_path, once, "--column", "bw_GBs")[0] == "NOTE"


def test_the_slow_node_comes_before_what_another_one_has_alone(seatrial: Seatrial) -> None:
    rows = losses(lambda node, _: 800 * (node == 4)).replace("n6,1,24", "n6,1,19").replace("n6,2,24", "n6,2,19")
    printed = seatrial("judge", Text(rows.replace("n6,3,24", "n6,3,19"), "table.csv"), code=1).out
    assert printed.startswith("SLOW  n6 21 % below its peers")
    assert "n4 has retransmits 800, others 0" in " ".join(printed.split())


@pytest.mark.parametrize(
    "cells",
    [
        lambda _node, _run: 0,
        lambda node, _: 2700 + (node == 4),
        lambda node, _: node % 2,
        lambda node, _: 800 * (node in (3, 4, 5)),
    ],
)
def test_what_all_have_or_many_withholds_nothing(
    cells: Callable[[int, int], int], seatrial: Seatrial, tmp_path: Path
) -> None:
    verdict, data = judged(seatrial, tmp_path, losses(cells))
    assert (verdict, data["lone"]) == ("PASS", [])


@pytest.mark.parametrize(("usual", "lone"), [("x16", "x8"), ("active", "degraded"), ("22.0", "22.0a")])
def test_a_word_of_one_node_withholds_the_pass(usual: str, lone: str, seatrial: Seatrial, tmp_path: Path) -> None:
    rows = losses(lambda node, _: node == 4).replace("retransmits", "link")
    verdict, data = judged(seatrial, tmp_path, rows.replace("True", lone).replace("False", usual))
    assert (verdict, [(cell["subject"], cell["cell"]) for cell in data["lone"]]) == ("NOTE", [("n4", lone)])


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (
            lambda node, run: 4000 + run if node == 4 else (5 * node + run) % 15,
            "n4 has retransmits 4002, others 1 to 13",
        ),
        (lambda node, run: 97 if node == 4 else 2 + (node + run) % 4, "n4 has retransmits 97, others 2 to 5"),
        (lambda node, run: 210 if node == 4 else 2200 + 7 * node + run, "n4 has retransmits 210, others 2208 to 2259"),
    ],
)
def test_a_number_far_from_all_others_withholds_the_pass(
    cells: Callable[[int, int], int], text: str, seatrial: Seatrial, tmp_path: Path
) -> None:
    """Counters of good nodes are not alike; that of a bad one is of another order."""
    assert judged(seatrial, tmp_path, losses(cells), "--column", "bw_GBs")[0] == "NOTE"
    printed = seatrial("judge", tmp_path / "table.csv", "--column", "bw_GBs", code=0).out
    assert printed.startswith(f"NOTE  {text}; 8 nodes alike")


@pytest.mark.parametrize("missing", ["", "-", "N/A", "none"])
@pytest.mark.parametrize(("cell", "shown"), [("HW_SLOWDOWN", "HW_SLOWDOWN"), ("12", "12")])
def test_what_all_others_lack_is_a_cell_of_its_own(
    missing: str, cell: str, shown: str, seatrial: Seatrial, tmp_path: Path
) -> None:
    rows = losses(lambda node, _: node == 4).replace("retransmits", "alert")
    verdict, data = judged(seatrial, tmp_path, rows.replace("True", cell).replace("False", missing))
    assert (verdict, [(one["subject"], one["cell"], one["usual"]) for one in data["lone"]]) == (
        "NOTE",
        [("n4", shown, "")],
    )
    printed = seatrial("judge", tmp_path / "table.csv", code=0).out
    assert printed.startswith(f"NOTE  n4 has alert {shown}, others none; 8 nodes alike")


@pytest.mark.parametrize(
    ("name", "cells", "word"),
    [("link_on", "01", "NOTE"), ("measured_on", ("2026-11-28", "2026-11-27"), "PASS"),
     ("comment", ("DIMM reseated", ""), "PASS")],
)  # fmt: skip
def test_a_date_or_remark_of_one_node_withholds_nothing_and_a_link_that_is_not_on_does(
    name: str, cells: Sequence[str], word: str, seatrial: Seatrial, tmp_path: Path
) -> None:
    rows = losses(lambda node, _: node == 4).replace("retransmits", name)
    assert judged(seatrial, tmp_path, rows.replace("True", cells[0]).replace("False", cells[1]))[0] == word


def test_a_part_is_named_with_what_it_alone_has_and_a_node_with_its_firmware(
    seatrial: Seatrial, tmp_path: Path
) -> None:
    random = Random(5)
    rows = [
        f"n{node},{run},{gpu},{random.gauss(1500, 3):.1f},{3 * (node == 4 and gpu > 0)},22.{int(node == 2)}"
        for node in range(1, 9)
        for run in range(1, 4)
        for gpu in range(4)
    ]
    text = "\n".join(("node,run,gpu,gbs,ecc,firmware", *rows)) + "\n"
    verdict, data = judged(seatrial, tmp_path, text)
    assert verdict == "NOTE"
    assert [(cell["subject"], cell["cell"]) for cell in data["lone"]] == [
        ("n4 gpu 1", "3"), ("n4 gpu 2", "3"), ("n4 gpu 3", "3"), ("n2", "22.1"),
    ]  # fmt: skip


@pytest.mark.parametrize("names", [("bw_GBs", "temp_c"), ("copy", "cpu_power_w"), ("hpl_eff_pct", "fan")])
def test_beside_readings_of_sensors_is_the_result(names: tuple[str, ...]) -> None:
    assert read_fleet_table(table(*names)).roles.value == names[0]


def test_of_columns_that_may_be_no_results_one_is_chosen() -> None:
    with pytest.raises(UsageError, match=r"copy, score\. Choose one: --column COLUMN"):
        read_fleet_table(table("copy", "score"))


def test_numbers_that_return_on_nodes_are_of_places() -> None:
    rows = (f"r{rack}u{unit},{unit},{380 + rack + unit / 10}" for rack in range(1, 4) for unit in range(10, 16))
    assert read_fleet_table("\n".join(("server,U,triad", *rows))).roles.value == "triad"


def test_what_nodes_have_is_no_result() -> None:
    memory = [480 if node == 3 else 512 for node in range(12)]
    alone = "node,mem_gb\n" + "".join(f"n{node},{size}\n" for node, size in enumerate(memory))
    with pytest.raises(UsageError, match="Most rows have the same mem_gb"):
        read_fleet_table(alone)
    disks = "node,mem_gb,disk_gb\n" + "".join(f"n{node},{size},{960 * node}\n" for node, size in enumerate(memory))
    with pytest.raises(UsageError, match="numbers: mem_gb, disk_gb"):
        read_fleet_table(disks)


def test_one_word_cannot_say_what_is_good_of_bandwidth_and_latency(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "table.csv"
    file.write_text(table("bw_GBs", "lat_us"))
    refused = seatrial("judge", str(file), "--better", "higher", code=64)
    assert "Leave out --better" in refused.err
    assert seatrial("judge", str(file), "--better", "lower", "--column", "lat_us", code=0).out.startswith("PASS")


def test_imported_columns_keep_their_names(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "table.csv"
    file.write_text(table("bw_GBs", "lat_us", slow={"lat_us": 1.3}))
    seatrial("import", str(file), "--archive", tmp_path / "archive", code=0)
    runs = sorted(path.name for path in (tmp_path / "archive").iterdir() if path.is_dir() and path.name[0] != ".")
    said = seatrial(
        *("judge", "--as", "fleet", "--runs", ",".join(runs), "--column", "lat_us"),
        *("--archive", str(tmp_path / "archive")),
        code=1,
    )
    assert said.out.startswith("SLOW  n05")


@pytest.mark.parametrize("copies", [2, 3])
def test_rows_that_were_written_twice_are_no_runs(copies: int) -> None:
    """Three copies of one run scatter by nothing, and a node 3 % below the others was SLOW."""
    rows = [f"n{node},{380.6 + 1.7 * (node * 7 % 11) - 12 * (node == 4)}" for node in range(1, 13)]
    with pytest.raises(UsageError, match=r"copies of a run do not count as runs\. Leave the copies out"):
        read_fleet_table("\n".join(["node,triad_gb_s", *rows * copies, ""]))
    rounded = [f"n{node},{380 + node % 3}" for node in range(1, 13)]
    assert len(read_fleet_table("\n".join(["node,triad_gb_s", *rounded * copies, ""])).values["n1"]) == copies


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("node,triad_gb_s,file", ("a.csv", "b.csv", "c.csv")),
        ("node,triad_gb_s,date", ("2026-11-01", "2026-11-02", "2026-11-03")),
        ("node,triad_gb_s,file,test", ("a,x", "b,x", "a,y", "b,y")),
    ],
)
def test_a_column_that_numbers_copies_makes_no_runs_of_them(heading: str, cells: Sequence[str]) -> None:
    def table(noise: float) -> str:
        random = Random(3)
        rows = [
            f"n{node},{380.6 + 1.7 * (node * 7 % 11) - 90 * cell.endswith('y') + noise * random.gauss(0, 1):.1f},{cell}"
            for cell in cells
            for node in range(1, 13)
        ]
        return "\n".join([heading, *rows, ""])

    with pytest.raises(UsageError, match="copies of a run do not count as runs"):
        read_fleet_table(table(0))
    assert len(read_fleet_table(table(0.5)).values) == 12
    assert len(read_fleet_table(table(0).replace("file", "run").replace("date", "run")).values) == 12


@pytest.mark.parametrize("name", ["gpu_temp", "gpu_temp_C", "gpu_power_W", "cpu_freq", "core_clock_MHz", "nic_drops"])
def test_what_was_measured_of_a_part_is_no_number_of_it(name: str) -> None:
    random = Random(7)
    rows = [
        f"n{node},{run},{random.gauss(380, 1):.1f},{round(random.gauss(94 if node == 4 else 60, 1))}"
        for node in range(1, 17)
        for run in range(1, 4)
    ]
    table = read_fleet_table("\n".join([f"node,run,triad_gb_s,{name}", *rows, ""]), "triad_gb_s")
    assert (table.parts, [cell.subject for cell in table.lone]) == ({}, ["n4"])


@pytest.mark.parametrize("name", ["gpu", "GPU id", "local_rank", "cuda_device", "numa_node", "socket nr", "gpuIndex"])
def test_a_number_of_a_part_is_one(name: str) -> None:
    rows = [f"n{node},{run},{gpu},{380 + gpu}" for node in range(1, 9) for run in range(1, 4) for gpu in range(4)]
    assert len(read_fleet_table("\n".join([f"node,run,{name},triad_gb_s", *rows, ""])).parts) == 32
