"""Performance logs and run reports of ReFrame, in the forms of its versions 2, 3 and 4.

A log has one line for each test case and run. A report (--report-file) is JSON: `runs`, each with `testcases`.

Version 4 writes a line of names first, in which each performance variable VAR has the columns VAR_value, VAR_unit,
VAR_ref, VAR_lower and VAR_upper. Earlier versions write `time|reframe 3.9|TEST on SYSTEM:PARTITION using ENVIRON|
jobid=7|VAR=value|ref=...|unit`. https://reframe-hpc.readthedocs.io, "Performance Logging".
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from seatrial.importers.written_numbers import is_missing
from seatrial.model.errors import UsageError
from seatrial.model.imported import ALL_NODES, ImportedValue, Sense, sense_of
from seatrial.model.words import count

TIME = "job_completion_time"
NAMES = ("name", "unique_name", "display_name", "info")
INFO = re.compile(r"(?P<test>.+?) on (?P<place>\S+) using (?P<environ>\S+)")
VARIABLE = re.compile(r"(?P<name>[^=|]+)=(?P<value>[-+.\deE]+|null|None|nan)")
BOUNDS = re.compile(r"\(l=(?P<lower>[^,)]{0,60}), {0,9}u=(?P<upper>[^)]{0,60})\)")
REMEDY = "Give perflogs as ReFrame writes them: TIME|reframe VERSION|TEST on SYSTEM using ENVIRON|...|VAR=VALUE|..."


class ReframeRow(NamedTuple):
    """A value, with what the line says of the job that printed it."""

    time: str
    tasks: str
    job: str
    environment: str
    """Variables that the test sets, as the log has them."""
    value: ImportedValue


def is_perflog(text: str) -> bool:
    """Whether a text is one, by its first line, or a run report."""
    if is_report(text):
        return True
    first = text.lstrip().partition("\n")[0]
    return "|" in first and (TIME in first or "|reframe " in first)


def read_perflog(text: str) -> list[ReframeRow]:
    """All values, in the order of the file; test cases without a value are left out. Raises UsageError."""
    if is_report(text):
        return _report_rows(text)
    rows: list[ReframeRow] = []
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


def _named(cells: Mapping[str, str], number: int) -> Iterator[ReframeRow]:
    """A line of version 4."""
    test = next((cells[name] for name in NAMES if cells.get(name)), "test")
    place = ":".join(filter(None, (cells.get("system", ""), cells.get("partition", ""))))
    where = " ".join(filter(None, (place, cells.get("environ", ""))))
    listed = cells.get("job_nodelist", "").strip("[] ").replace('"', "").replace("'", "")
    node = listed if not is_missing(listed) and not set(listed) & set(",[ ") else ALL_NODES
    for column, text in cells.items():
        variable = column.removesuffix("_value")
        if variable == column or is_missing(text):
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
        yield ReframeRow(cells[TIME], cells.get("num_tasks", ""), cells.get("jobid", ""), environment, value)


def _plain(cells: Sequence[str], number: int) -> Iterator[ReframeRow]:
    """A line of versions 2 and 3."""
    info = next((match for cell in cells if (match := INFO.fullmatch(cell))), None)
    tasks, job = (
        next((cell.partition("=")[2] for cell in cells if cell.startswith(f"{word}=")), "")
        for word in ("num_tasks", "jobid")
    )
    for place, cell in enumerate(cells):
        match = VARIABLE.fullmatch(cell)
        if match is None or match["name"] in ("jobid", "num_tasks") or is_missing(match["value"]):
            continue
        rest = cells[place + 1 : place + 3]
        bounds = next((found for one in rest if (found := BOUNDS.search(one))), None)
        unit = rest[-1] if rest and not rest[-1].startswith("ref=") else ""
        test = f"{info['test']} {match['name']} ({info['place']} {info['environ']})" if info else match["name"]
        sense = _sense(match["name"], unit, bounds["lower"] if bounds else "", bounds["upper"] if bounds else "")
        value = _number(match["value"], number)
        imported = ImportedValue(metric=test, unit=unit, sense=sense, node=ALL_NODES, value=value)
        yield ReframeRow(cells[0], tasks, job, "", imported)


def is_report(text: str) -> bool:
    """Whether a text is ReFrame's report of a session, in JSON."""
    return text.lstrip()[:1] == "{" and '"session_info"' in text and '"testcases"' in text


class _PerfVariable(msgspec.Struct, frozen=True):
    name: str
    value: float | None = None
    unit: str | None = None
    thres_lower: float | None = None
    thres_upper: float | None = None


class _TestCase(msgspec.Struct, frozen=True):
    name: str
    system: str = ""
    partition: str | None = None
    environment: str | None = None
    environ: str | None = None
    display_name: str = ""
    nodelist: list[str] | None = None
    job_nodelist: list[str] | None = None
    num_tasks: int | None = None
    perfvars: list[_PerfVariable] | None = None
    perfvalues: dict[str, list[float | str | None]] | None = None
    """`SYSTEM:PARTITION:NAME` -> value, reference, lower and upper threshold, unit; since version 4.2."""


class _ReframeRun(msgspec.Struct, frozen=True):
    testcases: list[_TestCase]


class _ReframeSession(msgspec.Struct, frozen=True):
    time_start: str = ""
    time_end: str = ""


class _ReframeReport(msgspec.Struct, frozen=True):
    session_info: _ReframeSession
    runs: list[_ReframeRun]


def _report_rows(text: str) -> list[ReframeRow]:
    """The values of a report; all test cases of one of its runs have one time, that of the session."""
    try:
        report = msgspec.json.decode(text, type=_ReframeReport)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"The report of ReFrame cannot be read: {error}.", REMEDY) from error
    time = report.session_info.time_end or report.session_info.time_start or "session"
    rows: list[ReframeRow] = []
    for number, run in enumerate(report.runs, 1):
        label = time if len(report.runs) == 1 else f"{time} run {number}"
        for case in run.testcases:
            tasks = "" if case.num_tasks is None else str(case.num_tasks)
            rows += [ReframeRow(label, tasks, "", "", value) for value in _case_values(case)]
    if not rows:
        raise UsageError("The report has no value of any test.", REMEDY)
    return rows


def _case_values(case: _TestCase) -> Iterator[ImportedValue]:
    place = ":".join(filter(None, (case.system, case.partition)))
    where = " ".join(filter(None, (place, case.environment or case.environ)))
    nodes = case.nodelist or case.job_nodelist or []
    for variable in _variables(case):
        if variable.value is None or not math.isfinite(variable.value):
            continue
        lower, upper = ("" if bound is None else str(bound) for bound in (variable.thres_lower, variable.thres_upper))
        unit = variable.unit or ""
        yield ImportedValue(
            metric=f"{case.display_name or case.name} {variable.name}" + (f" ({where})" if where else ""),
            unit=unit,
            sense=_sense(variable.name, unit, lower, upper),
            node=nodes[0] if len(nodes) == 1 else ALL_NODES,
            value=variable.value,
        )


def _variables(case: _TestCase) -> Iterator[_PerfVariable]:
    yield from case.perfvars or ()
    for name, row in (case.perfvalues or {}).items():
        value, _, lower, upper, unit = ([*row, None, None, None, None, None])[:5]
        lower, upper, value = (None if isinstance(number, str) else number for number in (lower, upper, value))
        yield _PerfVariable(name.rpartition(":")[2], value, unit if isinstance(unit, str) else None, lower, upper)


def _sense(name: str, unit: str, lower: str, upper: str) -> Sense:
    """A reference that is only bounded below is better higher; else unit and name decide: times are better lower."""
    bounded = [not is_missing(text) for text in (lower, upper)]
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
