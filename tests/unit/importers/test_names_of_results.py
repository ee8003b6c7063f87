"""Columns whose names say that their numbers are no results: identifiers, checksums, errors of answers."""

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.model.column_words import names_result
from seatrial.model.errors import UsageError

OTHERS = ["max_error", "residual", "error", "checksum", "crc", "seed", "pid", "jobid", "job_id", "port", "uid",
          "L2 norm", "max_diff", "tolerance", "firmware version"]  # fmt: skip


def table(name: str, *, beside: str = "", runs: int = 1) -> str:
    """Eight nodes with numbers that vary freely, and a value beside them if that has a name."""
    rows = [
        ",".join(
            (
                f"n{place}",
                f"{(place * 7919 + run * 104729) % 9973}",
                *([f"{380 + (place + run) % 3}.5"] if beside else []),
            )
        )
        for place in range(1, 9)
        for run in range(runs)
    ]
    return "\n".join([",".join(filter(None, ("node", name, beside))), *rows])


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("beside", ["triad", "gflops", "time_s", "value"])
def test_numbers_beside_a_result_are_not_judged(name: str, beside: str) -> None:
    assert read_fleet_table(table(name, beside=beside)).roles.value == beside


@pytest.mark.parametrize("name", ["max_error", "residual", "error", "checksum", "L2 norm"])
def test_numbers_of_several_runs_beside_a_result_are_not_judged(name: str) -> None:
    read = read_fleet_table(table(name, beside="triad", runs=3))
    assert (read.roles.value, read.roles.unused, len(read.strata)) == ("triad", (name,), 1)


@pytest.mark.parametrize("name", OTHERS)
def test_numbers_that_are_no_results_are_judged_only_where_the_user_says_so(name: str) -> None:
    with pytest.raises(UsageError, match="no column of values"):
        read_fleet_table(table(name))
    assert read_fleet_table(table(name), name).roles.value == name


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("port", False),
        ("port_GBps", True),
        ("port_rate", True),
        ("error", False),
        ("error_us", False),
        ("error_rate", True),
        ("errors", True),
        ("checksum", False),
        ("checksum_time_s", True),
        ("residual", False),
        ("residual_solver_s", True),
        ("pid", False),
        ("rapid", True),
        ("seed", False),
        ("seeds_per_s", True),
    ],
)
def test_the_last_word_of_a_name_decides(name: str, *, result: bool) -> None:
    assert names_result(name) == result


@pytest.mark.parametrize(
    ("name", "cell", "named"),
    [("checksum", "814301", True), ("crc", "814301", True), ("residual", "8144000", True),
     ("residual", "814301", False), ("pid", "8143000", False)],
)  # fmt: skip
def test_another_checksum_or_a_large_error_is_named(name: str, cell: str, *, named: bool) -> None:
    rows = [f"n{place},{cell if place == 5 else 814300},{380 + place % 3}.5" for place in range(1, 9)]
    lone = read_fleet_table("\n".join([f"node,{name},triad", *rows])).lone
    assert [(one.subject, one.column, one.cell) for one in lone] == [("n5", name, cell)] * named
