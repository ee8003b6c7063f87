"""Tables whose rows and columns write the same nodes differently: with and without their domain."""

from collections.abc import Callable

import pytest

from seatrial.importers.formats import read_matrix
from seatrial.locate.table import locate_in_table
from seatrial.model.verdict import Verdict

SHORT = [f"a{number}" for number in range(1, 9)]
FULL = [f"{name}.hpc.example" for name in SHORT]


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
@pytest.mark.parametrize(("rows", "columns"), [(SHORT, FULL), (FULL, SHORT), (SHORT, SHORT)])
def test_each_node_is_one_node_whichever_names_its_row_and_column_have(
    text: Callable[[list[str], list[str], int | None], str], rows: list[str], columns: list[str]
) -> None:
    table = read_matrix(text(rows, columns, None))
    assert (sorted(table.nodes), table.pairs) == (SHORT, 56)
    slow = locate_in_table(read_matrix(text(rows, columns, 2)))
    assert (slow.verdict, [fault.subject.name for fault in slow.faults]) == (Verdict.SLOW, ["a3"])
