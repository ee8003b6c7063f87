"""Rows of statistics below those of nodes, by their names or by their numbers."""

import pytest

from seatrial.importers.fleets import read_fleet_table

NODES = [("cn1", 2101.4), ("cn2", 2103.2), ("cn3", 2102.9), ("cn4", 2099.5)]


def _nodes(*below: str) -> list[str]:
    rows = [f"{name},{value}" for name, value in NODES]
    return list(read_fleet_table("\n".join(("node,gflops", *rows, *below)) + "\n").values)


@pytest.mark.parametrize(
    "row",
    ["Stdabw,1.7", "cv%,0.2", "(avg),2000", "Mittelwert:,5", "Ø,2101", "Varianz,3", "RSD [%],0.1", "all,9",
     "Schnitt,2101.8", "középérték,2101.75", "worst of all,2099.5", "łącznie,8407.0"],
)  # fmt: skip
def test_names_of_statistics_and_numbers_that_are_computed_from_those_above(row: str) -> None:
    assert _nodes(row) == ["cn1", "cn2", "cn3", "cn4"]


@pytest.mark.parametrize("row", ["login,1403.1", "gpu-head,0", "cn5,2101.8"])
def test_other_nodes_stay(row: str) -> None:
    assert len(_nodes(row)) == 5
