"""The order of the times of a series: numbers, dates in the spellings of people and programs, versions."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from seatrial.importers.columns import TableColumn
from seatrial.importers.written_numbers import is_missing
from seatrial.model.errors import UsageError
from seatrial.model.words import moment_of

VERSION_WORDS = frozenset({"version", "release", "revision", "build", "tag"})
VERSION = re.compile(r"v?\d{1,9}(?:\.\d{1,9}){1,4}", re.IGNORECASE)
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?(?: ?([ap])\.?m\b\.?)?", re.IGNORECASE)
WEEKDAY = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\b[.,]?", re.IGNORECASE)
ZONE = re.compile(r"\b(?:UTC|GMT|Z|CET|CEST)\b")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = re.compile(
    r"\b(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\b\.?",
    re.IGNORECASE,
)
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
DATE = re.compile(r"(\d{1,4})(?:st|nd|rd|th)?[-./, ]{1,2}(\d{1,4})(?:[-./, ]{1,2}(\d{1,4}))?\.?")
MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|(?:Q[1-4]|(?:0?[1-9]|1[0-2])/)[ /-]?(?:19|20)[0-9]{2}"
    r"|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}.*|[0-9]{1,2}:[0-9]{2}.*"
)
"""A cell that begins with a date or a time of the day, or is a month or a quarter."""
SIGNS = (CLOCK, YEAR, re.compile(r"\d{1,2}[./]\d{1,2}[./]?"))
"""What is part of a date or a time, and of few labels."""
CHECKSUM = re.compile(r"[0-9a-f]{7,40}")
"""A commit, in which four digits may look like a year."""
CENTURY, YEAR_DIGITS = 2000, 4
Moment = tuple[float, ...]
FEWEST_SAMPLES = 12
DAY_S = 86_400
SAMPLED = 0.8
"""Share of the steps between times that are the shortest one; monitoring misses a sample now and then."""
ORDERS = {"day first": (2, 1, 0), "month first": (2, 0, 1), "year first": (0, 1, 2)}
"""Places of year, month and day among the three numbers of a date."""


def are_moments(column: TableColumn) -> bool:
    """Whether its cells are dates or times."""
    return bool(column.written) and all(MOMENT.fullmatch(cell.strip()) for cell in column.written)


def moments(clock: TableColumn) -> Sequence[Moment | None]:
    """What sorts the rows by time, None for a missing time; empty for labels, whose rows keep their order.

    Raises UsageError for dates that cannot be read, or that can be read in two ways of unlike order.
    """
    cells = [cell.strip() for cell in clock.cells]
    written = [cell for cell in cells if not is_missing(cell)]
    if written and all(map(VERSION.fullmatch, written)) and _are_versions(clock, written):
        return _read(cells, lambda cell: tuple(float(part) for part in cell.lstrip("vV").split(".")))
    if clock.numeric:
        return _read(cells, lambda cell: (float(cell),))
    try:
        return _read(cells, lambda cell: (_iso(cell),))
    except ValueError:
        pass
    readings = [*_dates(cells)]
    orders = {tuple(sorted(range(len(cells)), key=lambda row: reading[row] or ())) for reading in readings}
    if len(orders) == 1:
        return readings[0]
    if orders:
        raise UsageError(
            f"The times of column {clock.name!r} such as {written[0][:40]!r} can have the day or the month first.",
            "Write dates as 2026-09-28.",
        )
    labels = all(map(CHECKSUM.fullmatch, written))
    if unread := next((cell for cell in written if not labels and any(sign.search(cell) for sign in SIGNS)), ""):
        raise UsageError(
            f"The time {unread[:40]!r} of column {clock.name!r} is not read, so nothing shows the order of the values.",
            "Write dates as 2026-09-28 or 2026-09-28T10:00:00, or number the rows in a column `run`.",
        )
    return ()


def dates_of(cells: Sequence[str]) -> list[datetime]:
    """The moments of cells that are all dates with their year, in one spelling. Raises ValueError for others."""
    with suppress(ValueError):
        return [*map(moment_of, cells)]
    readings = {tuple(reading) for reading in _dates(cells)} if all(map(YEAR.search, cells)) else set()
    if len(readings) != 1:
        raise ValueError("not dates, or dates that can be read in two ways")
    return [datetime.fromtimestamp(moment[0], UTC) for moment in readings.pop() if moment]


def are_samples(clock: TableColumn) -> bool:
    """Whether a clock gave the times, as in monitoring: equal steps of less than a day; runs begin when they can."""
    try:
        read = [] if clock.numeric else sorted({one for one in moments(clock) if one})
    except UsageError:
        return False
    steps = [later[0] - earlier[0] for earlier, later in itertools.pairwise(read)]
    least = min(steps, default=DAY_S)
    return len(read) >= FEWEST_SAMPLES and least < DAY_S and steps.count(least) >= SAMPLED * len(steps)


def _read(cells: Sequence[str], key: Callable[[str], Moment]) -> list[Moment | None]:
    return [None if is_missing(cell) else key(cell) for cell in cells]


def _are_versions(clock: TableColumn, written: Sequence[str]) -> bool:
    """Whether 1.10 comes behind 1.9: the column is called so, or 1.1 and 1.10 are two of its cells."""
    named = not VERSION_WORDS.isdisjoint(re.findall(r"[a-z]+", clock.name.lower()))
    return named or (clock.numeric and len({*map(float, written)}) < len({*written}))


def _iso(cell: str) -> float:
    moment = datetime.fromisoformat(cell)
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def _dates(cells: Sequence[str]) -> Iterator[list[Moment | None]]:
    """The times of all cells, for each order of day, month and year in which every cell is a date."""
    for order in ORDERS:
        read = [None if is_missing(cell) else _moment(cell, order) for cell in cells]
        if all((moment is None) == is_missing(cell) for cell, moment in zip(cells, read, strict=True)):
            yield read


def _numbers_of(cell: str) -> tuple[tuple[str, ...], str] | None:
    """The numbers of a date, the one of a month's name included, and which order they show; None for another text."""
    bare = ZONE.sub(" ", WEEKDAY.sub(" ", CLOCK.sub(" ", cell)))
    named = MONTH.search(bare)
    if named is None:
        date = DATE.fullmatch(" ".join(bare.replace("T", " ").split()))
        if date is None or date[3]:
            return (tuple(date.groups("")), "") if date else None
        first, second = date[1], date[2]
        of_month = (first, second, "1"), "year first"
        return of_month if len(first) == YEAR_DIGITS else ((first, "1", second), "month first")
    month = str(MONTHS.index(named["month"].lower()) + 1)
    date = DATE.fullmatch(" ".join(MONTH.sub(" ", bare).replace("-", " ").replace("/", " ").split()).strip(" ,"))
    if date is None or date[3]:
        return None
    first, second = date[1], date[2]
    return (
        ((first, month, second), "year first") if len(first) == len("2026") else ((first, month, second), "day first")
    )


def _moment(cell: str, order: str) -> Moment | None:
    """Date and time of a cell, with its numbers in that order; None for another text."""
    parsed = _numbers_of(cell)
    if parsed is None or not parsed[0][-1] or parsed[1] not in ("", order):
        return None
    year, month, day = (parsed[0][place] for place in ORDERS[order])
    dotted = re.match(r"\d{1,2}\.\d{1,2}\.", cell) is not None
    if len(year) not in (2, 4) or max(len(month), len(day)) > 2 or (dotted and order != "day first"):
        return None
    clock = CLOCK.search(cell)
    hour, minute, second = (int(part or 0) for part in clock.groups()[:3]) if clock else (0, 0, 0)
    if clock and clock[4]:
        hour = hour % 12 + 12 * (clock[4].lower() == "p")
    try:
        date = datetime(int(year) + CENTURY * (len(year) == 2), int(month), int(day), hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return (date.timestamp(),)
