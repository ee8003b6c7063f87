"""Every row of docs/items.md is executed here or names the test that executes it, and says what was printed."""

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from tests.support.case_files import write_case_files
from tests.support.command_line import Seatrial
from tests.support.documents import tables
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "items.md").read_text()
ROWS = [row for rows in tables(PAGE) for row in rows[1:]]
HEAD = ["#", "by hand", "command", "line", "state"]
STATES = ("one command", "in part", "not yet")
ELSEWHERE = re.compile(r"tests/[\w/]+\.py")
FIRST_LINES = 3


def state_of(row: list[str]) -> str:
    """`one command`, `in part` or `not yet`."""
    return row[4].partition(":")[0]


def executed_here(row: list[str]) -> bool:
    """Rows of one command whose state names no other test."""
    return row[4] == STATES[0]


def plain(cell: str) -> str:
    """The cell without its backticks."""
    return cell.removeprefix("`").removesuffix("`").replace(r"\|", "|")


def test_all_rows_are_there_and_whole() -> None:
    assert {tuple(rows[0]) for rows in tables(PAGE)} == {tuple(HEAD)}
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, 144)]
    for row in ROWS:
        assert state_of(row) in STATES, row
        assert (row[4] == STATES[0]) or ": " in row[4], f"{row[0]}: why, or where"
        assert bool(row[3]) == (state_of(row) == STATES[0]), f"{row[0]}: a line where the answer is one"
        assert row[2].startswith("`seatrial ") or (not row[2] and state_of(row) == "not yet"), row


def test_the_count_is_that_of_the_rows() -> None:
    counts = Counter(map(state_of, ROWS))
    said = f"Of 143, **{counts['one command']} are one command**, {counts['in part']} are answered in part, "
    assert said + f"and {counts['not yet']} not yet." in PAGE.replace("\n", " ")


def test_what_is_executed_elsewhere_exists() -> None:
    for row in (row for row in ROWS if not executed_here(row)):
        for path in ELSEWHERE.findall(row[4]):
            assert (ROOT / path).is_file(), f"{row[0]}: {path}"
        if state_of(row) == "one command":
            assert ELSEWHERE.search(row[4]), f"{row[0]} names no test"


def test_each_line_is_what_the_command_prints_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "runs"))
    folder = tmp_path / "files"
    folder.mkdir()
    write_case_files(folder)
    monkeypatch.chdir(folder)
    for line in re.findall(r"^seatrial (import .*)$", PAGE, re.MULTILINE):
        seatrial(*shlex.split(line))
    wrong = []
    for row in filter(executed_here, ROWS):
        ran = seatrial(*shlex.split(plain(row[2]))[1:], code=None)
        lines = [line for line in ran.out.splitlines() if line.strip()][:FIRST_LINES]
        printed = " ".join(" ".join(lines).split())
        wanted = ".*".join(re.escape(part) for part in plain(row[3]).split(" ... "))
        if not re.search(wanted, printed):
            wrong.append(f"{row[0]}: {printed}{ran.err}")
    assert not wrong, "\n".join(wrong)
