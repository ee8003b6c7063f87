"""Tables with a column for each run or part, beside columns that summarise them and cells that failed."""

import contextlib
import math

import pytest

from seatrial.importers import columns
from seatrial.importers.columns import TableColumn
from seatrial.importers.fleets import FleetTable, read_fleet_table
from seatrial.importers.wide_columns import transposed
from seatrial.model.errors import UsageError
from tests.support.processor_time import within


def _table(heading: str, *rows: str) -> FleetTable:
    return read_fleet_table("\n".join((heading, *rows)) + "\n")


@pytest.mark.parametrize(
    ("heading", "last"),
    [
        ("node,run1,run2,run3,best", ("2101", "2104", "2103")),
        ("node,run1,run2,run3,mean", ("2100", "2102.3", "801.7")),
        ("node;iter 1;iter 2;iter 3;max GFLOPS", ("2101", "2104", "2103")),
        ("node,run_1,run_2,run_3,stddev", ("0.8", "1.3", "980")),
        ("node,trial1,trial2,trial3,result_of_all", ("2101", "2104", "2103")),
    ],
)
def test_a_summary_beside_runs_is_no_measurement(heading: str, last: tuple[str, ...]) -> None:
    rows = ("cn1,2100,2101,2099", "cn2,2101,2104,2102", "cn3,2103,201,101")
    mark = ";" if ";" in heading else ","
    table = _table(heading, *(f"{row},{cell}".replace(",", mark) for row, cell in zip(rows, last, strict=True)))
    assert table.values["cn3"] == [2103.0, 201.0, 101.0]


@pytest.mark.parametrize("name", ["mean", "avg GB/s", "median", "min", "max", "total_GBps", "sum", "std", "of all"])
def test_a_summary_beside_parts_is_no_measurement(name: str) -> None:
    rows = [("cn1", 210, 211, 209, 212), ("cn2", 211, 213, 210, 212), ("cn3", 213, 211, 212, 211)]
    table = _table(f"node;gpu0;gpu1;gpu2;gpu3;{name}", *(";".join(map(str, (*row, sum(row[1:])))) for row in rows))
    assert (table.values["cn3 gpu 2"], len(table.values)) == ([212.0], 12)


@pytest.mark.parametrize("name", ["final", "triad_GBps", "warmup"])
def test_other_numbers_beside_runs_are_asked_about(name: str) -> None:
    with pytest.raises(UsageError, match="run1, run2 are runs, and " + name):
        _table(f"node,run1,run2,{name}", "cn1,2100,2101,77", "cn2,2101,2104,79", "cn3,2103,201,78")


@pytest.mark.parametrize("word", ["FAILED", "timeout", "DOWN"])
def test_a_run_that_failed_leaves_the_others_of_its_row(word: str) -> None:
    table = _table("node,run1,run2,run3", f"cn1,1800,{word},1810", "cn2,2101,2104,2102", "cn3,2103,2101,2101")
    assert table.values["cn1"] == [1800.0, 1810.0]
    assert table.failed == ("cn1",)


def test_a_part_that_failed_leaves_the_others_of_its_node() -> None:
    table = _table("node,GPU0,GPU1,GPU2", "cn1,52.1,52.3,FAILED", "cn2,52.2,52.6,52.9", "cn3,52.5,52.4,52.7")
    (stratum,) = table.strata
    assert [part for part, values in stratum.with_gaps.items() if all(map(math.isnan, values))] == ["cn1 gpu 2"]
    assert table.failed == ("cn1",)


def test_a_failure_in_a_column_of_a_node_is_that_node_s() -> None:
    table = _table("metric,n01,n02,n03", "triad,380.1,FAILED,381.2", "copy,340.1,341.2,342.3")
    assert table.failed == ("n02",)
    assert table.values["n02"] == [341.2]


@pytest.mark.parametrize(
    ("name", "usual", "other"), [("pcie_width", "16", "8"), ("sm_clock", "1410", "1095"), ("link_gen", "5", "3")]
)
def test_a_number_that_few_parts_have_by_themselves_is_no_condition(name: str, usual: str, other: str) -> None:
    few = ((3, 1), (7, 2))
    rows = [
        f"cn{node},{gpu},{other if (node, gpu) in few else usual},{25 + (node * 37 + gpu * 17) % 113 / 1000}"
        for node in range(1, 17)
        for gpu in range(4)
    ]
    table = _table(f"node,gpu,{name},h2d_GBs", *rows)
    assert len(table.strata) == 1
    assert table.roles.unused == (name,)


def test_a_number_that_is_on_all_nodes_alike_stays_a_condition() -> None:
    rows = [f"cn{node},{gpu},{width},{width + node % 3}" for node in range(1, 9) for gpu in "01" for width in (8, 16)]
    assert len(_table("node,gpu,width,h2d_GBs", *rows).strata) == 2


def test_a_column_for_each_of_many_nodes_is_compared_with_no_other() -> None:
    """Each of 20,000 columns was compared with all others, which took ten times as long."""
    nodes = (TableColumn(name=f"n{number}", cells=("7", "8")) for number in range(20_000))
    with within(1.5):
        long = transposed([TableColumn(name="day", cells=("a", "b")), *nodes])
    assert {column.name: len(column.cells) for column in long} == {"day": 40_000, "node": 40_000, "value": 40_000}


@pytest.mark.parametrize("more", [0, 1])
def test_tables_of_very_many_columns_are_refused(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_COLUMNS", 40)
    names = [f"run{number}" for number in range(39 + more)]
    rows = "".join(f"n{node},{','.join(str(100 + node + at % 3) for at in range(len(names)))}\n" for node in (1, 2, 3))
    with pytest.raises(UsageError, match="41 columns, more than 40") if more else contextlib.nullcontext():
        table = read_fleet_table(f"node,{','.join(names)}\n{rows}")
        assert [len(runs) for runs in table.values.values()] == [39] * 3


def test_thousands_of_columns_for_runs_take_seconds_and_not_minutes() -> None:
    names = [f"run{number}" for number in range(4000)]
    rows = "".join(f"n{node},{','.join(str(100 + node + at % 3) for at in range(len(names)))}\n" for node in (1, 2, 3))
    with within(5):
        table = read_fleet_table(f"node,{','.join(names)}\n{rows}")
    assert [len(runs) for runs in table.values.values()] == [4000] * 3
