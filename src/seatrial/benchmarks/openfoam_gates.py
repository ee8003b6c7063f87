"""Validity gates of one OpenFOAM log: what shows that a solver left out work or printed nonsense."""

import itertools
import re
from collections.abc import Sequence

from seatrial.benchmarks.openfoam_log import ProgramLog
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.unit_text import finite, number_of
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

WARNING = re.compile(r"^(?:\[\d{1,18}\] )?--> FOAM (?:IO )?Warning")
ERROR = re.compile(
    r"^(?:\[\d{1,18}\] )?--> FOAM FATAL (?:IO )?ERROR|^\s*Foam::error::|sigFpe::sigHandler|^\[?stack trace\]?"
)
LOST = re.compile(
    r"(?i)(?:cannot|could not|can ?not|unable to|failed to|did not) find (?:any )?.{0,200}\bpatch"
    r"|no patch(?:es)? (?:matching|named|found)"
    r"|unknown patch|patch(?:es)?\b.{0,200}\b(?:not found|do(?:es)? not exist|(?:is|are) missing|has 0 faces|is empty)"
    r"|missing patch|skipping patch"
)
SKIPPED = re.compile(
    r"(?i)\bskipping\b|function object\b.{0,200}\b(?:failed|disabled|not found)"
    r"|\bnot (?:executed|computed|calculated)\b"
    r"|unknown function ?type|could not open \"?.{0,300}\.so|fields? not found|no faces? selected"
)
MESSAGE_LINES = 8
"""Lines that the message of a warning takes at most."""
NAMES = re.compile(
    r"[(\"']([^()\"']{1,80})[)\"']|\bnames matching ([\w.*-]{1,80})"
    r"|\bpatch(?:es)?:?\s+(?:named |matching )?([\w.*-]{1,80})"
)
CONTINUITY = re.compile(r"^\w.* continuity errors : sum local = (?P<local>[^\s,]+), global = (?P<whole>[^\s,]+)")
MOST_RESIDUAL = 1e3
"""Residuals of a solution are at most about 1: OpenFOAM divides them by its size."""
FEWEST_CONSTANT = 10
FEWEST_S = 0.2
"""ExecutionTime has hundredths of a second: fewer than 20 make a rate uncertain by more than 5 %."""
MOST_CELLS_PER_S = 1e8
"""Cells that one rank can iterate over; each takes at least a kilobyte of memory traffic."""
EVEN, MOSTLY = 0.01, 0.9
"""Steps of time are even if this share of them has the same width, within a hundredth."""
CONVERGED_RESIDUAL = 1e-6
"""Below it coefficients may well have stopped changing."""

SOLVE_EQUATIONS = ("simpleFoam", "pisoFoam", "pimpleFoam", "icoFoam", "interFoam", "rhoSimpleFoam", "rhoPimpleFoam")
"""Programs that cannot do an iteration without the solution of an equation."""
WITHOUT_STEPS = ("potentialFoam",)
"""Programs that solve once, without steps of time."""


def judge_solver(reading: Reading, step: ProgramLog) -> None:
    """All gates on the iterations of a solver."""
    _numbers(reading, step)
    _diverged(reading, step)
    _coefficients(reading, step)
    _clock(reading, step)
    _constant(reading, step)
    timed = [item for item in step.iterations if item.execution_s is not None]
    if step.iterations and not timed:
        reading.lack(f"the log of {step.program} has no ExecutionTime")
    if not step.iterations and not (step.program in WITHOUT_STEPS and step.residuals):
        reading.breach(FindingKind.RUN_TOO_SHORT, f"{step.program} did no iteration", step.start)
    _duration(reading, step)
    if step.converged and step.converged != len(step.iterations):
        reading.breach(
            FindingKind.ITERATIONS_DIFFER,
            f"{step.program} says {step.converged} iterations, its log has {len(step.iterations)}",
            step.iterations[-1].line if step.iterations else step.start,
        )
    if step.listed and step.listed not in (step.ranks, step.ranks - 1):
        reading.breach(
            FindingKind.RANKS_DIFFER, f"{step.ranks} processes, {step.listed + 1} of them listed", step.ranks_line
        )


def _duration(reading: Reading, step: ProgramLog) -> None:
    """The iterations took as long as their clock can show, and as the cells need; none is missing between them."""
    timed = [item for item in step.iterations if item.execution_s is not None]
    taken_s = (timed[-1].execution_s or 0.0) if timed else 0.0
    if len(timed) > 1 and taken_s < FEWEST_S:
        reading.breach(
            FindingKind.RUN_TOO_SHORT,
            f"{count(len(timed), 'iteration')} took {timed[-1].printed_execution} s: too short for a rate",
            timed[-1].time_line,
        )
    cells = reading.value("cells")
    if len(timed) > 1 and isinstance(cells, int) and cells * len(timed) > MOST_CELLS_PER_S * step.ranks * taken_s > 0:
        reading.breach(
            FindingKind.RUN_TOO_SHORT,
            f"{count(len(timed), 'iteration')} of {cells} cells in {timed[-1].printed_execution} s: too fast",
            timed[-1].time_line,
        )
    steps = [after.time - before.time for before, after in itertools.pairwise(step.iterations)]
    usual = sorted(steps)[len(steps) // 2] if len(steps) >= FEWEST_CONSTANT else 0.0
    even = sum(abs(width - usual) <= EVEN * usual for width in steps)
    for before, after, width in zip(step.iterations, step.iterations[1:], steps, strict=False):
        if usual > 0 and even >= len(steps) * MOSTLY and width > (2 - EVEN) * usual:
            reading.breach(
                FindingKind.ITERATIONS_DIFFER,
                f"Time = {after.time:g} follows {before.time:g}: iterations between them are missing",
                after.line,
            )
            break


def _numbers(reading: Reading, step: ProgramLog) -> None:
    """Residuals are finite, and every field is solved in every iteration."""
    for field, history in step.residuals.items():
        for line, initial, final, _ in history:
            if not (finite(initial) and finite(final)):
                reading.breach(FindingKind.NOT_A_NUMBER, f"the residual of {field} is not a finite number", line)
                break
    for name, values in step.coefficients.items():
        for line, printed in values:
            if not finite(printed):
                reading.breach(FindingKind.NOT_A_NUMBER, f"{name} is not a finite number", line)
                break


def _diverged(reading: Reading, step: ProgramLog) -> None:
    """Continuity errors are finite, and residuals did not grow beyond any solution."""
    for line, errors in reading.matches(CONTINUITY.pattern, step.lines):
        if not (finite(errors["local"]) and finite(errors["whole"])):
            reading.breach(FindingKind.NOT_A_NUMBER, "the continuity error is not a finite number", line)
            break
    for field, history in step.residuals.items():
        for line, initial, final, _ in history:
            if finite(initial) and finite(final) and max(number_of(initial), number_of(final)) > MOST_RESIDUAL:
                reading.breach(FindingKind.RESIDUAL_FAILED, f"the residual of {field} is above {MOST_RESIDUAL:g}", line)
                break
    solved = [item for item in step.iterations if item.execution_s is not None]
    if solved and not step.residuals and step.program in SOLVE_EQUATIONS:
        reading.breach(
            FindingKind.RESIDUAL_MISSING, f"{step.program} shows no residual: it solved nothing", solved[-1].line
        )


def _coefficients(reading: Reading, step: ProgramLog) -> None:
    """A function that computes force coefficients prints them in each iteration, and they are not all zero."""
    done = [item for item in step.iterations if item.execution_s is not None]
    for line, name in step.declared[:1]:
        if not step.coefficients and done:
            reading.breach(
                FindingKind.WORK_SKIPPED, f"{name} is to compute force coefficients, and none are printed", line
            )
    for name, values in step.coefficients.items():
        numbers = [number_of(printed) for _, printed in values]
        if numbers and not any(numbers) and name in ("Cd", "Cl"):
            reading.breach(
                FindingKind.WORK_SKIPPED, f"{name} is 0 in all {len(numbers)} iterations: no patch feels a force",
                values[-1][0],
            )  # fmt: skip
        functions = max(len(step.declared), 1)
        if step.declared and len(done) > 1 and len(values) < len(done) // 2 and step.writes > 1:
            reading.note(f"{name} is printed {len(values)} times in {len(done)} iterations of {functions} functions.")


def _clock(reading: Reading, step: ProgramLog) -> None:
    """Times rise from iteration to iteration."""
    before = None
    for item in step.iterations:
        if before is not None:
            if item.time < before.time:
                reading.breach(FindingKind.CLOCK_BACKWARDS, f"Time = {item.time:g} follows {before.time:g}", item.line)
            if None not in (item.execution_s, before.execution_s) and item.execution_s < before.execution_s:  # type: ignore[operator]
                reading.breach(
                    FindingKind.CLOCK_BACKWARDS,
                    f"ExecutionTime falls from {before.execution_s:g} s to {item.execution_s:g} s",
                    item.time_line,
                )
            if None not in (item.clock_s, before.clock_s) and item.clock_s < before.clock_s:  # type: ignore[operator]
                reading.breach(
                    FindingKind.CLOCK_BACKWARDS,
                    f"ClockTime falls from {before.clock_s:g} s to {item.clock_s:g} s",
                    item.time_line,
                )
        before = item


def _constant(reading: Reading, step: ProgramLog) -> None:
    """Residuals or coefficients that never change in many iterations were not computed."""
    for field, history in step.residuals.items():
        printed = {(initial, final) for _, initial, final, _ in history}
        if len(history) >= FEWEST_CONSTANT and len(printed) == 1 and _large(history[-1][1]):
            reading.breach(
                FindingKind.CONSTANT_RESULTS, f"the residual of {field} is the same in all {len(history)} solutions",
                history[-1][0],
            )  # fmt: skip
    solved = [(line, iterations) for history in step.residuals.values() for line, _, _, iterations in history]
    if (
        solved
        and not any(iterations for _, iterations in solved)
        and any(_large(history[-1][1]) for history in step.residuals.values())
    ):
        reading.breach(
            FindingKind.WORK_SKIPPED,
            f"all {len(solved)} solutions took 0 iterations: nothing was solved",
            solved[-1][0],
        )
    unsettled = any(_large(history[-1][1]) for history in step.residuals.values())
    for name, values in step.coefficients.items():
        constant = len(values) >= FEWEST_CONSTANT and len({printed for _, printed in values}) == 1
        if constant and unsettled and number_of(values[-1][1]):
            reading.breach(
                FindingKind.CONSTANT_RESULTS, f"{name} is the same in all {len(values)} iterations", values[-1][0]
            )


def _large(printed: str) -> bool:
    return finite(printed) and number_of(printed) > CONVERGED_RESIDUAL


def judge_warnings(reading: Reading, step: ProgramLog) -> None:
    """Errors, and warnings that mean that patches or functions were left out."""
    for place, line in enumerate(step.lines):
        if ERROR.search(line.text):
            reading.breach(FindingKind.PROGRAM_FAILED, f"{step.program} reports an error", line)
        if not WARNING.match(line.text):
            continue
        message = _message(step.lines[place : place + MESSAGE_LINES])
        joined = " ".join(part.text.strip() for part in message)
        lost = next((part for part in message if LOST.search(part.text)), None)
        if lost is not None or LOST.search(joined):
            shown = lost or line
            names = _names(shown.text)
            reading.breach(
                FindingKind.WORK_SKIPPED, f"patches are missing: {names}" if names else "patches are missing", shown
            )
        elif skipped := next((part for part in message if SKIPPED.search(part.text)), None):
            reading.breach(FindingKind.WORK_SKIPPED, "a warning says that work was left out", skipped)
        else:
            reading.note(f"Line {line.number}: a warning of {step.program}.")


def _message(lines: Sequence[OutputLine]) -> list[OutputLine]:
    """A warning up to the empty line that ends it."""
    message: list[OutputLine] = []
    for line in lines:
        if message and not line.text.strip():
            break
        message.append(line)
    return message


def _names(text: str) -> str:
    """Names of patches in the text of a warning."""
    tail = text[(match.start() if (match := re.search(r"(?i)patch", text)) else 0) :]
    names = [first or second or third for first, second, third in NAMES.findall(tail)]
    skip = {"patch", "patches", "or", "group", "names", "named", "matching", "not", "found", "does", "do"}
    return ", ".join(dict.fromkeys(name.strip() for name in names if name.strip().lower() not in skip))
