"""Numbers as spreadsheets and people write them: a decimal comma, groups of thousands, a unit behind each number."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense, sense_of
from seatrial.model.unit_text import NUMBER, Unit, unit_of

MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "-", "--", "---", "–", "—", "#n/a", "#div/0!", "#value!", "#num!", "#ref!"}
)
"""The last ones are what spreadsheets write where a formula has no value."""
POINT = re.compile(
    r"[-+]?(?:[0-9]{1,3}(?:[,'’ \u00a0\u2009\u202f][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?"
)
"""312,000.5: decimals behind a point, thousands in groups."""
COMMA = re.compile(
    r"[-+]?(?:[0-9]{1,3}(?:[.'’ \u00a0\u2009\u202f][0-9]{3})+|[0-9]+)(?:,[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?"
)
"""312.000,5: decimals behind a comma."""
PLAIN = re.compile(r"[0-9]{10,19}(?:\.[0-9]{1,9})?|[0-9](?:\.[0-9]{1,18})?e\+?[0-9]{1,2}")
MARKED = re.compile(r"[0-9][,'’ \u00a0\u2009\u202f][0-9]")
ADDRESS = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}")
BEHIND = re.compile(
    r"(?P<number>[-+]?[0-9][0-9.,'’ \u00a0\u2009\u202f]*?(?:[eE][-+]?[0-9]{1,3})?) ?"
    r"(?P<unit>[A-Za-zµ%/][A-Za-zµ/%]{0,15})"
)
DEVIATION = re.compile(rf"(?P<mean>{NUMBER}) ?(?:(?:±|\+/-|\+-) ?{NUMBER}|\((?:±|\+/-)? ?{NUMBER} ?%?\))")
"""A mean with its deviation, 0.6096±0.0052, or a value with a share, 312.5 (82 %): the first number counts."""
SENSOR = re.compile(
    r"(?P<number>[-+]?[0-9]{1,12}(?:\.[0-9]{1,9})?)(?P<unit> ?°[A-Za-z]?| ?(?:[CFVA]|[mk]?V|mA|mW|dBm?|rpm|RPM|PWM)"
    r"|(?: [A-Za-z/%]{1,15}){1,2})"
)
"""A number with what sensors write behind it: `61C`, `+61.0°C`, `5400 RPM`, `12.1 Volts`, `22 degrees C`."""
DURATION = re.compile(
    r"(?:(?:(?P<d>[0-9]{1,4})-)?(?P<h>[0-9]{1,5}):)?(?P<m>[0-9]{1,2}):(?P<s>[0-9]{2}(?:\.[0-9]{1,9})?)"
)
"""A duration as schedulers and `time` print it: 1-02:03:04, 26:03:04, 0:12.34."""
SHELL_TIME = re.compile(
    r"(?:\b(?P<label>real|user|sys)\t)?(?<!\S)(?:(?P<h>\d{1,5})h)?(?P<m>\d{1,9})m(?P<s>\d{1,2}(?:[.,]\d{1,9})?)s(?!\S)"
)
"""0m12.345s: how long a command took, as a shell's `time` prints it, with a tab behind what it is."""
SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
EVENTS = frozenset(
    {"start", "started", "begin", "began", "end", "ended", "finish", "finished", "submit", "submitted", "date", "day",
     "stamp", "clock", "of", "at", "local", "utc", "eligible", "boot", "last", "first"}
)  # fmt: skip
"""Words of columns that say when something was, and not how long it took."""
MOMENT_NAMES = frozenset({"time", "times"})
CLOCKS = EVENTS | MOMENT_NAMES | {"timestamp", "datetime", "ts", "epoch", "unix", "when"}
"""Words of columns that may have numbers of seconds since 1970."""
EPOCHS = {1.0: set[str](), 1e3: {"ms", "millis"}, 1e6: {"us", "micros"}, 1e9: {"ns", "nanos"}}
"""Parts of a second in which clocks count, and the words for them."""
FIRST_DATE_S, LAST_DATE_S = 1e9, 4e9
"""Seconds since 1970 in 2001 and in 2096: numbers of a clock between them are dates, and hardly anything else is."""
SHEETS_OF_COMMAS = ";"
"""Spreadsheets divide cells by it where the comma is the decimal mark, so `12,171` is about twelve there."""
Cells = tuple[str, ...]

LAST_NUMBER = re.compile(r"(?:^|[\s;,|:\"])([0-9]{1,18})([.,][0-9]{0,18})?$")
FEWEST_ABOVE = 3
"""Numbers that are written alike, by which a shorter one below them was cut off."""
LEAST_PART = 5
"""Times as much as what is left of a whole number that lost a digit or more."""
FEW = 3
"""Different numbers with decimals that may still be labels: clock rates of processors."""


def is_missing(cell: str) -> bool:
    """Whether a cell is empty, or says that there is nothing."""
    return cell.strip().lower() in MISSING


def with_point(columns: Sequence[Cells], delimiter: str) -> list[Cells]:
    """The cells of each column with a decimal point and without separators, where a whole column can be read so.

    One decimal mark holds for the whole table. `1,234` in every cell may be either: behind `;` it is a decimal comma,
    between commas (quoted) a group of thousands, and otherwise it stays as it is, which its reader refuses.
    """
    marked = [column for column in columns if any(map(MARKED.search, column))]
    marked = [column for column in marked if any(_fits(column, style) for style in (COMMA, POINT))]
    if not marked:
        return list(columns)
    styles = [style for style in (COMMA, POINT) if all(_fits(column, style) for column in marked)]
    if len(styles) == 2 and all(_rewritten(column, COMMA) == _rewritten(column, POINT) for column in marked):
        styles = [POINT]
    if len(styles) == 2:
        styles = {SHEETS_OF_COMMAS: [COMMA], ",": [POINT]}.get(delimiter, [])
    if len(styles) != 1:
        return list(columns)
    (style,) = styles
    return [_rewritten(column, style) if _fits(column, style) else column for column in columns]


def without_unit(cells: Cells, name: str = "") -> tuple[Cells, str]:
    """The numbers of a column of measurements whose cells all name units of one kind, in the unit that most of them
    name, and that unit; a column of other cells as it is. Few cells that return in many rows are labels: `64 KiB`,
    unless the name of the column has their unit: `clocks.sm [MHz]`."""
    if (dated := with_dates(name, cells)) is not cells:
        return dated, ""
    split = [BEHIND.fullmatch(cell.strip()) for cell in cells]
    written = [(match["number"], match["unit"]) for match in split if match is not None]
    blank = sum(match is None and not _digits(cell) for cell, match in zip(cells, split, strict=True))
    units = {word: unit for _, word in written if (unit := unit_of(word)) is not None}
    if len({unit.base for unit in units.values()}) != 1 or len(units) < len({word for _, word in written}):
        return _without_suffix(cells)
    if not written or len(written) + blank < len(cells):
        return cells, ""
    usual = Counter(word for _, word in written).most_common(1)[0][0]
    if not _measured([number for number, _ in written]) and usual not in re.split(r"[\s()[\]]+", name):
        return cells, ""
    bare = (_scaled(match, units, usual) if match else cell for cell, match in zip(cells, split, strict=True))
    return tuple(bare), usual


def _without_suffix(cells: Cells) -> tuple[Cells, str]:
    """The numbers of a column whose cells all have one unit of a sensor behind them, and that unit."""
    split = [SENSOR.fullmatch(cell.strip()) for cell in cells]
    numbers = [match["number"] for match in split if match is not None]
    suffixes = {match["unit"] for match in split if match is not None}
    blank = sum(match is None and not _digits(cell) for cell, match in zip(cells, split, strict=True))
    if len(suffixes) != 1 or len(numbers) + blank < len(cells) or not _measured(numbers):
        return cells, ""
    bare = tuple(match["number"] if match else cell for cell, match in zip(cells, split, strict=True))
    return bare, suffixes.pop().strip()


def without_deviation(cell: str) -> str:
    """The mean alone of a mean with its deviation; any other text as it is."""
    match = DEVIATION.fullmatch(cell) if cell[-1:] == ")" or "±" in cell or "+" in cell else None
    return match["mean"] if match else cell


def in_seconds(name: str, cells: Cells, *, chosen: bool = False) -> Cells:
    """Durations such as 01:02:03 in seconds; cells as they are in a column of other cells, or of times of the day.

    A column that is called `time` alone may have either, so it must be `chosen` as the column of values. 12:30 may be
    hours or minutes: some cell must have three parts, or parts of a second.
    """
    words = set(re.findall(r"[a-z]+", name.lower()))
    if not chosen and (name.strip().lower() in MOMENT_NAMES or words & EVENTS or sense_of(name) is not Sense.LOWER):
        return cells
    read = [DURATION.fullmatch(cell.strip()) for cell in cells]
    if any(match is None and _digits(cell) for cell, match in zip(cells, read, strict=True)):
        return cells
    if not any(match and (match["h"] or "." in match["s"]) for match in read):
        return cells
    return tuple(
        repr(sum(float(match[part] or 0) * factor for part, factor in SECONDS.items())) if match else cell
        for cell, match in zip(cells, read, strict=True)
    )


def with_dates(name: str, cells: Cells) -> Cells:
    """The times of a clock, in seconds since 1970 or in parts of them, as dates; cells of other columns as they are."""
    words = set(re.findall(r"[a-z]+", name.lower()))
    written = [cell for cell in cells if not is_missing(cell)]
    if not written or words.isdisjoint(CLOCKS) or not all(map(PLAIN.fullmatch, written)):
        return cells
    named = {parts for parts, units in EPOCHS.items() if units & words} or EPOCHS.keys()
    numbers = [*map(float, written)]
    parts = next((one for one in named if FIRST_DATE_S <= min(numbers) / one <= max(numbers) / one <= LAST_DATE_S), 0)
    return dates(cells, parts) if parts else cells


def dates(cells: Cells, parts: float) -> Cells:
    """Numbers of such parts of a second since 1970 as dates; cells as they are where one is another number."""
    try:
        read = [None if is_missing(cell) else datetime.fromtimestamp(float(cell) / parts, UTC) for cell in cells]
    except (ValueError, OverflowError, OSError):
        return cells
    return tuple(f"{at:%Y-%m-%dT%H:%M:%S}{f'.{at:%f}' * (at.microsecond > 0)}Z" if at else "" for at in read)


def with_seconds(text: str) -> str:
    """The text with what a shell measured in seconds: `real 12.5s`."""
    return SHELL_TIME.sub(_in_seconds, text)


def _in_seconds(took: "re.Match[str]") -> str:
    seconds = int(took["h"] or 0) * 3600 + int(took["m"]) * 60 + float(took["s"].replace(",", "."))
    return f"{took['label']} {seconds:.10g}s" if took["label"] else f"{seconds:.10g}s"


def refuse_cut_off(text: str) -> None:
    """Raise UsageError for a last line without a newline whose number is shorter than all those above it.

    Their decimals are as many everywhere, or whole numbers have as many digits, and what is left is a small part.
    """
    *lines, end = text.split("\n")
    above = [(match[1], match[2] or "") for match in map(LAST_NUMBER.search, lines) if match]
    digits, decimals = ({len(number[part]) for number in above} for part in (0, 1))
    last = re.search(r"(?<!\w)([0-9]{1,18})([.,][0-9]{0,18})?$", end)
    whole, fraction = (last[1], last[2] or "") if last else ("", "")
    if above and fraction[:1] not in ("", above[0][1][:1]):  # a separator of fields
        whole, fraction = fraction[1:], ""
    if last is None or not whole or len(above) < FEWEST_ABOVE or len(decimals) > 1:
        return
    small = len(digits) == 1 and int(whole) * LEAST_PART < min(int(number) for number, _ in above)
    if len(fraction) < max(decimals) or (small and not fraction):
        raise UsageError(
            f"The last line ends in {last[0]!r} without a newline, those above it in more digits: it was cut off.",
            "Give the whole file; add a newline if it is whole.",
        )


def _measured(numbers: Sequence[str]) -> bool:
    """Whether these are many different numbers, or some with decimals."""
    return len({*numbers}) ** 2 > len(numbers) or (len({*numbers}) > FEW and any("." in number for number in numbers))


def _scaled(match: "re.Match[str]", units: dict[str, Unit], usual: str) -> str:
    number, unit = match["number"].strip(), match["unit"]
    return number if unit == usual else repr(float(number) * units[unit].factor / units[usual].factor)


def _digits(cell: str) -> bool:
    return any(letter.isdecimal() for letter in cell)


def _number_of(cell: str) -> str:
    """The number in a cell, without a unit behind it."""
    match = BEHIND.fullmatch(cell)
    return match["number"].strip() if match and unit_of(match["unit"]) else cell


def _fits(column: Cells, style: "re.Pattern[str]") -> bool:
    written = [_number_of(cell) for cell in column if _digits(cell)]
    return bool(written) and all(style.fullmatch(number) and not ADDRESS.fullmatch(number) for number in written)


def _rewritten(column: Cells, style: "re.Pattern[str]") -> Cells:
    groups, mark = (".'’ \u00a0\u2009\u202f", ",") if style is COMMA else (",'’ \u00a0\u2009\u202f", ".")
    rewritten = []
    for cell in column:
        number = _number_of(cell)
        bare = number.translate(str.maketrans("", "", groups)).replace(mark, ".")
        rewritten.append(cell.replace(number, bare, 1) if _digits(cell) else cell)
    return tuple(rewritten)
