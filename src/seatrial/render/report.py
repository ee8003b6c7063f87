"""What a command reports: a headline, blocks in reading order for a terminal or a page, and the fields of its JSON."""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, TypeVar

import msgspec

from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.node_trials import Measure
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Finding, Verdict, exit_code

Record = TypeVar("Record")
Cells = Mapping[str, Callable[[Record], str]]
"""Heading of a column, marked as in `columns` -> text of its cell in the row of a record."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a report, with a title or none. All text is cleaned and escaped when it is rendered."""

    kind: ClassVar[str]
    """The name of the macro in templates/blocks.html.j2 that draws it."""
    content: ClassVar[tuple[str, ...]] = ()
    """Fields that hold what is shown. A block in which all of these are empty is left out, with its title."""
    title: str = ""
    anchor: str = ""
    """The part's id on the page."""
    tight: bool = False
    """No blank line before it in a terminal."""
    folded: bool = False
    """The page shows the title only, until a reader unfolds it, and does not print it."""


class Findings(Block, frozen=True, kw_only=True):
    """Findings in their order; `brief`: without numbers, proof and remedy."""

    kind: ClassVar[str] = "findings"
    content: ClassVar[tuple[str, ...]] = ("findings", "left_out")
    findings: tuple[Finding, ...]
    brief: bool = False
    left_out: str = ""
    """A sentence where not all findings are here."""


class Lines(Block, frozen=True, kw_only=True):
    """Labels of one or two words, and sentences. A line without a label continues the one above it; a line without a
    sentence is left out.
    """

    kind: ClassVar[str] = "lines"
    content: ClassVar[tuple[str, ...]] = ("rows",)
    rows: tuple[tuple[str, str], ...]
    indent: int = 3

    def __post_init__(self) -> None:
        """Leave out lines without a sentence."""
        msgspec.structs.force_setattr(self, "rows", tuple(row for row in self.rows if row[1]))


class Paragraph(Block, frozen=True, kw_only=True):
    """One or more sentences."""

    kind: ClassVar[str] = "paragraph"
    content: ClassVar[tuple[str, ...]] = ("text",)
    text: str
    strong: bool = False
    aside: bool = False


class Items(Block, frozen=True, kw_only=True):
    """A list of sentences."""

    kind: ClassVar[str] = "items"
    content: ClassVar[tuple[str, ...]] = ("items",)
    items: tuple[str, ...]


class Copy(Block, frozen=True, kw_only=True):
    """Lines to copy or to search, which are never broken, however narrow the terminal is."""

    kind: ClassVar[str] = "copy"
    content: ClassVar[tuple[str, ...]] = ("lines",)
    lines: tuple[str, ...]


class Drawing(Block, frozen=True, kw_only=True):
    """Lines of (text, style) pieces in which every blank counts; for a terminal and for Markdown."""

    kind: ClassVar[str] = "drawing"
    content: ClassVar[tuple[str, ...]] = ("lines",)
    lines: tuple[tuple[tuple[str, str], ...], ...]


class Align(enum.StrEnum):
    """What a column holds, and so how it is set."""

    WORDS = "words"
    NUMBER = "number"
    SENTENCES = "sentences"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A heading and the kind of cells below it. `unbroken`: a terminal shortens other columns first."""

    title: str = ""
    align: Align = Align.WORDS
    unbroken: bool = False


class PageLink(str):
    """Text of a cell that leads to another page of a site; everywhere else it is plain text."""

    href: str
    """The address, relative to the page that has the link."""

    def __new__(cls, text: str, href: str) -> "PageLink":
        """The text with its address."""
        made = super().__new__(cls, text)
        made.href = href
        return made

    @property
    def text(self) -> str:
        """The text alone, which a page cleans as any other."""
        return str(self)


class Table(Block, frozen=True, kw_only=True):
    """Rows of text, one text a column. A column called `verdict` holds the words of verdicts."""

    kind: ClassVar[str] = "table"
    content: ClassVar[tuple[str, ...]] = ("rows", "left_out")
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: str = ""
    """A sentence where not all rows are here."""
    aside: str = ""
    """A sentence on how to read it, for the page."""
    stacked: bool = False
    """Whether each row is a list of headings and cells on a narrow screen; for a table of few rows."""
    strong: tuple[int, ...] = ()
    """Numbers of the rows that matter most."""
    indent: int = 0


def columns(*titles: str) -> tuple[Column, ...]:
    """Columns by their titles; # before a title marks numbers, ~ marks sentences, = marks words that are not broken."""
    marks = {"#": Align.NUMBER, "~": Align.SENTENCES}
    return tuple(
        Column(title=title.lstrip("#~="), align=marks.get(title[:1], Align.WORDS), unbroken=title.startswith("="))
        for title in titles
    )


def rows_table(
    heads: Iterable[str],
    rows: Iterable[Iterable[str]],
    most: int | None = 40,
    title: str = "",
    where: str = "--json has all",
) -> Table:
    """A table of the first `most` rows, or of all, which says how many more there are, and `where` they are.

    `heads`: as in `columns`.
    """
    cells = tuple(map(tuple, rows))
    left_out = f"and {len(cells) - most} more; {where}" if most and len(cells) > most else ""
    return Table(title=title, columns=columns(*heads), rows=cells[:most], left_out=left_out)


def record_table(cells: Cells[Record], records: Iterable[Record], most: int | None = 40, title: str = "") -> Table:
    """A table with a row for each of the first `most` records, or of all."""
    return rows_table(cells, ([cell(record) for cell in cells.values()] for record in records), most, title)


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong or worth knowing, as the page shows it."""

    mark: str
    style: str
    """The class by which page.css colours it."""
    title: str
    statement: str
    rows: tuple[tuple[str, str], ...] = ()
    share: str = ""
    """Measured as a share of the limit, and the same as a number for the bar."""
    percent: float = 0.0
    printed: tuple[str, ...] = ()
    """What programs printed, line by line."""
    unfolded: bool = False


class Cards(Block, frozen=True, kw_only=True):
    """Cards below each other; for the page."""

    kind: ClassVar[str] = "cards"
    content: ClassVar[tuple[str, ...]] = ("cards", "left_out")
    cards: tuple[Card, ...]
    left_out: str = ""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One subject that was judged: a test case of JUnit."""

    name: str
    verdict: Verdict
    reason: str = ""
    of_limit: float | None = None
    """The share of its limit that it reaches, where one is known."""
    figures: Mapping[Measure, float] = {}
    """The main figures of the trials of a node, as far as measured."""
    holds: bool = False
    """Whether a good verdict counts though the run ended undecided: the run was asked about this node."""


class Gauge(msgspec.Struct, frozen=True, kw_only=True):
    """A number for monitoring: its name, its value in base units, and `s`, `%` or no unit."""

    name: str
    value: float | None
    """None, or not finite: left out."""
    unit: str = ""


def _no_blocks(_: int = 0) -> Iterable[Block]:
    return ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The complete report of a command. Blocks and payload are made when a renderer asks: they can be large."""

    word: str = ""
    """The verdict, or INCOMPLETE, MEASURED or BLOCKED; empty for a command that does not judge."""
    sentence: str = ""
    answers: bool = False
    """Whether the sentence is the first line without a verdict, too; else it is only the title of the page."""
    exit_code: ExitCode = ExitCode.PASS
    payload: Callable[[], msgspec.Struct]
    """`data` of the JSON object, the command's own fields: docs/ describes each. `render.envelope` has all others."""
    run: RunInfo | None = None
    """The run that the report is about."""
    run_name: str = ""
    """The name of the run, if no more is known of it yet."""
    kind: str = ""
    """`kind` of the JSON object, where it is neither the kind of the run nor the name of the command."""
    terminal: Callable[[int], Iterable[Block]] = _no_blocks
    """Blocks for a terminal of the given width in columns; Markdown has the same."""
    page: Callable[[], Iterable[Block]] = _no_blocks
    """Blocks of the page."""
    about: tuple[str, ...] = ()
    """Which run, when, of what: below the page's headline."""
    findings: tuple[Finding, ...] = ()
    cases: tuple[Case, ...] = ()
    facts: Mapping[str, NodeFacts] = {}
    """Facts of the nodes, as they were before the run."""
    gauges: tuple[Gauge, ...] = ()
    """The numbers that a monitoring system records."""
    remedy: str = ""
    """What to do first, below the page's headline."""
    wrapped: bool = True
    """False: lines of text in a file are never broken; those on a terminal are."""

    def shown(self, width: int | None = None) -> Iterator[Block]:
        """The blocks with content: those for a terminal of `width` columns, else those of the page."""
        for block in self.page() if width is None else self.terminal(width):
            if not block.content or any(getattr(block, name) for name in block.content):
                yield block

    @property
    def title(self) -> str:
        """The sentence, with what started the ranks of the run, unless that was the site's own srun."""
        by = self.run.started_by if self.run else ""
        return f"{self.sentence} (started by {by})" if by and self.sentence else self.sentence

    @property
    def headline(self) -> str:
        """`SLOW  n3: link at 60 % of its limit`: the first line of every form of a report.

        Empty where there is neither a verdict nor a sentence that answers.
        """
        return f"{self.word}  {self.title}" if self.word else self.title if self.answers else ""


def judged_report(
    verdict: Verdict,
    sentence: str,
    fields: Callable[[], msgspec.Struct],
    blocks: Callable[[], Iterable[Block]],
    cases: tuple[Case, ...],
    pictures: Callable[[], Iterable[Block]] = _no_blocks,
) -> Report:
    """The report of a command that judges values which others measured: the same blocks everywhere, and no run.

    `pictures`: what only the page has, above the others.
    """
    return Report(
        word=verdict.value,
        sentence=sentence,
        exit_code=exit_code(verdict),
        payload=fields,
        terminal=lambda _: blocks(),
        page=lambda: (*pictures(), *blocks()),
        cases=cases,
    )
