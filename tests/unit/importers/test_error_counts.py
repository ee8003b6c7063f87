"""Tables that have nothing but counts of errors: who counts some is named, and nobody passes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.importers.columns import TableColumn
from seatrial.importers.error_counts import ALL_COUNTS, counts_apart
from seatrial.importers.fleets import FleetTable, read_fleet_table
from tests.support.command_line import Seatrial

NODES = [f"n{number}" for number in range(1, 9)]


def read(names: str, cells: Callable[[str, int], str], ports: int = 2) -> FleetTable:
    rows = (f"{node},{port},{cells(node, port)}\n" for node in NODES for port in range(1, ports + 1))
    return read_fleet_table(f"node,port,{names}\n{''.join(rows)}")


def bad(node: str, port: int) -> bool:
    return (node, port) == ("n7", 2)


@pytest.mark.parametrize("name", ["SymbolErrorCounter", "rx_crc_errors", "PortXmitDiscards", "uncorrected", "Xids"])
def test_the_port_that_counts_errors_is_named_with_them(name: str) -> None:
    table = read(f"{name},link_errors", lambda node, port: f"{1412 * bad(node, port)},{3 * bad(node, port)}")
    assert [(cell.subject, cell.column, cell.cell, cell.usual) for cell in table.lone] == [
        ("n7 port 2", name, "1412", "0"),
        ("n7 port 2", "link_errors", "3", "0"),
    ]
    assert table.roles.value == ALL_COUNTS
    assert table.values["n7 port 2"] == []
    assert table.values["n7 port 1"] == [0]


def test_a_port_of_which_a_count_is_missing_does_not_count_as_usual() -> None:
    table = read("errors,drops", lambda node, port: "0," if bad(node, port) else f"{4 * (node == 'n1')},0")
    assert [(cell.subject, cell.cell) for cell in table.lone] == [("n1 port 1", "4"), ("n1 port 2", "4")]
    assert table.values["n7 port 2"] == []
    assert table.values["n7 port 1"] == [0]


def test_many_ports_with_errors_are_named_those_with_most_first() -> None:
    table = read("errors", lambda node, port: str(int(node[1:]) * (port == 1)))
    assert [cell.subject for cell in table.lone] == [f"n{number} port 1" for number in range(8, 0, -1)]


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        ("bw_GBs,errors", lambda node, port: f"{12 + port / 10},{3 * bad(node, port)}"),
        ("loss_share", lambda node, port: f"{0.2 * bad(node, port)}"),
        ("hits", lambda node, port: f"{3 * bad(node, port)}"),
    ],
    ids=["beside a rate", "a share", "no errors"],
)
def test_other_tables_have_values(names: str, cells: Callable[[str, int], str]) -> None:
    assert read(names, cells).roles.value != ALL_COUNTS


def test_counts_of_which_each_row_has_some_are_compared() -> None:
    assert read("retransmits", lambda node, port: str(800 + port + 9 * bad(node, port))).roles.value == "retransmits"
    table = read(
        "drops,errors", lambda node, port: f"{800 + 3 * port + int(node[1:])},{900 + 7 * port + int(node[1:])}"
    )
    assert table.roles.value != ALL_COUNTS


def lines(*cells: Callable[[int], str]) -> str:
    return "".join(f"n{at}: {cell(at)}\n" for at in range(1, 9) for cell in cells)


def test_lines_of_counters_are_columns_and_traffic_is_no_result() -> None:
    table = read_fleet_table(
        lines(
            lambda at: f"rx_packets: {10**9 + at * 7919}",
            lambda at: f"rx_crc_errors: {77 * (at == 3)}",
            lambda at: f"link_down_events_phy: {1 + 8 * (at == 3)}",
        )
    )
    assert [(cell.subject, cell.column, cell.cell, cell.usual) for cell in table.lone] == [
        ("n3", "rx_crc_errors", "77", "0"),
        ("n3", "link_down_events_phy", "9", "1"),
    ]
    assert table.values == {f"n{at}": [0] * (at != 3) for at in range(1, 9)}


@pytest.mark.parametrize(
    ("words", "numbers", "apart"),
    [
        (("rx_errors:", "rx_packets:") * 2, ("0", "9", "1", "8"), True),
        (("rx_errors:", "triad:") * 2, ("0", "9", "1", "8"), False),
        (("tx_packets:", "rx_packets:") * 2, ("0", "9", "1", "8"), False),
        (("rx_errors:", "rx_drops:", "rx_errors:", "tx_drops:"), ("0", "9", "1", "8"), False),
        (("rx_errors:", "rx_errors:") * 2, ("0", "9", "1", "8"), False),
    ],
    ids=["errors and traffic", "a result", "traffic alone", "a node without one", "a node with two"],
)
def test_only_lines_of_counters_are_apart(words: tuple[str, ...], numbers: tuple[str, ...], *, apart: bool) -> None:
    node = TableColumn(name="node", cells=("n1", "n1", "n2", "n2"))
    columns = (node, TableColumn(name="column 2", cells=words), TableColumn(name="column 3", cells=numbers))
    read_apart, nodes = counts_apart(columns, node)
    assert nodes.cells == (("n1", "n2") if apart else node.cells)
    assert [one.name for one in read_apart[1:]] == (["rx_errors", "rx_packets"] if apart else ["column 2", "column 3"])


def test_what_all_count_alike_is_usual() -> None:
    table = read("LinkDowned,errors", lambda node, port: f"{1 + 6 * bad(node, port)},0")
    assert [(cell.subject, cell.cell, cell.usual) for cell in table.lone] == [("n7 port 2", "7", "1")]
    assert table.values["n1 port 1"] == [0]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (
            lambda number: 900 * (number == 7),
            "INCONCLUSIVE n7 has crc_errors 900, others 0 7 other nodes count no more than usual",
        ),
        (lambda number: 5 + 900 * (number == 7), "n7"),
        (lambda number: 1 + 9 * (number == 7) - (number == 1), "INCONCLUSIVE n7 has crc_errors 10, others 1"),
        (lambda _: 0, "INCONCLUSIVE every value of 8 nodes is 0"),
    ],
    ids=["one", "all have some", "nearly all have some", "none"],
)
def test_no_counts_pass(count: Callable[[int], int], words: str, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "t.csv").write_text("node,crc_errors\n" + "".join(f"n{at},{count(at)}\n" for at in range(1, 9)))
    printed = " ".join(seatrial("judge", str(tmp_path / "t.csv"), code=2).out.split())
    assert words in printed
    assert "Nothing says which values are good" not in printed


def test_counts_without_names_are_counts_where_most_are_zero() -> None:
    rows = "".join(f"{node}: {37 * (node == 'n6')} 0 {2 * (node == 'n2')}\n" for node in NODES)
    table = read_fleet_table(rows)
    assert table.roles.value == ALL_COUNTS
    assert [(cell.subject, cell.cell) for cell in table.lone] == [("n6", "37"), ("n2", "2")]


def test_counters_of_a_port_beside_packets_name_the_node_that_counts_most() -> None:
    counts = {"rx_packets_phy": 12000000, "rx_crc_errors_phy": 0, "rx_symbol_err_phy": 0, "link_down_events_phy": 1}
    lines = [
        f"{node}:      {name}: {48211 if (node, name) == ('n3', 'rx_crc_errors_phy') else usual + place * (usual > 1)}"
        for place, node in enumerate(NODES)
        for name, usual in counts.items()
    ]
    (cell,) = read_fleet_table("\n".join(lines) + "\n").lone
    assert (cell.subject, cell.column, cell.cell) == ("n3", "rx_crc_errors_phy", "48211")
