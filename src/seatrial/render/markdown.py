"""A report as Markdown, for a ticket or a wiki: what a terminal shows, with tables as tables."""

import re
from collections.abc import Iterable, Iterator, Sequence

from seatrial.render import finding_text
from seatrial.render.escape import clean
from seatrial.render.report import Align, Block, Copy, Drawing, Findings, Items, Lines, Paragraph, Report, Table

COLUMNS = 100
"""The width of the text in characters, which is that of drawings."""
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&]|:(?=//)|(?<=www)\.", re.IGNORECASE)
"""Markup anywhere in a line; the last two would make links of bare addresses."""
_SPECIAL_FIRST = re.compile(r"^[#+=-]|^[0-9]+(?=[.)](?:\s|$))")
"""Headings, rules and lists, at the beginning of a line."""
_FENCE = re.compile(r"`{3,}")


def as_markdown(report: Report) -> str:
    """The report; all text from outside is escaped, so that it is neither markup nor a link. Ends in a newline."""
    parts = [f"# {_escaped(report.word)}  {_escaped(report.title)}"]
    if report.about:
        parts.append(_escaped(", ".join(report.about)))
    for block in report.shown(COLUMNS):
        if block.title:
            parts.append(f"## {_escaped(block.title)}")
        parts += _block(block)
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Findings():
            yield from _findings(block)
        case Lines():
            yield _lines(block.rows)
        case Paragraph():
            yield f"**{_escaped(block.text)}**" if block.strong else _escaped(block.text)
        case Items():
            yield "\n".join(f"- {_escaped(item)}" for item in block.items)
        case Copy():
            yield _fenced(block.lines)
        case Drawing():
            yield _fenced(["".join(piece for piece, _ in line) for line in block.lines])
        case Table():
            yield from (_escaped(block.left_out), _table(block))
        case _:
            raise TypeError(f"Markdown cannot show a block of the kind {block.kind!r}")


def _findings(block: Findings) -> Iterator[str]:
    for number, finding in enumerate(block.findings, start=1):
        yield f"## {number}. {_escaped(finding.verdict.value)}: {_escaped(finding_text.title(finding))}"
        yield f"**{_escaped(finding.statement)}**"
        yield _lines(finding_text.rows(finding))
        yield _fenced(finding.printed.splitlines()) if finding.printed else ""
    yield _escaped(block.left_out)


def _lines(rows: Iterable[tuple[str, str]]) -> str:
    """A list; a row without a label continues the one above it."""
    items: list[str] = []
    for label, words in rows:
        if label or not items:
            items.append(f"- {_escaped(label)}: {_escaped(words)}" if label else f"- {_escaped(words)}")
        else:
            items.append(f"  - {_escaped(words)}")
    return "\n".join(items)


def _table(block: Table) -> str:
    marks = {Align.NUMBER: "---:"}
    head = [column.title or " " for column in block.columns]
    lines = [_row(head), "|" + "|".join(marks.get(column.align, "---") for column in block.columns) + "|"]
    return "\n".join([*lines, *map(_row, block.rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _fenced(lines: Iterable[str]) -> str:
    """A block of code; the fence is longer than any that the lines contain. Blanks at the beginning count."""
    kept = [" " * (len(line) - len(line.lstrip(" "))) + clean(line) for line in lines]
    longest = max((len(found) for line in kept for found in _FENCE.findall(line)), default=2)
    fence = "`" * (longest + 1)
    return "\n".join([fence, *kept, fence])


def _escaped(text: str) -> str:
    """One line in which no character is markup; a newline in it is a blank."""
    inner = _SPECIAL.sub(lambda found: f"\\{found[0]}", clean(text))
    return _SPECIAL_FIRST.sub(lambda found: f"\\{found[0]}" if not found[0].isdigit() else f"{found[0]}\\", inner)
