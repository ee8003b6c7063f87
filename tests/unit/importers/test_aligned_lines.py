"""Tables in aligned columns with empty cells."""

import pytest

from seatrial.importers.aligned_lines import WIDEST, divided
from seatrial.importers.columns import read_columns
from seatrial.importers.fleets import read_fleet_table
from seatrial.model.errors import UsageError

NODES = [f"n{number:02}" for number in range(1, 9)]
NAMES = ("HOST", "RUN1", "RUN2", "RUN3", "NOTE")


def cells_of(node: str) -> tuple[str, ...]:
    """The cells of a row: n03 has no second run, and n06 alone has a remark."""
    runs = [f"{24 + run / 10:.2f}" for run in range(1, 4)]
    return (node, runs[0], "" if node == "n03" else runs[1], runs[2], "link flap" if node == "n06" else "")


def table(form: str) -> str:
    return "\n".join(form.format(*row).rstrip() for row in (NAMES, *map(cells_of, NODES)))


@pytest.mark.parametrize(
    "form",
    [
        "{:<8}{:<8}{:<8}{:<8}{}",
        "{:>8}{:>8}{:>8}{:>8}  {}",
        "{:<6} {:>6} {:>6} {:>6}   {}",
        "  {:<8} {:^7} {:^7} {:^7}   {}",
        "{4:<12}{0:<8}{1:<8}{2:<8}{3}",
    ],
)
def test_an_empty_cell_is_the_one_below_its_name(form: str) -> None:
    columns = {column.name: column.cells for column in read_columns(table(form))}
    assert columns == {name: tuple(cells_of(node)[place] for node in NODES) for place, name in enumerate(NAMES)}
    values = read_fleet_table(table(form)).values
    assert (values["n03"], values["n06"]) == ([24.1, 24.3], [24.1, 24.2, 24.3])


@pytest.mark.parametrize(
    "text",
    [
        "HOST RUN1 RUN2\nn01 24.1 24.2\nn02 24.1\nn03 24.1 24.2\n",
        "HOST   RUN1   RUN2\nn01    24.1   24.2   24.3\nn02    24.1   24.2\nn03    24.1   24.2   24.3\n",
        "HOST   RUN1   RUN2\nn01    24.1\nn02    24.1          24.2\n",
        "HOST         RUN1\nn01   24.1   24.2\nn02   24.1\n",
        "HOST   RUN1   RUN2\nn01    24.1   24.2\nlonghostname1 24.1   24.2\nn03    24.1\n",
    ],
)
def test_cells_that_may_be_of_another_column_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"Row \d has"):
        read_columns(text)


@pytest.mark.parametrize("form", ["{} {} {}", "{:<8}{:<8}{}", "{}  {}    {}"])
def test_full_rows_need_no_alignment(form: str) -> None:
    text = "\n".join(form.format(node, "24.1", "24.2") for node in ("HOST", *NODES)).replace("24.1", "RUN1", 1)
    columns = read_columns(text.replace("24.2", "RUN2", 1))
    assert [column.name for column in columns] == ["HOST", "RUN1", "RUN2"]
    assert columns[2].cells == ("24.2",) * len(NODES)


@pytest.mark.parametrize(("width", "rows"), [(WIDEST, 3), (WIDEST + 1, 0)])
def test_lines_longer_than_any_screen_are_not_aligned(width: int, rows: int) -> None:
    lines = ["HOST    RUN1    RUN2", "n01             24.1", "n02     24.2    24.3".ljust(width)]
    assert len(divided(lines)) == rows
