"""What stands before lines: times in brackets, numbers behind the word node, and lines of HPL that grep found."""

import pytest

from seatrial.importers.columns import is_json, titles
from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.headed_text import prefixed
from seatrial.importers.printed_text import by_node
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense


@pytest.mark.parametrize(
    ("text", "json"),
    [
        ("[2026-10-01 12:00:01] Triad 380\n", False),
        ("[    1.234] Triad 390\n", False),
        ("[12:00:01,123] Triad 390\n", False),
        ("[1, 2]\n[3, 4]\n", True),
        ("[ 1.234 ]\n", True),
        ('[{"node": "n1"} , {"node": "n2"}]\n', True),
    ],
)
def test_a_mark_in_brackets_before_words_is_no_json(text: str, json: bool) -> None:
    assert is_json(text) is json


def test_times_in_brackets_are_no_nodes() -> None:
    with pytest.raises(UsageError, match=r"'\[0\.12\]' is not the name of a node"):
        read_fleet_table("".join(f"[{at}.12] bw {380 + at % 3} MB/s\n" for at in range(30)))


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("node {} Triad: 85000.1", True),
        ("Node #{}: Triad 85000.1", True),
        (" host {}  85000.1", True),
        ("node {},85000.1", False),
        ("node {}", False),
        ("rank {} Triad: 85000.1", False),
    ],
)
def test_a_number_behind_the_word_node_is_a_node(line: str, read: bool) -> None:
    text = "".join(f"{line.format(at)}\n" for at in range(1, 5))
    assert (len(by_node(text)) == 4) is read
    one = line.format(1) + "\n"
    assert prefixed(one * 4) == one * 4, "one number is no set of nodes"
    assert prefixed(f"# results\n{text}") == f"# results\n{text}", "another line"


@pytest.mark.parametrize(
    ("first", "named"), [("WR11C2R4", True), ("WC00L2L16", True), ("WR11", False), ("XR11C2R4", False)]
)
def test_lines_of_hpl_by_node_are_their_rates(first: str, named: bool) -> None:
    rows = [
        f"hpl-n{node}.out:{first} 114816 192 4 8 {418.2 + node} {2100 if node == 4 else 2410 + node}e0\n"
        for node in range(1, 9)
    ]
    if not named:
        with pytest.raises(UsageError, match="Several columns have numbers"):
            read_fleet_table("".join(rows))
        return
    (stratum,) = read_fleet_table("".join(rows)).strata
    assert (stratum.unit, stratum.sense, stratum.values["hpl-n4"]) == ("Gflop/s", Sense.HIGHER, [2100])


def test_a_line_that_is_no_csv_is_refused_with_a_sentence() -> None:
    with pytest.raises(UsageError, match="cannot be read as CSV"):
        titles(['"a"\rb,"c",d', 'n1,"4"'])
