"""Squares of pairs below comments, with names of rows or without, and what is asked of one without a unit."""

import pytest

from seatrial.importers.formats import read_matrix
from seatrial.importers.pair_tables import is_pair_table
from seatrial.model.errors import UsageError

NAMES = ("n01", "n02", "n03", "n04")


def square(*, mark: str = " ", named: bool = True, own: str = "0") -> str:
    """Rows of a square in which n03 sends to n02 at 6 GB/s."""
    rows = [
        [own if row == column else "6000" if (row, column) == (2, 1) else f"12{row}{column}0" for column in range(4)]
        for row in range(4)
    ]
    return "".join(
        mark.join((*([name] if named else []), *cells)) + "\n" for name, cells in zip(NAMES, rows, strict=True)
    )


FORMS = {
    "a title and an empty corner": "# bandwidth in MB/s, 4 MiB\n,n01,n02,n03,n04\n" + square(mark=","),
    "a title and a corner that says little": "# bandwidth [MB/s]: osu_bw\nfrom,n01,n02,n03,n04\n" + square(mark=","),
    "an empty comment": "#\n# Bandwidth (MB/s)\n\nnode n01 n02 n03 n04\n" + square(own="-"),
    "names in a comment": "# bandwidth MB/s\n# n01 n02 n03 n04\n" + square(named=False),
    "names in a comment above rows with names": "# bandwidth MB/s\n#    n01 n02 n03 n04\n" + square(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_square_is_read_below_its_comments(form: str) -> None:
    text = FORMS[form]
    assert is_pair_table(text)
    table = read_matrix(text)
    values = {
        (table.nodes[source], table.nodes[target]): value
        for source, target, value in zip(
            table.source.tolist(), table.target.tolist(), table.bandwidth_bytes_per_s.tolist(), strict=True
        )
    }
    assert (len(values), values["n03", "n02"], values["n02", "n03"]) == (12, 6e9, 12.12e9)


def test_rows_without_any_name_are_ranks() -> None:
    table = read_matrix(f"# bandwidth (MB/s)\n{square(named=False)}")
    assert tuple(sorted(table.nodes)) == ("rank0", "rank1", "rank2", "rank3")


@pytest.mark.parametrize("above", ["", "#\n", "# of last night\n"])
@pytest.mark.parametrize("names", [",n01,n02,n03,n04\n", "# n01,n02,n03,n04\n", ""])
def test_a_square_without_a_unit_is_asked_for_it_in_its_first_cell(above: str, names: str) -> None:
    text = above + names + square(mark=",", named=names[:1] == ",")
    with pytest.raises(UsageError, match="a cell for each pair of nodes, and its first cell does not say"):
        read_matrix(text)


def test_as_many_runs_as_nodes_are_not_a_square() -> None:
    """Without gaps on the diagonal rows of numbers can be anything."""
    assert not is_pair_table("n01 n02 n03 n04\n" + square(named=False, own="12000"))


@pytest.mark.parametrize("none", ["-", "--", "–", "n/a"])
def test_a_dash_of_any_length_is_no_number(none: str) -> None:
    lower = [[f"1.4{row}{column}" if column < row else none for column in range(4)] for row in range(4)]
    rows = "".join(f"{name}           {'  '.join(cells)}\n" for name, cells in zip(NAMES, lower, strict=True))
    assert read_matrix(f"latency [us]  n01  n02  n03  n04\n{rows}").pairs == 6
