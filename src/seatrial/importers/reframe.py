"""Performance logs of ReFrame: one line for each test case and run, in the forms of its versions 2, 3 and 4.

Version 4 writes a line of names first, in which each performance variable VAR has the columns VAR_value, VAR_unit,
VAR_ref, VAR_lower and VAR_upper. Earlier versions write `time|reframe 3.9|TEST on SYSTEM:PARTITION using ENVIRON|
jobid=7|VAR=value|ref=...|unit`. https://reframe-hpc.readthedocs.io, "Performance Logging".
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from seatrial.model.errors import UsageError
from seatrial.model.imported import ALL_NODES, ImportedValue, Sense, sense_of
from seatrial.model.words import count

TIME = "job_completion_time"
NAMES = ("name", "unique_name", "display_name", "info")
INFO = re.compile(r"(?P<test>.+?) on (?P<place>\S+) using (?P<environ>\S+)")
VARIABLE = re.compile(r"(?P<name>[^=|]+)=(?P<value>[-+.\deE]+|null|None|nan)")
BOUNDS = re.compile(r"\(l=(?P<lower>[^,)]{0,60}), {0,9}u=(?P<upper>[^)]{0,60})\)")
MISSING = frozenset({"", "null", "none", "nan", "na"})
REMEDY = "Give perflogs as ReFrame writes them: TIME|reframe VERSION|TEST on SYSTEM using ENVIRON|...|VAR=VALUE|..."


class Row(NamedTuple):
    """A value, with what the line says of the job that printed it."""

    time: str
    tasks: str
    job: str
    environment: str
    """Variables that the test sets, as the log has them."""
    value: ImportedValue


def is_perflog(text: str) -> bool:
    """Whether a text is one, by its first line."""
    first = text.lstrip().partition("\n")[0]
    return "|" in first and (TIME in first or "|reframe " in first)


def read_perflog(text: str) -> list[Row]:
    """All values, in the order of the file; test cases without a value are left out. Raises UsageError."""
    rows: list[Row] = []
    names: Sequence[str] = ()
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.rstrip("|").split("|")]
        if not line.strip():
            continue
        if TIME in cells:
            names = cells
        elif names:
            if len(cells) > len(names):
                raise UsageError(
                    f"Line {number} has {count(len(cells), 'cell')}, and {count(len(names), 'name')}.", REMEDY
                )
            rows += _named(dict(zip(names, cells, strict=False)), number)
        else:
            rows += _plain(cells, number)
    if not rows:
        raise UsageError("The perflog has no value of any test.", REMEDY)
    return rows


def _named(cells: Mapping[str, str], number: int) -> Iterator[Row]:
    """A line of version 4."""
    test = next((cells[name] for name in NAMES if cells.get(name)), "test")
    place = ":".join(filter(None, (cells.get("system", ""), cells.get("partition", ""))))
    where = " ".join(filter(None, (place, cells.get("environ", ""))))
    listed = cells.get("job_nodelist", "").strip("[] ").replace('"', "").replace("'", "")
    node = listed if listed.lower() not in MISSING and not set(listed) & set(",[ ") else ALL_NODES
    for column, text in cells.items():
        variable = column.removesuffix("_value")
        if variable == column or text.lower() in MISSING:
            continue
        words = (cells.get(f"{variable}_{word}", "") for word in ("unit", "lower", "upper"))
        value = ImportedValue(
            metric=f"{test} {variable}" + (f" ({where})" if where else ""),
            unit=cells.get(f"{variable}_unit", ""),
            sense=_sense(variable, *words),
            node=node,
            value=_number(text, number),
        )
        environment = cells.get("env_vars", "").strip("{}").replace('"', "").replace(": ", "=")
        yield Row(cells[TIME], cells.get("num_tasks", ""), cells.get("jobid", ""), environment, value)


def _plain(cells: Sequence[str], number: int) -> Iterator[Row]:
    """A line of versions 2 and 3."""
    info = next((match for cell in cells if (match := INFO.fullmatch(cell))), None)
    tasks, job = (
        next((cell.partition("=")[2] for cell in cells if cell.startswith(f"{word}=")), "")
        for word in ("num_tasks", "jobid")
    )
    for place, cell in enumerate(cells):
        match = VARIABLE.fullmatch(cell)
        if match is None or match["name"] in ("jobid", "num_tasks") or match["value"].lower() in MISSING:
            continue
        rest = cells[place + 1 : place + 3]
        bounds = next((found for one in rest if (found := BOUNDS.search(one))), None)
        unit = rest[-1] if rest and not rest[-1].startswith("ref=") else ""
        test = f"{info['test']} {match['name']} ({info['place']} {info['environ']})" if info else match["name"]
        sense = _sense(match["name"], unit, bounds["lower"] if bounds else "", bounds["upper"] if bounds else "")
        value = _number(match["value"], number)
        imported = ImportedValue(metric=test, unit=unit, sense=sense, node=ALL_NODES, value=value)
        yield Row(cells[0], tasks, job, "", imported)


def _sense(name: str, unit: str, lower: str, upper: str) -> Sense:
    """A reference that is only bounded below is better higher; else unit and name decide: times are better lower."""
    bounded = [text.strip().lower() not in MISSING for text in (lower, upper)]
    if bounded == [True, False]:
        return Sense.HIGHER
    if bounded == [False, True]:
        return Sense.LOWER
    return sense_of(name, unit) or Sense.HIGHER


def _number(text: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"Line {line} has the value {text[:40]!r}, which is not a finite number.", REMEDY)
    return value
