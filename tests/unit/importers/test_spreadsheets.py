"""What spreadsheets add to a table: a line for Excel, cells of failed formulas, rows that summarise others."""

import itertools
from pathlib import Path

import pytest

from seatrial.commands.judge.kinds import Kind
from seatrial.commands.judge.recognition import kind_of
from seatrial.commands.judge.sources import Sources
from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.formats import read_matrix
from seatrial.model.errors import UsageError

NODES = ("a1", "a2", "a3", "a4")
ROWS = "".join(f"{node},{run},{100 + run}.5\n" for node in NODES for run in (1, 2, 3))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_line_that_says_what_divides_cells(delimiter: str) -> None:
    text = f"sep=,\nnode,run,triad_GB_s\n{ROWS}".replace(",", delimiter)
    assert set(read_fleet_table(text).values) == set(NODES)


@pytest.mark.parametrize("cell", ["#N/A", "#DIV/0!", "#VALUE!"])
def test_a_formula_without_a_value_is_a_missing_value(cell: str) -> None:
    table = read_fleet_table(f"node,run,triad_GB_s\n{ROWS.replace('a2,2,102.5', f'a2,2,{cell}')}")
    assert table.without_value == ("a2",)


@pytest.mark.parametrize("title", ["", "STREAM, November", "STREAM;;;;", ";STREAM;;;"])
@pytest.mark.parametrize("names", ["node;run;triad;;\n;;GB/s;;", "node;run;rate;;\n;;triad GB/s;;", "node;run;triad;;"])
def test_a_title_above_names_in_one_or_two_rows(title: str, names: str) -> None:
    table = read_fleet_table("\n".join((*filter(None, (title, names)), ROWS.replace(",", ";").replace(".5", ".5;;"))))
    assert table.values == {node: [101.5, 102.5, 103.5] for node in NODES}


@pytest.mark.parametrize("name", ["Average", "mean", "MIN", "max:", "Total", "Std Dev", "Mittelwert"])
def test_a_row_that_summarises_others_is_no_node(name: str) -> None:
    table = read_fleet_table(f"node,run,triad_GB_s\n{ROWS}{name},,101.5\n")
    assert set(table.values) == set(NODES)
    assert table.left_out == (f"{name} (a summary)",)


def test_a_table_of_such_names_alone_is_left_as_it_is() -> None:
    rows = "".join(f"{node},{run},{100 + run}.5\n" for node in ("min", "max") for run in (1, 2, 3))
    assert set(read_fleet_table(f"node,run,triad_GB_s\n{rows}").values) == {"min", "max"}


def test_merged_cells_are_refused_with_the_first_row_without_a_name() -> None:
    with pytest.raises(UsageError, match="Row 2 has no name in column 'node'"):
        read_fleet_table("node,run,triad_GB_s\na1,1,100.5\n,2,101.5\na2,1,100.5\n,2,101.5\n")


@pytest.mark.parametrize("form", ["square", "lines"])
def test_tables_of_pairs_from_a_spreadsheet(form: str, tmp_path: Path) -> None:
    names = ("a1", "a2", "a3", "a4", "a5")
    rates = {a + b: f"{9000 + 7 * place},5" for place, (a, b) in enumerate(itertools.product(names, names))}
    if form == "square":
        rows = [f"{a};" + ";".join("-" if a == b else rates[a + b] for b in names) + ";9000,5" for a in names]
        text = ";".join(("bandwidth (MB/s)", *names, "mean")) + "\n" + "\n".join(rows) + "\nmean" + ";9000,5" * 6 + "\n"
    else:
        text = "source;target;bandwidth_MB_s\n" + "".join(
            f"{a};{b};{rates[a + b]}\n" for a in names for b in names if a != b
        )
    (tmp_path / "t.csv").write_text(f"sep=;\n{text}")
    assert kind_of(Sources([tmp_path / "t.csv"], print), tuple(Kind)) is Kind.PAIRS
    table = read_matrix(f"sep=;\n{text}")
    assert (sorted(table.nodes), table.pairs) == (list(names), 20)


@pytest.mark.parametrize("row", [";;", ";", " ; ; ", ";;\n;;"])
def test_a_row_of_empty_cells_is_none(row: str) -> None:
    text = "node;run;triad_GB_s\n" + ROWS.replace(",", ";") + f"{row}\n"
    assert read_fleet_table(text).values == {node: [101.5, 102.5, 103.5] for node in NODES}


WITH_UNITS = "node,run,triad\n" + "".join(
    f"{node},{run},{100 + 10 * place + run}.5 GB/s\n" for place, node in enumerate(NODES) for run in (1, 2, 3)
)


@pytest.mark.parametrize(("word", "failed"), [("FAILED", ("a2",)), ("TIMEOUT", ("a2",)), ("n/a", ()), ("", ())])
def test_a_word_among_numbers_with_units_is_not_a_missing_value(word: str, failed: tuple[str, ...]) -> None:
    table = read_fleet_table(WITH_UNITS.replace("112.5 GB/s", word))
    assert (table.failed, table.without_value, table.values["a2"]) == (failed, ("a2",), [111.5, 113.5])


def test_a_word_of_unknown_meaning_among_numbers_with_units_is_shown() -> None:
    with pytest.raises(UsageError, match="SEGV"):
        read_fleet_table(WITH_UNITS.replace("112.5 GB/s", "SEGV"))


@pytest.mark.parametrize(
    ("numbers", "whole"),
    [
        (("310.5", "311.5", "312.5", "31"), False),
        (("310.5", "311.5", "312.5", "310."), False),
        (("310.5", "311.5", "312.5", "31.5"), True),
        (("310.5", "311.5", "310"), True),  # two numbers above it may be alike by chance
        (("310.5", "311.25", "312.5", "310"), True),
        (("310,5", "311,5", "312,5", "310"), False),
        (("1000", "1001", "1002", "199"), False),
        (("1000", "1001", "1002", "200"), True),
        (("1000", "1001", "10020", "199"), True),
    ],
)
def test_a_last_number_that_is_shorter_than_all_others_was_cut_off(numbers: tuple[str, ...], *, whole: bool) -> None:
    text = "node;value\n" + "\n".join(f"n{place};{number}" for place, number in enumerate(numbers, 1))
    assert len(read_fleet_table(f"{text}\n").values) == len(numbers)
    if whole:
        assert len(read_fleet_table(text).values) == len(numbers)
    else:
        with pytest.raises(UsageError, match="it was cut off"):
            read_fleet_table(text)


@pytest.mark.parametrize("title", ["", "STREAM on the partition batch\n\n", 'The "fast" nodes\n'])
def test_a_title_above_cells_with_groups_of_thousands(title: str) -> None:
    rows = "".join(f'{node},1,"12,34{place}.5"\n' for place, node in enumerate(NODES))
    table = read_fleet_table(f"{title}node,run,triad_MB_s\n{rows}")
    assert table.values == {node: [12340.5 + place] for place, node in enumerate(NODES)}


@pytest.mark.parametrize("name", ["ns_per_day", "jobs per second", "rate"])
def test_words_in_place_of_numbers_are_failures_whatever_the_column_is_called(name: str) -> None:
    rows = "".join(f"{node},{'ERROR' if node == 'a2' else 100 + run}\n" for node in NODES for run in (1, 2, 3))
    table = read_fleet_table(f"node,{name}\n{rows}")
    assert (table.failed, table.roles.runs) == (("a2",) * 3, ())


def test_prose_beside_a_table_in_bars_is_no_row_and_a_name_alone_is_one() -> None:
    """A name alone is a node without its cells, and must not be lost."""
    rows = "".join(f"| {row.replace(',', ' | ')} |\n" for row in ROWS.splitlines())
    text = f"Triad, November\n\n| node | run | triad |\n|:--|--:|--:|\n{rows}\n¹ after an update\n"
    assert set(read_fleet_table(text).values) == set(NODES)
    assert read_fleet_table(text.replace("\n¹", "| a5 | 1 | |\n¹")).without_value == ("a5",)
    with pytest.raises(UsageError, match="Row 14 has 1 cell"):
        read_fleet_table(text.replace("\n¹", "| a5 |\n¹"))
