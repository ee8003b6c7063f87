"""The table of the numbers of a benchmark: the largest sizes are never lost without a word."""

from collections.abc import Iterator

import pytest

from seatrial.benchmarks.catalogue import parse_auto
from seatrial.render.benchmark_output import MOST_ROWS, output_blocks
from seatrial.render.report import Table


def table_of(sizes: int) -> Table:
    """Of an output of OSU with so many sizes."""
    rows = "".join(f"{size + 1:<12}{1.5 + size / 100:10.2f}\n" for size in range(sizes))
    benchmark, output = parse_auto(f"# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n{rows}")
    tables: Iterator[Table] = (each for each in output_blocks(benchmark, output, ()) if isinstance(each, Table))
    return next(tables)


@pytest.mark.parametrize("sizes", [41, 60, MOST_ROWS])
def test_all_numbers_of_a_usual_output_are_shown(sizes: int) -> None:
    table = table_of(sizes)
    assert (len(table.rows), table.left_out) == (sizes, "")


def test_of_very_many_numbers_the_first_and_the_last_are_shown() -> None:
    table = table_of(MOST_ROWS + 50)
    assert len(table.rows) == MOST_ROWS
    assert [row[-1] for row in (table.rows[0], table.rows[-1])] == ["3", str(MOST_ROWS + 52)]
    assert table.left_out == "50 numbers between line 102 and line 153 are left out; --json has all."
