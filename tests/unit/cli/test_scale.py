"""seatrial bench scale: curves of outputs and tables, and what is wrong with them."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seatrial.commands.scale import points
from seatrial.model.errors import ExitCode
from tests.support.benchmark_outputs import hpl, openfoam, stream
from tests.support.command_line import Seatrial, Text


def written(folder: Path, texts: dict[str, str]) -> list[str]:
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in texts]


def report(seatrial: Seatrial, words: list[str], code: int | None) -> dict[str, Any]:
    return seatrial("judge", "--as", "scaling", "--json", *words, code=code).object


def curve(**changes: Any) -> dict[str, str]:
    """Logs on 1, 2 and 4 hosts; `changes`: of the last."""
    seconds = {2: 40.0, 4: 21.0, 8: changes.pop("seconds", 12.0)}
    return {
        f"{ranks // 2}.log": openfoam(ranks=ranks, seconds=time, **(changes if ranks == 8 else {}))
        for ranks, time in seconds.items()
    }


def gates(printed: dict[str, Any]) -> set[str]:
    return {gate["kind"] for item in printed["data"]["curves"] for _, gate in item["breaches"]}


def test_a_strong_curve(tmp_path: Path, seatrial: Seatrial) -> None:
    printed = report(seatrial, written(tmp_path, curve()), ExitCode.PASS)
    (item,) = printed["data"]["curves"]
    assert (item["over"], item["metric"]) == ("nodes", "execution_time_s")
    assert [point["size"] for point in item["points"]] == [1, 2, 4]
    assert item["points"][2]["speedup"]["value"] == pytest.approx(40 / 12)
    assert item["points"][2]["efficiency"]["value"] == pytest.approx(40 / 12 / 4)
    assert item["points"][2]["per_result"] == pytest.approx(1.2)
    assert printed["headline"].startswith("PASS  openfoam: 1 to 4 nodes: speed-up 3.33, efficiency 83 %")


def test_one_size_is_not_a_curve(tmp_path: Path, seatrial: Seatrial) -> None:
    """It used to pass with a note, although no speed-up was measured."""
    printed = report(seatrial, written(tmp_path, {"a.csv": "nodes,seconds\n4,10\n4,11\n"}), ExitCode.INCOMPLETE)
    assert printed["headline"] == "INCOMPLETE  seconds: one size (4) is not a curve"


def test_a_cache_effect_is_explained(tmp_path: Path, seatrial: Seatrial) -> None:
    printed = report(seatrial, written(tmp_path, curve(seconds=8.0)), ExitCode.PASS)
    point = printed["data"]["curves"][0]["points"][2]
    assert point["marks"] == ["superlinear"]
    assert "20 iterations" in point["explanation"]


@pytest.mark.parametrize(
    ("changes", "gate"),
    [
        ({"seconds": 4.0}, "superlinear-speedup"),
        ({"seconds": 8.0, "drag": 0.1}, "work-differs"),
        ({"iterations": 15}, "iterations-differ"),
        (
            {"extra": '--> FOAM Warning : \n    Cannot find any patch or group names matching "motorBike.*"\n\n'},
            "work-skipped",
        ),
    ],
)
def test_a_point_that_cannot_be_believed(
    tmp_path: Path, seatrial: Seatrial, changes: dict[str, Any], gate: str
) -> None:
    printed = report(seatrial, written(tmp_path, curve(**changes)), ExitCode.FINDINGS)
    assert printed["verdict"] == "INVALID"
    assert gate in gates(printed)


def test_meshes_are_compared(tmp_path: Path, seatrial: Seatrial) -> None:
    texts = {
        f"{ranks}.log": openfoam(ranks=ranks, seconds=80 / ranks, cells=cells)
        for ranks, cells in ((2, 1000), (4, 1001), (8, 700))
    }
    printed = report(seatrial, written(tmp_path, texts), ExitCode.FINDINGS)
    assert [subject for subject, _ in printed["data"]["curves"][0]["breaches"]] == ["8.log"]
    assert gates(printed) == {"mesh-differs"}


def test_a_truncated_log_is_not_a_point(tmp_path: Path, seatrial: Seatrial) -> None:
    texts = curve()
    texts["4.log"] = texts["4.log"][:-40]
    assert gates(report(seatrial, written(tmp_path, texts), ExitCode.FINDINGS)) == {"output-truncated"}


def table(rows: Sequence[tuple[float, float]], head: str = "nodes,rate") -> str:
    return f"{head}\n" + "".join(f"{size},{value}\n" for size, value in rows)


def test_a_table_with_enough_sizes_is_fitted(tmp_path: Path, seatrial: Seatrial) -> None:
    chance = random.Random(1)
    rows = [
        (size, 100 * size / (1 + 0.05 * (size - 1)) * (1 + chance.gauss(0, 0.002)))
        for size in (1, 2, 4, 8, 16, 32, 64)
        for _ in range(6)
    ]
    (item,) = report(seatrial, written(tmp_path, {"t.csv": table(rows)}), ExitCode.PASS)["data"]["curves"]
    assert item["fits"][0]["contention"]["value"] == pytest.approx(0.05, rel=0.05)
    assert item["points"][1]["value"]["confidence"] > 0.95
    assert item["pays_up_to"] == 16


def test_points_of_two_kinds_are_unstable(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = [(1, 100.0 + place / 10) for place in range(6)]
    rows += [(2, value) for value in (150.0, 151.0, 152.0, 190.0, 191.0, 192.0)]
    printed = report(seatrial, written(tmp_path, {"t.csv": table(rows)}), ExitCode.FINDINGS)
    assert printed["verdict"] == "UNSTABLE"
    assert printed["data"]["curves"][0]["points"][1]["marks"] == ["bimodal"]


def test_a_table_cannot_explain_what_is_faster_than_linear(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = [(size, value + run / 10) for size, value in ((1, 100), (2, 230)) for run in range(3)]
    printed = report(seatrial, written(tmp_path, {"t.csv": table(rows)}), ExitCode.FINDINGS)
    assert printed["headline"].startswith("INVALID  rate at 2: superlinear-speedup")
    single = report(seatrial, written(tmp_path, {"t.csv": table([(1, 100), (2, 230)])}), ExitCode.INCOMPLETE)
    assert single["headline"] == ("INCONCLUSIVE  rate at 2: efficiency 115 %; single runs, measure each size 3 times")
    assert single["data"]["curves"][0]["undecided"][0][0] == "rate at 2"


def test_repeated_rows_are_counted_once(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = "".join(f"{n},{name},{v}\n" for n in (1, 2) for name, v in (("rate", n * 9.5), ("cells", 7)) * 1)
    text = "nodes,metric,value\n" + rows + rows
    (item,) = report(seatrial, written(tmp_path, {"t.csv": text}), ExitCode.PASS)["data"]["curves"]
    assert [point["value"]["runs"] for point in item["points"]] == [1, 1]
    assert "2 rows repeat another run in every number; they are counted once." in item["notes"][0]


def test_weak_scaling(tmp_path: Path, seatrial: Seatrial) -> None:
    text = table([(1, 10.0), (2, 10.5), (4, 12.5)], "nodes,time_s")
    (item,) = report(seatrial, [*written(tmp_path, {"t.csv": text}), "--weak"], ExitCode.PASS)["data"]["curves"]
    assert [point["efficiency"]["value"] for point in item["points"]] == pytest.approx([1, 10 / 10.5, 0.8])


@pytest.mark.parametrize("column", ["gflops_per_node", "GF/s a node", "Gflop/s/node", "HPL Gflop/s per node"])
def test_a_rate_of_one_node_is_not_that_of_all(tmp_path: Path, seatrial: Seatrial, column: str) -> None:
    file = tmp_path / "grid.csv"
    file.write_text(f"nodes,{column}\n1,300\n2,300\n4,280\n8,250\n")
    found = seatrial("judge", str(file), "--weak", "--json").data
    assert [point["value"]["value"] for point in found["curves"][0]["points"]] == [300, 600, 1120, 2000]
    assert "efficiency 83 %" in found["headline"]
    file.write_text("nodes,data_nodes_rate\n1,300\n2,600\n")
    assert "efficiency 100 %" in seatrial("judge", str(file), "--as", "scaling", "--json").data["headline"]


def test_efficiency_of_the_nodes_own_rates(tmp_path: Path, seatrial: Seatrial) -> None:
    files = written(tmp_path, curve())
    (tmp_path / "own.csv").write_text("node,value\nhost0,40\nhost1,80\nhost2,80\nhost3,80\n")
    words = [*files, "--own-rates", str(tmp_path / "own.csv")]
    printed = report(seatrial, words, ExitCode.PASS)
    assert "% of the nodes' own rates" in printed["headline"]
    (item,) = printed["data"]["curves"]
    assert item["points"][1]["of_own"] == pytest.approx((1 / 21) / (1 / 40 + 1 / 80), rel=1e-3)


@pytest.mark.parametrize(
    ("texts", "words", "said"),
    [
        ({"a.out": hpl(), "b.out": stream()}, [], "is of stream, the first file of hpl"),
        ({"a.out": stream()}, [], "Add --sizes"),
        ({"a.out": hpl()}, ["--metric", "speed"], "has no such metric"),
        ({"a.out": hpl()}, ["--sizes", "1,x"], "is not a number of nodes"),
        ({"a.csv": "a,b\n1,2\n"}, [], "has no column of sizes"),
        ({"a.csv": "nodes,score\n1,2\n"}, [], "Use --metric: score"),
        ({"a.csv": table([(1, 1.0)])}, ["--by", "cloud"], "no such column"),
        ({"a.csv": 'nodes,rate\n1,"2\n2,3\n'}, [], "has no numbers beside its sizes"),
        ({"a.csv": "nodes,rate,rate\n1,2,3\n2,4,6\n"}, [], "Two columns are called 'rate'"),
        ({"a.csv": "env,nodes,rate\na,1,2\n,2,4\n"}, [], "row 3 has no 'env'"),
    ],
)
def test_wrong_use(tmp_path: Path, seatrial: Seatrial, texts: dict[str, str], words: list[str], said: str) -> None:
    assert said in seatrial("judge", "--as", "scaling", *written(tmp_path, texts), *words, code=ExitCode.USAGE).err


@pytest.mark.parametrize("value", ["nan", "inf", "1e308", "-1", "٣", "1_0", '"' + "x" * 200_000])
def test_own_rates_that_are_none(tmp_path: Path, seatrial: Seatrial, value: str) -> None:
    files = written(tmp_path, curve())
    (tmp_path / "own.csv").write_text(f"node,value\nhost0,{value}\n")
    ran = seatrial("judge", "--as", "scaling", *files, "--own-rates", tmp_path / "own.csv", code=ExitCode.USAGE)
    assert "own.csv" in ran.err


def test_numbers_that_nobody_measured_are_left_out(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = [(1, 10.0), (2, 20.0), (4, 1e308), (8, 5e-324), (1e308, 5.0), (5e-324, 5.0)]
    found = report(seatrial, written(tmp_path, {"a.csv": table(rows)}), ExitCode.INCOMPLETE)
    assert "no run has a positive number at" in found["headline"]
    (item,) = found["data"]["curves"]
    assert [point["size"] for point in item["points"]] == [1, 2]
    left_out = (
        "row 4 (rate is 1e+308), row 5 (rate is 4.94066e-324), row 6 (nodes is 1e+308), row 7 (nodes is 4.94066e-324)"
    )
    assert f"4 runs have no positive number and are left out: {left_out}." in item["notes"]


@pytest.mark.parametrize("value", ["nan", "-100", "inf"])
def test_a_curve_that_lost_its_first_size_is_incomplete(value: str, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "a.csv").write_text(f"nodes,time_s\n1,{value}\n2,52\n4,27\n8,15\n")
    ran = seatrial("judge", "--as", "scaling", tmp_path / "a.csv", code=ExitCode.INCOMPLETE)
    assert "no run has a positive number at 1\n" in ran.out
    seatrial("judge", "--as", "scaling", Text(f"nodes,time_s\n1,{value}\n1,100\n2,52\n4,27\n8,15\n", "a.csv"))


@pytest.mark.parametrize(
    ("text", "code", "left_out", "said"),
    [
        (
            "nodes,rate\n1,10\n2,\n4,38\n", ExitCode.INCOMPLETE,
            [("row 3", "rate is empty")], "no run has a positive number at 2",
        ),
        (
            "nodes,rate\n1,10\n1,\n2,19\n\n2,oops\n,40\n4,35\n", ExitCode.PASS,
            [("row 3", "rate is empty"), ("row 5", "rate is 'oops'"), ("row 6", "nodes is empty")],
            "efficiency 88 %; 3 runs left out",
        ),
        (
            "nodes,metric,value\n1,rate,10\n2,rate,\n2,rate,18\nx,rate,40\n", ExitCode.PASS,
            [("row 3", "rate is nan"), ("row 5", "nodes is 'x'")], "efficiency 90 %; 2 runs left out",
        ),
        (
            "env,nodes,rate\na,1,10\na,2,19\nb,1,\nb,2,\n", ExitCode.INCOMPLETE,
            [("row 4", "rate is empty"), ("row 5", "rate is empty")], "b: no run has a positive number at 1, 2",
        ),
    ],
)  # fmt: skip
def test_rows_that_are_left_out_are_listed(
    tmp_path: Path, seatrial: Seatrial, text: str, code: int, left_out: list[tuple[str, str]], said: str
) -> None:
    files = written(tmp_path, {"t.csv": text})
    found = report(seatrial, files, code)
    rows = [(row["source"], row["reason"]) for item in found["data"]["curves"] for row in item["left_out"]]
    assert rows == left_out
    assert said in found["headline"]
    assert said in " ".join(seatrial("judge", "--as", "scaling", *files, code=None).out.split())


def test_a_part_of_a_table_without_the_metric_is_named(tmp_path: Path, seatrial: Seatrial) -> None:
    text = "app,nodes,metric,value\na,1,rate,10\na,2,rate,18\nb,1,seconds,3\n"
    (item,) = report(seatrial, written(tmp_path, {"t.csv": text}), ExitCode.PASS)["data"]["curves"]
    assert "No numbers of rate in b." in item["notes"]


def test_a_table_that_is_too_long_is_refused(
    tmp_path: Path, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "MOST_ROWS", 3)
    text = table([(1, 10), (2, 19), (4, 35), (8, 60)])
    ran = seatrial("judge", "--as", "scaling", *written(tmp_path, {"t.csv": text}), code=ExitCode.USAGE)
    assert "t.csv has more than 3 rows." in ran.err


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ({}, ""),
        ({("b", 8): (2, 3)}, "; b: 1 of 3 runs at 8"),
        ({("b", 8): (2, 3), ("b", 4): (3,)}, "; b: fewer than 3 runs at 4, 8"),
        ({("b", 16): (1, 2, 3)}, "; b: not measured at 16"),
    ],
)
def test_sizes_with_fewer_runs_than_others_are_said(
    left_out: dict[tuple[str, int], tuple[int, ...]], said: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    """The summary of a curve holds for what was measured; one curve has no name."""
    rows = [(code, size, run) for code in "ab" for size in (1, 2, 4, 8, 16) for run in (1, 2, 3)
            if run not in left_out.get((code, size), ())]  # fmt: skip
    lines = [f"{code},{size},{run},{100 * size**0.97 * (1 + run / 500)}" for code, size, run in rows]
    (tmp_path / "a.csv").write_text("\n".join(["code,nodes,run,gflops", *lines]))
    words = [str(tmp_path / "a.csv"), "--by", "code"]
    assert report(seatrial, words, ExitCode.PASS)["headline"].startswith(f"PASS  2 curves: a, b{said}; a fall of ")
    assert report(seatrial, [*words, "--beside", "a,b"], ExitCode.PASS)["headline"].rpartition("; ")[0].endswith(said)
    (tmp_path / "b.csv").write_text("\n".join(["nodes,run,gflops", *(line[2:] for line in lines if line[0] == "b")]))
    alone = report(seatrial, [str(tmp_path / "b.csv")], ExitCode.PASS)["headline"]
    assert ("runs at" in alone) == ("runs at" in said)


FORMS = [
    "Nodes;run;time_s\n1;1;100,5\n2;1;51,2\n4;1;26,1\n",
    "| # nodes | time (s) |\n|---|---|\n| 4 | 26.1 |\n| 2 | 51.2 |\n| 1 | 100.5 |\n",
    "num_node  time_s\n1         100.5\n2         51.2\n4         26.1\n",
    '[{"No. of nodes": 1, "time_s": 100.5}, {"No. of nodes": 2, "time_s": 51.2}, {"No. of nodes": 4, "time_s": 26.1}]',
    "nodes\ttime\n1\t100.5 s\n2\t51.2 s\n4\t26.1 s\n",
    "Results of May\nnode count,elapsed\n1,00:01:40.5\n2,00:00:51.2\n4,00:00:26.1\n",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_table_of_any_form_and_file_name_is_a_curve(text: str, tmp_path: Path, seatrial: Seatrial) -> None:
    file = written(tmp_path, {"curve.txt": text})
    for words in ([], ["--as", "scaling"]):
        (item,) = seatrial("judge", *file, *words, "--json").object["data"]["curves"]
        assert (item["over"], item["better"]) == ("nodes", "less")
        assert [(point["size"], point["value"]["value"]) for point in item["points"]] == [
            (1, 100.5), (2, 51.2), (4, 26.1),
        ]  # fmt: skip


@pytest.mark.parametrize("name", ["node number", "rank", "Node #", "core", "nodes_free", "gpus_per_node"])
def test_numbers_of_things_are_no_sizes(name: str, tmp_path: Path, seatrial: Seatrial) -> None:
    files = written(tmp_path, {"a.csv": f"{name},time_s\n1,100\n2,52\n"})
    assert "has no column of sizes" in seatrial("judge", "--as", "scaling", *files, code=ExitCode.USAGE).err


def test_each_condition_of_numbers_is_a_curve_of_its_own(tmp_path: Path, seatrial: Seatrial) -> None:
    """Problems of other sizes were runs of one size, which then had two kinds of runs."""
    rows = [f"{nodes},{scale},{run},{scale * 10 / nodes + run / 100}" for nodes in (1, 2, 4) for scale in (14, 16, 20)
            for run in (1, 2)]  # fmt: skip
    text = "\n".join(["nodes,scale,run,time_s", *rows]) + "\n"
    items = report(seatrial, written(tmp_path, {"a.csv": text}), ExitCode.PASS)["data"]["curves"]
    assert [item["name"] for item in items] == ["14", "16", "20"]
    assert {len(item["points"]) for item in items} == {3}
    grown = text.replace(",14,", ",{}14,").replace(",16,", ",{}16,").replace(",20,", ",{}20,")
    by_size = "\n".join(line.format(line[0]) for line in grown.splitlines()) + "\n"  # no size shares one with another
    (item,) = report(seatrial, written(tmp_path, {"b.csv": by_size}), None)["data"]["curves"]
    assert item["name"] == "time_s"


def test_a_part_of_a_table_without_any_size_is_incomplete(tmp_path: Path, seatrial: Seatrial) -> None:
    files = written(tmp_path, {"a.csv": "env,nodes,rate\na,1,5\na,2,9\nb,x,3\n"})
    assert report(seatrial, files, ExitCode.INCOMPLETE)["headline"] == "INCOMPLETE  b: no run has a size"


@pytest.mark.parametrize(
    ("name", "better"), [("ns/day", "more"), ("latency_us", "less"), ("s/step", "less"), ("FOM", "more")]
)
def test_the_name_of_a_metric_says_which_values_are_good(
    name: str, better: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    files = written(tmp_path, {"a.csv": f"nodes,{name},score\n1,100,7\n2,190,8\n"})
    (item,) = report(seatrial, files, None)["data"]["curves"]
    assert (item["metric"], item["better"]) == (name, better)
    assert "Use --metric" in seatrial("judge", "--as", "scaling", *written(tmp_path, {
        "a.csv": "nodes,score\n1,7\n2,8\n"}), code=ExitCode.USAGE).err  # fmt: skip


@pytest.mark.parametrize(
    ("head", "runs"),
    [("Nodes;Run 1 (s);Run 2 (s);Run 3 (s)", 3), ("Nodes;run1;run2;run3", 3), ("Nodes;time_a;time_b;time_c", 1)],
)
def test_columns_for_runs_are_runs_of_each_size(head: str, runs: int, tmp_path: Path, seatrial: Seatrial) -> None:
    rows = "".join(f"{size};{800 / size:.1f};{802 / size:.1f};{799 / size:.1f}\n" for size in (1, 2, 4, 8))
    metric = ["--metric", "value"] if "run1" in head else []
    printed = report(seatrial, [*written(tmp_path, {"t.csv": f"{head}\n{rows}"}), *metric], None)
    (item,) = printed["data"]["curves"]
    assert {point["value"]["runs"] for point in item["points"]} == {runs}


def test_other_numbers_beside_runs_leave_the_table_as_it_is(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = "".join(f"{size},{800 / size:.1f},{802 / size:.1f},{55.5 + size}\n" for size in (1, 2, 4, 8))
    words = written(tmp_path, {"t.csv": f"nodes,run1,run2,heat\n{rows}"})
    assert "--metric: heat, run1, run2" in seatrial("judge", "--as", "scaling", *words, code=64).err


@pytest.mark.parametrize(
    ("head", "words", "names", "metric"),
    [
        ("code;64;128;256", ("GROMACS ns/day", "NAMD ns/day"), ["GROMACS ns/day", "NAMD ns/day"], "rate"),
        ("code;64;128;256", ("solve time", "mesh time"), ["solve time", "mesh time"], "time"),
        ("code;64;128", ("GROMACS ns/day", "NAMD ns/day"), [], "no column of sizes"),
        ("code;a;b;c", ("GROMACS ns/day", "NAMD ns/day"), [], "no column of sizes"),
        ("code;128;64;256", ("GROMACS ns/day", "NAMD ns/day"), [], "no column of sizes"),
        ("code;64;128;256", ("solve time", "NAMD ns/day"), [], "Use --metric: value"),
    ],
    ids=["rates", "times", "two columns", "names of columns", "not in order", "both"],
)
def test_columns_for_sizes_are_points_of_a_curve_in_each_row(
    head: str, words: tuple[str, str], names: list[str], metric: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    rows = "".join(f"{word};{';'.join(str(40.5 + place) for place in range(head.count(';')))}\n" for word in words)
    file = written(tmp_path, {"t.csv": f"{head}\n{rows}"})
    if not names:
        assert metric in seatrial("judge", "--as", "scaling", *file, code=64).err
        return
    curves = report(seatrial, file, None)["data"]["curves"]
    assert [(item["name"], item["metric"], item["over"]) for item in curves] == [
        (name, metric, "size") for name in names
    ]
    assert [point["size"] for point in curves[0]["points"]] == [64, 128, 256]
