"""A report for a terminal: as wide as the terminal, with or without colours."""

import re
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render import finding_text
from seatrial.render.escape import clean, in_ascii
from seatrial.render.finding_text import LINE, first_line
from seatrial.render.report import Align, Block, Copy, Drawing, Findings, Items, Lines, Paragraph, Report, Table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

LEAST_WIDTH = 40
GAP = 2
"""Blanks between columns."""
BREAKS = re.compile(r" (?!%)")
"""The places at which a heading is broken: not between a number and its unit."""
MOST_FINDINGS, MOST_ROWS, MOST_PARTS = 1000, 2000, 4000
"""Findings, and of a report with a verdict rows of a table and parts, that are printed: laying one out takes a
millisecond or two. Lists are printed whole: who has many runs must not hide those of others."""
NOT_PRINTED = "The rest is not printed: --json has all of it."
LEAST_WORDS = 12
"""Characters to which a column of words may shrink before numbers are broken."""
STYLES = {
    Verdict.PASS.value: "bold white on #1d4f7c",
    Verdict.SLOW.value: "bold black on #e8833a",
    Verdict.UNSTABLE.value: "bold black on #f2c14e",
    Verdict.INVALID.value: "bold white on #a3201d",
    Verdict.DOWN.value: "bold white on #7a1f4b",
    Verdict.BLOCKED.value: "bold white on #8c2f0b",
    Verdict.NOTE.value: "bold black on #8fb3cf",
    Verdict.MEASURED.value: "bold black on #9fc3b4",
    Verdict.MISCONFIGURED.value: "bold white on #6b4fa0",
    Verdict.INCONCLUSIVE.value: "bold black on #b8b8b8",
    Verdict.NOT_RUN.value: "bold black on #b8b8b8",
    "INCOMPLETE": "bold black on #f2c14e",
}
"""Styles of the words with which a headline or a finding begins; any other is bold."""


def as_text(report: Report, *, width: int = 100, colour: bool = False, plain: bool = False) -> str:
    """The report, at most `width` (40 at least) columns wide, lines to copy aside; ends in a newline.

    `plain`: bars and maps in ASCII, for readers other than terminals.
    """
    from rich.console import Console

    columns = max(width, LEAST_WIDTH)
    out = StringIO()
    console = Console(
        file=out,
        width=columns,
        color_system="256" if colour else None,
        force_terminal=colour,
        force_jupyter=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    parts = _parts(report, columns, plain)
    most = MOST_PARTS if report.word else None
    for part in (*islice(parts, most), *([_text(NOT_PRINTED)] if next(parts, None) is not None else ())):
        breakable = getattr(part, "no_wrap", True) is None  # only a Text has it; soft_wrap would cut anything else
        console.print(part, soft_wrap=getattr(part, "no_wrap", None) is True or (breakable and not report.wrapped))
    return "".join(line.rstrip() + "\n" for line in out.getvalue().removesuffix("\n").split("\n"))


def _parts(report: Report, columns: int, plain: bool) -> Iterator["RenderableType"]:
    started = False
    if report.word or report.answers:
        answer, more = first_line(clean(report.title), LINE - len(report.word) - GAP * bool(report.word))
        word = [(report.word, STYLES.get(report.word, "bold")), ("  ", "")] if report.word else []
        yield _pieces(*word, (answer, "bold"))
        if more:
            yield _text(more)
        started = True
    for block in report.shown(columns):
        if started and not block.tight:
            yield ""
        started = True
        if block.title:
            yield _text(block.title, "bold")
        shown = _plain(block) if plain and isinstance(block, Drawing) else block
        yield from _block(shown, columns, MOST_ROWS if report.word else len(getattr(block, "rows", ())))


def _plain(drawing: Drawing) -> Drawing:
    return replace(
        drawing, lines=tuple(tuple((in_ascii(text), style) for text, style in line) for line in drawing.lines)
    )


def _block(block: Block, columns: int, most_rows: int) -> Iterator["RenderableType"]:
    match block:
        case Findings():
            yield from _brief(block) if block.brief else _findings(block)
        case Lines():
            yield labelled(block.rows, indent=block.indent)
        case Paragraph():
            yield _text(block.text, "bold" if block.strong else "dim" if block.aside else "")
        case Items():
            yield from (_text(item) for item in block.items)
        case Copy():
            yield from (_raw(_blanks_kept(line), unbroken=True) for line in block.lines)
        case Drawing():
            yield from (_pieces(*((_blanks_kept(piece), style) for piece, style in line)) for line in block.lines)
        case Table():
            yield _indented(_table(block, columns - block.indent, most_rows), block.indent)
            if more := len(block.rows[most_rows:]):
                yield _text(f"{count(more, 'more row')}: --json has all of them.")
            elif block.left_out:
                yield _text(block.left_out)
        case _:
            raise TypeError(f"a terminal cannot show a block of the kind {block.kind!r}")


def _findings(block: Findings) -> Iterator["RenderableType"]:
    """Number, verdict and subject; the statement; then numbers, proof and remedy."""
    for number, finding in enumerate(block.findings[:MOST_FINDINGS], start=1):
        if number > 1:
            yield ""
        verdict = finding.verdict.value
        title = clean(finding_text.title(finding))
        yield _pieces((f"{number}  ", "bold"), (verdict, STYLES[verdict]), (f"  {title}", ""))
        yield _indented(_text(finding.statement, "bold"), 3)
        yield labelled(finding_text.rows(finding), indent=3)
    yield from _not_printed(block)
    if block.left_out:
        yield _text("")
        yield _text(block.left_out)


def _not_printed(block: Findings) -> Iterator["RenderableType"]:
    if more := len(block.findings[MOST_FINDINGS:]):
        yield ""
        yield _text(f"{count(more, 'more finding')}: --json has all of them.")


def _brief(block: Findings) -> Iterator["RenderableType"]:
    for number, finding in enumerate(block.findings[:MOST_FINDINGS], start=1):
        heading = f"{finding.verdict.value}  {finding_text.title(finding)}"
        yield labelled([(str(number), heading), ("", finding.statement)])
    yield from _not_printed(block)


def labelled(rows: Iterable[tuple[str, str]], *, indent: int = 0) -> "RenderableType":
    """A column of labels, and one of sentences that wrap within it."""
    table = _grid()
    table.add_column(style="dim", overflow="fold")
    table.add_column(overflow="fold", ratio=1)
    for label, words in rows:
        table.add_row(_text(label), _text(words))
    return _indented(table, indent)


def _table(block: Table, width: int, most_rows: int) -> "RichTable":
    """Numbers are not broken as long as words can be; the headings above them are broken first."""
    titles = [clean(column.title) for column in block.columns]
    cells = [max((len(clean(row[place])) for row in block.rows), default=0) for place in range(len(titles))]
    gaps = GAP * (len(titles) - 1)
    numbers = [place for place, column in enumerate(block.columns) if column.align is Align.NUMBER]
    if gaps + sum(max(len(title), cell) for title, cell in zip(titles, cells, strict=True)) > width:
        titles = [BREAKS.sub("\n", title) if place in numbers else title for place, title in enumerate(titles)]
    words = [min(max(len(titles[place]), cells[place]), LEAST_WORDS) for place in range(len(titles))]
    widest = [max(cell, *map(len, title.split("\n"))) for title, cell in zip(titles, cells, strict=True)]
    firm = gaps + sum(widest[n] if n in numbers else words[n] for n in range(len(titles))) <= width
    table = _grid(headed=any(titles))
    for place, column in enumerate(block.columns):
        table.add_column(
            _raw(titles[place]),
            justify="right" if place in numbers else "left",
            overflow="fold",
            no_wrap=column.unbroken or (firm and place in numbers),
        )
    for number, row in enumerate(block.rows[:most_rows]):
        table.add_row(*(_text(cell) for cell in row), style="bold" if number in block.strong else None)
    return table


def _grid(*, headed: bool = False) -> "RichTable":
    from rich.table import Table as RichTable

    return RichTable(box=None, show_header=headed, header_style="dim", padding=(0, GAP, 0, 0), pad_edge=False)


def _indented(block: "RenderableType", columns: int) -> "RenderableType":
    from rich.padding import Padding

    return Padding(block, (0, 0, 0, columns), expand=False) if columns else block


def _text(words: str, style: str = "") -> "Text":
    return _raw(clean(words), style)


def _raw(words: str, style: str = "", *, unbroken: bool = False) -> "Text":
    """Words that are clean."""
    from rich.text import Text

    return Text(words, style=style, no_wrap=True if unbroken else None)


def _blanks_kept(piece: str) -> str:
    """Cleaned text whose blanks at both ends still count."""
    inner = piece.strip(" ")
    if not inner:
        return piece
    before, _, after = piece.partition(inner)
    return f"{before}{clean(inner)}{after}"


def _pieces(*pieces: tuple[str, str]) -> "Text":
    from rich.text import Text

    return Text.assemble(*pieces)
