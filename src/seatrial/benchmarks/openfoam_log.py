"""The log of one OpenFOAM program: head, iterations, residuals, force coefficients, and the mesh it works on."""

import re

import msgspec

from seatrial.benchmarks.reading import START, OutputLine, Reading
from seatrial.model.unit_text import NUMBER, number_of, whole_number
from seatrial.model.verdict import FindingKind

BANNER = re.compile(r"\| OpenFOAM: The Open Source CFD Toolbox")
BANNER_TOP = re.compile(r"/\*---|\|?\s+={5}|\|?\s*\\\\")
"""Lines of the banner above the one that names OpenFOAM; openfoam.com begins them with a bar."""
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

Residual = tuple[OutputLine, str, str, int]
"""Line, initial and final residual as printed, iterations of the linear solver."""


CELLS = (
    re.compile(r"^\s*nCells: (?P<cells>\d{1,15})"),  # blockMesh
    re.compile(r"^\s*cells:\s+(?P<cells>\d{1,15})\s*$"),  # checkMesh
    re.compile(r"(?:Snapped|Layer|Refined) mesh : cells:(?P<cells>\d{1,15})"),  # snappyHexMesh
)
COUNT = "ells:"
"""All of these have it: most lines have not, and are passed over quickly."""
PATCH = re.compile(r"^\s*patch \d{1,18} \(start: \d{1,18} size: (?P<faces>\d{1,15})\) name: (?P<name>\S+)")
PATCH_TABLE = re.compile(r"^\s*Patch\s+Faces\s+Points\b")
PATCH_ROW = re.compile(r"^\s+(?P<name>\S+)\s+(?P<faces>\d{1,15})\s+(?P<points>\d{1,15})\s+\S")
PROCESSOR = re.compile(r"^Processor (?P<place>\d{1,9})\s*$")
PROCESSOR_CELLS = re.compile(r"^\s+Number of cells = (?P<cells>\d{1,15})")
MESHED = re.compile(r"^Finished meshing")
UNSOUND = re.compile(r"^Failed (?P<checks>\d{1,6}) mesh checks")
MESHERS = ("blockMesh", "snappyHexMesh", "checkMesh", "renumberMesh")


class Iteration(msgspec.Struct):
    """One `Time =` with what follows it."""

    time: float
    line: OutputLine
    time_line: OutputLine = START
    execution_s: float | None = None
    printed_execution: str = ""
    clock_s: float | None = None


class ProgramLog(msgspec.Struct):
    """The log of one program."""

    start: OutputLine
    program: str = "unknown program"
    version: str = ""
    parallel: bool = False
    ranks: int = 1
    ranks_line: OutputLine = START
    listed: int = 0
    """Processes beside the first that the head lists."""
    hosts: list[str] = msgspec.field(default_factory=list)
    lines: list[OutputLine] = msgspec.field(default_factory=list)
    iterations: list[Iteration] = msgspec.field(default_factory=list)
    residuals: dict[str, list[Residual]] = msgspec.field(default_factory=dict)
    coefficients: "dict[str, list[tuple[OutputLine, str]]]" = msgspec.field(default_factory=dict)
    declared: "list[tuple[OutputLine, str]]" = msgspec.field(default_factory=list)
    """Functions that compute force coefficients."""
    writes: int = 0
    converged: int = 0
    """Iterations after which the program says that it converged; 0: it does not."""


def read_steps(reading: Reading) -> list[ProgramLog]:
    """The logs in the order of the file; each begins at its banner, or at its Exec line where there is none."""
    steps: list[ProgramLog] = []
    in_list = False
    for line in reading.whole_lines:
        if BANNER.search(line.text):
            _without_banner_rule(steps)
        if BANNER.search(line.text) or (
            EXEC.match(line.text) and (not steps or steps[-1].program != ProgramLog(start=START).program)
        ):
            steps.append(ProgramLog(start=line))
            in_list = False
        if not steps:
            continue
        step = steps[-1]
        step.lines.append(line)
        if not step.iterations:
            in_list = _head(step, line, in_list)
        _body(step, line)
    return steps


def _without_banner_rule(steps: list[ProgramLog]) -> None:
    """Lines of a banner above the one that names OpenFOAM do not belong to the log above it."""
    while steps and steps[-1].lines and BANNER_TOP.match(steps[-1].lines[-1].text):
        steps[-1].lines.pop()


def _head(step: ProgramLog, line: OutputLine, in_list: bool) -> bool:
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


def _add_host(step: ProgramLog, host: str) -> None:
    if host not in step.hosts:
        step.hosts.append(host)


def _body(step: ProgramLog, line: OutputLine) -> None:
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


def _cell_count(text: str) -> re.Match[str] | None:
    return next((match for pattern in CELLS if (match := pattern.search(text))), None)


def read_mesh(reading: Reading, step: ProgramLog) -> None:
    """Evidence of the mesh in one log: cells, patches with faces, subdomains."""
    table = False
    patches: dict[str, int] = {}
    subdomains: list[tuple[OutputLine, int]] = []
    inside = False
    for line in step.lines:
        if unsound := UNSOUND.match(line.text):
            reading.note(f"Line {line.number}: checkMesh failed {unsound['checks']} checks of the mesh.")
        if COUNT in line.text and (counted := _cell_count(line.text)):
            reading.evidence("cells", whole_number(counted["cells"]), line)
        elif patch := PATCH.match(line.text):
            patches[patch["name"]] = whole_number(patch["faces"])
        elif table and (row := PATCH_ROW.match(line.text)):
            patches[row["name"]] = whole_number(row["faces"])
        elif PROCESSOR.match(line.text):
            inside = True
        elif inside and (part := PROCESSOR_CELLS.match(line.text)):
            subdomains.append((line, whole_number(part["cells"])))
            inside = False
        table = bool(PATCH_TABLE.match(line.text)) or (table and bool(line.text.strip()))
    _patches(reading, step, patches)
    if subdomains:
        reading.evidence("subdomains", len(subdomains), subdomains[-1][0])
        total = sum(cells for _, cells in subdomains)
        reading.evidence("cells_of_subdomains", total, subdomains[-1][0])
        largest = max(cells for _, cells in subdomains)
        if largest:
            reading.evidence("balance", round(total / len(subdomains) / largest, 6), subdomains[-1][0])
        for line, part_cells in subdomains:
            if part_cells == 0:
                reading.breach(FindingKind.MESH_DIFFERS, "a subdomain has no cells", line)
    if step.program == "snappyHexMesh" and not any(MESHED.match(line.text) for line in step.lines):
        reading.lack("the log of snappyHexMesh has no closing line (Finished meshing)")


def _patches(reading: Reading, step: ProgramLog, patches: dict[str, int]) -> None:
    if not patches:
        return
    reading.evidence("patches", ",".join(sorted(patches)), step.lines[-1])
    empty = [name for name, faces in patches.items() if faces == 0 and not name.startswith("procBoundary")]
    for name in empty:
        if step.program != "blockMesh" and name != "defaultFaces":
            reading.note(f"The patch {name} has no faces in the mesh of {step.program}.")


def judge_meshes(reading: Reading, steps: list[ProgramLog]) -> None:
    """The subdomains have the cells of the mesh, and the solver runs on all of them."""
    cells, parts = reading.value("cells"), reading.value("cells_of_subdomains")
    order = [step.program for step in steps]
    decomposed = [place for place, name in enumerate(order) if name == "decomposePar"]
    if not decomposed:
        return
    before = [name for name in order[: decomposed[-1]] if name in MESHERS]
    later = [name for name in order[decomposed[-1] :] if name in MESHERS]
    if before and not later and isinstance(cells, int) and isinstance(parts, int) and cells != parts:
        reading.breach(
            FindingKind.MESH_DIFFERS,
            f"the mesh has {cells} cells, its subdomains together {parts}",
            steps[decomposed[-1]].start,
        )
    subdomains = reading.value("subdomains")
    for step in steps[decomposed[-1] + 1 :]:
        if step.parallel and isinstance(subdomains, int) and step.ranks != subdomains:
            reading.breach(
                FindingKind.RANKS_DIFFER,
                f"{step.program} runs on {step.ranks} ranks, the mesh is decomposed for {subdomains}",
                step.ranks_line,
            )
