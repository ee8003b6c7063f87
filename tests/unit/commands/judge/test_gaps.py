"""`seatrial judge` on tables of nodes with gaps: what is missing is said, and the power is that of the weakest node."""

import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from seatrial.importers.fleets import aligned, read_fleet_table
from seatrial.judgement.fleet.judge import expected_subjects, uneven_parts
from tests.support.benchmark_outputs import stream
from tests.support.command_line import Seatrial
from tests.support.fleet_tables import Factor, healthy, long_table, nodes

RUNS = list("123")
SIZES = ["8", "64", "512"]
GPUS = list("01234567")
ONE_RUN = ({"node": "n07", "run": "2"}, {"node": "n07", "run": "3"})


def table(
    left_out: Iterable[Mapping[str, str]] = (),
    *,
    factor: Factor = healthy,
    scatter: float = 0.004,
    **keys: Sequence[str],
) -> str:
    """12 nodes with three runs under each condition, but those left out."""
    return long_table(
        {"node": nodes(12), **keys, "run": RUNS}, lambda _: 100.0, factor, left_out=left_out, scatter=scatter
    )


def judged(seatrial: Seatrial, folder: Path, text: str, *words: str) -> tuple[str, dict[str, Any]]:
    """The first line of `seatrial judge` on a table, and its data."""
    (folder / "a.csv").write_text(text)
    first = seatrial("judge", folder / "a.csv", *words, code=None).out.partition("\n")[0]
    assert len(first) <= 80, first
    data: dict[str, Any] = seatrial("judge", folder / "a.csv", *words, "--json", code=None).object["data"]
    return first, data


def test_a_node_with_one_of_three_runs_is_said_and_has_less_power(tmp_path: Path, seatrial: Seatrial) -> None:
    complete, whole = judged(seatrial, tmp_path, table())
    first, data = judged(seatrial, tmp_path, table(ONE_RUN))
    assert complete == "PASS  12 nodes alike; a loss of 2.4 % would have been named"
    assert first == "PASS  12 nodes alike; a loss of 2.8 % would have been named; n07 has 1 of 3 runs"
    assert (data["planned_runs"], data["slow"], data["suspected"], data["unmeasured"]) == (3, [], [], [])
    power = {node["node"]: node["detectable"] for node in data["nodes"]}
    assert data["detectable"] == power.pop("n07") > max(power.values())
    assert len(set(power.values())) == 1
    assert {node["detectable"] for node in whole["nodes"]} == {whole["detectable"]}
    shown = " ".join(seatrial("judge", tmp_path / "a.csv").out.split())
    assert "Fewer runs than planned: n07 1 of 3 (a loss of 2.8 % is found)." in shown


def test_too_little_power_for_one_node_withholds_pass(tmp_path: Path, seatrial: Seatrial) -> None:
    """The same scatter is a PASS where each node has three runs."""
    assert judged(seatrial, tmp_path, table(scatter=0.02))[0].startswith("PASS  12 nodes alike")
    first, data = judged(seatrial, tmp_path, table(ONE_RUN, scatter=0.02))
    assert first == "INCONCLUSIVE  the scatter hides a loss of less than 13 %; n07 has 1 of 3 runs"
    assert data["detectable"] > 0.1


def test_a_named_node_stays_first_and_the_gap_follows(tmp_path: Path, seatrial: Seatrial) -> None:
    def slow(name: str) -> Factor:
        return lambda row: 0.8 if row["node"] == name else 1.0

    first, data = judged(seatrial, tmp_path, table(ONE_RUN, factor=slow("n03")))
    assert (first, data["slow"]) == ("SLOW  n03 20 % below its peers, among 12 nodes; n07 has 1 of 3 runs", ["n03"])
    first, data = judged(seatrial, tmp_path, table(ONE_RUN, factor=slow("n07")))
    assert (first, data["suspected"]) == ("INCONCLUSIVE  n07 20 % below its peers; 2 more runs would decide", ["n07"])


def emptied(text: str, *beginnings: str) -> str:
    """The table with an empty value in the rows that begin so."""
    return "\n".join(row.rpartition(",")[0] + "," if row.startswith(beginnings) else row for row in text.splitlines())


@pytest.mark.parametrize("form", ["cells", "json", "no runs", "files", "jobs"])
def test_each_form_of_a_table_shows_the_gap(form: str, tmp_path: Path, seatrial: Seatrial) -> None:
    """Empty cells, shorter lists, fewer rows, a file that lacks the node, and fewer jobs of a number each."""
    fleet = read_fleet_table(table()).values
    words = [str(tmp_path / "a")]
    if form == "cells":
        (tmp_path / "a").write_text(emptied(table(), "n07,2", "n07,3"))
    elif form == "files":
        for run, name in enumerate("abc"):
            words = [*words[:run], str(tmp_path / name)]
            (tmp_path / name).write_text(
                json.dumps({node: [runs[run]] for node, runs in fleet.items() if node != "n07" or not run})
            )
        words = ["--as", "fleet", *words]
    else:
        fleet["n07"] = fleet["n07"][:1]
        rows = [(node, value) for node, runs in fleet.items() for value in runs]
        number = {"jobs": ",{}".format, "no runs": lambda _: ""}
        (tmp_path / "a").write_text(
            json.dumps(fleet) if form == "json" else "\n".join(
                [f"node{',jobid' * (form == 'jobs')},value",
                 *(f"{node}{number[form](4000 + place)},{value}" for place, (node, value) in enumerate(rows))]
            )
        )  # fmt: skip
        words = ["--as", "fleet", *words]
    assert seatrial("judge", *words).out.partition("\n")[0].endswith("; n07 has 1 of 3 runs")


def test_a_run_that_many_nodes_lack_or_all_is_said(tmp_path: Path, seatrial: Seatrial) -> None:
    first, _ = judged(seatrial, tmp_path, table([{"node": node, "run": "3"} for node in nodes(8)]))
    assert first == "PASS  12 nodes alike; a loss of 2.6 % would show; 8 nodes have 2 of 3 runs"
    first, _ = judged(seatrial, tmp_path, emptied(table(), *(f"{node},3" for node in nodes(12))))
    assert first.endswith("; 12 nodes have 2 of 3 runs")


def test_more_runs_of_single_nodes_are_no_gaps_of_the_others(tmp_path: Path, seatrial: Seatrial) -> None:
    """Two nodes were measured again, or each job measured four nodes: no other node lacks a run."""
    again = [{"node": node, "run": run} for node in nodes(12)[2:] for run in "456789"]
    keys = {"node": nodes(12), "run": list("123456789")}
    first, data = judged(seatrial, tmp_path, long_table(keys, lambda _: 100.0, left_out=again))
    assert first.startswith("PASS  12 nodes alike; a loss of")
    assert data["planned_runs"] == 3
    jobs = [(f"n{(4 * job + place) % 12:02d}", 4000 + job) for job in range(30) for place in range(4)]
    text = "\n".join(["node,jobid,value", *(f"{node},{job},{100 + (place * 7) % 5 / 9}"
                      for place, (node, job) in enumerate(jobs))])  # fmt: skip
    assert judged(seatrial, tmp_path, text, "--as", "fleet")[0].startswith("PASS  12 nodes alike; a loss of")


def test_runs_keep_their_places() -> None:
    assert read_fleet_table("node,run,value\nn1,1,1\nn1,2,2\nn1,3,3\nn2,1,4\nn2,3,5\nn3,3,7\nn3,2,6\n").values == {
        "n1": [1.0, 2.0, 3.0],
        "n2": [4.0, 5.0],
        "n3": [6.0, 7.0],
    }
    whole = [(1, 5.0), (2, 6.0), (3, 7.0)]
    gaps = aligned({"n1": whole, "n2": [(1, 4.0), (3, 8.0)], "n3": whole})["n2"]
    assert [math.isnan(value) for value in gaps] == [False, True, False]
    assert aligned({"n1": [("a", 1.0)], "n2": [("b", 2.0)], "n3": [("c", 3.0), ("d", 4.0)]}) == {
        "n1": [1.0],
        "n2": [2.0],
        "n3": [3.0, 4.0],
    }


def test_fewer_runs_under_one_condition_or_of_one_part_are_said_with_its_place(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    gap = [{"node": "n07", "size": "64", "run": "1"}]
    first, data = judged(seatrial, tmp_path, table(gap, size=SIZES))
    assert first.startswith("PASS  12 nodes alike; a loss of ")
    assert first.endswith(" would show; n07 has 2 of 3 runs in size 64")
    (stratum,) = [one for one in data["strata"] if one["conditions"][0][1] == "64"]
    assert stratum["detectable"] == max(node["detectable"] for node in stratum["nodes"])
    assert judged(seatrial, tmp_path, table(ONE_RUN, size=SIZES))[0].endswith("; n07 has 1 of 3 runs")
    first, _ = judged(seatrial, tmp_path, table([{"node": "n04", "gpu": "3", "run": "1"}], gpu=GPUS))
    assert first == "PASS  96 parts alike; a loss of 2.5 % would show; n04 gpu 3 has 2 of 3 runs"


def test_a_part_that_one_node_lacks_withholds_pass(tmp_path: Path, seatrial: Seatrial) -> None:
    gap = [{"node": "n04", "gpu": "3"}]
    for text in (table(gap, gpu=GPUS), table(gap, gpu=GPUS, size=SIZES)):
        first, data = judged(seatrial, tmp_path, text)
        assert first.startswith("NOT_RUN  95 parts ")
        assert first.endswith("; not measured: n04 gpu 3")
        assert data["unmeasured"] == ["n04 gpu 3"]
    seatrial("judge", tmp_path / "a.csv", "--junit", tmp_path / "j.xml", code=2)
    assert 'name="node:n04 gpu 3">\n   <skipped' in (tmp_path / "j.xml").read_text()


def test_nodes_with_fewer_parts_are_of_another_kind(tmp_path: Path, seatrial: Seatrial) -> None:
    gaps = [{"node": node, "gpu": gpu} for node in nodes(5) for gpu in "4567"]
    first, data = judged(seatrial, tmp_path, table(gaps, gpu=GPUS))
    assert first == "PASS  76 parts alike; a loss of 2.5 % would show; 4 parts on some nodes only"
    assert data["unmeasured"] == []


def test_a_condition_that_few_nodes_have_is_said(tmp_path: Path, seatrial: Seatrial) -> None:
    gaps = [{"node": node, "size": "64"} for node in nodes(7)]
    first, data = judged(seatrial, tmp_path, table(gaps, size=SIZES, scatter=0.001))
    assert first.startswith("PASS  12 nodes alike")
    assert first.endswith("; size 64 on 5 of 12 nodes")
    assert data["unmeasured"] == []


def test_a_node_without_a_condition_does_not_pass_as_a_test_case(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "a.csv").write_text(table([{"node": "n05", "size": "64"}], size=SIZES))
    seatrial("judge", tmp_path / "a.csv", "--junit", tmp_path / "j.xml", code=2)
    assert '<skipped message="NOT_RUN: no value in size 64">' in (tmp_path / "j.xml").read_text()


def test_a_condition_belongs_to_the_nodes_with_the_same_property() -> None:
    """The nodes of one rack are not expected in the other, and within a rack each kernel is."""
    conditions = [(("rack", rack), ("kernel", kernel)) for rack in "ab" for kernel in ("copy", "add")]
    measured = [dict.fromkeys(names) for names in (["n1", "n2", "n3"], ["n1", "n2"], ["n4"], ["n4"])]
    expected = expected_subjects(conditions, measured, {}, {})
    assert [list(names) for names in expected] == [["n1", "n2", "n3"], ["n1", "n2", "n3"], ["n4"], ["n4"]]


def test_a_part_that_a_third_of_the_nodes_lack_is_none_of_them() -> None:
    parts = [(f"n{node}", f"gpu {gpu}") for node in range(6) for gpu in range(3 if node > 1 else 2)]
    uneven = uneven_parts([one for one in parts if one != ("n5", "gpu 0")])
    assert uneven.lacking == {"n5 gpu 0": "n5"}
    assert uneven.rare == ("gpu 2",)


def test_runs_of_the_archive_show_the_node_that_some_lack(tmp_path: Path, seatrial: Seatrial) -> None:
    """Each run of the table is a run of the archive, at its own place: the node is in the first one only."""
    (tmp_path / "a.csv").write_text(table(ONE_RUN))
    archive = ("--archive", str(tmp_path / "archive"))
    seatrial("import", tmp_path / "a.csv", "--as", "fleet", "--better", "higher", *archive)
    runs = [folder.name for folder in sorted((tmp_path / "archive").iterdir()) if folder.is_dir()]
    runs = [name for name in runs if name[-5:-1] == "-000"]
    words = ("judge", "--as", "fleet", "--column", "value", *archive, "--runs")
    first = seatrial(*words, ",".join(runs)).out.partition("\n")[0]
    assert first == "PASS  12 nodes alike; a loss of 2.8 % would have been named; n07 has 1 of 3 runs"
    data = seatrial(*words, runs[0], "--json").object["data"]
    assert (len(data["nodes"]), data["planned_runs"]) == (12, 1)


@pytest.mark.parametrize("gpus", [0, 2])
@pytest.mark.parametrize(("loss", "verdict"), [(0.0, "INCONCLUSIVE"), (0.3, "SLOW")])
def test_a_run_that_failed_withholds_pass_and_names_its_node(
    loss: float, verdict: str, gpus: int, tmp_path: Path, seatrial: Seatrial
) -> None:
    scatter = random.Random(3)
    rows = [
        f"n{node},{run},{part and f'{part},'}{scatter.gauss(100, 0.2) * (1 - loss * (node == 7)):.3f},"
        f"{'FAILED' if (node, run) == (5, 2) else 'PASSED'}"
        for node in range(1, 21)
        for run in range(1, 6)
        for part in ([f"gpu{number}" for number in range(gpus)] or [""])
    ]
    file = tmp_path / "a.csv"
    file.write_text("\n".join([f"node,run,{'gpu,' if gpus else ''}gflops,result", *rows, ""]))
    printed = seatrial("judge", str(file), "--json", code=1 if loss else 2)
    failed = ["n5"] * max(gpus, 1)
    assert (printed.object["verdict"], printed.data["failed"]) == (verdict, failed)
    out = seatrial("judge", str(file), code=None).out
    assert f"{'2 runs' if gpus else '1 run'} of n5 failed" in out
    file.write_text(file.read_text().replace("FAILED", "PASSED"))
    assert seatrial("judge", str(file), "--json", code=1 if loss else 0).data["failed"] == []


def test_an_output_that_does_not_pass_its_gates_withholds_pass_from_a_node_with_others(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    wrong = stream().replace("Solution Validates", "Failed Validation on array a[]")
    for node in range(1, 13):
        for run in range(1, 6):
            text = wrong if (node, run) == (5, 2) else stream()
            (tmp_path / f"n{node}-stream-run{run}.out").write_text(text)
    printed = seatrial("judge", tmp_path, "--json", code=2)
    assert (printed.object["verdict"], printed.data["failed"]) == ("INCONCLUSIVE", ["n5"])


@pytest.mark.parametrize(
    ("others", "value", "verdict", "code"),
    [
        (380.5, "FAILED", "INCONCLUSIVE  1 run of n7 failed; 19 nodes alike", 2),
        (380.5, "", "NOT_RUN  19 nodes alike", 2),
        (200.5, "FAILED", "SLOW  n3 47 % below its peers, among 19 nodes; 1 run of n7 failed", 1),
        (720.5, "FAILED", "INCONCLUSIVE  1 run of n7 failed; ", 2),
        (720.5, "381.5", "NOTE  ", 0),
    ],
)
def test_a_node_whose_only_run_failed_is_named_and_withholds_pass_and_note(
    others: float, value: str, verdict: str, code: int, tmp_path: Path, seatrial: Seatrial
) -> None:
    """`others`: what n3 reaches in each of its runs."""
    file = tmp_path / "a.csv"
    rows = [
        f"n{node},{run},{value if node == 7 else others if node == 3 else 380 + (node + run) % 3}"
        for node in range(1, 21)
        for run in ((1,) if node == 7 else (1, 2, 3))
    ]
    file.write_text("\n".join(["node,run,triad_GB_s", *rows, ""]))
    assert seatrial("judge", str(file), code=code).out.startswith(verdict)


def test_the_name_of_a_node_that_was_not_measured_matters_more_than_what_would_show(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    long = "compute-0007.hpc.example.org"
    text = table(tuple({"node": "n07", "run": run} for run in RUNS)) + f"{long},1,\n"
    assert judged(seatrial, tmp_path, text)[0] == f"NOT_RUN  11 nodes alike; not measured: {long}"
