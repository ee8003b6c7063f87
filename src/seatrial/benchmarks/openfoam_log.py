"""The log of one OpenFOAM program: head, iterations, residuals, force coefficients."""

import re

import msgspec

from seatrial.benchmarks.reading import START, Line, Reading
from seatrial.model.number_text import NUMBER, number_of, whole_number

BANNER = re.compile(r"\| OpenFOAM: The Open Source CFD Toolbox")
BANNER_TOP = re.compile(r"/\*---|\|?\s+={5}|\|?\s*\\\\")
"""Its lines above that; those of openfoam.com begin with a bar."""
VERSION = re.compile(r"^\s*+(?:\\\\\s+/\s+A nd)?.*\|\s*+Version:\s+(?P<version>\S+)")
EXEC = re.compile(r"^Exec\s*: (?P<words>\S.*)$")
PROCESSES = re.compile(r"^nProcs\s*: (?P<ranks>\d{1,9})")
HOST = re.compile(r'^Host\s*: "?(?P<host>[^"\s]+)"?')
SLAVES = re.compile(r"^(?:Slaves|Hosts)\s*:")
SLAVE = re.compile(r'^"?(?P<host>[^"\s()]+?)\.(?P<process>\d{1,9})"')
HOST_COUNT = re.compile(r"^\s*\((?P<host>[^()\s]+) (?P<ranks>\d{1,9})\)")
TIME = re.compile(rf"^Time = (?P<time>{NUMBER})s?\s*$")
EXECUTION = re.compile(rf"^ExecutionTime = (?P<execution>{NUMBER}) s(?:\s+ClockTime = (?P<clock>{NUMBER}) s)?")
RESIDUAL = re.compile(
    r"^(?P<solver>\S+?):\s+Solving for (?P<field>\w+(?:\.\w+)*), Initial residual = (?P<initial>\S+), "
    r"Final residual = (?P<final>\S+), No Iterations (?P<iterations>\d{1,9})"
)
COEFFICIENT = re.compile(
    rf"^\s+(?P<name>C[dlms](?:\((?:f|r)\))?|CmPitch|CmRoll|CmYaw|CsSide|Cs)\s*[=:]\s*(?P<value>{NUMBER})"
)
COEFFICIENT_WRITE = re.compile(r"^(?:forceCoeffs|force coefficients|Coefficients)\b", re.IGNORECASE)
DECLARED = re.compile(r"^forceCoeffs (?P<name>\w+)\s*:")
END = re.compile(r"^End\s*$")
FINALISED = re.compile(r"^Finalising parallel run")
CONVERGED = re.compile(r"solution converged in (?P<iterations>\d{1,9}) iterations")

Residual = tuple[Line, str, str, int]
"""Line, initial and final residual as printed, iterations of the linear solver."""


class Iteration(msgspec.Struct):
    """One `Time =` with what follows it."""

    time: float
    line: Line
    time_line: Line = START
    execution_s: float | None = None
    printed_execution: str = ""
    clock_s: float | None = None


class Step(msgspec.Struct):
    """The log of one program."""

    start: Line
    program: str = "unknown program"
    version: str = ""
    parallel: bool = False
    ranks: int = 1
    ranks_line: Line = START
    listed: int = 0
    """Processes beside the first that the head lists."""
    hosts: list[str] = msgspec.field(default_factory=list)
    lines: list[Line] = msgspec.field(default_factory=list)
    iterations: list[Iteration] = msgspec.field(default_factory=list)
    residuals: dict[str, list[Residual]] = msgspec.field(default_factory=dict)
    coefficients: "dict[str, list[tuple[Line, str]]]" = msgspec.field(default_factory=dict)
    declared: "list[tuple[Line, str]]" = msgspec.field(default_factory=list)
    """Functions that compute force coefficients."""
    writes: int = 0
    converged: int = 0
    """Iterations after which the program says that it converged; 0: it does not."""


def read_steps(reading: Reading) -> list[Step]:
    """The logs in the order of the file; each begins at its banner, or at its Exec line where there is none."""
    steps: list[Step] = []
    in_list = False
    for line in reading.whole_lines:
        if BANNER.search(line.text):
            _without_banner_rule(steps)
        if BANNER.search(line.text) or (
            EXEC.match(line.text) and (not steps or steps[-1].program != Step(start=START).program)
        ):
            steps.append(Step(start=line))
            in_list = False
        if not steps:
            continue
        step = steps[-1]
        step.lines.append(line)
        if not step.iterations:
            in_list = _head(step, line, in_list)
        _body(step, line)
    return steps


def _without_banner_rule(steps: list[Step]) -> None:
    """Lines of a banner above the one that names OpenFOAM do not belong to the log above it."""
    while steps and steps[-1].lines and BANNER_TOP.match(steps[-1].lines[-1].text):
        steps[-1].lines.pop()


def _head(step: Step, line: Line, in_list: bool) -> bool:
    """Lines before the first iteration; returns whether the list of processes goes on."""
    text = line.text
    if version := VERSION.match(text):
        step.version = version["version"]
    elif words := EXEC.match(text):
        names = words["words"].split()
        step.program = names[0].rsplit("/", 1)[-1]
        step.parallel = "-parallel" in names
    elif host := HOST.match(text):
        step.hosts = [host["host"]]
    elif ranks := PROCESSES.match(text):
        step.ranks, step.ranks_line = whole_number(ranks["ranks"]), line
        step.parallel = step.parallel or step.ranks > 1
    elif SLAVES.match(text):
        return True
    elif in_list and text.startswith(")"):
        return False
    elif in_list and (slave := SLAVE.match(text)):
        step.listed += 1
        _add_host(step, slave["host"])
    elif in_list and (counted := HOST_COUNT.match(text)):
        step.listed += whole_number(counted["ranks"])
        _add_host(step, counted["host"])
    elif declared := DECLARED.match(text):
        step.declared.append((line, declared["name"]))
    return in_list


def _add_host(step: Step, host: str) -> None:
    if host not in step.hosts:
        step.hosts.append(host)


def _body(step: Step, line: Line) -> None:
    text = line.text
    if time := TIME.match(text):
        step.iterations.append(Iteration(time=number_of(time["time"]), line=line))
    elif (execution := EXECUTION.match(text)) and step.iterations:
        item = step.iterations[-1]
        item.execution_s, item.printed_execution = number_of(execution["execution"]), execution["execution"]
        item.time_line = line
        item.clock_s = number_of(execution["clock"]) if execution["clock"] else None
    elif residual := RESIDUAL.match(text):
        step.residuals.setdefault(residual["field"], []).append(
            (line, residual["initial"].rstrip(","), residual["final"].rstrip(","), whole_number(residual["iterations"]))
        )
    elif (coefficient := COEFFICIENT.match(text)) and step.iterations:
        step.coefficients.setdefault(coefficient["name"], []).append((line, coefficient["value"]))
    elif converged := CONVERGED.search(text):
        step.converged = whole_number(converged["iterations"])
    elif COEFFICIENT_WRITE.match(text) and step.iterations:
        step.writes += 1
