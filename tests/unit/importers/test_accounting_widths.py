"""Output of sacct in columns of fixed width, and tables with tabs."""

import pytest

from seatrial.importers.accounting import STEPS, read_accounting
from seatrial.model.errors import UsageError

WIDTHS = {"JobID": 12, "User": 9, "State": 10, "Elapsed": 10, "Start": 19, "NodeList": 15}


def in_widths(*rows: tuple[str, ...]) -> list[bytes]:
    """What sacct prints without --parsable2: right in their columns, cut off with a plus."""
    table = [tuple(WIDTHS), tuple("-" * width for width in WIDTHS.values()), *rows]
    widths = WIDTHS.values()
    cut = [[c if len(c) <= most else f"{c[: most - 1]}+" for c, most in zip(row, widths, strict=True)] for row in table]
    lines = (" ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in cut)
    return [f"{line} \n".encode() for line in lines]


BEGAN = "2026-11-01T10:00:00"


@pytest.mark.parametrize(
    ("row", "state", "nodes"),
    [
        (("7", "u", "COMPLETED", "00:01:00", BEGAN, "n[01-04]"), "COMPLETED", "n[01-04]"),
        (("7_12", "u", "CANCELLED by 1000", "00:01:00", BEGAN, "n01"), "CANCELLED", "n01"),
        (("7", "a-long-name", "OUT_OF_MEMORY", "1-00:01:00", BEGAN, "n01"), "OUT_OF_MEMORY", "n01"),
        (("7", "", "NODE_FAIL", "00:01:00", BEGAN, "None assigned"), "NODE_FAIL", ""),
    ],
)
def test_columns_of_fixed_width_are_read(row: tuple[str, ...], state: str, nodes: str) -> None:
    step = ("1234567.extern", "", "COMPLETED", "00:01:00", BEGAN, "n01")
    accounted = read_accounting(in_widths(row, step))
    (job,) = accounted.jobs
    assert (job.state, job.nodes) == (state, nodes)
    assert accounted.left_out == {STEPS: 1}


@pytest.mark.parametrize("row", [
    ("1234567_1234567", "u", "COMPLETED", "00:01:00", BEGAN, "n01"),
    ("7", "u", "COMPLETED", "00:01:00", BEGAN, "n[01-04,06-08,11]"),
])  # fmt: skip
def test_cells_that_name_other_jobs_or_nodes_where_they_are_cut_off_are_refused(row: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="are cut off"):
        read_accounting(in_widths(row))


def test_tabs_divide_columns() -> None:
    (job,) = read_accounting([b"JobID\tState\tElapsed\tJobName\n", b"7\tFAILED\t00:01:00\ta, b\n"]).jobs
    assert (job.state, job.name, job.elapsed_s) == ("FAILED", "a, b", 60)


@pytest.mark.parametrize("above", ["[root@s1 ~]# sacct -P -o JobID,User,State,Elapsed,NodeList\n", "\n\n"])
def test_what_a_terminal_has_above_the_names_is_passed_over(above: str) -> None:
    table = "JobID|User|State|Elapsed|NodeList\n7|u|COMPLETED|00:01:00|n1\n"
    (job,) = read_accounting([(above + table).encode()]).jobs
    assert (job.job, job.nodes) == ("7", "n1")
