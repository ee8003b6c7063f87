"""Matrices that are read piece by piece: the same numbers to the last bit as line by line, whatever the pieces."""

import io
import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seatrial.commands.judge.pairs.view import located_fields
from seatrial.importers import fields as fields_module
from seatrial.importers.fields import numbers, pieces, split_fields, whole_text
from seatrial.importers.formats import read_matrix
from seatrial.importers.node_names import NodeNames
from seatrial.importers.pair_lines import read_columns
from seatrial.locate.explanation import Ways, cover
from seatrial.locate.metric_result import MOST_LISTED
from seatrial.locate.table import locate_in_table
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable
from seatrial.render.json import json_text
from tests.support.pair_tables import pair_table

HEADING = "source,target,latency_us,bandwidth_mb_s\n"
COLUMNS = tuple(HEADING.strip().split(","))


Row = tuple[str, str, float, float]


def line_by_line(text: str) -> list[Row]:
    """Both ends, seconds and bytes per second of every line, as a plain loop reads them."""
    found = []
    for line in text.splitlines():
        fields = re.split(r" *[,;\t] *| +", line.strip())
        while fields and not fields[-1]:
            fields.pop()
        if not 3 <= len(fields) <= 4 or fields[0] == fields[1] or "" in fields[:2]:
            continue
        late, rate = value(fields[2], 1e-6, math.inf), value([*fields, ""][3], 1e6, 0.0)
        if not (math.isnan(late) and math.isnan(rate)):
            found.append((fields[0], fields[1], late, rate))
    return found


def value(field: str, unit: float, dead: float) -> float:
    """The number; `dead` for one that no pair can have; NaN for a field without a number."""
    try:
        number = float(field) * unit
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and number > 0 else dead


def as_rows(table: PairTable) -> list[Row]:
    columns = (table.source, table.target, table.latency_s, table.bandwidth_bytes_per_s)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(table.nodes[a], table.nodes[b], late, rate) for a, b, late, rate in rows]


def in_order(rows: list[Row]) -> list[Row]:
    """Nodes in the order in which they come, rows by them."""
    place = {name: number for number, name in enumerate(dict.fromkeys(name for row in rows for name in row[:2]))}
    return sorted(rows, key=lambda row: (place[row[0]], place[row[1]]))


NUMBERS = st.one_of(
    st.floats(0, 1e6).map(lambda value: f"{value:.2f}"),
    st.floats().map(repr),
    st.integers(0, 10**19).map(str),
    st.sampled_from(
        ["", ".", "5.", ".5", "1e3", "nan", "inf", "-1", "+2", "1.2.3", "0", "0.0", "9007199254740993", "x"]
    ),
)
NAMES = st.sampled_from(["a", "b", "n1", "n2", "exactly8", "longer-than-8", "x" * 70, "ü", "0"])
LINES = st.one_of(
    st.tuples(NAMES, NAMES, NUMBERS, NUMBERS).map(",".join),
    st.tuples(NAMES, NAMES, NUMBERS).map(" ; ".join),
    st.tuples(NAMES, NAMES, NUMBERS, NUMBERS, NUMBERS).map("\t".join),
    st.sampled_from(["", "# a remark", "a b", "a,b", "\t", "a,b,1,2\r", "\ta\tb\t1\t2", ",b,1,2", "a,,b,1", "a,b,,2"]),
    st.sampled_from(["b,a,1,", " , a,b,3", "b , a,, 7,,", "a;b; ;9", "b a 5  6", "a\tb\t\t4"]),
)


@given(st.lists(LINES, max_size=30).map("\n".join), st.integers(1, 200))
@example("a,b,1,2\nb,a,3,4\na,b,5,x", 5)
@example("b,a,1,2\na,b,0,0\nb,a,nan,nan\nb,a,,-1", 5)
def test_pieces_change_no_number(text: str, piece_bytes: int) -> None:
    expected = line_by_line(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields_module, "PIECE_BYTES", piece_bytes)
        table, lines = read_columns(pieces(text), COLUMNS)
    assert lines.fitting >= len(expected)
    assert str(as_rows(table)) == str(in_order(expected))
    measured = list(dict.fromkeys(name for row in expected for name in row[:2]))
    assert list(table.nodes[: len(measured)]) == measured
    assert table.nodes == read_columns([text.encode()], COLUMNS)[0].nodes
    assert table.is_ordered == (len({row[:2] for row in expected}) == len(expected))
    assert table.pairs == len({row[:2] for row in expected})


@given(st.lists(NUMBERS.filter(bool), min_size=1, max_size=20))
def test_numbers_are_those_of_float_to_the_last_bit(texts: list[str]) -> None:
    """No number is NaN; a NaN that is written comes as infinity, so that the two stay apart."""

    def as_float(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            return math.nan
        return math.inf if math.isnan(number) else number

    fields = split_fields(" ".join(texts).encode())
    found = numbers(fields, np.arange(len(texts)))
    assert [repr(number) for number in found.tolist()] == [repr(as_float(text)) for text in texts]


def test_digits_of_other_scripts_are_no_numbers() -> None:
    with pytest.raises(UsageError, match="No line of this file describes a pair"):
        read_matrix(HEADING + "a,b,\uff11,\u0665\n", "csv")


@given(st.lists(st.text(alphabet="ab\x00ü-", min_size=1, max_size=80), min_size=1, max_size=30))
def test_names_are_compared_byte_by_byte(names: list[str]) -> None:
    known = NodeNames()
    fields = split_fields("\n".join(names).encode())
    found = known.number_all(fields, np.arange(len(names)))
    assert [known.names[number] for number in found.tolist()] == names
    assert known.number_all(fields, np.arange(len(names))).tolist() == found.tolist()


def test_names_of_one_hash_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatrial.importers.node_names.FACTORS", np.zeros(8, dtype=np.uint64))
    names = ["n1", "n2", "a-longer-name", "n1", "n3"]
    known = NodeNames()
    found = known.number_all(split_fields("\n".join(names).encode()), np.arange(5))
    assert [known.names[number] for number in found.tolist()] == names


def dense(count: int) -> dict[tuple[str, str], float]:
    return {(f"n{a}", f"n{b}"): 100.0 + a + b / 8 for a in range(count) for b in range(count) if a != b}


@pytest.mark.parametrize("order", ["rows", "columns", "reversed", "sparse"])
def test_lines_in_any_order_make_the_same_table(order: str) -> None:
    pairs = dense(12)
    chosen = list(pairs)
    if order == "columns":
        chosen.sort(key=lambda pair: pair[::-1])
    elif order == "reversed":
        chosen.reverse()
    elif order == "sparse":
        chosen = chosen[::-1][::20]
    text = HEADING + "".join(f"{a},{b},,{pairs[a, b]}\n" for a, b in chosen).replace(",,", ",-,")
    table = read_matrix(text)
    assert table.is_ordered
    found = {(a, b): rate for a, b, _, rate in as_rows(table)}
    assert found == {pair: pytest.approx(pairs[pair] * 1e6, rel=1e-12) for pair in chosen}
    matrix = table.matrix("bandwidth_bytes_per_s")
    place = {name: number for number, name in enumerate(table.nodes)}
    assert all(matrix[place[a], place[b]] == rate for (a, b), rate in found.items())
    assert np.isnan(matrix).sum() == matrix.size - len(found)


def test_a_bandwidth_of_zero_stays_zero_in_the_matrix() -> None:
    table = read_matrix("source,target,bandwidth_mb_s\na,b,0\nb,a,5\na,c,-1\nc,a,nan\n")
    assert table.nodes == ("a", "b", "c")
    matrix = table.matrix("bandwidth_bytes_per_s")
    assert matrix[[0, 1, 0, 2], [1, 0, 2, 0]].tolist() == [0, 5e6, 0, 0]
    assert np.isnan(matrix[1, 2])


def test_an_empty_cell_of_mpigraph_is_not_measured() -> None:
    text = "START mpiGraph\nRecv\ta:0\tb:1\tc:2\t\na:0 from\t0\t\t5.0\t\nb:1 from\t7.0\t0.0\tnan\t\nEND mpiGraph\n"
    rows = {(a, b): rate for a, b, _, rate in as_rows(read_matrix(text))}
    assert rows == {("c", "a"): 5 * 2**20, ("a", "b"): 7 * 2**20, ("c", "b"): 0}


def test_two_columns_of_one_metric_are_two_measurements() -> None:
    table = read_matrix("source,target,bw_mb_s,latency_us,bw2_gb_s\na,b,5,1,7\nb,a,,2,8\n")
    assert str(as_rows(table)) == str(
        [("a", "b", 1e-6, 5e6), ("a", "b", math.nan, 7e9), ("b", "a", 2e-6, math.nan), ("b", "a", math.nan, 8e9)]
    )


def test_the_matrix_of_repetitions_has_their_medians() -> None:
    rows = np.array([0, 0, 0, 1], dtype=np.int32), np.array([1, 1, 1, 0], dtype=np.int32)
    rates = np.array([3.0, 1.0, 7.0, 2.0])
    table = PairTable(
        nodes=("a", "b"), source=rows[0], target=rows[1], bandwidth_bytes_per_s=rates, latency_s=rates * math.nan
    )
    assert table.pairs == 2
    assert table.matrix("bandwidth_bytes_per_s")[[0, 1], [1, 0]].tolist() == [3.0, 2.0]


def test_a_line_without_an_end_and_a_text_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields_module, "PIECE_BYTES", 10)
    monkeypatch.setattr(fields_module, "LONGEST_LINE_BYTES", 100)
    with pytest.raises(UsageError, match="a line of more than 100 B"):
        read_matrix(io.BytesIO(bytes(1000)))
    monkeypatch.setattr(fields_module, "MOST_TEXT_BYTES", 100)
    with pytest.raises(UsageError, match="limit of the format osu is 100 B"):
        whole_text(pieces("# OSU\n" * 50), "osu")


def test_many_unstable_pairs_are_counted_and_not_all_listed() -> None:
    nodes = [f"n{number}" for number in range(120)]
    draw = np.random.default_rng(3)
    rates = {(a, b): 1e9 * (1 + 0.001 * draw.standard_normal()) for a in nodes for b in nodes if a != b}
    for pair in list(rates)[::9]:
        rates[pair] *= 0.9
    table = pair_table(nodes, rates)
    found = locate_in_table(table)
    assert found.unstable_pairs > MOST_LISTED
    assert len(found.unstable) == MOST_LISTED
    assert f'"unstable_pairs": {found.unstable_pairs}' in json_text(located_fields(table, found, (), None))


def cover_by_sets(ways: list[tuple[int, int]]) -> list[object]:
    """The greedy cover, written with sets: parts and rows of each blame."""
    rows_of: dict[int, set[int]] = {}
    for row, part in ways:
        rows_of.setdefault(part, set()).add(row)
    left = {row for row, _ in ways}
    blamed: list[object] = []
    while most := max((len(rows & left) for rows in rows_of.values()), default=0):
        explains = rows_of[min(part for part, rows in rows_of.items() if len(rows & left) == most)] & left
        blamed.append((sorted(part for part, rows in rows_of.items() if rows & left == explains), sorted(explains)))
        left -= explains
    return blamed


@given(st.lists(st.tuples(st.integers(0, 13), st.integers(0, 6)), max_size=40))
def test_the_cover_is_that_of_sets(ways: list[tuple[int, int]]) -> None:
    ways = sorted(ways)
    row, part = (np.array(column, dtype=np.intp) for column in (zip(*ways, strict=True) if ways else ((), ())))
    found = cover(Ways(row=row, part=part, parts=7), 14)
    assert [(list(blame.parts), blame.rows.tolist()) for blame in found] == cover_by_sets(ways)
