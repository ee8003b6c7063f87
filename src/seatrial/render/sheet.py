"""Blocks of text for a terminal: rendered as wide as it is, with colours or none."""

from collections.abc import Iterable
from io import StringIO
from typing import TYPE_CHECKING

from seatrial.render.escape import clean

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

LEAST_WIDTH = 40


def rendered(blocks: Iterable["RenderableType"], *, width: int, colour: bool) -> str:
    """The blocks one after the other, at most `width` (40 at least) columns wide; ends in a newline."""
    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out,
        width=max(width, LEAST_WIDTH),
        color_system="256" if colour else None,
        force_terminal=colour,
        force_jupyter=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    for block in blocks:
        console.print(block, soft_wrap=getattr(block, "no_wrap", None) is True)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().removesuffix("\n").split("\n"))


def text(words: str, style: str = "") -> "Text":
    """Text from outside, cleaned."""
    from rich.text import Text

    return Text(clean(words), style=style)


def unbroken(words: str) -> "Text":
    """A line to be copied, which is never broken, however narrow the terminal is."""
    from rich.text import Text

    return Text(clean(words), no_wrap=True)


def labelled(rows: Iterable[tuple[str, str]], *, indent: int = 0) -> "RenderableType":
    """A label column and a text column that wraps within itself. A row without a label continues the one above."""
    table = _plain_table()
    for label, words in rows:
        table.add_row(text(label), text(words))
    return indented(table, indent) if indent else table


def indented(block: "RenderableType", columns: int = 3) -> "RenderableType":
    """The block, so many columns to the right."""
    from rich.padding import Padding

    return Padding(block, (0, 0, 0, columns), expand=False)


def _plain_table() -> "Table":
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(style="dim", overflow="fold")
    table.add_column(overflow="fold", ratio=1)
    return table
