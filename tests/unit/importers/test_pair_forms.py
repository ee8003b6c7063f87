"""Tables of pairs as people write them: both ends in one cell, lines of prose, nested JSON, units in a column."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.commands.judge.kinds import Kind
from seatrial.commands.judge.recognition import _kinds, kind_of
from seatrial.commands.judge.sources import Sources
from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.formats import read_matrix
from seatrial.importers.pair_evidence import NotPairs, UnclearPairs
from seatrial.importers.pair_tables import parse_pair_table
from seatrial.model.errors import UsageError

NAMES = ("c1", "c2", "c3", "c4", "c5")
GBPS = {pair: 20 + number / 8 for number, pair in enumerate(itertools.permutations(NAMES, 2))}
"""Ordered pair of nodes -> its rate in GB/s."""


def lines(form: Callable[[str, str, float], str], heading: str = "") -> str:
    return heading + "".join(form(a, b, rate) + "\n" for (a, b), rate in GBPS.items())


def marked(mark: str) -> str:
    return lines(lambda a, b, rate: f"{a}{mark}{b},{rate}", "pair,bandwidth_GB/s\n")


def nested(factor: float = 1) -> dict[str, dict[str, float]]:
    return {a: {b: GBPS[a, b] * factor for b in NAMES if b != a} for a in NAMES}


def square(corner: str, mark: str = ",", *, receivers: bool = False, empty: str = "") -> str:
    """A row and a column for each node; `receivers`: rows are those that receive."""
    rates = {pair[::-1] if receivers else pair: rate for pair, rate in GBPS.items()}
    rows = (mark.join((a, *(str(rates.get((a, b), empty)) for b in NAMES))) for a in NAMES)
    return "\n".join((corner + mark.join(NAMES), *rows, ""))


FORMS = {
    "square": square("bandwidth_GB/s,"),
    "square, from and to": square("from\\to bandwidth_GB/s,"),
    "square of receivers": square("to\\from bandwidth_GB/s,", receivers=True),
    "square of receivers, tabs": square("Receiver/Sender [GB/s]\t", "\t", receivers=True),
    "square, title and an empty corner": square("Bandwidth (GB/s), night of May 5\n,"),
    "square, title and no corner": square("Links\nCluster bandwidth (GB/s): 4194304 bytes\n    ", "  ", empty="0.0"),
    **{f"pair{mark}": marked(mark) for mark in ("-", "->", ":", "/", "_", " to ", " <-> ", " → ", "=>")},
    "pair,": lines(lambda a, b, rate: f'"{a},{b}",{rate}', "link,bandwidth_GB/s\n"),
    "prose": lines(lambda a, b, rate: f"{a} -> {b}: {rate} GB/s"),
    "prose with two numbers": lines(
        lambda a, b, rate: f"[7] {a} to {b}  bw={8 * rate} Gbit/s lat=1.5 us", "Results:\n"
    ),
    "nested": json.dumps({"bandwidth_GB/s": nested()}),
    "nested, its unit beside": json.dumps({"metric": "bandwidth", "unit": "MB/s", "results": nested(1000)}),
    "nested, metrics inside": json.dumps(
        {a: {b: {"bandwidth_GB/s": rate, "latency_us": 1.5} for b, rate in row.items()} for a, row in nested().items()}
    ),
    "units": lines(lambda a, b, rate: f"{a},{b},{rate},GB/s", "source,target,bandwidth,unit\n"),
    "units, mixed": lines(
        lambda a, b, rate: f"{a},{b},{8 * rate},Gbit/s" if b == "c1" else f"{a},{b},{1000 * rate},MB/s",
        "from,to,rate,unit\n",
    ),
    "units, two metrics": lines(
        lambda a, b, rate: f"{a},{b},bw,{rate},GB/s\n{a},{b},lat,1.5,us", "source,target,metric,value,unit\n"
    ),
    "units between blanks": lines(
        lambda a, b, rate: f"{a} {b} 1.5 {rate}", "source target latency us bandwidth (GB/s)\n"
    ),
    "title": lines(lambda a, b, rate: f"{a},{b},{rate}", "Pairs in May, rack 7\n\nsource,target,bandwidth_GB/s\n"),
    "title of a spreadsheet": lines(lambda a, b, rate: f"{a};{b};{rate}", "Pairs;;\nsource;target;bandwidth_GB/s\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_pair_has_its_rate(form: str, tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_text(FORMS[form])
    assert kind_of(Sources([file], print), tuple(Kind)) is Kind.PAIRS
    table = read_matrix(FORMS[form])
    read = {
        (table.nodes[a], table.nodes[b]): rate / 1e9
        for a, b, rate in zip(table.source, table.target, table.bandwidth_bytes_per_s, strict=True)
        if rate == rate  # noqa: PLR0124 - the other rows of a pair have its latency
    }
    assert read == pytest.approx(GBPS)


@pytest.mark.parametrize("form", FORMS)
def test_the_last_pair_needs_no_end_of_its_line(form: str) -> None:
    assert read_matrix(FORMS[form].rstrip("\n")).pairs == len(GBPS)


@pytest.mark.parametrize("corner", [",", "Night of May 5\n,", "Night of May 5, rack 7\n"])
def test_a_square_whose_title_names_no_metric_is_refused(corner: str) -> None:
    with pytest.raises(UsageError):
        read_matrix(square(corner))


def test_a_mark_within_names_is_found_by_the_names_that_return() -> None:
    text = lines(lambda a, b, rate: f"gpu-{a}-ib-gpu-{b}-ib,{rate}", "pair,bandwidth_GB/s\n")
    assert sorted(read_matrix(text).nodes) == [f"gpu-{name}-ib" for name in NAMES]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pair,latency_us\na-b-c,1.5\na-b-d,1.6\n", "can be the pair a and b-c or a-b and c"),
        (lines(lambda a, b, rate: f"{a} -> {b}: {rate}"), "a number without a unit"),
        (json.dumps(nested()), "nothing says what the numbers are"),
        (lines(lambda a, b, rate: f"{a},{b},{rate},apples", "source,target,bandwidth,unit\n"), "'apples' is the unit"),
        (lines(lambda a, b, rate: f"{a},{b},{rate} %", "source,target,bandwidth\n"), "'bandwidth' has shares"),
        (lines(lambda a, b, rate: f"{a} -> {b}: {'odd' if b == 'c1' else f'{rate} GB/s'}"), "counts"),
    ],
)
def test_what_only_the_author_knows_is_asked(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read_matrix(text)


def test_a_pair_with_several_nodes_at_one_end_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'c\[6-7\]' is several nodes"):
        read_matrix(lines(lambda a, b, rate: f"{a} {b} {rate}", "source target GB/s\nc[6-7] c1 20\nc1 c[6-7] 20\n"))


def test_a_pair_that_failed_in_a_line_of_prose_is_dead() -> None:
    table = read_matrix(lines(lambda a, b, rate: f"{a} -> {b}: {'FAILED' if a == 'c4' else f'{rate} GB/s'}"))
    dead = table.source[table.bandwidth_bytes_per_s == table.bandwidth_bytes_per_s.min()]
    assert {table.nodes[place] for place in dead} == {"c4"}


def test_a_pair_whose_cell_says_that_it_failed_is_dead() -> None:
    rows = lines(lambda a, b, rate: f"{a},{b},{'TIMEOUT' if 'c2' in (a, b) else rate}", "from,to,bandwidth_GB/s\n")
    table = read_matrix(rows)
    dead = table.bandwidth_bytes_per_s == table.bandwidth_bytes_per_s.min()
    assert (table.pairs, dead.sum()) == (20, 8)
    assert {table.nodes[place] for place in table.source[dead] if table.nodes[place] != "c2"} == set(NAMES) - {"c2"}


@pytest.mark.parametrize(
    ("column", "cells"),
    [("bytes", ("4096", "1048576")), ("test", ("read", "write")), ("rail", ("mlx5_0", "mlx5_1"))],
)
def test_what_was_measured_unlike_is_not_one_number_of_a_pair(column: str, cells: tuple[str, str]) -> None:
    text = f"from,to,{column},bandwidth_GB/s\n" + "".join(
        f"{a},{b},{cell},{rate}\n" for cell in cells for (a, b), rate in GBPS.items()
    )
    with pytest.raises(UsageError, match=f"'{column}' has several conditions for each pair: {', '.join(cells)}"):
        read_matrix(text)


def test_repetitions_of_a_pair_are_no_conditions() -> None:
    rows = "".join(f"{a},{b},{run},{rate}\n" for run in (1, 2, 3) for (a, b), rate in GBPS.items())
    assert len(read_matrix(f"from,to,iteration,bandwidth_GB/s\n{rows}").source) == 60


@pytest.mark.parametrize("title", ["STREAM of May\n", "STREAM of May;;\n", "STREAM, rack 7\nby night;;\n"])
def test_a_title_above_values_of_nodes(title: str) -> None:
    rows = "".join(f"{node};{run};{300 + run},5\n" for node in NAMES for run in (1, 2, 3))
    assert set(read_fleet_table(f"{title}node;run;triad_GB/s\n{rows}").values) == set(NAMES)


def test_rows_of_unequal_length_are_no_titles() -> None:
    with pytest.raises(UsageError, match="Row 2 has 3 cells"):
        read_fleet_table("node,value\nc1,-,x\nc2,3.5,y\nc3,3.5,y\n")


def test_a_cell_of_many_marks_has_no_pair() -> None:
    """Each of its divisions would be as long as the cell: gigabytes of a cell of 100 KB."""
    rows = "".join(f"{'a-' * 2000}{end},{rate}\n" for end, rate in zip("bcd", (5, 6, 7), strict=True))
    with pytest.raises(NotPairs) as refused:
        parse_pair_table(f"pair,bandwidth_MB/s\n{rows}")
    assert not isinstance(refused.value, UnclearPairs)


@pytest.mark.parametrize("mark", [" ", ",", "\t"])
@pytest.mark.parametrize("half", [False, True])
def test_pairs_without_a_line_of_names_are_asked_about(mark: str, half: bool, tmp_path: Path) -> None:
    text = "".join(f"{a}{mark}{b}{mark}{rate}\n" for (a, b), rate in GBPS.items() if a < b or not half)
    (tmp_path / "t.txt").write_text(text)
    assert kind_of(Sources([tmp_path / "t.txt"], print), tuple(Kind)) is Kind.PAIRS
    with pytest.raises(UnclearPairs, match="nothing says what the numbers are"):
        read_matrix(text)


def test_nodes_and_their_racks_are_no_pairs(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(
        "".join(f"n{number} rack{number // 4} {12 + number / 100}\n" for number in range(16))
    )
    assert Kind.FLEET in _kinds(Sources([tmp_path / "t.txt"], print))


@pytest.mark.parametrize("heading", ["from\tto\tlat_us\tbw_GB_s", "node1\tto\tlatency_us\tbandwidth_GB/s"])
def test_tabs_and_decimal_commas_with_two_metrics(heading: str) -> None:
    text = f"{heading}\n" + lines(lambda a, b, rate: f"{a}\t{b}\t1,20\t{rate:.3f}".replace(".", ","))
    table = read_matrix(text)
    assert sorted(table.bandwidth_bytes_per_s / 1e9) == pytest.approx(sorted(GBPS.values()))


@pytest.mark.parametrize("names", ["source,target,bandwidth_Gbit/s", "src,dst,latency_us"])
def test_equal_rates_are_not_enough_digits(names: str) -> None:
    with pytest.raises(UnclearPairs, match="or rates that were rounded"):
        read_matrix(lines(lambda a, b, _: f"{a},{b},100", names + "\n"))
