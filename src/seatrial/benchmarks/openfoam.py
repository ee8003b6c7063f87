"""OpenFOAM: logs of solvers, meshing and decomposition, one or several after each other; openfoam.org and .com."""

import re

from seatrial.benchmarks.declaration import AUTO, Benchmark, Launch, Parameter, Scaling, choice, whole
from seatrial.benchmarks.hpl import grid
from seatrial.benchmarks.openfoam_gates import judge_solver, judge_warnings
from seatrial.benchmarks.openfoam_log import (
    BANNER,
    END,
    EXECUTION,
    FINALISED,
    ProgramLog,
    judge_meshes,
    read_mesh,
    read_steps,
)
from seatrial.benchmarks.reading import Reading
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count, verb

BANNER_RULE = "/*---"
UTILITIES = (
    "blockMesh", "snappyHexMesh", "checkMesh", "renumberMesh", "surfaceFeatureExtract", "surfaceFeatures",
    "decomposePar", "reconstructPar", "reconstructParMesh", "topoSet", "patchSummary",
)  # fmt: skip
"""Programs that print `Time =` and solve nothing."""
STARTED = re.compile(
    r"^Running (?P<program>\w+)(?: in parallel)? on .{0,300}?(?: using (?P<ranks>\d{1,9}) processes)?\s{0,9}$"
)


CONTROL = "system/controlDict"
DECOMPOSE = "system/decomposeParDict"
METHODS = ("hierarchical", "simple", "scotch")
MESH = "constant/polyMesh/"
APPLICATION = re.compile(r"(?m)^[ \t]*+application\s+(?P<solver>[A-Za-z]\w{0,60})\s*;")
END_TIME = re.compile(r"(?m)^(?P<key>[ \t]*+endTime\s++)[^;\s]++(?P<end>\s*+;)")
MESHING = (
    ("system/blockMeshDict", ("blockMesh",)),
    ("system/surfaceFeatureExtractDict", ("surfaceFeatureExtract",)),
    ("system/snappyHexMeshDict", ("snappyHexMesh", "-overwrite")),
)
"""Dictionary of a case -> the program that reads it, in the order in which they build on each other."""
HEAD = "FoamFile\n{\n    version 2.0;\n    format ascii;\n    class dictionary;\n    object decomposeParDict;\n}\n"


def openfoam_plan(request: BenchmarkRequest) -> BenchmarkPlan:
    """All programs of the case; one with a mesh is not meshed again. Raises UsageError for a case and a parameter."""
    control = request.case.get(CONTROL, "")
    solver = APPLICATION.search(control)
    if solver is None:
        raise UsageError(f"--case: {CONTROL} is missing or names no application.", "Name a case of OpenFOAM.")
    meshed = any(name.startswith(MESH) for name in request.case)
    steps = [
        BenchmarkStep(name=argv[0], argv=argv, mpi=False)
        for name, argv in MESHING
        if not meshed and (name in request.case or f"{name}.gz" in request.case)
    ]
    steps.append(BenchmarkStep(name="checkMesh", argv=("checkMesh", "-constant"), mpi=False))
    fields = {name.partition("/")[0] for name in request.case}
    if "0" not in fields and "0.orig" in fields:
        steps.append(BenchmarkStep(name="fields", argv=("cp", "-r", "0.orig/.", "0"), mpi=False, judged=False))
    parallel = request.ranks > 1
    if parallel:
        steps.append(BenchmarkStep(name="decomposePar", argv=("decomposePar", "-force"), mpi=False))
    argv = (solver["solver"], *(("-parallel",) if parallel else ()))
    steps.append(BenchmarkStep(name=solver["solver"], argv=argv, mpi=parallel))
    return BenchmarkPlan(
        steps=tuple(steps),
        files={**_control(request, control), **({DECOMPOSE: _decomposition(request)} if parallel else {})},
        expected={"ranks": str(request.ranks), **({"subdomains": str(request.ranks)} if parallel else {})},
        notes=(f"{', '.join(step.name for step in steps)}.",),
    )


def _control(request: BenchmarkRequest, control: str) -> dict[str, str]:
    """controlDict with another last time, where one is requested."""
    if request.parameters["end"] == AUTO:
        return {}
    end = whole(request.parameters, "end", 1, 10_000_000)
    changed, count = END_TIME.subn(rf"\g<key>{end}\g<end>", control)
    if not count:
        raise UsageError(f"--set end={end}: {CONTROL} has no endTime.", "Leave it out, and set the time in the case.")
    return {CONTROL: changed}


def _decomposition(request: BenchmarkRequest) -> str:
    """decomposeParDict for the ranks."""
    method = choice(request.parameters, "method", METHODS)
    p, q = grid(request.ranks)
    blocks = f"    n ({q} {p} 1);\n    delta 0.001;\n    order xyz;\n"
    coefficients = "" if method == "scotch" else f"{method}Coeffs\n{{\n{blocks}}}\n"
    return f"{HEAD}numberOfSubdomains {request.ranks};\nmethod {method};\n{coefficients}"


OPENFOAM = Launch(
    programs=("blockMesh",),
    package="openfoam",
    plan=openfoam_plan,
    case=True,
    parameters=(
        Parameter(name="end", default=AUTO, meaning="last time or iteration; auto: as the case says"),
        Parameter(name="method", default="hierarchical", meaning=f"of decomposition: {', '.join(METHODS)}"),
    ),
)


def parse(text: str) -> Output:
    """All logs of one output."""
    reading = Reading("openfoam", text, closing=f"{END.pattern}|{FINALISED.pattern}")
    steps = read_steps(reading)
    started = reading.search(STARTED.pattern, reversed(reading.whole_lines))
    for step in steps:
        reading.version = step.version or reading.version
        reading.evidence("program", step.program, step.start)
        reading.evidence("ranks", step.ranks, step.ranks_line)
        if step.hosts:
            reading.evidence("nodes", len(step.hosts), step.ranks_line)
            reading.evidence("hosts", ",".join(step.hosts), step.ranks_line)
        read_mesh(reading, step)
        if step.program not in UTILITIES and (step.iterations or step.residuals):
            _solver(reading, step)
            judge_warnings(reading, step)  # before the gates on numbers: a missing patch explains them
            judge_solver(reading, step)
        else:
            judge_warnings(reading, step)
        _end(reading, step)
    judge_meshes(reading, steps)
    if started and started[1]["ranks"] and steps:
        asked = whole_number(started[1]["ranks"])
        if steps[-1].ranks != asked:
            reading.breach(
                FindingKind.RANKS_DIFFER,
                f"{count(asked, 'process', 'processes')} {verb(asked, 'was', 'were')} requested, {steps[-1].ranks} ran",
                started[0],
            )
    if not steps:
        reading.lack("it has no log: the banner of OpenFOAM is missing")
    return reading.output()


def _solver(reading: Reading, step: ProgramLog) -> None:
    """Times, iterations, and the last values of residuals and coefficients."""
    reading.evidence("iterations", len(step.iterations), step.iterations[-1].line if step.iterations else step.start)
    labels = {"program": step.program}
    timed = [item for item in step.iterations if item.execution_s is not None]
    if timed:
        last, first = timed[-1], timed[0]
        reading.result("execution_time_s", last.printed_execution, last.time_line, labels=labels)
        if last.clock_s is not None:
            reading.result("clock_time_s", f"{last.clock_s:g}", last.time_line, labels=labels)
        assert last.execution_s is not None and first.execution_s is not None  # noqa: S101 - filtered above
        if len(timed) > 1 and last.execution_s > first.execution_s:
            rate = (len(timed) - 1) / (last.execution_s - first.execution_s)
            reading.result("iterations_per_s", f"{rate:.9g}", last.time_line, labels=labels)
    if not step.iterations and (once := reading.search(EXECUTION.pattern, step.lines)):
        reading.result("execution_time_s", once[1]["execution"], once[0], labels=labels)
    for field, history in step.residuals.items():
        line, printed, final, _ = history[-1]
        reading.result("initial_residual", printed, line, labels={"field": field, **labels})
        reading.result("final_residual", final, line, labels={"field": field, **labels})
        reading.evidence(f"solver_iterations_{field}", sum(count for *_, count in history), line)
    for name, values in step.coefficients.items():
        line, printed = values[-1]
        reading.result("coefficient", printed, line, labels={"coefficient": name, **labels})


def _end(reading: Reading, step: ProgramLog) -> None:
    """`End`, and in parallel `Finalising parallel run`."""
    name = f"the log of {step.program} (line {step.start.number})"
    ends = [place for place, line in enumerate(step.lines) if END.match(line.text)]
    if not ends:
        reading.lack(f"{name} has no End")
        return
    after = step.lines[ends[-1] + 1 :]
    if any(line.text.startswith(BANNER_RULE) for line in after):
        reading.lack("another log begins below it, without its banner")
    if step.parallel and not any(FINALISED.match(line.text) for line in after):
        reading.lack(f"{name} has no closing line (Finalising parallel run)")


BENCHMARK = Benchmark(
    name="openfoam",
    title="OpenFOAM",
    requires="OpenFOAM, a case (motorBike, pitzDaily, ...) and MPI",
    marks=(
        BANNER.pattern,
        r"^Exec   : \S+",
        r"^--> FOAM |^ExecutionTime = ",
        r"(?i)^(?:Running|Cleaning) .*openfoam",
        r"^Running (?:blockMesh|decomposePar|snappyHexMesh|surfaceFeatureExtract|simpleFoam)\b",
    ),
    beginnings=(
        "F ield         | OpenFOAM: The",
        "Cleaning /",
        "Running blockMesh",
        "Running simpleFoam",
        "Running decomposePar",
    ),
    parse=parse,
    metrics=(
        Metric("execution_time_s", "ExecutionTime of the last iteration"),
        Metric("clock_time_s", "ClockTime, in whole seconds"),
        Metric("iterations_per_s", "from the first iteration to the last", of_problem=True),
        Metric("initial_residual", "of the last iteration, by field", of_result=True),
        Metric("final_residual", "of the last iteration, by field", of_result=True),
        Metric("coefficient", "force coefficients of the last iteration", of_result=True),
    ),
    main_metric="execution_time_s",
    evidence=("program", "ranks", "nodes", "hosts", "iterations", "cells", "patches", "subdomains"),
    gates=(
        FindingKind.NOT_A_NUMBER,
        FindingKind.RESIDUAL_FAILED,
        FindingKind.RESIDUAL_MISSING,
        FindingKind.WORK_SKIPPED,
        FindingKind.CONSTANT_RESULTS,
        FindingKind.RUN_TOO_SHORT,
        FindingKind.RANKS_DIFFER,
        FindingKind.ITERATIONS_DIFFER,
        FindingKind.CLOCK_BACKWARDS,
        FindingKind.MESH_DIFFERS,
        FindingKind.PROGRAM_FAILED,
    ),
    complete="`End` for each log, and `Finalising parallel run` for parallel ones",
    scaling=Scaling.STRONG,
    launch=OPENFOAM,
)
