"""Tables whose rows and columns write the same nodes differently: with their domain, and in capitals."""

from collections.abc import Callable

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.formats import read_matrix
from seatrial.importers.node_names import short_names
from seatrial.locate.table import locate_in_table
from seatrial.model.verdict import Verdict

SHORT = [f"a{number}" for number in range(1, 9)]
FULL = [f"{name}.hpc.example" for name in SHORT]
CAPITAL = [name.upper() for name in SHORT]


def _rate(sender: int, receiver: int, slow: int | None) -> float:
    return (9000 + 7 * sender + 3 * receiver) * (0.5 if slow in (sender, receiver) else 1)


def _mpigraph(rows: list[str], columns: list[str], slow: int | None) -> str:
    heads = "".join(f"{name}:{rank}\t" for rank, name in enumerate(columns))
    lines = [
        f"{name}:{rank} from\t"
        + "".join(f"{0 if rank == other else _rate(other, rank, slow):.2f}\t" for other in range(8))
        for rank, name in enumerate(rows)
    ]
    return f"START mpiGraph v1.5\n\nRecv\t{heads}\n" + "\n".join(lines) + "\n\nEND mpiGraph\n"


def _square(rows: list[str], columns: list[str], slow: int | None) -> str:
    lines = [
        f"{name}," + ",".join("" if row == column else f"{_rate(row, column, slow):.2f}" for column in range(8))
        for row, name in enumerate(rows)
    ]
    return f"bandwidth_MB/s,{','.join(columns)}\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("text", [_mpigraph, _square])
@pytest.mark.parametrize(("rows", "columns"), [(SHORT, FULL), (FULL, SHORT), (SHORT, SHORT), (SHORT, CAPITAL)])
def test_each_node_is_one_node_whichever_names_its_row_and_column_have(
    text: Callable[[list[str], list[str], int | None], str], rows: list[str], columns: list[str]
) -> None:
    table = read_matrix(text(rows, columns, None))
    assert (sorted(table.nodes), table.pairs) == (SHORT, 56)
    slow = locate_in_table(read_matrix(text(rows, columns, 2)))
    assert (slow.verdict, [fault.subject.name for fault in slow.faults]) == (Verdict.SLOW, ["a3"])


def test_the_rows_of_a_node_may_write_its_name_in_several_ways() -> None:
    rows = [f"{name},{run},{100 + run}" for run, names in enumerate((FULL, CAPITAL, SHORT)) for name in names]
    table = read_fleet_table("node,run,triad_GB_s\n" + "\n".join(rows) + "\n")
    assert table.values == {name: [100.0, 101.0, 102.0] for name in SHORT}


def test_hosts_of_one_name_in_two_domains_stay_two_nodes() -> None:
    names = ("a1.north", "A1.north", "a1.south", "a1", "a2", "A2")
    assert short_names(names) == {"A1.north": "a1.north", "A2": "a2"}
