"""The journal: what goes in comes out, and every prefix of it decodes to a prefix of what went in."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.archive.journal import Entry, NodeLost, PairHung, SessionStarted, SurveyPlanned, decode, encode, of_type
from seatrial.archive.layout import DamagedRun
from seatrial.archive.reader import read_entries
from seatrial.model.run import NodeState
from tests.support.fact_places import SCALARS, values

ENTRY: st.SearchStrategy[Entry] = values(
    Entry,
    {
        **SCALARS,
        str: st.text(min_size=1, max_size=12),
        int: st.integers(0, 2**40),
        float: st.floats(0, 1e3, allow_subnormal=False),
        Any: st.none() | st.booleans() | st.integers(0, 2**40) | st.text(max_size=12),
    },
)


@given(entries=st.lists(ENTRY, max_size=6))
def test_what_goes_in_comes_out(entries: list[Entry]) -> None:
    lines = [encode(entry) for entry in entries]
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in lines)
    assert list(decode(lines)) == entries


@given(entry=ENTRY)
def test_every_proper_prefix_of_a_line_is_no_entry(entry: Entry) -> None:
    line = encode(entry)
    assert all(list(decode([line[:length]])) == [] for length in range(len(line)))


def test_every_proper_prefix_of_a_file_decodes_to_a_prefix_of_the_entries(tmp_path: Path) -> None:
    entries: list[Entry] = [
        SessionStarted(session=1, nodes=("n1", "ü\n2"), header={"format": 1}),
        SurveyPlanned(pairs=(("n1", "ü\n2"),)),
        NodeLost(state=NodeState(node="ü\n2", reason="\x00\ud7ff\U0001f6a2", fault=True)),
        PairHung(source="n1", target='"'),
    ]
    content = b"".join(encode(entry) for entry in entries)
    path = tmp_path / "journal.jsonl"
    seen = set()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        found = read_entries(tmp_path)
        assert found == entries[: content[:length].count(b"\n")]
        seen.add(len(found))
    assert seen == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b"[]\n",
        b'{"entry":"measurement"}\n',
        b'{"entry":"someday"}\n',
        b'"\xff"\n',
        b"\x00\n",
        b"[" * 9999 + b"\n",
        b'{"entry":"pair-hung","source":"\xff","target":"b"}\n',
    ],
)
def test_a_whole_line_that_is_no_entry_is_refused_with_the_files_name(tmp_path: Path, line: bytes) -> None:
    good = encode(PairHung(source="a", target="b"))
    with pytest.raises(msgspec.DecodeError):
        list(decode([good, line, good]))
    (tmp_path / "journal.jsonl").write_bytes(good + line + good)
    with pytest.raises(DamagedRun, match=r"journal\.jsonl cannot be read.*seatrial runs recover"):
        read_entries(tmp_path)


def test_blank_lines_are_passed_over() -> None:
    line = encode(PairHung(source="a", target="b"))
    assert len(list(decode([b"\n", line, b"  \n"]))) == 1


def test_of_type_keeps_the_order() -> None:
    one, other = PairHung(source="a", target="b"), PairHung(source="c", target="d")
    assert of_type([one, SurveyPlanned(pairs=()), other], PairHung) == [one, other]


def test_an_empty_journal_has_no_entries(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").touch()
    assert read_entries(tmp_path) == []
