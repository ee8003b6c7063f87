"""What a terminal gets of a report that is too long to be laid out in seconds."""

import msgspec

from seatrial.render.report import Block, Column, Paragraph, Report, Table, rows_table
from seatrial.render.text import MOST_PARTS, MOST_ROWS, as_text
from tests.support.processor_time import within


def printed(*blocks: Block, word: str = "PASS") -> str:
    with within(15):
        return as_text(Report(word=word, payload=msgspec.Struct, terminal=lambda _: blocks))


def test_of_a_long_table_the_first_rows_are_printed() -> None:
    table = Table(columns=(Column(title="a"),), rows=tuple((f"r{number}",) for number in range(50_000)))
    text = printed(table)
    assert f"r{MOST_ROWS - 1}\n" in text
    assert f"r{MOST_ROWS}\n" not in text
    assert "48000 more rows: --json has all of them." in text


def test_rows_that_a_table_leaves_out_are_counted_below_it() -> None:
    """A terminal showed the first rows as if there were no others."""
    rows = [(f"r{number}",) for number in range(4)]
    assert printed(rows_table(("a",), rows, 3)).splitlines()[-2:] == ["r2", "and 1 more; --json has all"]
    assert printed(rows_table(("a",), rows, 4)).splitlines()[-1] == "r3"


def test_of_many_blocks_the_first_are_printed() -> None:
    text = printed(*(Paragraph(text=f"p{number}") for number in range(50_000)))
    assert text.endswith("The rest is not printed: --json has all of it.\n")
    assert text.count("p") < MOST_PARTS + 9


def test_a_list_is_printed_whole() -> None:
    """Who has many runs must not hide those of others."""
    text = printed(*(Paragraph(text=f"p{number}") for number in range(MOST_PARTS + 9)), word="")
    assert text.endswith(f"p{MOST_PARTS + 8}\n")
